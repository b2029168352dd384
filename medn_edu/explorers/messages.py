"""Messages on a square of nine nodes: beliefs after each sweep, next to the exact marginals.

The counting numbers form a family with two handles.  Each edge counts ``c_a`` times.  Each node counts
once, less a share of what its edges count already.  The paper's numbers subtract nothing.  Bethe's and
the tree-reweighted numbers subtract all of it (Hazan and Urtasun 2010, section 2.2 and Eq. 8).
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from medn_edu.explorers.kit import palette
from medn_edu.explorers.kit.controls import Choice, Time, listed
from medn_edu.explorers.kit.explorer import Exhibit, Explorer, lesson
from medn_edu.explorers.kit.grids import EDGES, draw_square, square
from medn_edu.explorers.kit.style import INK, MUTED, new_figure, styled
from medn_edu.inference.loopy import CountingNumbers, enumerate_labellings, norm_product

N_SWEEPS = 24
COUPLINGS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
SIGNS = ("all attract", "two repel")
EDGE_COUNTS = (0.25, 0.5, 2 / 3, 1.0, 1.5)
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
TEMPERATURES = (0.5, 1.0, 2.0)
NAMES = {(1.0, 0.0): "ones", (1.0, 1.0): "Bethe", (2 / 3, 1.0): "TRW"}

_EVIDENCE = 0.7
_DEGREES = np.bincount(EDGES.ravel())


@dataclass(frozen=True, eq=False)
class MessagesFrame:
    """Beliefs after a number of sweeps, and what happened in the sweeps before and after."""

    sweep: int
    node: np.ndarray  # belief that a node has label 1
    edge: np.ndarray  # belief that the ends of an edge have equal labels
    exact_node: np.ndarray
    exact_edge: np.ndarray
    log_partition: float
    values: np.ndarray  # of the local program, after each sweep
    uppers: np.ndarray  # infinite where nothing is certified
    lowers: np.ndarray
    disagreement: float

    @property
    def certified(self) -> bool:
        """Whether the counting numbers are certified to be concave."""
        return bool(np.isfinite(self.uppers[0]))

    @property
    def value(self) -> float:
        """Value of the local program at these beliefs."""
        return float(self.values[self.sweep - 1])

    @property
    def upper(self) -> float:
        """Bound on its optimum from above."""
        return float(self.uppers[self.sweep - 1])

    @property
    def lower(self) -> float:
        """Bound on its optimum from below."""
        return float(self.lowers[self.sweep - 1])

    @property
    def error(self) -> float:
        """Largest distance of a node's belief from its marginal."""
        return float(np.abs(self.node - self.exact_node).max())


def messages_frame(
    sweep: int, edges: float, share: float, coupling: float, signs: str, epsilon: float
) -> MessagesFrame:
    """Send messages and compute the exact marginals."""
    node, edge, values, uppers, lowers, apart = _sweeps(edges, share, coupling, signs, epsilon)
    log_partition, exact_node, exact_edge = _exact(coupling, signs, epsilon)
    k = sweep - 1
    return MessagesFrame(
        sweep, node[k], edge[k], exact_node, exact_edge, log_partition, values, uppers, lowers,
        float(apart[k]),
    )  # fmt: skip


@lru_cache(maxsize=256)
def _sweeps(
    edges: float, share: float, coupling: float, signs: str, epsilon: float
) -> tuple[np.ndarray, ...]:
    """Return beliefs, values, bounds and disagreements after each sweep."""
    potentials = square(coupling, _EVIDENCE, signs == SIGNS[1])
    numbers = CountingNumbers(1.0 - share * edges * _DEGREES, np.full(len(EDGES), edges))
    with warnings.catch_warnings():  # that is what the figure shows
        warnings.simplefilter("ignore")
        found = [
            norm_product(potentials, numbers, epsilon, tol=1e-12, max_sweeps=k)
            for k in range(1, N_SWEEPS + 1)
        ]
    return (
        np.array([each.beliefs.node[:, 1] for each in found]),
        np.array([each.beliefs.edge.trace(axis1=1, axis2=2) for each in found]),
        *(np.array([getattr(each, name)[0] for each in found]) for name in _OF_SAMPLES),
        np.array([each.disagreement for each in found]),
    )


_OF_SAMPLES = ("value", "upper", "lower")


@lru_cache(maxsize=64)
def _exact(coupling: float, signs: str, epsilon: float) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the log-partition and the marginals of nodes and edges."""
    found = enumerate_labellings(square(coupling, _EVIDENCE, signs == SIGNS[1]), epsilon)
    equal = found.beliefs.edge.trace(axis1=1, axis2=2)
    return float(found.value[0]), found.beliefs.node[:, 1], equal


# -- the drawing: each panel draws on axes and returns what shows a frame there ---------------------

Show = Callable[[MessagesFrame], None]


def _scatter(ax: Axes) -> Show:
    """Draw each belief over its exact marginal: flat beliefs lie near the level of a half."""
    ax.plot([0, 1], [0, 1], "-", color=MUTED, lw=1, zorder=0)
    ax.plot([0, 1], [0.5, 0.5], ":", color=MUTED, lw=1, zorder=0)
    looks = {"ls": "none", "mec": "white", "mew": 0.8}
    (edges,) = ax.plot([], [], "s", color=palette.ORANGE, ms=7, label="edges", **looks)
    (nodes,) = ax.plot([], [], "o", color=palette.BLUE, ms=8, label="nodes", **looks)
    ax.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), xticks=(0, 0.5, 1), yticks=(0, 0.5, 1))
    ax.set(xlabel="exact marginal", ylabel="belief", title="Belief and truth")
    ax.legend(loc="upper center", bbox_to_anchor=(0.45, -0.17), handlelength=1)

    def show(frame: MessagesFrame) -> None:
        edges.set_data(frame.exact_edge, frame.edge)
        nodes.set_data(frame.exact_node, frame.node)

    return show


def _curves(ax: Axes) -> Show:
    """Draw value and bounds after each sweep, over the exact value."""
    at = np.arange(1, N_SWEEPS + 1)
    zero = ax.axhline(0, color=INK, lw=1.2, ls="--", label="log-partition")
    (upper,) = ax.plot(at, at * 0.0, "-", color=palette.VERMILION, lw=1.8, label="upper")
    (lower,) = ax.plot(at, at * 0.0, "-.", color=palette.BLUE, lw=1.8, label="lower")
    (value,) = ax.plot(at, at * 0.0, ":", color=palette.GREEN, lw=2.2, label="value")
    (now,) = ax.plot([1], [0], "o", color=palette.GREEN, mec="white", ms=9, clip_on=False)
    none = ax.text(0.5, 0.02, "", transform=ax.transAxes, ha="center", fontsize=9)
    ax.set(xlim=(0.5, N_SWEEPS + 0.5), xticks=(1, 6, 12, 18, 24), xlabel="sweeps")
    ax.set(ylabel="above the log-partition", title="Local program")
    place = {"loc": "upper center", "bbox_to_anchor": (0.42, -0.17)}
    looks = {"handlelength": 1.5, "columnspacing": 0.8, "handletextpad": 0.4}
    legend = ax.legend(handles=[value, zero, upper, lower], ncols=2, **place, **looks)
    of_bounds = [*legend.get_texts()[2:], *legend.legend_handles[2:]]

    def show(frame: MessagesFrame) -> None:
        over = [each - frame.log_partition for each in (frame.uppers, frame.lowers, frame.values)]
        for line, values in zip((upper, lower, value), over, strict=True):
            line.set_ydata(np.where(np.isfinite(values), values, np.nan))
        now.set_data([frame.sweep], [over[2][frame.sweep - 1]])
        seen = np.concatenate([[0.0], *(each[np.isfinite(each)] for each in over)])
        room = 0.12 * max(np.ptp(seen), 0.1)
        ax.set_ylim(seen.min() - 2 * room, seen.max() + 4 * room)
        for each in of_bounds:
            each.set_visible(frame.certified)
        none.set_text("" if frame.certified else "no bounds:\nnot certified")

    return show


# -- sentence, lessons, controls ------------------------------------------------------------------

_START = {"sweep": 12, "epsilon": 1.0, "signs": "all attract"}


@lesson(
    "With the paper's ones all beliefs are too timid: nearer to one half than the exact marginals.",
    {**_START, "edges": 1.0, "share": 0.0, "coupling": 1.0},
)
def _ones_are_flat(**values: Any) -> bool:
    frame = messages_frame(**values)
    return bool((np.abs(frame.node - 0.5) < np.abs(frame.exact_node - 0.5)).all())


@lesson(
    "With Bethe's numbers, at coupling 0.5, every node's belief is within 0.05 of its marginal.",
    {**_START, "edges": 1.0, "share": 1.0, "coupling": 0.5},
)
def _bethe_is_close(**values: Any) -> bool:
    frame = messages_frame(**values)
    return not frame.certified and frame.error < 0.05


@lesson(
    "TRW's upper bound falls with each sweep, and ends less than 0.5 above the log-partition.",
    {**_START, "sweep": N_SWEEPS, "edges": 2 / 3, "share": 1.0, "coupling": 0.5},
)
def _trw_bounds(**values: Any) -> bool:
    frame = messages_frame(**values)
    falls = frame.certified and bool((np.diff(frame.uppers) <= 1e-9).all())
    return falls and 0 <= frame.upper - frame.log_partition < 0.5


@lesson(
    "If couplings are strong and two edges repel, Bethe's messages still swing after 24 sweeps.",
    {
        **_START,
        "sweep": N_SWEEPS,
        "edges": 1.0,
        "share": 1.0,
        "coupling": 1.5,
        "signs": "two repel",
    },
)
def _bethe_swings(**values: Any) -> bool:
    return messages_frame(**values).disagreement > 0.2


_CAPTION = (
    "On the left, each node's belief in label 1, with the exact marginal in brackets. In the "
    "middle, all beliefs against the exact marginals. On the diagonal they are right. On the "
    "right, the value of the local program and its bounds, measured from the exact $\\log Z$. "
    "Watch which side of the diagonal the points are on, and how they move from sweep to sweep."
)


def messages() -> Explorer:
    """Return an explorer of norm-product messages on nine nodes, next to the exact marginals.

    On the left the nodes with their beliefs of label 1, and below each its exact marginal; in the
    middle all beliefs over all marginals; on the right the value of the local program and its bounds.

    Returns
    -------
    Explorer
        The explorer: its time is ``sweep``; ``edges`` is ``c_a``, ``share`` how much of what edges
        count is taken off the nodes, ``coupling`` and ``signs`` say what edges want, and ``epsilon``
        is the temperature.
    """
    figure = new_figure(8.8, 3.9)
    left, middle, right = figure.subplots(1, 3, width_ratios=[1.45, 1, 1])
    with styled():
        show_square = draw_square(left)
        title = left.set_title("Beliefs, sweep 1")
        panels = [_scatter(middle), _curves(right)]

    def update(**values: Any) -> str:
        frame = messages_frame(**values)
        show_square(
            frame.node, [f"({p:.2f})" for p in frame.exact_node], values["signs"] == SIGNS[1]
        )
        title.set_text(f"Beliefs, sweep {frame.sweep}")
        for show in panels:
            show(frame)
        bounds = f"bounds {frame.lower:.2f} and {frame.upper:.2f}"
        return (
            f"{_named(**values)}, ε = {values['epsilon']:.2f}, sweep {frame.sweep}: beliefs are off by "
            f"up to {frame.error:.2f} and disagree by up to {frame.disagreement:.2f}; value "
            f"{frame.value:.2f}, {bounds if frame.certified else 'no bounds'}, log-partition "
            f"{frame.log_partition:.2f}."
        )

    def alt(**values: Any) -> str:
        frame = messages_frame(**values)
        bounded = "between its two bounds" if frame.certified else "without bounds"
        return (
            "Left, a square of 9 nodes with beliefs of label 1 and the exact marginals. Middle, beliefs "
            f"over marginals, off by up to {frame.error:.2f}. Right, over {N_SWEEPS} sweeps, the value "
            f"of the local program, {frame.value:.2f} now, {bounded}; the log-partition is "
            f"{frame.log_partition:.2f}."
        )

    edges, shares, couplings, temperatures = (
        [f"{each:.2f}" for each in some] for some in (EDGE_COUNTS, SHARES, COUPLINGS, TEMPERATURES)
    )
    return Explorer(
        figure,
        update,
        alt,
        caption=_CAPTION,
        lessons=[_ones_are_flat, _bethe_is_close, _trw_bounds, _bethe_swings],
        name="messages",
        sweep=Time(1, N_SWEEPS, 1, 12, label="sweeps", per_second=4),
        edges=listed(EDGE_COUNTS, 1.0, "count of edges", texts=edges),
        share=listed(SHARES, 1.0, "share taken back", texts=shares),
        coupling=listed(COUPLINGS, 0.5, "strength of the coupling", texts=couplings),
        signs=Choice(SIGNS, label="signs of the couplings"),
        epsilon=listed(TEMPERATURES, 1.0, "ε, temperature", texts=temperatures),
    )


def _named(*, edges: float, share: float, coupling: float, signs: str, **_: Any) -> str:
    """Say in words which numbers and couplings these are."""
    name = NAMES.get((edges, share))
    numbers = f"{name}: " if name else ""
    own = f"1 − {share * edges:.2f} per edge" if share else "1"
    return f"{numbers}edges count {edges:.2f}, nodes {own}; coupling {coupling:.2f}, {signs}"


EXHIBIT = Exhibit("Messages, and what counting numbers do", "loopy", messages, 0)
