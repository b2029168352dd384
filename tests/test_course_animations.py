"""Animations and contact sheet are what their commands make; films are small, endless and true."""

import re
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image

from medn_edu.course import animations
from medn_edu.course.animations import FILMS, save_animations
from medn_edu.course.contact_sheet import chapter_pictures, save_contact_sheet
from medn_edu.course.syllabus import CHAPTERS
from medn_edu.explorers import best_path, clearing, norm_balls, projections, shrinkage
from medn_edu.explorers.kit.picture import contact_sheet

COMMITTED = Path(__file__).resolve().parent.parent / "figures"
PICTURES = dict(zip(FILMS, (41, 82, 100, 23, 17, 72, 13), strict=True))
REMADE = ("lattice", "frank-wolfe")  # the others take minutes together
ENDLESS = {"shrinkage": shrinkage, "kl-norm": norm_balls, "projections": projections}


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
    assert max(gif.stat().st_size, film.stat().st_size) < 400_000


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


def test_films_show_what_their_captions_say() -> None:
    wrong = ["(0 of" not in frame.summary for frame in best_path().stack()]
    assert (wrong[0], wrong[20], wrong[-1]) == (True, False, True)
    etas: dict[str, list[float]] = {"Laplace": [], "Gaussian": []}
    for move in FILMS["shrinkage"].moves(shrinkage()):
        etas[move["prior"]].append(move["eta"])
    assert sorted(etas["Laplace"]) == sorted(etas["Gaussian"])
    assert (min(etas["Laplace"]), max(etas["Laplace"])) == (-2, 2)
    turned = [m["lam"] for m in FILMS["kl-norm"].moves(norm_balls()) if 25 < m["angle"] < 65]
    assert set(turned) == {0.1, 1_000_000}
    image, films = clearing(), FILMS["clearing"].moves(clearing())
    wrong = [int(re.search(r"(\d+) of 1024", image.set(**move).summary)[1]) for move in films]
    assert wrong[0] > 1.9 * min(wrong) and wrong[-1] > 1.4 * min(wrong)  # noqa: PT018


def test_the_contact_sheet_shows_every_chapter_and_is_that_of_these_notebooks(
    tmp_path: Path,
) -> None:
    pictures = chapter_pictures()
    assert list(pictures) == [each.slug for each in CHAPTERS if each.slug != "notation"]
    assert len(set(pictures.values())) == len(pictures)
    titles = [ax.get_title(loc="left") for ax in contact_sheet(pictures).axes if ax.images]
    assert titles == list(pictures)
    with pytest.raises(ValueError, match="expected at least one"):
        contact_sheet({})
    made, committed = (
        np.asarray(Image.open(page).convert("RGB"), dtype=float)
        for page in (save_contact_sheet(tmp_path), COMMITTED / "course.png")
    )
    assert made.shape == committed.shape
    assert np.abs(made - committed).mean() < 1, "python -m medn_edu.course.contact_sheet"
