"""Figures of the Laplace prior: a mixture of bells, what a bound loses, and two limits with their rates.

A Laplace density is an average of normal ones (MEDN, Eq. 4): `draw_bells` stacks a few.  What the
bound of variational learning loses depends on one variance (`draw_gaps`).  On logarithmic axes a
rate is the slope of a straight line (`draw_rates`).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator

from medn_edu.explorers.kit import palette
from medn_edu.explorers.kit.style import INK, MUTED, styled

_BLUES = (
    "#08395C",
    "#0A5688",
    palette.BLUE,
    "#4C9CCB",
    "#8FC1DF",
    "#C9E1F0",
)  # from wide to narrow
_LINES: tuple[dict[str, Any], ...] = (
    {"color": palette.BLUE, "linestyle": "-"},
    {"color": palette.ORANGE, "linestyle": "--"},
    {"color": palette.GREEN, "linestyle": "-."},
    {"color": palette.PINK, "linestyle": (0, (5, 1, 1, 1, 1, 1))},
)
_GUIDES: tuple[dict[str, Any], ...] = (
    {"color": MUTED, "linestyle": "--", "linewidth": 1.2},
    {"color": MUTED, "linestyle": ":", "linewidth": 1.2},
)


def draw_bells(ax: Axes, bells: Mapping[str, np.ndarray], exact: np.ndarray) -> None:
    """Draw weighted bells on top of each other, the first at the bottom, and the density they make."""
    if len(bells) > len(_BLUES):
        raise ValueError(f"there are {len(bells)} bells; expected at most {len(_BLUES)}.")
    w = exact[:, 0]
    tops = np.cumsum([bell[:, 1] for bell in bells.values()], axis=0)
    with styled():
        ax.plot(*exact.T, "-", color=INK, lw=1.4)
        for k, (top, colour) in enumerate(zip(tops, _BLUES, strict=False)):
            # each down to zero, and the lower ones cover the higher
            ax.fill([w[0], *w, w[-1]], [0, *top, 0], color=colour, lw=0, zorder=-k)
        middle, beside = w.size // 2, 0.35 * w[-1]
        centres = np.diff(tops[:, middle], prepend=0.0) / -2 + tops[:, middle]
        shoulder = middle + w.size // 25
        places = [(w[middle], height) for height in centres] + [tuple(exact[shoulder])]
        heights = np.linspace(0.2, 0.95, len(places)) * exact[:, 1].max()
        for name, place, height in zip([*bells, "all together"], places, heights, strict=True):
            pointer = {"arrowstyle": "-", "color": INK, "lw": 0.8, "shrinkB": 0, "relpos": (0, 0.5)}
            ax.annotate(name, place, (beside, height), va="center", arrowprops=pointer)
        ax.set(
            xlim=w[[0, -1]], ylim=(0, 1.08 * exact[:, 1].max()), xlabel="weight w", ylabel="density"
        )


def draw_gaps(
    ax: Axes, curves: Mapping[str, np.ndarray], least: Mapping[str, np.ndarray], shaded: str
) -> None:
    r"""Draw what a bound loses against tau, and for one posterior in which two parts."""
    with styled():
        for name, curve, style in _in_styles(curves, _LINES):
            (tau, gap), colour = curve.T, style["color"]
            if name == shaded:
                ends, rest = tau[[-1, 0]], [least[name][1]] * 2
                fill = {"color": colour, "lw": 0, "zorder": 0}
                ax.fill([*tau, *ends], [*gap, *rest], alpha=0.1, **fill)
                ax.fill([*ends[::-1], *ends], [0, 0, *rest], alpha=0.3, **fill)
            ax.plot(tau, gap, label=f"{name}:  ≥ {least[name][1]:.2f}", **style)
            mark = {"color": colour, "markersize": 9, "markeredgecolor": "white"}
            ax.plot(*least[name], "o", zorder=4, **mark)
        ax.set(xscale="log", xlabel=r"$\tau = 1 / \langle 1/\tau \rangle_q$")
        ax.set(ylim=(0, 1.6), yticks=(0, 0.5, 1, 1.5), ylabel=r"$\mathcal{L} - KL$")
        ax.minorticks_off()
        ax.legend(loc="upper right", title="posterior:  gap")


def draw_rates(
    ax: Axes, curves: Mapping[str, np.ndarray], guides: Mapping[str, np.ndarray]
) -> None:
    r"""Draw distances from a limit against lambda on logarithmic axes, next to lines of known rates."""
    with styled():
        for drawn, styles in ((curves, _LINES), (guides, _GUIDES)):
            for name, curve, style in _in_styles(drawn, styles):
                ax.plot(*curve.T, label=name, **style)
        ends = np.concatenate([curve[[0, -1], 0] for curve in curves.values()])
        ax.set(xscale="log", yscale="log", xlabel="λ", xlim=(ends.min(), ends.max()))
        ax.xaxis.set_major_locator(LogLocator(100))
        ax.minorticks_off()
        ax.legend(loc="best")


def _in_styles(
    curves: Mapping[str, np.ndarray], styles: Sequence[dict[str, Any]]
) -> Iterator[tuple[str, np.ndarray, dict[str, Any]]]:
    """Yield name, points and look of each curve."""
    if len(curves) > len(styles):
        raise ValueError(f"there are {len(curves)} curves; expected at most {len(styles)}.")
    for (name, curve), style in zip(curves.items(), styles, strict=False):
        yield name, curve, style
