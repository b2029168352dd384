"""Trees on paper: leaves side by side, every other node above the middle of its children."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from medn_edu.explorers.kit import palette
from medn_edu.explorers.kit.style import INK, styled


def tree_places(parents: Sequence[int], widths: Sequence[float], row: float = 1.0) -> np.ndarray:
    """Return where the nodes of a tree are drawn.

    Parameters
    ----------
    parents : sequence of int
        The parent of each node, -1 at the root.  Parents come before their children, and children in
        their order from left to right.
    widths : sequence of float
        The width that each leaf takes up.  The widths of other nodes are ignored.
    row : float, default=1.0
        The distance of a node from the highest of its children.

    Returns
    -------
    ndarray of shape (n_nodes, 2)
        Leaves at height 0, from left to right in depth-first order, with 0 in their middle.

    Examples
    --------
    >>> tree_places([-1, 0, 0], [1, 1, 1]).tolist()
    [[0.0, 1.0], [-0.5, 0.0], [0.5, 0.0]]
    """
    children: list[list[int]] = [[] for _ in parents]
    for node, parent in enumerate(parents):
        if parent >= 0:
            children[parent].append(node)
    places, at, waiting, ordered = np.zeros((len(parents), 2)), 0.0, [0], []
    while waiting:
        ordered.append(node := waiting.pop())
        waiting += children[node][::-1]
        if not children[node]:
            places[node, 0] = at + widths[node] / 2
            at += widths[node]
    for node in reversed(ordered):
        if parts := children[node]:
            places[node] = places[parts, 0].mean(), places[parts, 1].max() + row
    return places - [at / 2, 0.0]


def draw_tree(
    ax: Axes,
    parents: Sequence[int],
    texts: Sequence[str],
    edge_texts: Sequence[str] | None = None,
    marked: Sequence[int] = (),
) -> None:
    """Draw a small tree with a text in each node.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw; its frame is removed.
    parents : sequence of int
        The parent of each node, -1 at the root.  Parents come before their children, and children in
        their order from left to right.
    texts : sequence of str
        The text of each node.  A newline starts a new line.
    edge_texts : sequence of str, optional
        The text next to the edge above each node.
    marked : sequence of int, optional
        Nodes that are drawn with a thick frame.
    """
    places = tree_places(parents, [1.0] * len(parents))
    with styled():
        for node, (parent, text) in enumerate(zip(parents, texts, strict=True)):
            x, y = places[node]
            if parent >= 0:
                ax.plot(
                    [x, places[parent, 0]],
                    [y, places[parent, 1]],
                    "-",
                    color=palette.GREY,
                    zorder=0,
                )
            if parent >= 0 and edge_texts is not None:
                middle = (places[node] + places[parent]) / 2
                look = {"ha": "center", "va": "center", "fontsize": 9, "linespacing": 1.3}
                ground = {"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none"}
                ax.text(*middle, edge_texts[node], color=palette.ORANGE_TEXT, bbox=ground, **look)
            heavy = node in marked
            frame = {
                "boxstyle": "round,pad=0.35",
                "fc": "white",
                "ec": INK,
                "lw": 2.4 if heavy else 0.8,
            }
            ax.text(x, y, text, ha="center", va="center", fontsize=10, linespacing=1.4, bbox=frame)
        width, height = np.ptp(places, axis=0)
        ax.set(xlim=(-width / 2 - 0.5, width / 2 + 0.5), ylim=(-0.35, height + 0.35))
        ax.set_axis_off()


def step_text(step: int, n_steps: int) -> str:
    """Say how far a film of ``n_steps`` steps is.  Other films on the same slider may be longer."""
    return f"step {step} of {n_steps}" if step <= n_steps else f"step {step}: done after {n_steps}"
