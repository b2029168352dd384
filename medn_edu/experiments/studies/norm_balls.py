"""The study ``kl-norm``: balls of the L2-, the L1- and KL-norms (MEDN, Figure 2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from medn_edu.experiments.specs import CurveStudy
from medn_edu.plots import MUTED, new_figure, save_figure, styled
from medn_edu.plots.norms import NormBall, draw_norm_balls, kl_balls, plain_balls

__all__ = ["NORM_BALLS"]

_N_ANGLES = 241


def _norm_rows() -> list[dict[str, Any]]:
    panels: dict[str, Iterable[NormBall]] = {
        "a": plain_balls(_N_ANGLES),
        "b": kl_balls(n_angles=_N_ANGLES),
    }
    return [
        {"panel": panel, "norm": ball.name, "w1": w1, "w2": w2}
        for panel, balls in panels.items()
        for ball in balls
        for w1, w2 in ball.points
    ]


def _draw_norms(rows: Sequence[dict[str, Any]], path: Path) -> None:
    plain, kl = (_balls([row for row in rows if row["panel"] == panel]) for panel in "ab")
    figure = new_figure(11, 3.95)
    with styled():
        left, middle, right = figure.subplots(1, 3)
        draw_norm_balls(left, plain)
        draw_norm_balls(middle, kl)
        draw_norm_balls(right, kl)
        for ax in (middle, right):
            for ball in plain:
                ax.plot(*ball.points.T, color=MUTED, linewidth=0.8, zorder=1)
        right.get_legend().remove()
        right.set(
            xlim=(-0.08, 0.08), ylim=(0.89, 1.05), xticks=(-0.05, 0, 0.05), yticks=(0.9, 0.95, 1)
        )
        titles = ("(a) L2 and L1", "(b) KL-norms of Laplace priors", "The same near (0, 1)")
        for ax, title in zip((left, middle, right), titles, strict=True):
            ax.set_title(title)
    save_figure(figure, path)


def _balls(rows: Sequence[dict[str, Any]]) -> list[NormBall]:
    names = dict.fromkeys(row["norm"] for row in rows)
    return [
        NormBall(name, np.array([(r["w1"], r["w2"]) for r in rows if r["norm"] == name]))
        for name in names
    ]


NORM_BALLS = CurveStudy(
    "kl-norm",
    "balls of the L2-, the L1- and KL-norms",
    ("panel", "norm", "w1", "w2"),
    _norm_rows,
    _draw_norms,
    "Boundaries of balls through (0, 1), as in MEDN, Figure 2.  (a) L2 and L1.  (b) KL-norms "
    "of Laplace priors (Corollary 6): the larger λ, the closer to L1, yet round wherever "
    "they meet the axes, as the enlargement on the right shows; L2 and L1 thin and grey.",
    "1 s",
    "MEDN 2",
)
"""The study."""
