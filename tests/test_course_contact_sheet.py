"""The contact sheet shows every chapter with a picture, and is the committed one."""

from __future__ import annotations

from pathlib import Path

import pytest

from medn_edu.course.contact_sheet import chapter_pictures, save_contact_sheet
from medn_edu.course.syllabus import CHAPTERS
from medn_edu.plots.contact_sheet import contact_sheet

COMMITTED = Path(__file__).resolve().parent.parent / "figures" / "course.png"


def test_every_chapter_has_its_picture() -> None:
    pictures = chapter_pictures()
    assert list(pictures) == [each.slug for each in CHAPTERS]
    assert len(set(pictures.values())) == len(pictures)
    figure = contact_sheet(pictures)
    titles = [ax.get_title(loc="left") for ax in figure.axes if ax.images]
    assert titles == list(pictures)


def test_the_committed_page_is_of_these_notebooks(tmp_path: Path) -> None:
    """Equal bytes need equal libraries, so only its size is compared."""
    made = save_contact_sheet(tmp_path)
    assert 0.7 < made.stat().st_size / COMMITTED.stat().st_size < 1.4


def test_no_pictures() -> None:
    with pytest.raises(ValueError, match="expected at least one"):
        contact_sheet({})
