"""Pages made of notebooks: their pictures are described, and those that move say so."""

import html
import re
from pathlib import Path

import nbformat
import pytest
from nbconvert import HTMLExporter

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("notebook", ["01-structured-prediction.ipynb", "03-toolbox.ipynb"])
def test_every_picture_of_a_page_is_described(notebook: str) -> None:
    cells = nbformat.read(ROOT / "notebooks" / notebook, as_version=4).cells
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    pictures = [each for each in outputs if "image/png" in each.get("data", {})]
    exporter = HTMLExporter(
        template_file=str(ROOT / "medn_edu" / "course" / "html" / "index.html.j2"),
        extra_template_basedirs=[str(ROOT / "medn_edu" / "course")],
        template_name="html",
    )
    page, _ = exporter.from_filename(str(ROOT / "notebooks" / notebook))
    said = [
        html.unescape(re.search(r'alt="([^"]*)"', image)[1])  # type: ignore[index]
        for image in re.findall(r'<img[^>]*src="data:image/png[^>]*>', page)
    ]
    assert said == [each.metadata["image/png"]["alt"] for each in pictures]
    moving = [each for each in pictures if each.metadata.get("medn_edu", {}).get("moves")]
    assert moving
    assert page.count("This figure moves in a running notebook.") == len(moving)
    for each in moving:
        assert html.escape(each.data["text/plain"]) in page
