"""The animations are what their command makes, small, endless, and show what their captions say."""

from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image

from medn_edu.course import animations
from medn_edu.course.animations import FILMS, save_animations
from medn_edu.explorers import best_path, norm_balls, projections, shrinkage

COMMITTED = Path(__file__).resolve().parent.parent / "figures"
PICTURES = dict(zip(FILMS, (41, 82, 100, 23, 17, 72), strict=True))
REMADE = ("lattice", "frank-wolfe")  # the others take minutes together
ENDLESS = {"shrinkage": shrinkage, "kl-norm": norm_balls, "projections": projections}
MOST_BYTES = 400_000


def pictures_of(film: Path) -> np.ndarray:
    """Every fourth pixel of the pictures, in grey; they are compared by means only."""
    with av.open(film) as opened:
        pictures = [p.to_ndarray(format="gray")[::4, ::4] for p in opened.decode(video=0)]
    return np.array(pictures, dtype=np.float32)


@pytest.mark.parametrize("name", FILMS)
def test_committed_films_are_whole_endless_and_small(name: str) -> None:
    gif, film = COMMITTED / f"{name}.gif", COMMITTED / f"{name}.mp4"
    with Image.open(gif) as old:
        assert old.n_frames == PICTURES[name] // FILMS[name].gif_step
        assert old.info["loop"] == 0
        assert old.width > 640
    assert film.read_bytes()[4:8] == b"ftyp"
    pictures = pictures_of(film)
    assert len(pictures) == PICTURES[name]
    if name in ENDLESS:  # it goes on where it began
        steps = np.abs(np.diff(pictures, axis=0)).mean(axis=(1, 2))
        assert np.abs(pictures[-1] - pictures[0]).mean() <= steps.max()
    assert max(gif.stat().st_size, film.stat().st_size) < MOST_BYTES


@pytest.mark.slow
def test_the_committed_ones_are_those_the_command_makes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(animations, "FILMS", {name: FILMS[name] for name in REMADE})
    made = save_animations(tmp_path / "figures")
    assert [path.name for path in made] == [f"{n}.{e}" for n in REMADE for e in ("gif", "mp4")]
    for gif, film in zip(made[::2], made[1::2], strict=True):
        with Image.open(gif) as new, Image.open(COMMITTED / gif.name) as old:
            assert (new.size, new.n_frames) == (old.size, old.n_frames)
        pictures, committed = pictures_of(film), pictures_of(COMMITTED / film.name)
        assert pictures.shape == committed.shape
        assert np.abs(pictures - committed).mean() < 1  # of 255; fonts and encoders differ a little


def test_the_path_jumps_from_wrong_to_right_to_wrong() -> None:
    wrong = ["(0 of" not in frame.summary for frame in best_path().stack()]
    assert (wrong[0], wrong[20], wrong[-1]) == (True, False, True)


@pytest.mark.parametrize("name", ENDLESS)
def test_films_end_where_they_begin_and_jump_nowhere(name: str) -> None:
    explorer = ENDLESS[name]()
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
