"""Every link leads somewhere: to a file of the repository, a heading in it, or a known site.

Pages of other people are not fetched, as tests need no network; their addresses are checked for form,
and their hosts against a list, which a typing error would not be on.
"""

import json
import pkgutil
import re
from functools import cache
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from medn_edu.course.syllabus import REPOSITORY, book_link

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted(
    path
    for pattern in ("*.md", "figures/*.md", "notebooks/*.md", "notebooks/*.ipynb", "binder/*.md")
    for path in ROOT.glob(pattern)
)
HOSTS = {
    *("arxiv.org", "creativecommons.org", "doi.org", "jmlr.org", "keepachangelog.com"),
    *("mybinder.org", "semver.org", "universaldependencies.org"),
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


def test_links_lead_somewhere() -> None:
    links = [(page, target) for page in PAGES for target in LINK.findall(text(page))]
    assert len(links) > 100
    wrong = [f"{page.name}: {what}" for page, target in links if (what := fault(page, target))]
    assert not wrong


def fault(page: Path, target: str) -> str | None:
    """Say what is wrong with a link, if anything is."""
    if re.match(r"[a-z]+:", target):
        return fault_of_address(target)
    name, _, fragment = target.partition("#")
    file = (page.parent / name).resolve() if name else page
    if not file.exists():
        return f"{target} does not exist"
    if ROOT not in file.parents:
        return f"{target} leaves the repository"
    if fragment and fragment not in anchors(file):
        return f"{target} has no such heading"
    if page.suffix == ".ipynb" and not fragment.isascii():
        return f"{target} is not found by JupyterLab, which compares it as the browser encodes it"
    return None


def fault_of_address(target: str) -> str | None:
    parts = urlsplit(target)
    if target == book_link():
        return None
    if parts.scheme != "https" or parts.hostname not in HOSTS:
        return f"{target} is on no known site"
    if parts.hostname == "mybinder.org":
        [opened] = parse_qs(parts.query)["urlpath"]
        file = opened.removeprefix("lab/tree/")
        is_ours = parts.path == f"/v2/gh/{REPOSITORY}/HEAD"
        if not is_ours or file == opened or not (ROOT / file).is_file():
            return f"{target} opens no notebook of the course"
    return None


@pytest.mark.parametrize(
    "target",
    [
        "no-such-file.md", "../elsewhere.md", "README.md#no-such-heading", "http://arxiv.org/abs/1",
        "https://arxiv.example/abs/1", "https://a.github.io/b/", "https://mybinder.org/v2/gh/a/b/HEAD?urlpath=lab/tree/x",
    ],
)  # fmt: skip
def test_wrong_links_are_found(target: str) -> None:
    assert fault(ROOT / "README.md", target)


def exists(name: str) -> bool:
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


def test_names_in_prose_exist():
    """A text that sends its reader to a module or function that has moved is a broken link."""
    sources = [
        *PAGES,
        *(path for path in ROOT.glob("medn_edu/**/*.*") if path.suffix in (".py", ".md", ".toml")),
    ]
    named = {
        name: path.name
        for path in sources
        for name in re.findall(r"`(medn_edu(?:\.\w+)+)", path.read_text(encoding="utf-8"))
    }
    assert len(named) > 50
    assert not exists("medn_edu.problems.nowhere")
    assert {name: page for name, page in named.items() if not exists(name)} == {}
