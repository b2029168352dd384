"""A product on a page and its DOM tree, side by side, while messages rise and fall.

Each node shows four bars, one for each attribute: the score of the best labelling with the attribute in
this node, minus that of the best one without it.  A leaf is a name, an image, a price, a description or
none of them.  An element is labelled with the set of attributes below it, so the bars mean the same
everywhere.  The same leaves can be read as a flat chain, in document order.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from sklearn.pipeline import Pipeline, make_pipeline

from medn_edu.checks import shown
from medn_edu.datasets import make_pages
from medn_edu.estimators import M3N
from medn_edu.explorers.kit import palette
from medn_edu.explorers.kit.controls import Choice, Time
from medn_edu.explorers.kit.explorer import Exhibit, Explorer, Lesson
from medn_edu.explorers.kit.panels import put
from medn_edu.explorers.kit.style import ERROR, INK, MUTED, new_figure, styled
from medn_edu.explorers.kit.trees import step_text
from medn_edu.inference import edge_potentials, node_potentials
from medn_edu.samples import pack
from medn_edu.text import ATTRIBUTES, LEAF_LABELS, NOTHING, Page, SequenceVectorizer, parse_page
from medn_edu.theory.reference import Tree, max_product

STRUCTURES = ("DOM tree", "flat chain")
_MOST_NODES = 26
_N_SHOWN = 4  # records that only the tree reads right; one that only the chain does joins them
_CLEAR = 0.05  # the least lead of a label in them


@dataclass(frozen=True, eq=False)
class PagesFrame:
    """What is known after a number of steps; a chain's nodes are the leaves of the record."""

    nodes: np.ndarray  # the node of the record that each node here is
    leads: np.ndarray  # for each node and attribute: best labelling with it, minus the best without
    labels: list[str]  # the label of each node that is best by what is known
    stages: np.ndarray  # of each node: 0 knows only itself, 1 has heard its children, 2 is decided
    now: int  # the node that is computed in this step, -1 at the start and after the end


@dataclass(frozen=True, eq=False)
class Film:
    """Max-product on one record: what each node knows at the start, on the way up, and down."""

    nodes: np.ndarray
    parents: np.ndarray
    alone: np.ndarray  # (n_nodes, n_labels)
    up: np.ndarray  # with what all that is below says
    down: np.ndarray  # with the label of the parent, too
    classes: list[str]

    @cached_property
    def _has(self) -> np.ndarray:
        """Whether a label has an attribute: is it, or a set with it; shape (n_labels, 4)."""
        return np.array(
            [[a in name.strip("()").split() for a in ATTRIBUTES] for name in self.classes]
        )

    @property
    def n_steps(self) -> int:
        """Number of steps: each node is computed twice."""
        return 2 * len(self.nodes)

    def frame(self, step: int) -> PagesFrame:
        """Return what is known after a step; nodes speak from the last to the first, then back."""
        n, step = len(self.nodes), min(step, self.n_steps)
        at = np.arange(n)
        stages = (at >= n - step).astype(int) + (at < step - n)
        known = np.choose(stages[:, None], (self.alone, self.up, self.down))
        now = -1 if step == 0 else n - step if step <= n else step - n - 1
        with_it = np.where(self._has, known[:, :, None], -np.inf).max(axis=1)
        without = np.where(self._has, -np.inf, known[:, :, None]).max(axis=1)
        labels = [self.classes[code] for code in known.argmax(axis=1)]
        return PagesFrame(self.nodes, with_it - without, labels, stages, now)


def film_of(model: Pipeline, record: Page, structure: str) -> Film:
    """Send the messages of a record."""
    is_leaf = np.array(record.is_leaf)
    of_tree = structure == STRUCTURES[0]
    nodes = np.arange(len(is_leaf)) if of_tree else np.flatnonzero(is_leaf)
    with warnings.catch_warnings():  # features that training does not have
        warnings.simplefilter("ignore")
        [sample] = model[:-1].transform([record.sample() if of_tree else record.chain()])
    network, samples = model[-1], pack([sample]).forests
    classes = list(map(str, network.classes_))
    for_leaves = np.isin(classes, LEAF_LABELS)
    mask = for_leaves == is_leaf[nodes][:, None]
    alone = node_potentials(samples, network.coef_, mask)
    edge = edge_potentials(network.transitions_)
    up, down = max_product(Tree.of(samples, alone, edge, 0))
    return Film(nodes, samples.parents, alone, up, down, classes)


# -- records to show ------------------------------------------------------------------------------


def read_leaves(model: Pipeline, records: list[Page], structure: str) -> list[list[str]]:
    """Let a model label records, and return the labels of their leaves.

    Parameters
    ----------
    model : Pipeline
        What reads trees or chains of tokens.
    records : list of Page
        The records.
    structure : {"DOM tree", "flat chain"}
        Which of the two it reads.

    Returns
    -------
    list of lists of str
        The labels of each record's leaves.
    """
    of_tree = structure == STRUCTURES[0]
    samples = [record.sample() if of_tree else record.chain() for record in records]
    with warnings.catch_warnings():  # features that training does not have
        warnings.simplefilter("ignore")
        read = [list(map(str, labels)) for labels in model.predict(samples)]
    if not of_tree:
        return read
    return [record.of_leaves(labels) for record, labels in zip(records, read, strict=True)]


@cache
def two_models() -> tuple[Pipeline, Pipeline, dict[str, Page]]:
    """Return models of generated pages, and records of new pages that the two read differently."""
    pages = make_pages(10, n_records=1480)
    records = [parse_page(html).records() for html in pages.html]
    train = [record for i, found in enumerate(records) if i % 10 < 3 for record in found]
    tree, chain = (make_pipeline(SequenceVectorizer(), M3N(tol=1e-3, verbose=0)) for _ in range(2))
    tree.fit([each.sample() for each in train], [each.labels() for each in train])
    chain.fit([each.chain() for each in train], [each.of_leaves(each.labels()) for each in train])
    new = [
        (shop, record)
        for i, (shop, found) in enumerate(zip(pages.template.tolist(), records, strict=True))
        for record in found
        if i % 10 > 4
    ]
    return tree, chain, read_differently(tree, chain, new)


def read_differently(
    tree: Pipeline, chain: Pipeline, products: Iterable[tuple[str, Page]]
) -> dict[str, Page]:
    """Return small records of which only one of the two models gets all leaves right.

    Where one takes something else for a price, the record comes first.  Every label
    leads clearly, so that slightly different models label these records in the same way.

    Parameters
    ----------
    tree, chain : Pipeline
        The models, of trees and of chains.
    products : iterable of (str, Page)
        Records with names, of which the first one counts where there are several.

    Returns
    -------
    dict of str to Page
        Four records at most that the tree reads right, and one that the chain does.
    """
    small = [(name, record) for name, record in products if len(record.tags) <= _MOST_NODES]
    records = [record for _, record in small]
    read = [read_leaves(tree, records, "DOM tree"), read_leaves(chain, records, "flat chain")]
    found: list[tuple[bool, bool, str, Page]] = []  # whether the tree errs, and not about a price
    for (name, record), of_tree, of_chain in zip(small, *read, strict=True):
        true = record.of_leaves(record.labels())
        if (of_tree == true) == (of_chain == true):
            continue
        films = film_of(tree, record, "DOM tree"), film_of(chain, record, "flat chain")
        if all(np.abs(film.frame(film.n_steps).leads).min() > _CLEAR for film in films):
            wrong = of_chain if of_tree == true else of_tree
            no_price = ("price", NOTHING) not in zip(wrong, true, strict=True)
            found.append((of_tree != true, no_price, name, record))
    chosen: dict[str, Page] = {}
    for tree_errs, most in ((False, _N_SHOWN), (True, _N_SHOWN + 1)):
        for errs, _, name, record in sorted(found, key=lambda row: row[:2]):
            if errs == tree_errs and len(chosen) < most:
                chosen.setdefault(name, record)
    return chosen


# -- the drawing: each panel draws on axes, in inches, and returns what shows a frame there -----------

_LETTERS = dict(zip((*ATTRIBUTES, NOTHING), "NIPD–", strict=True))
_COLOURS = dict(
    zip(
        _LETTERS,
        (palette.BLUE, palette.GREEN, palette.ORANGE, palette.PINK, "#FFFFFF"),
        strict=True,
    )
)
_WIDTHS = (4.0, 4.9)
_MARKS = 2.75  # from where on corrections stand
_ROW, _LINE, _IMAGE = 0.225, 0.33, 0.8  # of the tree, of a text on the page, of an image
_STRETCH = 1.5  # how much farther apart a small page or tree is drawn, to fill its panel
_INDENT = 0.13
_CELLS, _CELL, _REACH = 2.65, 0.54, 0.15  # of the four bars, and how far they reach to either side
_HILLS = np.array([[0.0, 0.2, 0.3, 0.4, 0.6, 0.6, 0, 0], [1.0, 0.2, 0.7, 0.4, 1.0, 0, 0, 1.0]])


def _narrowed(ax: Axes) -> float:
    """Return the share of the inches that a narrow screen leaves in width."""
    return float(ax.figure.get_figwidth()) / sum(_WIDTHS)


def _short(text: str, room: float) -> str:
    """Return a text that fits into so many inches."""
    most = int(room / 0.078)
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def laid_out(record: Page) -> list[tuple[int, float, float, float]]:
    """Return the boxes of a page, each as a node, its left end, top and height, in inches.

    Leaves stand below each other; around two or more of them there is a box.
    """
    counts, y, gap = record.n_leaves(), 0.0, 0.07
    places: dict[int, tuple[float, float, float]] = {}
    inside: list[int] = []  # the boxes that are open

    def close(parent: int) -> None:
        nonlocal y
        while inside and inside[-1] != parent:
            box = inside.pop()
            left, top, _ = places[box]
            places[box] = left, top, y - top
            y += gap

    nearest: list[int] = []  # the box around each node
    for t, (tag, parent) in enumerate(zip(record.tags, record.parents, strict=True)):
        around = nearest[parent] if parent >= 0 else -1
        boxed = record.is_leaf[t] or (
            counts[t] > 1 and (parent < 0 or counts[parent] > counts[t] or around < 0)
        )
        nearest.append(t if boxed else around)
        if not boxed:
            continue
        close(around)
        left = gap * len(inside)
        if record.is_leaf[t]:
            height = _IMAGE if tag == "img" else _LINE
            places[t] = left, y, height - 0.05
            y += height
        else:
            places[t] = left, y, 0.0
            y += gap
            inside.append(t)
    close(-1)
    return [(node, *place) for node, place in places.items()]


def _draw_leaf(ax: Axes) -> Callable[..., None]:
    """Draw room for a text or an image of the page, with its label and what is wrong with it."""
    look: dict[str, Any] = {"va": "center", "fontsize": 9, "zorder": 3}
    box = ax.add_patch(Rectangle((0, 0), 0, 0, fc="white", zorder=1))
    text, mark = (
        ax.text(0, 0, "", **look),
        ax.text(0, 0, "", color=ERROR, fontweight="bold", **look),
    )
    (hills,) = ax.plot([], [], "-", color=MUTED, lw=1.2, zorder=3)
    show_badge = _draw_badge(ax)

    def show(
        place: tuple[float, float, float, float] | None,
        written: str = "",
        label: str = NOTHING,
        decided: bool = False,
        active: bool = False,
        correction: str = "",
        image: bool = False,
    ) -> None:
        for artist in (box, text, mark, hills):
            put(artist, visible=place is not None)
        show_badge(place and (place[0] + 0.14, place[1] + place[3] / 2), label, decided)
        if place is None:
            return
        left, top, width, tall = place
        box.set_bounds(*place)
        box.set(ec=ERROR if correction else palette.PALE_GREY, lw=2.2 if correction else 1)
        box.set_facecolor(palette.SHADE if active else "white")
        put(
            text,
            position=(left + 0.32, top + tall / 2),
            text=_short(written, (width - 0.36) * _narrowed(ax)),
        )
        x, y = _HILLS if image else _HILLS[:, :0]
        put(hills, xdata=[*(left + 0.36 + x)], ydata=[*(top + 0.08 + y * (tall - 0.16))])
        mark.set(
            position=(_MARKS, top + tall / 2),
            text=correction.replace(" (", "\n(" if _narrowed(ax) < 0.9 else " ("),
        )

    return show


def _draw_badge(ax: Axes) -> Callable[..., None]:
    """Draw room for the letter of a label on its colour; pale until the label is decided."""
    patch = ax.add_patch(Rectangle((0, 0), 0.2, 0.2, ec=MUTED, lw=0.5, zorder=2))
    letter = ax.text(0, 0, "", ha="center", va="center", fontsize=9, fontweight="bold", zorder=3)

    def show(middle: tuple[float, float] | None, label: str, decided: bool = True) -> None:
        for artist in (patch, letter):
            artist.set_visible(middle is not None)
        if middle is not None:
            patch.set_xy((middle[0] - 0.1, middle[1] - 0.1))
            patch.set_facecolor((_COLOURS[label], 1.0 if decided else 0.3))
            on_dark = decided and label in ATTRIBUTES[:2]
            letter.set(position=middle, text=_LETTERS[label], color="white" if on_dark else INK)

    return show


def _draw_page(ax: Axes, most: int, height: float) -> Callable[..., None]:
    """Draw room for a page: boxes within boxes, and the leaves, each with its label."""
    boxes = [
        ax.add_patch(Rectangle((0, 0), 0, 0, fc="none", ec=palette.PALE_GREY)) for _ in range(most)
    ]
    show_leaves = [_draw_leaf(ax) for _ in range(most)]
    for k, name in enumerate(_LETTERS):  # in two rows, for narrow screens
        at, below = 0.1 + 1.05 * (k % 3) + 0.45 * (k == 4), height + 0.25 * (1 + k // 3)
        _draw_badge(ax)((at, below), name)
        ax.text(at + 0.18, below, name, color=MUTED, va="center", fontsize=9)
    ax.set(xlim=(-0.05, _WIDTHS[0] - 0.1), ylim=(height + 0.65, -0.05))
    ax.set_axis_off()

    def show(record: Page, frame: PagesFrame, marks: dict[int, str]) -> None:
        place_of = {int(node): k for k, node in enumerate(frame.nodes)}
        placed = laid_out(record)
        stretch = min(_STRETCH, height / placed[0][3])
        for k, (box, show_leaf) in enumerate(zip(boxes, show_leaves, strict=True)):
            node, left, top, tall = placed[k] if k < len(placed) else (-1, 0.0, 0.0, 0.0)
            place = left, stretch * top, _MARKS - 0.08 - 2 * left, stretch * tall
            is_leaf = node >= 0 and record.is_leaf[node]
            put(box, visible=node >= 0 and not is_leaf, bounds=place)
            if not is_leaf:
                show_leaf(None)
                continue
            at = place_of[node]
            decided = bool(frame.stages[at] == 2)
            correction = marks.get(node, "") if decided else ""
            label, active = frame.labels[at], at == frame.now
            image = record.tags[node] == "img"
            show_leaf(place, record.texts[node], label, decided, active, correction, image)

    return show


def _draw_row(ax: Axes) -> Callable[..., None]:
    """Draw room for a node of the tree: its name, the edge to its parent, and four bars."""
    (edge,) = ax.plot([], [], "-", zorder=1)
    look: dict[str, Any] = {"va": "center", "fontsize": 9, "zorder": 3}
    name = ax.text(0, 0, "", **look)
    cells = []
    for k, attribute in enumerate(ATTRIBUTES):
        middle = _CELLS + (k + 0.5) * _CELL
        (zero,) = ax.plot([middle] * 2, [0, 0], "-", color=MUTED, lw=0.8, zorder=3)
        bar = ax.add_patch(Rectangle((middle, 0), 0, 0.11, lw=0, zorder=2))
        letter = ax.text(middle + 0.23, 0, _LETTERS[attribute], ha="center", **look)
        cells.append((zero, bar, letter, _COLOURS[attribute]))

    def show(
        y: float,
        written: str,
        left: float,
        link: tuple[list[float], list[float]],
        leads: np.ndarray | None,
        label: str = "",
        stage: int = 0,
        active: bool = False,
    ) -> None:
        has = label.strip("()").split()
        edge.set_data(*link)
        edge.set(color=palette.ORANGE if active else palette.GREY, lw=3 if active else 1.2)
        edge.set_zorder(2 if active else 1)
        put(name, position=(left, y), text=_short(written, (_CELLS - left) * _narrowed(ax)))
        put(name, color=INK if leads is not None else MUTED)
        put(name, fontstyle="normal" if leads is not None else "italic")
        for k, (zero, bar, letter, colour) in enumerate(cells):
            put(zero, visible=leads is not None, ydata=[y - 0.08, y + 0.08])
            put(letter, y=y)
            bar.set_visible(leads is not None)
            if leads is not None:
                bar.set_y(y - 0.055)
                bar.set_width(_REACH * np.tanh(leads[k] / 2))
                solid = 1.0 if stage else 0.35
                bar.set_facecolor((colour if leads[k] > 0 else palette.PALE_GREY, solid))
            letter.set_visible(ATTRIBUTES[k] in has)
            letter.set_fontweight("bold" if stage == 2 else "normal")

    return show


def _draw_tree(ax: Axes, most: int, height: float) -> Callable[..., None]:
    """Draw room for a tree, one node below the other as in a file browser."""
    ground = ax.add_patch(Rectangle((0, 0), _WIDTHS[1], _ROW, fc=palette.SHADE, lw=0))
    arrow = ax.text(0, 0, "", color=palette.ORANGE_TEXT, va="center", fontsize=9, zorder=3)
    show_rows = [_draw_row(ax) for _ in range(most)]
    for k, name in enumerate(ATTRIBUTES):
        _draw_badge(ax)((_CELLS + (k + 0.5) * _CELL, height + 0.25), name)
    ax.text(
        _CELLS - 0.1, height + 0.25, "in here?", ha="right", va="center", fontsize=9, color=MUTED
    )
    ax.set(xlim=(-0.05, _WIDTHS[1] - 0.05), ylim=(height + 0.65, -0.05))
    ax.set_axis_off()

    def show(record: Page, frame: PagesFrame, step: int) -> None:
        of_tree = len(frame.nodes) == len(record.tags)
        place_of = {int(node): k for k, node in enumerate(frame.nodes)}
        depths, names = record.depths(), _names(record)
        active_row = int(frame.nodes[frame.now]) if frame.now >= 0 else -1
        row = min(_STRETCH * _ROW, height / len(names))
        ground.set_xy((0, (active_row + 0.5) * row - _ROW / 2))
        ground.set_visible(active_row >= 0)
        arrow.set_position((0.02, (active_row + 0.5) * row))
        arrow.set_text(("▲" if step <= len(frame.nodes) else "▼") if active_row >= 0 else "")
        for node, show_row in enumerate(show_rows):
            if node >= len(names):
                show_row(0.0, "", 0.0, ([], []), None)
                continue
            y, left = (node + 0.5) * row, 0.3 + _INDENT * depths[node]
            at = place_of.get(node)
            before = record.parents[node] if of_tree else -1
            if not of_tree and at:
                before = int(frame.nodes[at - 1])
            link: tuple[list[float], list[float]] = ([], [])
            if before >= 0:
                x = 0.36 + _INDENT * depths[before] if of_tree else 0.22
                top = (before + 0.5) * row + (0.09 if of_tree else 0.0)
                link = ([x, x, left - 0.03], [top, y, y]) if of_tree else ([x, x], [top, y])
            if at is None:
                show_row(y, names[node], left, link, None)
                continue
            active, stage = at == frame.now, int(frame.stages[at])
            show_row(y, names[node], left, link, frame.leads[at], frame.labels[at], stage, active)

    return show


def _names(record: Page) -> list[str]:
    """Return what the rows of a tree say: text, or tag and classes as in a style sheet."""
    return [
        text or ".".join([tag, *attributes.get("class", "").split()])
        for tag, text, attributes in zip(record.tags, record.texts, record.attributes, strict=True)
    ]


# -- sentence, lessons, controls ------------------------------------------------------------------


_CAPTION = (
    "Left, a product with the label of each leaf. Right, its nodes, one per row, with four bars. Is "
    "there a name, an image, a price or a description in the node? A coloured bar to the right means "
    "yes, a grey one to the left no, and the longer the bar, the more certain the node. From step 1 "
    "on, follow the orange edge, which carries the message of the step."
)


def pages(
    tree: Pipeline | None = None,
    chain: Pipeline | None = None,
    records: Mapping[str, Page] | None = None,
) -> Explorer:
    """Return an explorer of products on pages, and of the messages that label them.

    On the left the product as boxes and lines of text, on the right its DOM tree with a row for each
    node.  In each row bars say for each attribute whether it is in this node: to the right for yes.
    Messages rise from the last node to the first, then labels are decided from the first to the last.

    Parameters
    ----------
    tree : Pipeline, optional
        A fitted `SequenceVectorizer` and a fitted model such as `medn_edu.M3N`, made by
        `sklearn.pipeline.make_pipeline`, which read what `Page.sample` returns.  Without any of the
        three, models of generated pages are trained.
    chain : Pipeline, optional
        The same for what `Page.chain` returns.
    records : mapping of str to Page, optional
        Two products or more by name.  Each is a Page, such as `Page.records` returns.

    Returns
    -------
    Explorer
        The explorer: its time is ``step``; ``record`` says which product is shown and ``structure``
        whether it is read as a DOM tree or a flat chain.

    Raises
    ------
    TypeError, ValueError
        If only some of the three are given, one of them is something else than it should be, or there
        are fewer than two records.
    """
    if tree is None and chain is None and records is None:
        tree, chain, records = two_models()
    if tree is None or chain is None or records is None:
        raise ValueError("pages needs two models, tree and chain, with records, or none of them.")
    for name, model in (("tree", tree), ("chain", chain)):
        if not isinstance(model, Pipeline):
            raise TypeError(
                f"{name} is {shown(model)}; expected a Pipeline of SequenceVectorizer and a fitted "
                "model."
            )
    if not isinstance(records, Mapping):
        raise TypeError(f"records is {shown(records)}; expected a dict of Page by name.")
    for key, record in records.items():
        if not isinstance(record, Page):
            raise TypeError(
                f"records[{key!r}] is {shown(record)}; expected a Page, as parse_page returns."
            )
    if len(records) < 2:
        raise ValueError(f"records holds {len(records)} records; expected two or more.")
    models = dict(zip(STRUCTURES, (tree, chain), strict=True))
    films = {
        (name, structure): film_of(model, record, structure)
        for name, record in records.items()
        for structure, model in models.items()
    }
    marks = {key: _marks(records[key[0]], films, *key) for key in films}
    most = max(len(record.tags) for record in records.values())
    height = max(most * _ROW, *(laid_out(record)[0][3] for record in records.values()))
    figure = new_figure(sum(_WIDTHS), height + 1.25)
    with styled():
        left, right = figure.subplots(1, 2, width_ratios=_WIDTHS)
        titles = [ax.set_title(" ", pad=4) for ax in (left, right)]
        show_page = _draw_page(left, most, height)
        show_tree = _draw_tree(right, most, height)

    def update(step: int, record: str, structure: str) -> str:
        film = films[record, structure]
        at = step_text(step, film.n_steps)
        frame, step = film.frame(step), min(step, film.n_steps)
        show_page(records[record], frame, marks[record, structure])
        show_tree(records[record], frame, step)
        titles[0].set_text("The page")
        titles[1].set_text(f"{structure[0].upper()}{structure[1:]}, {at}")
        return f"{record}, {structure}, {at.replace(':', ',')}: {said(frame, step, record)}."

    def said(frame: PagesFrame, step: int, record: str) -> str:
        n = len(frame.nodes)
        if frame.now < 0:
            return "each node knows only itself"
        name = _short(_names(records[record])[frame.nodes[frame.now]], 2.0)
        of_tree = n == len(records[record].tags)
        if step <= n:
            side, goal = ("below", "its parent") if of_tree else ("after", "the leaf before it")
            return f"“{name}” knows everything {side} it" + (
                f" and sends a message to {goal}" if step < n else ""
            )
        decided = f"“{name}” is decided: {frame.labels[frame.now]}"
        if step < 2 * n:
            return decided
        n_wrong = len(marks[record, STRUCTURES[not of_tree]])
        return f"{decided}; {n_wrong} of {sum(records[record].is_leaf)} leaves wrong"

    def alt(step: int, record: str, structure: str) -> str:
        film, page = films[record, structure], records[record]
        frame = film.frame(step)
        of = dict(zip(frame.nodes.tolist(), frame.labels, strict=True))
        labels = [of[node] for node in page.of_leaves(range(len(page.tags)))]
        return (
            f"Left, a product with {len(labels)} texts and images, labelled {', '.join(labels)} by what "
            f"is known after step {min(step, film.n_steps)}. Right, its {structure} of "
            f"{len(frame.nodes)} nodes, each with four bars: is there a name, an image, a price or a "
            "description in it?"
        )

    most_steps = max(film.n_steps for film in films.values())
    return Explorer(
        figure,
        update,
        alt,
        caption=_CAPTION,
        lessons=_lessons(films, marks),
        name="pages",
        step=Time(0, most_steps, 1, 0, label="step", per_second=4),
        record=Choice(list(records), label="product"),
        structure=Choice(STRUCTURES, label="read as"),
    )


def _marks(
    page: Page, films: Mapping[tuple[str, str], Film], record: str, structure: str
) -> dict[int, str]:
    """Return what is said next to each leaf that is labelled wrong: the truth, and who knows it."""
    other, knows = (
        (STRUCTURES[1], "chain") if structure == STRUCTURES[0] else (STRUCTURES[0], "tree")
    )
    final = {}
    for name in STRUCTURES:
        frame = films[record, name].frame(films[record, name].n_steps)
        final[name] = dict(zip(frame.nodes.tolist(), frame.labels, strict=True))
    true = page.labels()
    return {
        node: f"✗ {true[node]}" + (f" ({knows} ✓)" if final[other][node] == true[node] else "")
        for node in page.of_leaves(range(len(page.tags)))
        if final[structure][node] != true[node]
    }


def _lessons(
    films: Mapping[tuple[str, str], Film], marks: Mapping[tuple[str, str], dict[int, str]]
) -> list[Lesson]:
    """Return what messages do, and which mistakes the tree avoids, or makes."""
    tree, chain = STRUCTURES

    def at_end(step: int, record: str, structure: str) -> bool:
        return step >= films[record, structure].n_steps

    def n_wrong(record: str) -> list[int]:
        return [len(marks[record, name]) for name in STRUCTURES]

    def contradicts(step: int, record: str, structure: str) -> bool:
        film = films[record, structure]
        has, below = film.frame(step).leads > 0, film.parents >= 0
        return structure == tree and bool((has[below] & ~has[film.parents[below]]).any())

    def changed(step: int, record: str, structure: str) -> bool:
        film = films[record, structure]
        return film.frame(step).labels != film.frame(0).labels

    def avoids(step: int, record: str, structure: str) -> bool:
        of_tree, of_chain = n_wrong(record)
        return structure == chain and at_end(step, record, structure) and of_tree < of_chain

    def right(step: int, record: str, structure: str) -> bool:
        return at_end(step, record, structure) and not marks[record, structure]

    def errs(step: int, record: str, structure: str) -> bool:
        of_tree, of_chain = n_wrong(record)
        return structure == tree and at_end(step, record, structure) and of_chain < of_tree

    first, *_, last = (record for record, structure in films if structure == tree)
    steps = max(film.n_steps for film in films.values())
    end = {"step": steps, "record": first, "structure": tree}
    lessons = [
        Lesson(
            end | {"step": 0},
            "Nodes that know only themselves contradict each other: "
            "a part has something that the whole says it doesn't have.",
            contradicts,
        ),
        Lesson(end, "Messages have changed what nodes believed by themselves.", changed),
    ]
    if not marks[first, tree]:
        fact = "The tree labels every leaf of this product right."
        lessons.append(Lesson(end, fact, right))
    if avoids(steps, first, chain):
        fact = "The flat chain makes a mistake here that the tree avoids."
        lessons.append(Lesson(end | {"structure": chain}, fact, avoids))
    if errs(steps, last, tree):
        fact = "The tree makes mistakes, too: here the flat chain does better."
        lessons.append(Lesson(end | {"record": last}, fact, errs))
    return lessons


EXHIBIT = Exhibit("Messages rise and fall in the tree of a page", "trees", pages, 0)
