"""The animations are what their command makes, small, endless, and show what their captions say."""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image

from medn_edu.course import animations
from medn_edu.course.animations import FILMS, save_animations
from medn_edu.explorers import best_path, norm_balls, projections, shrinkage

COMMITTED = Path(__file__).resolve().parent.parent / "figures"
PICTURES = {
    "lattice": 41,
    "shrinkage": 82,
    "kl-norm": 100,
    "two-weights": 23,
    "frank-wolfe": 17,
    "projections": 72,
}
REMADE = ("lattice", "frank-wolfe")  # the others take minutes together
ENDLESS = {"shrinkage", "kl-norm", "projections"}
MOST_BYTES = 400_000


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("animations") / "figures"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(animations, "FILMS", {name: FILMS[name] for name in REMADE})
        files = save_animations(folder)
    names = [f"{name}{ending}" for name in REMADE for ending in (".gif", ".mp4")]
    assert [path.name for path in files] == names
    return folder


def pictures_of(film: Path) -> np.ndarray:
    """Every fourth pixel of the pictures, in grey; they are compared by means only."""
    with av.open(film) as opened:
        pictures = [p.to_ndarray(format="gray")[::4, ::4] for p in opened.decode(video=0)]
    return np.array(pictures, dtype=np.float32)


@pytest.mark.parametrize("name", FILMS)
def test_committed_gifs_are_whole_endless_and_small(name: str) -> None:
    committed = COMMITTED / f"{name}.gif"
    with Image.open(committed) as old:
        assert old.n_frames == PICTURES[name] // FILMS[name].gif_step
        assert old.info["loop"] == 0
        assert old.width > 640
    assert committed.stat().st_size < MOST_BYTES


@pytest.mark.slow
@pytest.mark.parametrize("name", REMADE)
def test_the_committed_gif_is_the_one_the_command_makes(name: str, made: Path) -> None:
    with Image.open(made / f"{name}.gif") as new, Image.open(COMMITTED / f"{name}.gif") as old:
        assert new.size == old.size
        assert new.n_frames == old.n_frames


@pytest.mark.slow
@pytest.mark.parametrize("name", REMADE)
def test_the_committed_film_is_the_one_the_command_makes(name: str, made: Path) -> None:
    new, old = pictures_of(made / f"{name}.mp4"), pictures_of(COMMITTED / f"{name}.mp4")
    assert new.shape == old.shape
    assert np.abs(new - old).mean() < 1  # of 255; fonts and encoders differ a little


@pytest.mark.parametrize("name", FILMS)
def test_committed_films_are_whole_and_small(name: str) -> None:
    committed = COMMITTED / f"{name}.mp4"
    assert committed.read_bytes()[4:8] == b"ftyp"
    old = pictures_of(committed)
    assert len(old) == PICTURES[name]
    if name in ENDLESS:  # it goes on where it began
        steps = np.abs(np.diff(old, axis=0)).mean(axis=(1, 2))
        assert np.abs(old[-1] - old[0]).mean() <= steps.max()
    assert committed.stat().st_size < MOST_BYTES


def test_the_path_jumps_from_wrong_to_right_to_wrong() -> None:
    explorer = best_path()
    wrong = ["(0 of" not in frame.summary for frame in explorer.stack()]
    assert wrong[0]
    assert not wrong[20]
    assert wrong[-1]
    assert all(explorer.check(lesson) for lesson in explorer.lessons)


@pytest.mark.parametrize(
    ("name", "make"),
    [("shrinkage", shrinkage), ("kl-norm", norm_balls), ("projections", projections)],
)
def test_films_end_where_they_begin_and_jump_nowhere(name: str, make) -> None:  # type: ignore[no-untyped-def]
    explorer = make()
    moves = list(FILMS[name].moves(explorer))
    assert len(moves) == PICTURES[name]
    for before, after in zip(moves, moves[1:] + moves[:1], strict=True):
        for key in set(before) & set(after) - {"prior"}:
            values = explorer.controls[key].values
            stepped = abs(values.index(after[key]) - values.index(before[key]))
            assert min(stepped, len(values) - 1 - stepped) <= 2


def test_both_priors_are_tilted_to_the_same_ends() -> None:
    moves = FILMS["shrinkage"].moves(shrinkage())
    etas = {
        prior: [m["eta"] for m in moves if m["prior"] == prior] for prior in ("Laplace", "Gaussian")
    }
    assert sorted(etas["Laplace"]) == sorted(etas["Gaussian"])
    assert (min(etas["Laplace"]), max(etas["Laplace"])) == (-2, 2)


def test_the_line_turns_on_the_narrow_ball_and_on_the_round_one() -> None:
    moves = FILMS["kl-norm"].moves(norm_balls())
    assert {m["log_lam"] for m in moves if 25 < m["angle"] < 65} == {-1, 6}
