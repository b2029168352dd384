r"""The study ``projections``: why a step back onto the L1 ball makes zeros (L1-M3N, Figure 1).

Three panels.  (a) The paper's figure: three points outside the unit balls and their nearest points in
both.  (b) The same points while the balls shrink: onto L2 balls a point goes straight to 0; onto L1
balls all weights lose the same amount, until one is 0 and stays so.  (c) Twenty-four weights as large as
quantiles of a Gaussian, and balls of half their own norm: the smaller half of the weights is gone, or
every weight has become half as large.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from scipy.stats import halfnorm

from medn_edu.explorers.kit.style import INK, MUTED, new_figure, save_figure, styled
from medn_edu.explorers.projections import L1, L2, REGION, TAKEN
from medn_edu.studies.kit.points import POINT_COLUMNS, Curves, Rows, point_rows, points_of
from medn_edu.studies.kit.specs import Study, caption_only, panels
from medn_edu.studies.kit.texts import Texts
from medn_edu.theory.projection import project_l1_ball, project_l2_ball

_POINTS = {"p1": (1.45, 1.05), "p2": (1.6, 0.35), "p3": (0.3, 1.65)}
_REACH = 2.1
_RADII = (0.5, 1.0, 1.5)  # of the balls that (b) shows
_N_WEIGHTS = 24
_BALLS: dict[str, dict[str, Any]] = {
    "L2": {"color": L2, "linestyle": "-"},
    "L1": {"color": L1, "linestyle": "--"},
}
_MARKS: dict[str, dict[str, Any]] = {
    "L2": {"color": L2, "marker": "s", "markersize": 7},
    "L1": {"color": L1, "marker": "D", "markersize": 7},
}
_ON_TOP = {"clip_on": False, "markeredgecolor": "white", "zorder": 5}
_ON = {"L1": project_l1_ball, "L2": project_l2_ball}


def _figure_1() -> Curves:
    """Yield what (a) shows: the balls, the regions' boundaries, the points and their projections."""
    for norm in _ON:
        yield f"{norm} ball", "radius 1", _arc(norm, 1.0)
    corners, along = np.eye(2), np.ones(2)
    for k, corner in enumerate(corners):
        # All that lies off the corner by less than one boundary is nearest to it.
        yield "boundary", f"w{2 - k} = 0", np.array([corner, corner + (_REACH - 1) * along])
    for name, point in _POINTS.items():
        yield "point", name, np.array([point])
        for norm, project in _ON.items():
            yield f"on {norm}", name, project(np.array(point), 1.0)[None]


def _shrinking() -> Curves:
    """Yield what (b) shows: balls, and the way of each point's projection as the radius falls."""
    for norm in _ON:
        for radius in _RADII:
            yield f"{norm} ball", f"radius {radius:g}", _arc(norm, radius)
    for name, values in _POINTS.items():
        point = np.array(values)
        for norm, project in _ON.items():
            size = np.linalg.norm(point, ord=int(norm[1]))
            radii = size * np.linspace(1, 0, 41)[:-1]
            steps = [project(point, radius) for radius in radii]
            yield f"on {norm}", name, np.array([*steps, np.zeros(2)])


def _weights() -> Curves:
    """Yield what (c) shows: magnitudes by rank, before and after."""
    ranks = np.arange(1, _N_WEIGHTS + 1)
    weights = halfnorm.isf((ranks - 0.5) / _N_WEIGHTS)
    yield "weights", "", np.column_stack([ranks, weights])
    for norm, project in _ON.items():
        radius = float(np.linalg.norm(weights, ord=int(norm[1]))) / 2
        yield f"on {norm}", "", np.column_stack([ranks, project(weights, radius)])


def _arc(norm: str, radius: float) -> np.ndarray:
    """Return the boundary of a ball in the first orthant."""
    if norm == "L1":
        return radius * np.eye(2)
    angles = np.linspace(0, np.pi / 2, 46)
    return np.round(radius * np.column_stack([np.cos(angles), np.sin(angles)]), 12)


def _draw(rows: Rows, path: Path) -> None:
    figure = new_figure(11, 4)
    with styled():
        axes = figure.subplots(1, 3)
        titles = (
            "(a) Nearest points (L1-M3N, Fig. 1)",
            "(b) Their ways as the balls shrink",
            f"(c) {_N_WEIGHTS} weights, half the norm",
        )
        for ax, title, panel in zip(axes, titles, "abc", strict=True):
            _DRAWN[panel](ax, [row for row in rows if row["panel"] == panel])
            ax.set_title(title)
    save_figure(figure, path)


def _draw_figure_1(ax: Any, rows: Rows) -> None:
    _draw_orthant(ax, _REACH, points_of(rows, "boundary").values())
    for norm in _ON:
        _draw_balls(ax, norm, points_of(rows, f"{norm} ball").values())
    on = {norm: points_of(rows, f"on {norm}") for norm in _ON}
    for name, [point] in points_of(rows, "point").items():
        _draw_projected(ax, name, point, on["L1"][name][0], on["L2"][name][0])
    ax.legend(loc="upper right")


def _draw_shrinking(ax: Any, rows: Rows) -> None:
    _draw_orthant(ax, _REACH)
    for norm in _ON:
        _draw_balls(ax, norm, points_of(rows, f"{norm} ball").values(), faint=True)
        _draw_paths(ax, norm, points_of(rows, f"on {norm}"))
    ax.legend(loc="upper right")


def _draw_weights(ax: Any, rows: Rows) -> None:
    """Draw magnitudes of many weights before and after projection."""
    before, kept, scaled = (
        points_of(rows, what)[""][:, 1] for what in ("weights", "on L1", "on L2")
    )
    theta = float(np.max(before - kept))
    at = np.arange(1, len(before) + 1)
    ax.bar(at, before, 0.7, color=TAKEN, label="before")
    for norm, after in (("L2", scaled), ("L1", kept)):
        ax.plot(at, after, ls="none", label=f"on the {norm} ball", **_MARKS[norm], **_ON_TOP)
    ax.axhline(theta, color=INK, lw=1.2, ls="--")
    ax.text(at[-1] + 0.6, theta + 0.03, f"θ = {theta:.2f}", ha="right", va="bottom", fontsize=11)
    ax.set(xlim=(0.4, at[-1] + 0.6), xlabel="weight, the largest first", ylabel="magnitude")
    ax.legend(loc="upper right", handlelength=1.5)
    ax.set_box_aspect(1)


_DRAWN = {"a": _draw_figure_1, "b": _draw_shrinking, "c": _draw_weights}


def _draw_orthant(ax: Axes, reach: float, boundaries: Iterable[np.ndarray] = ()) -> None:
    """Draw the axes of the first orthant and the regions in which a weight becomes 0."""
    words = {"color": MUTED, "fontsize": 9, "ha": "right", "va": "bottom"}
    places = reach * np.array([[0.98, 0.02], [0.33, 0.94]])
    for k, (corner, end) in enumerate(boundaries):
        outside = np.array([reach, 0.0])[:: 1 - 2 * k]
        ax.fill(*np.transpose([corner, end, outside]), color=REGION, lw=0, zorder=-1)
        ax.plot(*np.transpose([corner, end]), "--", color=MUTED, lw=1.2, zorder=1)
        ax.text(*places[k], f"$w_{2 - k}$ becomes 0", **words)
    ax.set(xlim=(0, reach), ylim=(0, reach), aspect="equal")
    ax.set(xlabel="$w_1$", ylabel="$w_2$", xticks=(0, 1, 2), yticks=(0, 1, 2))


def _draw_balls(ax: Axes, norm: str, balls: Iterable[np.ndarray], *, faint: bool = False) -> None:
    """Draw boundaries of balls in the first orthant."""
    look = {"linewidth": 0.8, "alpha": 0.6, "zorder": 1} if faint else {"zorder": 2}
    for k, points in enumerate(balls):
        label = f"{norm} ball" if k == 0 and not faint else None
        ax.plot(*np.transpose(points), label=label, **_BALLS[norm], **look)


def _draw_projected(
    ax: Axes, name: str, point: np.ndarray, on_l1: np.ndarray, on_l2: np.ndarray
) -> None:
    r"""Draw a point and, joined to it, its projections."""
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


def _draw_paths(ax: Axes, norm: str, paths: Mapping[str, np.ndarray]) -> None:
    """Draw where projections go while the ball shrinks."""
    for k, (name, path) in enumerate(paths.items()):
        label = f"on {norm} balls" if k == 0 else None
        ax.plot(*np.transpose(path), lw=2.4, clip_on=False, zorder=4, label=label, **_BALLS[norm])
        _draw_point(ax, name, path[0])


_PARTS = {"a": _figure_1, "b": _shrinking, "c": _weights}

PROJECTIONS = Study(
    "projections",
    "nearest points in the L2 and the L1 ball",
    fits=panels("projections", tuple(_PARTS)),
    fit=lambda spec: point_rows(spec.model, _PARTS[spec.model]()),
    draw=_draw,
    report=caption_only("projections", Texts("projections.md")("caption", n_weights=_N_WEIGHTS)),
    columns=POINT_COLUMNS,
    duration="1 s",
    shows="L1-M3N 1",
    unit="panels",
    scaled=False,
    place=4,
)
"""The study."""
