"""A square of nodes with two labels, as the explorers of messages draw it, and its potentials."""

import functools
from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from medn_edu.explorers.kit import palette
from medn_edu.explorers.kit.style import INK, MUTED, SIGNED
from medn_edu.inference import Potentials
from medn_edu.samples import Graph, SampleSet, grid, pack

SIDE = 3
EDGES = np.asarray(grid(np.zeros((SIDE, SIDE))).edges)
"""The twelve edges of the square, those of its rows first."""

EVIDENCE = np.array([1.0, 0.2, -0.6, 0.4, -0.8, 0.2, -0.2, 0.6, 0.3])
"""What each node knows on its own: positive numbers speak for label 1."""

REPELLING = np.isin(np.arange(len(EDGES)), (7, 10))
"""The edges above and below the middle; if they repel, no labelling pleases all edges of any cell."""

_LOOKS = {
    False: {"color": MUTED, "linestyle": "-", "linewidth": 4},
    True: {"color": palette.VERMILION, "linestyle": (0, (0.5, 0.5)), "linewidth": 6},
}
_ISING = np.array([[1.0, -1.0], [-1.0, 1.0]])


def square(coupling: float, evidence: float, two_repel: bool) -> Potentials:
    """Return the potentials of the square.

    A node scores ``evidence`` times its own number for label 1, and minus that for label 0.  An edge
    scores ``coupling`` if its ends have equal labels, and minus that if not.  For a repelling edge it
    is the other way round.
    """
    node = evidence * np.stack([-EVIDENCE, EVIDENCE], axis=1)
    signs = np.where(REPELLING & two_repel, -1.0, 1.0)
    return Potentials(_samples(), node, coupling * signs[:, None, None] * _ISING)


@functools.cache
def _samples() -> SampleSet:
    return pack([Graph(np.zeros((SIDE * SIDE, 1)), EDGES, np.arange(len(EDGES)))])


def draw_square(ax: Axes) -> Callable[[np.ndarray, Sequence[str], bool], None]:
    """Draw the square: blue nodes believe in label 1, vermilion ones in label 0, pale ones in neither.

    The function returned updates the drawing.  It takes the beliefs in label 1, a second line of text
    for each node, and whether two edges repel.
    """
    places = np.stack(np.divmod(np.arange(SIDE * SIDE), SIDE)[::-1], axis=1).astype(float)
    lines = [ax.plot(*places[ends].T, zorder=0)[0] for ends in EDGES]
    half, nodes = 0.38, []
    for x, y in places:
        tile = ax.add_patch(Rectangle((x - half, y - half), 2 * half, 2 * half, ec=INK, lw=0.8))
        number = ax.text(x, y - 0.07, "", ha="center", va="center", fontsize=12)
        below = ax.text(x, y + 0.2, "", ha="center", va="center", fontsize=9)
        nodes.append((tile, number, below))
    for text, repels, x in (("attracts", False, -0.3), ("repels", True, 1.3)):
        ax.plot([x, x + 0.3], [2.62, 2.62], **_LOOKS[repels])
        ax.text(x + 0.38, 2.62, text, va="center", fontsize=9)
    ax.set(xlim=(-0.45, 2.45), ylim=(2.75, -0.45), aspect="equal")
    ax.set_axis_off()

    def show(beliefs: np.ndarray, second: Sequence[str], two_repel: bool) -> None:
        for line, repels in zip(lines, REPELLING & two_repel, strict=True):
            line.set(**_LOOKS[bool(repels)])
        for (tile, number, below), b, text in zip(nodes, beliefs, second, strict=True):
            tile.set_facecolor(SIGNED(b))
            number.set_text(f"{b:.2f}")
            below.set_text(text)
            for each in (number, below):
                each.set_color("white" if abs(b - 0.5) > 0.29 else INK)

    return show
