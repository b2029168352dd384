"""Parts of figures that several explorers draw."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.container import ErrorbarContainer
from scipy.optimize import isotonic_regression

from medn_edu.explorers.kit import palette
from medn_edu.explorers.kit.style import INK, styled


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


def put(artist: Artist, **look: Any) -> None:
    """Set only properties that differ from the last call, as setting one again counts as moving."""
    last: dict[str, Any] = vars(artist).setdefault("_put", {})
    artist.set(**{key: value for key, value in look.items() if last.get(key, last) != value})
    last.update(look)


def letter_panels(axes: Iterable[Axes], **look: Any) -> None:
    """Put (a), (b), … in front of the panels' titles, in their order, so that captions can name them.

    ``look`` changes how the titles look, for example ``fontsize=9``.
    """
    with styled():
        for k, ax in enumerate(axes):
            ax.set_title(f"({chr(ord('a') + k)}) {ax.get_title(loc='left')}".rstrip(), **look)


def label_ends(*axes: Axes, size: float = 9) -> None:
    """Write the name of each curve to the right of its panel, level with the curve's last point.

    Names that would cover each other move apart by as little as possible, and a thin line leads each
    one to its point.  This replaces a legend and, like a legend, names only the curves that have a
    label.  Call it when everything has been drawn, because later changes of limits or titles would move
    the curves away from their names.
    """
    with styled():
        placed = {ax: _names_at_ends(ax, size) for ax in axes}
        for figure in {ax.get_figure(root=True) for ax in axes}:
            figure.draw_without_rendering()  # now every panel has its size
        for ax, texts in placed.items():
            frame, line = ax.get_window_extent(), 1.3 * size * ax.get_figure(root=True).dpi / 72
            wanted = [ax.transData.transform(text.xy)[1] for text in texts]
            order = np.argsort(wanted, kind="stable")
            gaps = line * np.arange(len(order))
            free = isotonic_regression(np.take(wanted, order) - gaps).x if texts else gaps
            most = max(frame.y0, frame.y1 - gaps[-1]) if texts else 0.0
            for k, y in zip(order, np.clip(free, frame.y0, most) + gaps, strict=True):
                texts[k].set_y((y - frame.y0) / frame.height)


def _names_at_ends(ax: Axes, size: float) -> list[Any]:
    """Write the names level with the axis, for now."""
    low, high = np.sort(ax.get_ylim())
    texts = []
    for handle, name in zip(*ax.get_legend_handles_labels(), strict=True):
        curve = handle[0] if isinstance(handle, ErrorbarContainer) else handle
        points = np.column_stack(curve.get_data()).astype(float)
        seen = np.isfinite(points).all(axis=1) & (points[:, 1] >= low) & (points[:, 1] <= high)
        if seen.any():
            colour = curve.get_color()
            lead = {"arrowstyle": "-", "color": colour, "lw": 0.8, "relpos": (0, 0.5), "shrinkA": 1}
            texts.append(
                ax.annotate(
                    name, points[seen][-1], (1.04, 0.5), textcoords="axes fraction", va="center",
                    color=readable(colour), fontsize=size, arrowprops=lead, annotation_clip=False,
                )
            )  # fmt: skip
    return texts


def readable(colour: str) -> str:
    """Return a colour for text: the given one, darkened until it can be read on white.

    >>> readable(palette.BLUE) == palette.BLUE.lower(), readable(palette.ORANGE)
    (True, '#8e6d1b')
    """
    ink, given = np.array(to_rgb(INK)), np.array(to_rgb(colour))
    for share in np.linspace(0, 1, 21):
        mixed = share * ink + (1 - share) * given
        linear = np.where(mixed <= 0.04045, mixed / 12.92, ((mixed + 0.055) / 1.055) ** 2.4)
        luminance = linear @ (0.2126, 0.7152, 0.0722)
        if 1.05 / (luminance + 0.05) >= 4.5:  # the contrast with white that WCAG asks for
            break
    return to_hex(mixed)
