"""Parts of figures that several explorers draw."""

from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes

from medn_edu.explorers.kit import palette


def draw_cross(ax: Axes, color: str = palette.SILVER, zorder: float = 0) -> None:
    """Draw faint axes through the origin."""
    ax.axhline(0, color=color, linewidth=0.8, zorder=zorder)
    ax.axvline(0, color=color, linewidth=0.8, zorder=zorder)


def draw_bounds(ax: Axes, size: float) -> Callable[[np.ndarray, np.ndarray], None]:
    """Draw lower and upper bounds of an optimum, with marks of a size and shade between them."""
    (above,) = ax.plot(
        [0], [0], "--s", color=palette.VERMILION, ms=size, lw=1.5, label="upper bound"
    )
    (below,) = ax.plot([0], [0], "-o", color=palette.BLUE, ms=size, lw=1.5, label="lower bound")
    between = ax.fill_between([0, 0], [0, 0], [0, 0], color=palette.SHADE, lw=0, zorder=0)

    def show(lower: np.ndarray, upper: np.ndarray) -> None:
        at = np.arange(len(lower))
        below.set_data(at, lower)
        above.set_data(at, upper)
        edge = np.concatenate([np.stack([at, lower], 1), np.stack([at, upper], 1)[::-1]])
        between.set_verts([edge])

    return show
