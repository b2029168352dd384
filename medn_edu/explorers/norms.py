"""Balls of norms and of KL-norms in two dimensions (MEDN, Figure 2), and in three.

The point of an L1 ball that is farthest in some direction is almost always a corner, where coordinates
are zero. L2 balls and KL balls are round at the axes. The larger lambda is, the more sharply a KL ball
bends there.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LightSource

from medn_edu.explorers.kit import palette
from medn_edu.explorers.kit.panels import draw_cross
from medn_edu.explorers.kit.style import INK, MUTED, styled
from medn_edu.priors import LaplacePrior
from medn_edu.theory import kl_ball, kl_solid, norm_ball, norm_solid

_COSTS = {"L2": np.square, "L1": np.abs}
_PLAIN: dict[str, dict[str, Any]] = {
    "L2": {"color": INK, "linestyle": "-"},
    "L1": {"color": MUTED, "linestyle": "--"},
}
_KL: tuple[dict[str, Any], ...] = (
    {"color": palette.ORANGE, "linestyle": "-"},
    {"color": palette.GREEN, "linestyle": "-."},
    {"color": palette.BLUE, "linestyle": (0, (8, 2))},
    {"color": palette.PINK, "linestyle": ":"},
)
_ELEVATION, _AZIMUTH = 22.0, 32.0  # where solids are seen from, degrees
_LIGHT = LightSource(azdeg=300, altdeg=50)


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


@dataclass(frozen=True, eq=False)
class NormSolid:
    """The surface of a ball in three dimensions.

    Parameters
    ----------
    name : str
        Name of the norm.
    points : ndarray of float, shape (n_polar, n_azimuth, 3)
        The surface, as a mesh.
    """

    name: str
    points: np.ndarray


def plain_balls(n_angles: int = 361) -> list[NormBall]:
    """Return the unit balls of L2 and L1, as in figure 2 (a) of MEDN.

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
    return [NormBall(name, norm_ball(cost, n_angles=n_angles)) for name, cost in _COSTS.items()]


def kl_balls(
    lams: Iterable[float] = (4.0, 36.0, 400.0, 10000.0), n_angles: int = 361
) -> list[NormBall]:
    """Return KL balls of Laplace priors through (0, 1), as in figure 2 (b) of MEDN.

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
    return [NormBall(_kl_name(lam), kl_ball(LaplacePrior(lam), n_angles=n_angles)) for lam in lams]


def plain_solids(n_polar: int = 61, n_azimuth: int = 121) -> list[NormSolid]:
    """Return the unit balls of L2 and L1 in three dimensions: a sphere and an octahedron.

    Parameters
    ----------
    n_polar, n_azimuth : int
        Number of parallels, one more than a multiple of two, and of meridians, one more than a multiple
        of four.

    Returns
    -------
    list of NormSolid
        The two solids.

    Examples
    --------
    >>> [solid.points.shape for solid in plain_solids(5, 9)]
    [(5, 9, 3), (5, 9, 3)]
    """
    mesh: dict[str, Any] = {"n_polar": n_polar, "n_azimuth": n_azimuth}
    return [NormSolid(name, norm_solid(cost, **mesh)) for name, cost in _COSTS.items()]


def kl_solids(
    lams: Iterable[float] = (4.0, 400.0), n_polar: int = 61, n_azimuth: int = 121
) -> list[NormSolid]:
    """Return KL balls of Laplace priors through (0, 0, 1).

    Parameters
    ----------
    lams : iterable of float
        The priors' constants.
    n_polar, n_azimuth : int
        Number of parallels, one more than a multiple of two, and of meridians, one more than a multiple
        of four.

    Returns
    -------
    list of NormSolid
        A solid for each constant.

    Examples
    --------
    >>> [solid.name for solid in kl_solids(n_polar=5, n_azimuth=9)]
    ['KL, λ = 4', 'KL, λ = 400']
    """
    mesh: dict[str, Any] = {"n_polar": n_polar, "n_azimuth": n_azimuth}
    return [NormSolid(_kl_name(lam), kl_solid(LaplacePrior(lam), **mesh)) for lam in lams]


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
    >>> from medn_edu.explorers import new_figure
    >>> ax = new_figure().add_subplot()
    >>> draw_norm_balls(ax, plain_balls())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['L2', 'L1']
    """
    with styled():
        draw_cross(ax)
        rest = iter(_KL * (1 + len(balls) // len(_KL)))
        for ball in balls:
            ax.plot(*ball.points.T, label=ball.name, **(_PLAIN.get(ball.name) or next(rest)))
        ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
        ax.set(xlabel="$w_1$", ylabel="$w_2$", xticks=(-1, 0, 1), yticks=(-1, 0, 1))
        ax.legend(loc="center", handlelength=2.6, frameon=True, framealpha=1, edgecolor="white")


def draw_norm_solid(
    ax: Any, solid: NormSolid, *, color: str = palette.GREY, reach: float = 1.0
) -> None:
    """Draw the surface of a ball, and on it the cuts through each two of the axes.

    The cuts show what the surface does at the axes: on the L1 ball they are edges, on the others curves.

    Parameters
    ----------
    ax : mpl_toolkits.mplot3d.axes3d.Axes3D
        Where to draw, made by ``figure.add_subplot(projection="3d")``.
    solid : NormSolid
        The surface.
    color : str
        Its colour.
    reach : float
        How far the axes reach.

    Examples
    --------
    >>> from medn_edu.explorers import new_figure
    >>> ax = new_figure(4, 4).add_subplot(projection="3d")
    >>> draw_norm_solid(ax, kl_solids([36.0])[0], color="#0072B2")
    >>> ax.get_title()
    'KL, λ = 36'
    """
    points = solid.points
    with styled():
        ax.set_proj_type("ortho")
        ax.view_init(_ELEVATION, _AZIMUTH)
        ax.computed_zorder = False  # the cuts lie on the surface, neither before nor behind it
        surface = np.moveaxis(points[::-1], -1, 0)  # upwards, for the light to fall on its outside
        ax.plot_surface(
            *surface, rstride=1, cstride=1, color=color, lightsource=_LIGHT, linewidth=0,
            antialiased=False, zorder=1,
        )  # fmt: skip
        for cut in _cuts_in_front(points):
            ax.plot(*cut.T, color=INK, linestyle="-", linewidth=1.0, zorder=2)
        ends = {f"{axis}lim": (-reach, reach) for axis in "xyz"}
        ticks = {f"{axis}ticks": (-1, 0, 1) for axis in "xyz"}
        ax.set(xlabel="$w_1$", ylabel="$w_2$", zlabel="$w_3$", **ends, **ticks)
        ax.set_box_aspect((1, 1, 1))
        ax.set_title(solid.name)


def _cuts_in_front(points: np.ndarray) -> list[np.ndarray]:
    """Return the four meridians and the equator on the axes, NaN where the solid hides them."""
    elevation, azimuth = np.radians([_ELEVATION, _AZIMUTH])
    towards = np.array([np.cos(azimuth), np.sin(azimuth), np.tan(elevation)])
    down, up = points[1:, 1:] - points[:-1, :-1], points[:-1, 1:] - points[1:, :-1]
    facing = np.cross(down, up) @ towards > 0  # a cell's diagonals, both eastwards: outward normals
    equator, quarter = len(points) // 2, (points.shape[1] - 1) // 4
    cuts = [(points[equator], facing[equator - 1] | facing[equator])]
    for meridian in range(0, 4 * quarter, quarter):
        cuts.append((points[:, meridian], facing[:, meridian - 1] | facing[:, meridian]))
    lines = []
    for line, seen in cuts:
        segments = np.full((len(seen), 3, 3), np.nan)  # each from, to, and a gap
        segments[seen, 0], segments[seen, 1] = line[:-1][seen], line[1:][seen]
        lines.append(segments.reshape(-1, 3))
    return lines


def _kl_name(lam: float) -> str:
    return f"KL, λ = {lam:,.6g}"
