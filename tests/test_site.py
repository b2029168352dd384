"""A built book: its chapters, links, sizes and bytes.  And what the command says.

``MEDN_EDU_BOOK`` may name the folder of a book of the whole course, which is then tested instead of
the small one of the fixture `book`.
"""

import base64
import functools
import gzip
import importlib.util
import io
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pooch
import pytest
from lxml import html
from PIL import Image
from site_books import ROOT, THREE, check_frames, read_pack, run_site, same_picture

from medn_edu.cli import main
from medn_edu.cli import site as command
from medn_edu.course.site.cells import explorers, moves
from medn_edu.course.site.frames import MOST_BYTES, pack_frames
from medn_edu.course.syllabus import CHAPTERS, REPOSITORY, chapter

WHOLE = "MEDN_EDU_BOOK" in os.environ
SLUGS = [each.slug for each in CHAPTERS] if WHOLE else THREE
NOTEBOOKS = [ROOT / "notebooks" / chapter(slug).file for slug in SLUGS]
TEXTS = [path for at in ("*.md", "*/*.md", "notebooks/*.ipynb") for path in ROOT.glob(at)]
GITHUB = f"https://github.com/{REPOSITORY}"
LOADED = "//@src | //@srcset | //@poster | //object/@data | //link/@href"

Pages = dict[Path, Any]


@pytest.fixture(scope="module")
def pages(book: Path) -> Pages:
    """The pages of the book, parsed."""
    return {path: html.fromstring(path.read_bytes()) for path in sorted(book.rglob("*.html"))}


def test_a_book_has_its_chapters_and_all_their_explorers_move(book: Path, pages: Pages) -> None:
    """With the notebook's picture, the frames of all lessons, and the notebook itself."""
    for path in NOTEBOOKS:
        page = book / "notebooks" / f"{path.stem}.html"
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        outputs = [output for cell in cells for output in cell.get("outputs", [])]
        captions = [output for output in outputs if "**Figure.**" in str(output.get("data"))]
        assert len(pages[page].xpath("//figcaption")) == len(captions)
        [original] = {page.parent / link for link in pages[page].xpath("//a[@download]/@href")}
        assert original.read_bytes() == path.read_bytes()
        figures = pages[page].xpath("//figure[.//script]")
        for figure, output in zip(figures, filter(moves, outputs), strict=True):
            [src] = figure.xpath(".//img/@src")
            png = base64.b64decode("".join(output["data"]["image/png"]))
            assert same_picture((page.parent / src).read_bytes(), png)
            declared = json.loads(figure.xpath(".//script")[0].text)
            assert tuple(declared["size"]) == Image.open(io.BytesIO(png)).size
            name, pack = read_pack((book / f"frames/{declared['frames']}.js").read_text("utf-8"))
            assert name == declared["frames"]
            assert pack["summary"][0] == "".join(output["data"]["text/plain"])
            lessons = [json.loads(each) for each in figure.xpath(".//button/@value")]
            assert lessons
            for lesson in (declared["start"], *lessons):
                assert [lesson[each["name"]] for each in declared["controls"]] in pack["at"]


def test_frames_in_a_book_are_those_of_its_explorers(book: Path) -> None:
    [path] = [path for path in NOTEBOOKS if "start-here" in path.name]
    notebook = json.loads(path.read_text(encoding="utf-8"))
    [(number, explorer)] = explorers(notebook)
    saved = next(filter(moves, notebook["cells"][number]["outputs"]))
    png = base64.b64decode("".join(saved["data"]["image/png"]))
    script = (book / "frames" / "start-here-lattice.js").read_text(encoding="utf-8")
    assert script == pack_frames(explorer, png).script("start-here-lattice")
    check_frames(script, explorer, png)


@pytest.fixture(scope="module")
def named() -> set[str]:
    """The addresses that our texts name."""
    return {
        address
        for path in TEXTS
        for address in re.findall(r"https?://[^\s()\[\]\"<>\\]+", path.read_text("utf-8"))
    }


def test_links_of_a_book_hold(pages: Pages, named: set[str]) -> None:
    anchors = {
        path: {*page.xpath("//@id"), *page.xpath("//a/@name")} for path, page in pages.items()
    }

    def holds(path: Path, link: str) -> bool:
        parts = urlsplit(link)
        if link.startswith(GITHUB):
            kind, _, file = parts.path.removeprefix(f"/{REPOSITORY}").partition("/HEAD/")
            return kind in ("", "/blob", "/tree") and (ROOT / unquote(file)).exists()
        if parts.scheme:
            return link in named
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        part = unquote(parts.fragment)
        return target.is_file() and (not part or part in anchors.get(target, ()))

    links = [
        (path, link) for path, page in pages.items() for link in page.xpath("//@href | //@src")
    ]
    assert len(links) > 1000
    assert [(path.name, link) for path, link in links if not holds(path, link)] == []


def test_numbers_stay_with_their_signs(pages: Pages) -> None:
    """In running text; code is left as it is, and tables may break where they must."""
    text = "//p[not(ancestor::table or ancestor::figure)]/text()"
    parted = re.compile(r"\d [%±]|± \d")
    found = {
        path.name: [each for each in page.xpath(text) if parted.search(each)]
        for path, page in pages.items()
    }
    assert {name: each for name, each in found.items() if each} == {}
    assert any(
        "\N{NO-BREAK SPACE}%" in each for page in pages.values() for each in page.xpath(text)
    )
    code = [each for page in pages.values() for each in page.xpath("//pre//text()")]
    assert not any("\N{NO-BREAK SPACE}" in each for each in code)


def test_the_reference_shows_nothing_of_how_python_works(book: Path, pages: Pages) -> None:
    inside = re.compile(
        r"Alias for field number|Built-in (im)?mutable|<function|<class|0x[0-9a-f]{6}|:func:|:class:"
    )
    for path in sorted((book / "reference").glob("*.html")):
        shown = pages[path].xpath("string(//article)")
        assert len(shown) > 500, path.name
        assert inside.findall(shown) == [], path.name


def loads(sheet: Path) -> list[str]:
    """Return the addresses that a style sheet loads."""
    rules = re.sub(r"/\*.*?\*/", "", sheet.read_text(encoding="utf-8"), flags=re.DOTALL)
    found = re.findall(r"url\(([^)]*)\)|@import ([^;]*);", rules)
    return [(url or name).strip("'\"") for url, name in found]


def test_a_book_loads_nothing_from_elsewhere(book: Path, pages: Pages) -> None:
    asked = [(path, link) for path, page in pages.items() for link in page.xpath(LOADED)]
    sheets = [(path, link) for path in book.rglob("*.css") for link in loads(path)]
    elsewhere = re.compile("(?!data:)[a-z]+:|//")
    assert [each for each in asked + sheets if elsewhere.match(each[1])] == []
    files = [path.parent / link for path, link in sheets if not link.startswith("data:")]
    assert [path for path in files if not path.is_file()] == []


def test_a_book_names_no_folder_of_this_machine(book: Path) -> None:
    libraries = Path(pooch.__file__).parent.parent
    folders = (ROOT, libraries, book.parent, Path.home(), ".medn_edu-")
    ours = re.compile("|".join(re.escape(str(each)) for each in folders).encode())
    for path in filter(Path.is_file, book.rglob("*")):
        assert not ours.search(path.read_bytes()), path


def test_sizes_of_a_book(book: Path, pages: Pages) -> None:
    """Frames and pictures are loaded when they come near; the first view of a page is all the rest."""

    @functools.cache
    def compressed(path: Path) -> int:
        return len(gzip.compress(path.read_bytes(), 6))

    for path, page in pages.items():
        first = page.xpath(
            "//script/@src | //link[@rel='stylesheet']/@href | //img[not(@loading)]/@src"
        )
        files = {path, *((path.parent / urlsplit(link).path).resolve() for link in first)}
        for sheet in [file for file in files if file.suffix == ".css"]:
            named = [link for link in loads(sheet) if not link.startswith("data:")]
            files.update((sheet.parent / link).resolve() for link in named)
        assert sum(map(compressed, files)) <= 1_500_000, path.name
    frames = [path.stat().st_size for path in (book / "frames").iterdir()]
    assert max(frames) < min(MOST_BYTES + 100_000, 3_000_000)
    assert sum(path.stat().st_size for path in book.rglob("*")) <= 60_000_000


def test_the_explorers_model_is_short() -> None:
    script = ROOT / "medn_edu" / "course" / "site" / "static" / "static_model.js"
    assert len(script.read_text(encoding="utf-8").splitlines()) < 100


@pytest.mark.skipif(WHOLE, reason="a small one is tested where all tests are")
@pytest.mark.slow
def test_a_second_book_has_the_same_bytes(book: Path, tmp_path: Path) -> None:
    """Made from another folder, in place of an older book; without a word but where it is."""
    old = tmp_path / "in" / "place" / "of"
    old.mkdir(parents=True)
    for name in (".nojekyll", "old.html"):
        (old / name).touch()
    shutil.copytree(book.parent / "cache", old.parent / "cache")
    done = run_site(old, "--only", *THREE, cwd=tmp_path)
    assert done.stdout == f"The book is in {old}; open index.html in a browser.\n", done.stderr
    assert done.returncode == 0
    one, two = (
        {path.relative_to(at): path.read_bytes() for path in at.rglob("*") if path.is_file()}
        for at in (book, old)
    )
    assert one.keys() == two.keys()
    assert [path for path in one if one[path] != two[path]] == []


@pytest.fixture
def refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., str]:
    """Return the sentence with which the command refuses something, before any frame is drawn."""
    monkeypatch.delattr("medn_edu.course.site.book.chapter_packs")

    def sentence(*words: Any) -> str:
        assert main(["site", *map(str, words)]) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.count("\n") == 1
        return said.err

    return sentence


def test_a_folder_with_something_else_is_left_alone(tmp_path: Path, refused: Any) -> None:
    note = tmp_path / "mine" / "note.txt"
    note.parent.mkdir()
    note.write_text("dear diary")
    for place in (note, note.parent):
        assert f"{place} is there and isn't a book" in refused(place, "--only", "start-here")
    assert [path.name for path in tmp_path.rglob("*")] == ["mine", "note.txt"]
    assert note.read_text() == "dear diary"


def test_a_chapter_that_there_is_not(tmp_path: Path, refused: Any) -> None:
    said = refused(tmp_path / "book", "--only", "trees", "bushes")
    assert "there is no chapter 'bushes'; the course has start-here, " in said
    assert not any(tmp_path.iterdir())


def test_without_the_libraries_of_the_extra(tmp_path: Path, refused: Any, monkeypatch: Any) -> None:
    find = importlib.util.find_spec
    missing = {"sphinx", "numpydoc"}
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *at: None if name in missing else find(name, *at)
    )
    said = refused(tmp_path / "book")
    assert said.startswith("medn-edu: sphinx and numpydoc cannot be found")
    assert "pip install 'medn_edu[site]'" in said


def test_outside_of_the_repository(tmp_path: Path, refused: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "__file__", str(tmp_path / "lib" / "medn_edu" / "cli" / "site.py"))
    assert "this folder is no copy of the repository" in refused(tmp_path / "book")
    assert not any(tmp_path.iterdir())
