r"""The study ``kl-norm``: balls of the L2-, the L1- and KL-norms (MEDN, Figure 2), and who makes zeros.

Above the paper's figure: (a) L2 and L1, (b) KL-norms of Laplace priors, all through (0, 1), and (c) the
latter enlarged where they meet the axis.  Below what it means for weights: (d) lines of one direction
touch the L1 ball in its corner, the L2 ball far from it, and the KL balls between; (e) the smaller
weight of the touched point falls like :math:`1/\sqrt\lambda` and is never 0; (f) a KL ball of three
weights, on which corners and edges are round.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from medn_edu.explorers import MUTED, new_figure, save_figure, styled
from medn_edu.explorers.kit import palette
from medn_edu.explorers.norm_balls import LAMS, draw_smaller_weight, draw_tangents, touching_kl
from medn_edu.explorers.norms import (
    NormBall,
    NormSolid,
    draw_norm_balls,
    draw_norm_solid,
    kl_balls,
    kl_solids,
    plain_balls,
)
from medn_edu.studies.kit.specs import FitSpec, Study, caption_only, panels
from medn_edu.studies.kit.summary import groups
from medn_edu.studies.kit.texts import Texts
from medn_edu.theory.norms import touching_corners, touching_l2

_N_ANGLES = 201
_MESH = (31, 61)  # parallels and meridians of (f)
_LAMS = (4.0, 36.0, 400.0, 10_000.0)
_DIRECTION = np.array([0.5, 0.75**0.5])  # at 60 degrees, of length 1

Rows = Sequence[dict[str, Any]]


def _panel(spec: FitSpec) -> list[dict[str, Any]]:
    return [
        {
            "panel": spec.model,
            "norm": norm,
            "lam": lam,
            **dict(zip(_WEIGHTS, map(float, w), strict=False)),
        }
        for norm, lam, curve in _PANELS[spec.model]()
        for w in curve
    ]


def _plain() -> Iterator[tuple[str, float | None, np.ndarray]]:
    for ball in plain_balls(_N_ANGLES):
        yield ball.name, None, ball.points


def _kl() -> Iterator[tuple[str, float | None, np.ndarray]]:
    for lam, ball in zip(_LAMS, kl_balls(_LAMS, _N_ANGLES), strict=True):
        yield ball.name, lam, ball.points


def _touched() -> Iterator[tuple[str, float | None, np.ndarray]]:
    """Yield where lines of one direction touch each ball of (a) and (b)."""
    yield "L2", None, touching_l2(_DIRECTION)[None]
    yield "L1", None, touching_corners(_DIRECTION)
    for lam, ball in zip(_LAMS, kl_balls(_LAMS, 5), strict=True):
        yield ball.name, lam, touching_kl(lam, _DIRECTION)[None]


def _fall() -> Iterator[tuple[str, float | None, np.ndarray]]:
    """Yield where such lines touch KL balls, lambda by lambda."""
    for lam in LAMS:
        yield "KL", float(lam), touching_kl(lam, _DIRECTION)[None]


def _solid() -> Iterator[tuple[str, float | None, np.ndarray]]:
    """Yield the surface of one KL ball of three weights."""
    (solid,) = kl_solids([_LAMS[2]], *_MESH)
    yield solid.name, _LAMS[2], solid.points.reshape(-1, 3)


_PANELS = {"a": _plain, "b": _kl, "d": _touched, "e": _fall, "f": _solid}
_WEIGHTS = ("w1", "w2", "w3")
_PROJECTION = {5: "3d"}
_TITLES = (
    "(a) L2 and L1",
    "(b) KL-norms of Laplace priors",
    "(c) The same near (0, 1)",
    "(d) Where parallel lines touch",
    "(e) The smaller weight there",
    f"(f) Three weights, λ = {_LAMS[2]:g}",
)


def _draw(rows: Rows, path: Path) -> None:
    panels = {panel: [row for row in rows if row["panel"] == panel] for panel in "abdef"}
    plain, kl = (_balls(panels[panel]) for panel in "ab")
    figure = new_figure(11, 7.6)
    with styled():
        axes = [figure.add_subplot(2, 3, k + 1, projection=_PROJECTION.get(k)) for k in range(6)]
        draw_norm_balls(axes[0], plain)
        for ax in axes[1:3]:
            draw_norm_balls(ax, kl)
            for ball in plain:
                ax.plot(*ball.points.T, color=MUTED, linewidth=0.8, zorder=1)
        _enlarge(axes[2])
        colours = _draw_touched(axes[3], [*plain, *kl], panels["d"])
        _draw_fall(axes[4], panels["e"], panels["d"], colours)
        _draw_solid(axes[5], panels["f"])
        for ax, title in zip(axes, _TITLES, strict=True):
            ax.set_title(title)
    save_figure(figure, path)


def _enlarge(ax: Any) -> None:
    ax.get_legend().remove()
    ax.set(xlim=(-0.08, 0.08), ylim=(0.89, 1.05), xticks=(-0.05, 0, 0.05), yticks=(0.9, 0.95, 1))


def _draw_touched(ax: Any, balls: Sequence[NormBall], rows: Rows) -> dict[str, str]:
    """Draw the upper part of the balls with lines that touch them; return each ball's colour."""
    draw_norm_balls(ax, balls)
    ax.get_legend().remove()
    for line in ax.get_lines():
        line.set_linewidth(1.0)
    colours = {line.get_label(): line.get_color() for line in ax.get_lines()}
    points = {row["norm"]: np.array([row["w1"], row["w2"]]) for row in rows}
    draw_tangents(ax, _DIRECTION, points, colours, length=0.3)
    keys = [line for line in ax.get_lines() if line.get_label().startswith("KL")]
    ground = {"frameon": True, "framealpha": 1, "edgecolor": "white"}
    ax.legend(handles=keys, loc="lower left", handlelength=2.2, borderaxespad=0.2, **ground)
    ax.annotate("L1", points["L1"], (3, 16), textcoords="offset points", color=colours["L1"])
    ax.annotate("L2", points["L2"], (5, 4), textcoords="offset points", color=colours["L2"])
    ax.set(xlim=(-0.3, 0.9), ylim=(0.05, 1.25), xticks=(0, 0.5), yticks=(0.5, 1))
    return colours


def _draw_fall(ax: Any, rows: Rows, touched: Rows, colours: dict[str, str]) -> None:
    lams, smaller = np.array([(row["lam"], min(row["w1"], row["w2"])) for row in rows]).T
    (on_l2,) = [min(row["w1"], row["w2"]) for row in touched if row["norm"] == "L2"]
    draw_smaller_weight(ax, lams, smaller, on_l2)
    for row in touched:
        if row["lam"]:
            colour = colours[row["norm"]]
            ax.plot(row["lam"], row["w1"], "o", color=colour, ms=8, mec="white", zorder=5)
    ax.text(lams[-1], 1.05 * on_l2, "L2", ha="right", va="bottom")
    ax.text(0.97, 0.02, "L1: exactly 0", ha="right", color=MUTED, transform=ax.transAxes)
    ax.set_box_aspect(1)


def _draw_solid(ax: Any, rows: Rows) -> None:
    points = np.array([(row["w1"], row["w2"], row["w3"]) for row in rows])
    draw_norm_solid(ax, NormSolid(rows[0]["norm"], points.reshape(*_MESH, 3)), color=palette.SKY)
    for surface in ax.collections:
        surface.set_rasterized(True)  # thousands of facets are many bytes as vectors


def _balls(rows: Rows) -> list[NormBall]:
    return [
        NormBall(name, np.array([(row["w1"], row["w2"]) for row in group]))
        for name, group in groups(rows, "norm").items()
    ]


NORM_BALLS = Study(
    "kl-norm",
    "balls of the L2-, the L1- and KL-norms",
    fits=panels("kl-norm", tuple(_PANELS)),
    fit=_panel,
    draw=_draw,
    report=caption_only("kl-norm", Texts("kl_norm.md")("caption")),
    columns=("panel", "norm", "lam", *_WEIGHTS),
    duration="1 s",
    shows="MEDN 2",
    unit="panels",
    scaled=False,
    place=2,
)
"""The study."""
