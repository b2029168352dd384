"""Balls of norms and of KL-norms in two dimensions (MEDN, Figure 2).

A point of a ball's boundary that is to be as far as possible in some direction lies, for the L1-norm,
almost always in a corner: one of its coordinates is zero.  The L2 ball and the KL balls of Laplace
priors are round where they meet the axes, the latter the more narrowly the larger lambda.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from medn_edu.plots.style import INK, MUTED, styled
from medn_edu.priors import LaplacePrior
from medn_edu.theory import kl_ball, norm_ball

__all__ = ["NormBall", "draw_norm_balls", "kl_balls", "plain_balls"]

_PLAIN: dict[str, dict[str, Any]] = {
    "L2": {"color": INK, "linestyle": "-"},
    "L1": {"color": MUTED, "linestyle": "--"},
}
_KL: tuple[dict[str, Any], ...] = (
    {"color": "#E69F00", "linestyle": "-"},
    {"color": "#009E73", "linestyle": "-."},
    {"color": "#0072B2", "linestyle": (0, (8, 2))},
    {"color": "#CC79A7", "linestyle": ":"},
)


@dataclass(frozen=True, eq=False)
class NormBall:
    """The boundary of a ball.

    Parameters
    ----------
    name : str
        Name of the norm.
    points : ndarray of float, shape (n_points, 2)
        The boundary, closed.
    """

    name: str
    points: np.ndarray


def plain_balls(n_angles: int = 361) -> list[NormBall]:
    """Return the unit balls of L2 and L1, Fig. 2 (a).

    Parameters
    ----------
    n_angles : int
        Number of points; one more than a multiple of four.

    Returns
    -------
    list of NormBall
        The two balls.

    Examples
    --------
    >>> [ball.name for ball in plain_balls()]
    ['L2', 'L1']
    """
    costs = {"L2": np.square, "L1": np.abs}
    return [NormBall(name, norm_ball(cost, n_angles=n_angles)) for name, cost in costs.items()]


def kl_balls(
    lams: Iterable[float] = (4.0, 36.0, 400.0, 10000.0), n_angles: int = 361
) -> list[NormBall]:
    """Return KL balls of Laplace priors through (0, 1), Fig. 2 (b).

    Parameters
    ----------
    lams : iterable of float
        The priors' constants.
    n_angles : int
        Number of points; one more than a multiple of four.

    Returns
    -------
    list of NormBall
        A ball for each constant.

    Examples
    --------
    >>> kl_balls([4.0])[0].name
    'KL, λ = 4'
    """
    return [
        NormBall(f"KL, λ = {lam:,.6g}", kl_ball(LaplacePrior(lam), n_angles=n_angles))
        for lam in lams
    ]


def draw_norm_balls(ax: Axes, balls: Sequence[NormBall], *, reach: float = 1.15) -> None:
    """Draw boundaries of balls, on axes through the origin.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    balls : sequence of NormBall
        The balls; L1 and L2 have styles of their own.
    reach : float
        How far the axes reach.

    Examples
    --------
    >>> from medn_edu.plots import new_figure
    >>> ax = new_figure().add_subplot()
    >>> draw_norm_balls(ax, plain_balls())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['L2', 'L1']
    """
    with styled():
        ax.axhline(0, color="#B9C2CA", linewidth=0.8, zorder=0)
        ax.axvline(0, color="#B9C2CA", linewidth=0.8, zorder=0)
        rest = iter(_KL * (1 + len(balls) // len(_KL)))
        for ball in balls:
            ax.plot(*ball.points.T, label=ball.name, **(_PLAIN.get(ball.name) or next(rest)))
        ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
        ax.set(xlabel="$w_1$", ylabel="$w_2$", xticks=(-1, 0, 1), yticks=(-1, 0, 1))
        ax.legend(loc="center", handlelength=2.6, frameon=True, framealpha=1, edgecolor="white")
