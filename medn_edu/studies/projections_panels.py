r"""Projections on paper: the first orthant with both balls (L1-M3N, Figure 1), and many weights at once.

What the explorer of projections moves stands still here, drawn from points that are given: the balls,
the lines that part the plane by which weight becomes 0, points and their nearest points, and the paths
that these take while the balls shrink.  Many weights cannot be drawn in a plane; their magnitudes can,
as bars, with what lies below the threshold :math:`\theta` taken away.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from medn_edu.explorers.kit.style import INK, MUTED, styled
from medn_edu.explorers.projections import L1, L2, REGION, TAKEN

_BALLS: dict[str, dict[str, Any]] = {
    "L2": {"color": L2, "linestyle": "-"},
    "L1": {"color": L1, "linestyle": "--"},
}
_MARKS: dict[str, dict[str, Any]] = {
    "L2": {"color": L2, "marker": "s", "markersize": 7},
    "L1": {"color": L1, "marker": "D", "markersize": 7},
}
_ON_TOP = {"clip_on": False, "markeredgecolor": "white", "zorder": 5}


def draw_orthant(ax: Axes, reach: float, boundaries: Iterable[np.ndarray] = ()) -> None:
    """Draw the axes of the first orthant and the regions in which a weight becomes 0."""
    words = {"color": MUTED, "fontsize": 9, "ha": "right", "va": "bottom"}
    places = reach * np.array([[0.98, 0.02], [0.33, 0.94]])
    with styled():
        for k, (corner, end) in enumerate(boundaries):
            outside = np.array([reach, 0.0])[:: 1 - 2 * k]
            ax.fill(*np.transpose([corner, end, outside]), color=REGION, lw=0, zorder=-1)
            ax.plot(*np.transpose([corner, end]), "--", color=MUTED, lw=1.2, zorder=1)
            ax.text(*places[k], f"$w_{2 - k}$ becomes 0", **words)
        ax.set(xlim=(0, reach), ylim=(0, reach), aspect="equal")
        ax.set(xlabel="$w_1$", ylabel="$w_2$", xticks=(0, 1, 2), yticks=(0, 1, 2))


def draw_balls(ax: Axes, norm: str, balls: Iterable[np.ndarray], *, faint: bool = False) -> None:
    """Draw boundaries of balls in the first orthant."""
    look = {"linewidth": 0.8, "alpha": 0.6, "zorder": 1} if faint else {"zorder": 2}
    with styled():
        for k, points in enumerate(balls):
            label = f"{norm} ball" if k == 0 and not faint else None
            ax.plot(*np.transpose(points), label=label, **_BALLS[norm], **look)


def draw_projected(
    ax: Axes, name: str, point: np.ndarray, on_l1: np.ndarray, on_l2: np.ndarray
) -> None:
    r"""Draw a point and, joined to it, its projections."""
    with styled():
        for norm, target in (("L1", on_l1), ("L2", on_l2)):
            ax.plot(*np.transpose([point, target]), "-", color=INK, lw=0.9, zorder=3)
            ax.plot(*np.transpose([target]), **_MARKS[norm], **_ON_TOP)
        _draw_point(ax, name, point)
        corner = on_l1[0] == 0 or on_l1[1] == 0
        inside = (-17, -15) if not corner else (4, -27) if on_l1[0] == 0 else (-29, 5)
        _label(ax, f"{name}^*", on_l1, inside)
        _label(ax, rf"{name}^{{\prime}}", on_l2, (7, 10) if corner else (-16, -16))


def _draw_point(ax: Axes, name: str, point: np.ndarray) -> None:
    ax.plot(*np.transpose([point]), "o", color=INK, ms=7, **_ON_TOP)
    _label(ax, name, point, (7, 4))


def _label(ax: Axes, name: str, at: np.ndarray, aside: tuple[float, float]) -> None:
    """Write a name, the first letter and then an index, next to a point; ``aside`` in points."""
    text = f"${name[0]}_{name[1:]}$"
    ax.annotate(text, at, aside, textcoords="offset points", fontsize=12, color=INK)


def draw_paths(ax: Axes, norm: str, paths: Mapping[str, np.ndarray]) -> None:
    """Draw where projections go while the ball shrinks."""
    with styled():
        for k, (name, path) in enumerate(paths.items()):
            label = f"on {norm} balls" if k == 0 else None
            ax.plot(
                *np.transpose(path), lw=2.4, clip_on=False, zorder=4, label=label, **_BALLS[norm]
            )
            _draw_point(ax, name, path[0])


def draw_thresholded(ax: Axes, weights: np.ndarray, on_l1: np.ndarray, on_l2: np.ndarray) -> None:
    """Draw magnitudes of many weights before and after projection."""
    before, kept, scaled = (np.abs(values) for values in (weights, on_l1, on_l2))
    theta = float(np.max(before - kept))
    at = np.arange(1, len(before) + 1)
    with styled():
        ax.bar(at, before, 0.7, color=TAKEN, label="before")
        for norm, after in (("L2", scaled), ("L1", kept)):
            ax.plot(at, after, ls="none", label=f"on the {norm} ball", **_MARKS[norm], **_ON_TOP)
        ax.axhline(theta, color=INK, lw=1.2, ls="--")
        ax.text(
            at[-1] + 0.6, theta + 0.03, f"θ = {theta:.2f}", ha="right", va="bottom", fontsize=11
        )
        ax.set(xlim=(0.4, at[-1] + 0.6), xlabel="weight, the largest first", ylabel="magnitude")
        ax.legend(loc="upper right", handlelength=1.5)
        ax.set_box_aspect(1)
