"""The built book in a real browser: every page is looked at, and every figure is moved.

Needs Chromium; without it these tests are skipped on a reader's machine and fail under ``CI=true``.
"""

import base64
import contextlib
import functools
import gzip
import http.server
import io
import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest
from lab_in_browser import INSTALL, chromium, find_chromium
from lxml import html
from PIL import Image
from site_books import THREE, put_together, same_picture

from medn_edu.course.syllabus import chapter

pytestmark = pytest.mark.browser

WIDE, NARROW = {"width": 1280, "height": 1000}, {"width": 360, "height": 780}
FIRST_VIEW = 1_500_000  # bytes, compressed
MOVES, GOAL = 70, 30  # moves of a slider, and the ms in which 95 of 100 must show their picture
FRAMES = '"frames": "'  # in the declaration of an explorer
NOTE = re.compile(r"This page has no picture of that\. The nearest has (.*?)\. ")

# Text that a reader can see, its size and colours, if it stands out too little from what is behind it.
FAINT = """() => {
    const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const known = {};
    const rgba = (text) => known[text] ??= (() => {
        context.clearRect(0, 0, 1, 1);
        context.fillStyle = text;
        context.fillRect(0, 0, 1, 1);
        const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data;
        return [r, g, b, a / 255];
    })();
    const over = ([r, g, b, a], below) => [r, g, b].map((x, i) => a * x + (1 - a) * below[i]);
    const backs = new Map([[null, [255, 255, 255]]]);
    const behind = (node) => {
        if (!backs.has(node)) {
            const colour = rgba(getComputedStyle(node).backgroundColor);
            backs.set(node, over(colour, colour[3] === 1 ? [0, 0, 0] : behind(node.parentElement)));
        }
        return backs.get(node);
    };
    const light = (colour) => {
        const linear = (x) => x <= 10.3 ? x / 3294.6 : ((x / 255 + 0.055) / 1.055) ** 2.4;
        const [r, g, b] = colour.map(linear);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
    };
    const parts = new Set(document.querySelectorAll("select, button, input[type=search]"));
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        if (walker.currentNode.data.trim()) parts.add(walker.currentNode.parentElement);
    }
    const seen = {}, faint = {};
    for (const node of parts) {
        if (node.closest("script, style, noscript, option, :disabled, .medn-spoken")) continue;
        if (!node.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
        const style = getComputedStyle(node);
        const size = parseFloat(style.fontSize);
        const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
        const below = behind(node);
        const ratio = seen[[style.color, below]] ??= (() => {
            const [one, other] = [over(rgba(style.color), below), below].map(light);
            return Math.max(one, other) / Math.min(one, other);
        })();
        if (ratio >= (large ? 3 : 4.5)) continue;
        const place = node.tagName.toLowerCase() + (node.className ? "." + node.className : "");
        faint[`${place} ${style.color} on ${below.map(Math.round)}: ${ratio.toFixed(2)}`] =
            node.textContent.trim().slice(0, 40);
    }
    return faint;
}"""

# Opens what is folded, and gives a page one of the theme's two looks at once.
LOOK = """(theme) => {
    for (const each of document.querySelectorAll("details")) each.open = true;
    const style = document.createElement("style");
    style.textContent = "* { transition: none !important; }";
    document.head.append(style);
    document.documentElement.dataset.theme = theme;
}"""

WIDTH = "() => document.documentElement.scrollWidth"

# What is cut off at the right, with no way to scroll there.
CUT = """() => {
    const edge = document.documentElement.clientWidth + 1;
    const cut = [...document.querySelectorAll(".bd-main *")].filter((node) => {
        if (node.closest(".medn-spoken, mjx-assistive-mml, .bd-sidebar-secondary")) {
            return false; // what is meant to be out of sight
        }
        if (node.getBoundingClientRect().right <= edge || !node.checkVisibility()) return false;
        for (let above = node.parentElement; above !== document.body; above = above.parentElement) {
            const { overflowX } = getComputedStyle(above);
            if (overflowX === "auto" || overflowX === "scroll") return false;
        }
        return true;
    });
    return cut.map((node) => `${node.tagName} ${node.className} ${node.textContent.slice(0, 40)}`);
}"""

# Pictures that don't wait until they come near.
EAGER = """() => [...document.querySelectorAll(".bd-main img:not([loading=lazy])")]
    .map((image) => image.outerHTML)"""

# Icons whose font isn't there.
TOFU = """() => [...document.querySelectorAll("i")].filter((icon) => {
    const { fontFamily, fontWeight } = getComputedStyle(icon, "::before");
    const plain = (name) => name.replaceAll('"', "");
    return ![...document.fonts].some(
        (font) => plain(font.family) === plain(fontFamily) && font.weight === fontWeight);
}).map((icon) => icon.outerHTML)"""

HEADINGS = """() => [...document.querySelectorAll(".bd-article :is(h1, h2, h3, h4, h5, h6)")]
    .filter((node) => node.checkVisibility()).map((node) => [Number(node.tagName[1]), node.innerText])"""

# Rows of controls in which a label, what is moved and its value are on top of one another.
OVERLAPS = """() => {
    const touch = (one, other) => one.left < other.right - 1 && other.left < one.right - 1
        && one.top < other.bottom - 1 && other.top < one.bottom - 1;
    return [...document.querySelectorAll(".medn-explorer")].flatMap((root) => {
        const parts = [...root.querySelectorAll("label, input, select, output, button, .medn-summary")]
            .filter((node) => node.checkVisibility())
            .map((node) => [node, node.getBoundingClientRect()]);
        return parts.flatMap(([one, box], i) => parts.slice(i + 1)
            .filter(([, other]) => touch(box, other))
            .map(([other]) => `${root.ariaLabel}: ${one.outerHTML} and ${other.outerHTML}`));
    });
}"""

# A figure as the page declares it, and what it shows.
FIGURE = """(root) => {
    const figure = root.closest(".medn-figure");
    const spec = JSON.parse(figure.querySelector("script").textContent);
    const buttons = [...figure.querySelectorAll(".medn-lessons button")];
    return { ...spec, lessons: buttons.map((button) => JSON.parse(button.value)) };
}"""
PACK = """async (name) => {
    for (let i = 0; i < 600 && !window.medn_frames?.[name]; i++) {
        await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return window.medn_frames[name];
}"""
SHOWN = """(root) => {
    const picture = root.querySelector("canvas");
    const inputs = [...root.querySelectorAll("input, select")];
    return {
        number: Number(picture.dataset.number),
        alt: picture.ariaLabel,
        summary: root.querySelector(".medn-summary").textContent,
        at: inputs.map((input) => Number(input.type === "checkbox" ? input.checked : input.value)),
        told: inputs.map((input) => input.type === "range" ? input.ariaValueText : null),
        values: [...root.querySelectorAll("output")].map((output) => output.value),
    };
}"""

ANOTHER_PICTURE = """([root, number]) =>
    Number(root.querySelector("canvas").dataset.number) !== number"""

# Draws a whole picture over the one that is shown.
OVERDRAW = """async ([root, png]) => {
    const image = Object.assign(new Image(), { src: `data:image/png;base64,${png}` });
    await image.decode();
    root.querySelector("canvas").getContext("2d").drawImage(image, 0, 0);
}"""

# Moves controls to positions, one after the other, each as a reader would.
SET = """async ([root, positions]) => {
    for (const [k, input] of [...root.querySelectorAll("input, select")].entries()) {
        const box = input.type === "checkbox";
        if (Number(box ? input.checked : input.value) === positions[k]) continue;
        const before = root.dataset.shown;
        if (box) input.click();
        else input.value = positions[k];
        if (!box) input.dispatchEvent(new Event(input.type === "range" ? "input" : "change"));
        const start = performance.now();
        while (root.dataset.shown === before) {
            if (performance.now() - start > 30000) throw new Error("no new picture");
            await new Promise((resolve) => setTimeout(resolve, 5));
        }
    }
}"""

# Moves a control, and presses a lesson before the picture of the move can be shown.
SLOW_THEN_QUICK = """async (root) => {
    const { decode } = HTMLImageElement.prototype;
    let late = true;
    HTMLImageElement.prototype.decode = async function () {
        const wait = late ? 300 : 0;
        await decode.call(this);
        await new Promise((resolve) => setTimeout(resolve, wait));
    };
    const input = root.querySelector("input[type=range], select");
    input.value = Number(input.value) === 0 ? 1 : 0;
    input.dispatchEvent(new Event(input.type === "range" ? "input" : "change"));
    await new Promise((resolve) => setTimeout(resolve, 50));
    late = false;
    root.closest(".medn-figure").querySelector(".medn-lessons button").click();
    await new Promise((resolve) => setTimeout(resolve, 700));
    HTMLImageElement.prototype.decode = decode;
}"""

# Milliseconds from each of many moves of a slider to the picture.
TIMED = """async ([root, control, moves]) => {
    const taken = [];
    const range = control.type === "range";
    const last = range ? Number(control.max) : control.length - 1;
    let by = 1;
    for (let i = 0; i < moves; i++) {
        if (Number(control.value) === last) by = -1;
        if (Number(control.value) === 0) by = 1;
        await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 20)));
        control.value = Number(control.value) + by;
        taken.push(await new Promise((done) => {
            const start = performance.now();
            const watch = new MutationObserver(() => {
                watch.disconnect();
                done(performance.now() - start);
            });
            watch.observe(root, { attributeFilter: ["data-shown"] });
            control.dispatchEvent(new Event(range ? "input" : "change"));
        }));
    }
    return taken;
}"""

# Keeps what gets the focus, and whether this can be seen.
LISTEN = """(part) => {
    const stops = `${part} :is(a[href], button, input, select, summary)`;
    window.stops = [];
    const look = (node) => [node, ...node.children].map((each) => { // the theme marks the sign of a fold
        const { outline, boxShadow, backgroundColor } = getComputedStyle(each);
        return [outline.includes("none") ? "" : outline, boxShadow, backgroundColor];
    }).join();
    window.unseen = () => {
        document.activeElement.blur();
        return window.stops.filter(([node, with_focus]) => look(node) === with_focus);
    };
    window.missed = () => {
        const reached = new Set(window.stops.map(([node]) => node));
        return [...document.querySelectorAll(stops)]
            .filter((node) => node.checkVisibility({ visibilityProperty: true }) && !reached.has(node))
            .map((node) => [node]);
    };
    window.named = (found) => found.map(([node]) => node.outerHTML.slice(0, 200));
    const place = document.querySelector(part); // the tab key goes on from here
    place.tabIndex = -1;
    place.focus({ preventScroll: true });
    place.removeAttribute("tabindex");
    document.addEventListener("focusin", ({ target }) => window.stops.push([target, look(target)]));
    return document.querySelectorAll(`${stops}, ${part} [tabindex]`).length + 5;
}"""


class Reader:
    """A browser page that keeps what goes wrong, and what is asked for."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.errors: list[str] = []
        self.asked: list[str] = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self._hear)
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("requestfailed", lambda request: self.errors.append(f"failed: {request.url[:200]}"))
        page.on("response", self._answer)

    def _hear(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.errors.append(f"{message.text} ({message.location['url']})")

    def _answer(self, response: Any) -> None:
        if response.url.startswith("http") and response.status >= 400:
            self.errors.append(f"{response.status}: {response.url}")

    def open(self, address: str, size: dict[str, int] = WIDE) -> None:
        """Open a page and wait until its formulas are set."""
        self.errors.clear()
        self.asked.clear()
        self.page.set_viewport_size(size)
        self.page.goto(address)
        self.page.evaluate("() => window.MathJax?.startup?.promise.then(() => {})")

    def strangers(self, *hosts: str) -> list[str]:
        """Return what was asked for on other machines than these."""
        return [
            url
            for url in self.asked
            if urlsplit(url).scheme not in ("file", "data", "blob")
            and urlsplit(url).netloc not in hosts
        ]

    def figures(self) -> list["Figure"]:
        """Return the explorers of the page."""
        parts = self.page.locator(".medn-explorer")
        self.page.wait_for_function(
            "() => [...document.querySelectorAll('.medn-explorer')].every((node) => node.dataset.shown)"
        )
        return [Figure(self.page, parts.nth(i)) for i in range(parts.count())]


class Figure:
    """An explorer in the page."""

    def __init__(self, page: Any, part: Any) -> None:
        self.page, self.part = page, part
        self.root = part.element_handle()
        self.spec = self.root.evaluate(FIGURE)
        self.name = self.spec["frames"]
        self.start = list(self.spec["start"].values())
        self.controls = self.root.query_selector_all("input, select")
        assert len(self.controls) == len(self.start)

    @functools.cached_property
    def pack(self) -> dict[str, Any]:
        """The frames; they are loaded when the figure comes near."""
        self.root.scroll_into_view_if_needed()
        return self.page.evaluate(PACK, self.name)

    def shown(self) -> dict[str, Any]:
        """Return what is to be seen and heard."""
        return self.root.evaluate(SHOWN)

    def number(self) -> str:
        """Return the number of pictures shown so far."""
        return self.root.get_attribute("data-shown")

    def wait_until(self, condition: str, argument: Any) -> None:
        """Wait until a condition on the explorer holds."""
        self.page.wait_for_function(condition, arg=[self.root, argument], timeout=60_000)

    def wait_for_more(self, before: str) -> None:
        """Wait until another picture is shown."""
        self.wait_until("([node, before]) => node.dataset.shown !== before", before)

    def press(self, control: Any, key: str) -> dict[str, Any]:
        """Press a key in a control and return what is shown then."""
        before = self.number()
        control.focus()
        self.page.keyboard.press(key)
        self.wait_for_more(before)
        return self.shown()

    def click(self, button: Any) -> dict[str, Any]:
        """Click a button and return what is shown then."""
        before = self.number()
        button.click()
        self.wait_for_more(before)
        return self.shown()

    def reset(self) -> dict[str, Any]:
        """Return to the start."""
        return self.click(self.root.query_selector("button[title='Back to the start']"))

    def set(self, positions: Sequence[int]) -> dict[str, Any]:
        """Move the controls to positions and return what is shown then."""
        self.page.evaluate(SET, [self.root, list(positions)])
        return self.shown()

    @functools.cached_property
    def saved(self) -> Image.Image:
        """The notebook's picture, as the page has it where no script runs."""
        page = Path(unquote(urlsplit(self.page.url).path))
        tree = html.fromstring(page.read_bytes())
        [src] = tree.xpath(f"//figure[script[contains(., '{self.name}')]]//img/@src")
        return Image.open(page.parent / unquote(src))

    def picture(self, frame: int) -> Image.Image:
        """Return the picture of a frame."""
        return put_together(self.pack, frame, self.saved)[0]

    def shows(self, shown: dict[str, Any], frame: int) -> bool:
        """Return whether a frame of the pack is shown, in all that tells of it."""
        pack = self.pack
        return (
            shown["number"] == frame
            and shown["alt"] == pack["alt"][frame]
            and NOTE.sub("", shown["summary"]) == pack["summary"][frame]
        )

    def difference(self, frame: Sequence[int], at: Sequence[int]) -> str:
        """Return in what a frame differs from positions, in the words of the page."""
        return ", ".join(
            f"{control['label']}: {control['texts'][there]}"
            for control, there, here in zip(self.spec["controls"], frame, at, strict=True)
            if there != here
        )


@dataclass
class Visit:
    """What a page is like."""

    errors: list[str] = field(default_factory=list)
    widths: dict[int, int] = field(default_factory=dict)
    cut: list[str] = field(default_factory=list)
    overlaps: list[str] = field(default_factory=list)
    faint: dict[str, dict[str, str]] = field(default_factory=dict)
    headings: list[tuple[int, str]] = field(default_factory=list)
    eager: list[str] = field(default_factory=list)
    tofu: list[str] = field(default_factory=list)


def moving_pages() -> list[str]:
    """Return the pages with figures that move, of the book that ``book`` is."""
    if named := os.environ.get("MEDN_EDU_BOOK"):
        paths = sorted(Path(named).rglob("*.html"))
        found = [path for path in paths if FRAMES in path.read_text(encoding="utf-8")]
        return [path.relative_to(named).as_posix() for path in found]
    return [f"notebooks/{Path(chapter(slug).file).stem}.html" for slug in THREE]


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    """One browser for all tests of this file, and the page in which they move figures."""
    if find_chromium() is None:
        if os.environ.get("CI") == "true":
            pytest.fail(f"no Chromium found; {INSTALL}")
        pytest.skip(f"no Chromium found; {INSTALL}")
    with chromium() as page:
        yield Reader(page)


@contextlib.contextmanager
def another(reader: Reader, **options: Any) -> Iterator[Reader]:
    """Yield a page of the same browser for a reader who is here for the first time."""
    context = reader.page.context.browser.new_context(**{"viewport": WIDE} | options)
    try:
        yield Reader(context.new_page())
    finally:
        context.close()


@pytest.fixture(scope="module")
def served(book: Path) -> Iterator[str]:
    """The address of the book on a server of this machine."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    handler = functools.partial(Quiet, directory=book)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module", params=moving_pages())
def moving(request: pytest.FixtureRequest) -> str:
    """The name of a page with figures that move; its tests follow each other."""
    return request.param


@pytest.fixture(scope="module")
def opened(reader: Reader, book: Path, moving: str) -> list[Figure]:
    """The figures of that page."""
    reader.open((book / moving).as_uri())
    return reader.figures()


@pytest.fixture
def figures(reader: Reader, opened: list[Figure]) -> Iterator[list[Figure]]:
    """The same, as they are at the start; nothing may go wrong in their page."""
    for figure in opened:
        if figure.shown()["at"] != figure.start:
            figure.reset()
    yield opened
    assert reader.errors + reader.strangers() == []


# -- every page -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def visits(reader: Reader, book: Path) -> dict[str, Visit]:
    """A look at every page: wide and narrow, light and dark."""
    visits = {}
    with another(reader) as guest:
        for path in sorted(book.rglob("*.html")):
            guest.open(path.as_uri())
            page, visit = guest.page, Visit()
            visit.headings = page.evaluate(HEADINGS)
            visit.eager = page.evaluate(EAGER)
            for theme in ("light", "dark"):
                page.evaluate(LOOK, theme)
                visit.faint[theme] = page.evaluate(FAINT)
            visit.widths[1280] = page.evaluate(WIDTH)
            page.set_viewport_size(NARROW)
            visit.widths[360] = page.evaluate(WIDTH)
            visit.cut = page.evaluate(CUT)
            visit.overlaps = page.evaluate(OVERLAPS)
            visit.tofu = page.evaluate(TOFU)
            visit.errors = guest.errors + guest.strangers()
            visits[path.relative_to(book).as_posix()] = visit
    return visits


def told(visits: dict[str, Visit], what: Callable[[Visit], Any]) -> dict[str, Any]:
    """Return what is wrong, by page."""
    return {name: wrong for name, visit in visits.items() if (wrong := what(visit))}


def test_no_page_has_an_error_or_asks_another_machine(visits: dict[str, Visit]) -> None:
    assert told(visits, lambda visit: visit.errors) == {}


def test_pages_fit_wide_and_narrow_screens(visits: dict[str, Visit]) -> None:
    def too_wide(visit: Visit) -> dict[int, int]:
        return {width: needed for width, needed in visit.widths.items() if needed > width}

    assert told(visits, too_wide) == {}
    assert told(visits, lambda visit: visit.cut) == {}
    assert told(visits, lambda visit: visit.overlaps) == {}


def test_icons_have_their_font(visits: dict[str, Visit]) -> None:
    assert told(visits, lambda visit: visit.tofu) == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_stands_out(visits: dict[str, Visit], theme: str) -> None:
    assert told(visits, lambda visit: visit.faint[theme]) == {}


def test_headings_are_in_order(visits: dict[str, Visit]) -> None:
    def jumps(visit: Visit) -> list[Any]:
        levels = [level for level, _ in visit.headings]
        if levels[:1] != [1] or levels.count(1) != 1:
            return visit.headings
        return [each for i, each in enumerate(visit.headings[1:]) if each[0] > levels[i] + 1]

    assert told(visits, jumps) == {}


def test_pictures_wait_until_they_come_near(visits: dict[str, Visit]) -> None:
    assert told(visits, lambda visit: visit.eager) == {}


def test_keyboard_reaches_all_pages(reader: Reader, book: Path) -> None:
    with another(reader) as guest:
        guest.open((book / "index.html").as_uri())
        check_stops(guest.page, "body")


def test_theme_is_kept_and_follows_the_system(reader: Reader, book: Path) -> None:
    background = "() => getComputedStyle(document.body).backgroundColor"
    keep = "for (const each of ['mode', 'theme']) localStorage.setItem(each, '{}');"
    seen = {}
    for system, kept in (("light", ""), ("dark", ""), ("light", "dark"), ("dark", "light")):
        with another(reader, color_scheme=system) as guest:
            if kept:
                guest.page.add_init_script(keep.format(kept))
            guest.open((book / "index.html").as_uri())
            seen[system, kept] = guest.page.evaluate(background)
            assert guest.errors == []
    assert seen["light", ""] == seen["dark", "light"] != seen["dark", ""] == seen["light", "dark"]


def test_search_finds_a_chapter(reader: Reader, book: Path) -> None:
    results = "#search-results li a"
    with another(reader) as guest:
        page = guest.page
        guest.open(f"{(book / 'search.html').as_uri()}?q=shrinkage")
        page.get_by_text("Search finished").wait_for()
        found = page.locator(results).evaluate_all("(all) => all.map((each) => each.pathname)")
        assert any(path.endswith("/notebooks/05-shrinkage.html") for path in found), found
        page.locator("input[type=search]:visible").first.fill("spike slab")
        page.keyboard.press("Enter")
        page.get_by_text("Search finished").wait_for()
        page.locator(f"{results}[href*='05-shrinkage']").first.click()
        page.locator(".medn-explorer").first.wait_for()
        assert guest.errors + guest.strangers() == []


# -- pages with figures that move -------------------------------------------------------------


def test_without_scripts(reader: Reader, book: Path, moving: str) -> None:
    with another(reader, java_script_enabled=False) as guest:
        page = guest.page
        page.goto((book / moving).as_uri())
        for figure in page.query_selector_all(".medn-figure:has(script)"):
            image, *others = figure.query_selector_all("img")
            assert image.evaluate("(node) => node.complete && node.naturalWidth > 0")
            assert image.is_visible()
            assert others == []
            for part in figure.query_selector_all(".medn-summary, figcaption"):
                assert part.is_visible()
                assert part.inner_text().strip()
            assert not any(each.is_visible() for each in figure.query_selector_all(".medn-lessons"))
        assert page.locator(".bd-article p").first.is_visible()
        assert page.evaluate(FAINT) == {}


def test_first_view_from_a_server(reader: Reader, book: Path, served: str, moving: str) -> None:
    """It asks for little, and for no frames of figures that aren't near."""
    with another(reader) as guest:
        guest.open(f"{served}/{moving}")
        figures = guest.figures()
        guest.page.wait_for_load_state("networkidle")
        asked = {unquote(urlsplit(url).path)[1:] for url in guest.asked if url.startswith(served)}
        assert moving in asked
        size = sum(len(gzip.compress((book / name).read_bytes())) for name in asked)
        assert size <= FIRST_VIEW, {name: (book / name).stat().st_size for name in asked}
        check_what_is_loaded(guest, figures, WIDE)
        for figure in figures[:1]:
            assert figure.pack["at"][5] != figure.start
            assert figure.shows(figure.set(figure.pack["at"][5]), 5)
        assert guest.errors + guest.strangers(urlsplit(served).netloc) == []


def test_first_view_on_a_narrow_screen(reader: Reader, book: Path, moving: str) -> None:
    """With a kernel a narrow figure is drawn anew; that mustn't ask for frames here."""
    with another(reader) as guest:
        guest.open((book / moving).as_uri(), NARROW)
        figures = guest.figures()
        guest.page.wait_for_timeout(500)
        check_what_is_loaded(guest, figures, NARROW)


def check_what_is_loaded(guest: Reader, figures: list[Figure], size: dict[str, int]) -> None:
    for figure in figures:
        near = figure.root.bounding_box()["y"] < size["height"] + 800
        assert near == any(url.endswith(f"/frames/{figure.name}.js") for url in guest.asked)


def test_every_control_moves_its_figure(figures: list[Figure]) -> None:
    for figure in figures:
        saved = figure.shown()
        assert saved["at"] == figure.pack["at"][0] == figure.start
        for k, (control, spec) in enumerate(
            zip(figure.controls, figure.spec["controls"], strict=True)
        ):
            about, last = (figure.name, spec["name"]), len(spec["texts"]) - 1
            ends = {"End": last, "Home": 0}
            if spec["kind"] == "check":
                ends = {"Space": 1 - figure.start[k]}
            for key, position in ends.items():
                if position == figure.start[k]:
                    continue
                now = figure.press(control, key)
                assert now["at"] == [*figure.start[:k], position, *figure.start[k + 1 :]], about
                assert noted(now) == "", about
                assert figure.picture(now["number"]) != figure.picture(0), about
                if not spec["label"].endswith("only)"):  # under one choice of another control
                    assert (now["alt"], now["summary"]) != (saved["alt"], saved["summary"]), about
                if spec["kind"] in ("slider", "time"):
                    by, arrow = (1, "ArrowRight") if key == "Home" else (-1, "ArrowLeft")
                    now = figure.press(control, arrow)
                    assert now["at"][k] == position + by, about
                    assert now["told"][k] == spec["texts"][position + by] in now["values"], about
                back = figure.reset()
                assert back["at"] == figure.start, about
                assert figure.shows(back, 0), about
                assert back["summary"] == saved["summary"], about


def noted(shown: dict[str, Any]) -> str:
    """Return what an explorer says about a setting that it has no picture of."""
    found = NOTE.match(shown["summary"])
    return found[1] if found else ""


def test_time_plays(figures: list[Figure]) -> None:
    for figure in figures:
        kinds = [control["kind"] for control in figure.spec["controls"]]
        button = figure.root.query_selector("button[title=Play]")
        assert (button is not None) == ("time" in kinds), figure.name
        if button is None:
            continue
        k = kinds.index("time")
        if figure.start[k]:
            figure.press(figure.controls[k], "Home")
        for press in (functools.partial(figure.page.keyboard.press, "Space"), button.click):
            before = figure.shown()
            figure.controls[k].focus()
            press()
            assert button.get_attribute("aria-label") == "Pause", figure.name
            figure.wait_until(ANOTHER_PICTURE, before["number"])
            if button.get_attribute("aria-label") == "Pause":  # not yet at the end
                press()
            assert button.get_attribute("aria-label") == "Play", figure.name
            number = figure.number()
            figure.page.wait_for_timeout(1500 / figure.spec["controls"][k]["per_second"])
            assert figure.number() == number, figure.name
            assert figure.shown()["at"][k] != before["at"][k], figure.name
        assert figure.shows(figure.reset(), 0), figure.name


def test_pictures_have_no_traces_of_others(figures: list[Figure]) -> None:
    """A frame of many overlays, as the browser shows it, is that of one whole picture."""
    for figure in figures:
        depths = [-1]
        for below in figure.pack["below"]:
            depths.append(depths[below + 1] + 1)
        number = int(np.argmax(depths[1:]))
        figure.set(figure.pack["at"][number])
        drawn, whole = figure.root.query_selector("canvas"), io.BytesIO()
        shown = drawn.screenshot()
        figure.picture(number).save(whole, "png")
        figure.page.evaluate(OVERDRAW, [figure.root, base64.b64encode(whole.getvalue()).decode()])
        assert same_picture(shown, drawn.screenshot()), figure.name


def test_settings_without_a_picture_say_so(figures: list[Figure]) -> None:
    """And those with one show it."""
    rng = np.random.default_rng(0)
    for figure in figures:
        frames = [tuple(at) for at in figure.pack["at"]]
        for number in rng.choice(len(frames), 3):
            now = figure.set(frames[number])
            assert now["at"] == list(frames[number]), figure.name
            assert noted(now) == "", figure.name
            assert figure.shows(now, number), figure.name
        sizes = [len(control["texts"]) for control in figure.spec["controls"]]
        draws = [tuple(int(i) for i in rng.integers(sizes)) for _ in range(100)]
        absent = [at for at in draws if at not in frames][:3]
        assert absent or len(frames) > 0.8 * np.prod(sizes), figure.name
        for at in absent:
            now = figure.set(at)
            about = figure.name, at, noted(now)
            names = [figure.difference(frame, at) for frame in frames]
            assert noted(now) in names, about
            nearest = names.index(noted(now))
            assert figure.shows(now, nearest), about


def test_lessons_make_their_moves(figures: list[Figure]) -> None:
    for figure in figures:
        buttons = figure.root.query_selector_all("xpath=ancestor::figure//button[@value]")
        assert len(buttons) == len(figure.spec["lessons"]), figure.name
        for button, positions in zip(buttons, figure.spec["lessons"], strict=True):
            about = figure.name, button.inner_text()
            assert button.is_visible(), about
            fact = button.evaluate_handle("(node) => node.nextElementSibling").as_element()
            assert not fact.is_visible(), about
            now, at = figure.click(button), list(positions.values())
            assert now["at"] == at, about
            assert noted(now) == "", about
            assert figure.shows(now, figure.pack["at"].index(at)), about
            assert fact.is_visible(), about
            assert fact.inner_text().strip(), about


def test_no_picture_overtakes_a_newer_one(figures: list[Figure]) -> None:
    for figure in figures[:1]:
        for lesson in figure.spec["lessons"][:1]:
            assert figure.pack
            figure.root.evaluate(SLOW_THEN_QUICK)
            now, at = figure.shown(), list(lesson.values())
            assert now["at"] == at, figure.name
            assert figure.shows(now, figure.pack["at"].index(at)), figure.name


def test_on_paper(reader: Reader, figures: list[Figure]) -> None:
    assert all(figure.controls[0].is_visible() for figure in figures)
    reader.page.emulate_media(media="print")
    for figure in figures:
        assert figure.root.query_selector("canvas").is_visible(), figure.name
        assert figure.root.query_selector(".medn-summary").is_visible(), figure.name
        for control in figure.root.query_selector_all("input, select, button"):
            assert not control.is_visible(), figure.name
    page = ".medn-lessons, .bd-sidebar-primary, .bd-header-article"
    assert not any(each.is_visible() for each in reader.page.query_selector_all(page))
    folded = reader.page.query_selector_all(".bd-article details > p")
    assert all(each.evaluate("(node) => node.checkVisibility()") for each in folded)
    reader.page.emulate_media(media="screen")


def test_what_a_screen_reader_finds(reader: Reader, figures: list[Figure]) -> None:
    session = reader.page.context.new_cdp_session(reader.page)
    tree = session.send("Accessibility.getFullAXTree")["nodes"]
    session.detach()
    found: dict[str, list[str]] = {}
    for node in tree:
        if not node["ignored"]:
            name = node.get("name", {}).get("value", "").strip()
            found.setdefault(node["role"]["value"], []).append(name)
            if node["role"]["value"] == "slider":
                value = {each["name"]: each["value"] for each in node["properties"]}["valuetext"]
                assert value["value"].strip(), name
    for role in ("slider", "combobox", "checkbox", "button", "image", "heading"):
        assert all(found.get(role, [])), role
    controls = [control for figure in figures for control in figure.spec["controls"]]
    of_kinds = {"slider": ("slider", "time"), "combobox": ("choice",), "checkbox": ("check",)}
    for role, kinds in of_kinds.items():
        labels = [control["label"] for control in controls if control["kind"] in kinds]
        assert sorted(labels) == sorted(found.get(role, []))
    groups = [name for name in found["group"] if name.startswith("Moving figure: ")]
    assert len(groups) == len(set(groups)) == len(figures)
    assert {figure.shown()["alt"].strip() for figure in figures} <= set(found["image"])


def test_keyboard_reaches_everything(reader: Reader, figures: list[Figure]) -> None:
    check_stops(reader.page, ".bd-main")


def check_stops(page: Any, part: str) -> None:
    """Go through a part of the page by the tab key: everything is reached, and seen to be."""
    page.evaluate(LOOK, "light")
    stops = page.evaluate(LISTEN, part)
    for i in range(2 * stops):  # it also stops at what scrolls
        page.keyboard.press("Tab")
        if i >= stops and page.evaluate("() => missed().length === 0"):
            break
    assert page.evaluate("() => named(missed())") == []
    assert (
        page.evaluate("() => named(stops.filter(([node]) => node.matches('mjx-container')))") == []
    )
    assert page.evaluate("() => named(unseen())") == []


@pytest.mark.alone
def test_latency(
    reader: Reader, book: Path, moving: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Move the longest controls of each explorer along and back, from setting to setting."""
    late = {}
    with another(reader) as guest:
        guest.open((book / moving).as_uri())
        for figure in guest.figures():
            assert figure.pack
            texts = [len(control["texts"]) for control in figure.spec["controls"]]
            for k in np.argsort(texts)[:-3:-1]:
                if figure.spec["controls"][k]["kind"] != "check":
                    name = f"{figure.name}, {figure.spec['controls'][k]['label']}"
                    taken = guest.page.evaluate(TIMED, [figure.root, figure.controls[k], MOVES])
                    assert len(taken) == MOVES
                    middle, late[name] = np.percentile(taken, [50, 95])
                    with capsys.disabled():
                        print(f"\n{name}: p50 {middle:.1f} ms, p95 {late[name]:.1f} ms", end="")
    with capsys.disabled():
        print(f"\nslider to picture, goal {GOAL} ms, load {os.getloadavg()[0]:.1f}")
    assert {name: ms for name, ms in late.items() if ms > GOAL} == {}
