"""The contact sheet shows every chapter with a picture, and is the committed one."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from medn_edu.course.contact_sheet import chapter_pictures, save_contact_sheet
from medn_edu.course.syllabus import CHAPTERS
from medn_edu.explorers.kit.picture import contact_sheet

COMMITTED = Path(__file__).resolve().parent.parent / "figures" / "course.png"


def test_every_chapter_has_its_picture() -> None:
    pictures = chapter_pictures()
    assert list(pictures) == [each.slug for each in CHAPTERS]
    assert len(set(pictures.values())) == len(pictures)
    figure = contact_sheet(pictures)
    titles = [ax.get_title(loc="left") for ax in figure.axes if ax.images]
    assert titles == list(pictures)


def test_the_committed_page_is_of_these_notebooks(tmp_path: Path) -> None:
    with Image.open(save_contact_sheet(tmp_path)) as made, Image.open(COMMITTED) as committed:
        assert made.size == committed.size
        pages = [np.asarray(page.convert("RGB"), dtype=float) for page in (made, committed)]
    assert np.abs(pages[0] - pages[1]).mean() < 1, "python -m medn_edu.course.contact_sheet"


def test_no_pictures() -> None:
    with pytest.raises(ValueError, match="expected at least one"):
        contact_sheet({})
