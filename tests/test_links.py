"""Every link leads somewhere: to a file of the repository, a heading in it, or a known site.

Pages of other people are not fetched, as tests need no network; their addresses are checked for form,
and their hosts against a list, which a typing error would not be on.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from medn_edu.course.syllabus import REPOSITORY

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted(
    path
    for pattern in ("*.md", "figures/*.md", "notebooks/*.md", "notebooks/*.ipynb", "binder/*.md")
    for path in ROOT.glob(pattern)
)
HOSTS = {
    "arxiv.org",
    "creativecommons.org",
    "doi.org",
    "jmlr.org",
    "keepachangelog.com",
    "mybinder.org",
    "semver.org",
}
# A target may hold one level of brackets of its own.
LINK = re.compile(r"\[[^\]]*\]\(([^()\s]*(?:\([^()]*\)[^()\s]*)*)\)")


@cache
def text(path: Path) -> str:
    """Return the Markdown of a page, without code."""
    raw = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        cells = json.loads(raw)["cells"]
        raw = "\n\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    return re.sub(r"```.*?```|`[^`\n]*`|\$[^$]*\$", "", raw, flags=re.DOTALL)


@cache
def anchors(path: Path) -> set[str]:
    """Return the fragments by which the headings of a page are reached."""
    headings = re.findall(r"^#{1,6} (.+?)\s*$", text(path), flags=re.MULTILINE)
    if path.suffix == ".ipynb":  # JupyterLab and nbviewer keep capitals and marks
        return {heading.replace(" ", "-") for heading in headings}
    lower = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings]
    return {heading.replace(" ", "-") for heading in lower}


def links() -> list[tuple[Path, str]]:
    return [(page, target) for page in PAGES for target in LINK.findall(text(page))]


def test_there_are_many_links() -> None:
    assert len(links()) > 100


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(text(page)):
        if re.match(r"[a-z]+:", target):
            check_address(target)
            continue
        name, _, fragment = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        assert file.exists(), f"{page.name}: {target}"
        assert ROOT in file.parents, f"{page.name}: {target} leaves the repository"
        if fragment:
            assert fragment in anchors(file), f"{page.name}: {target}"


def check_address(target: str) -> None:
    parts = urlsplit(target)
    assert parts.scheme == "https", target
    assert parts.hostname in HOSTS, target
    if parts.hostname == "mybinder.org":
        assert parts.path == f"/v2/gh/{REPOSITORY}/HEAD"
        [opened] = parse_qs(parts.query)["urlpath"]
        assert opened.startswith("lab/tree/")
        assert (ROOT / opened.removeprefix("lab/tree/")).is_file(), target
