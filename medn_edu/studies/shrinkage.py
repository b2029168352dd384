"""The study ``shrinkage``: posterior means against eta (MEDN, Figure 1), then the gallery of priors.

Three panels: the paper's figure, all priors of the gallery, and these again at equal variances.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from medn_edu.explorers import new_figure, save_figure, styled
from medn_edu.explorers.kit.panels import label_ends, letter_panels, readable
from medn_edu.explorers.shrinkage import (
    ShrinkageCurve,
    draw_shrinkage,
    prior_gallery,
    shrinkage_curve,
)
from medn_edu.priors import GaussianPrior, LaplacePrior, Prior
from medn_edu.studies.kit.specs import FitSpec, Study, caption_only, panels
from medn_edu.studies.kit.summary import groups, values
from medn_edu.studies.kit.texts import Texts

_LAM = 4.0  # of the gallery: one of the two of Fig. 1
_N_POINTS = 121
_REACH = 4.0  # of both axes
_GROUND = {
    "facecolor": "white",
    "linewidth": 0,
    "pad": 0.6,
}  # of names, so that no line strikes them


_PANELS: dict[str, Mapping[str, Prior]] = {
    "Fig. 1": {
        "Gaussian, N(0, 1)": GaussianPrior(),
        "Laplace, λ = 4": LaplacePrior(4.0),
        "Laplace, λ = 6": LaplacePrior(6.0),
    },
    "gallery": prior_gallery(_LAM),
    "equal variances": prior_gallery(_LAM, matched=True),
}


def _panel(spec: FitSpec) -> list[dict[str, Any]]:
    return [
        {
            "panel": spec.model, "prior": name, "low": curve.domain[0], "high": curve.domain[1],
            "eta": eta, "mean": mean,
        }
        for name, prior in _PANELS[spec.model].items()
        for curve in [shrinkage_curve(name, prior, n_points=_N_POINTS)]
        for eta, mean in zip(curve.eta, curve.mean, strict=True)
    ]  # fmt: skip


def _draw(rows: Sequence[dict[str, Any]], path: Path) -> None:
    figure = new_figure(11, 4.2)
    titles = {
        "Fig. 1": "Three priors (MEDN, Figure 1)",
        "gallery": f"The gallery, λ = {_LAM:g}",
        "equal variances": f"The same, each of variance {2 / _LAM:g}",
    }
    axes = figure.subplots(1, 3, sharex=True, sharey=True)
    with styled():
        for ax, (panel, title) in zip(axes, titles.items(), strict=True):
            curves = _curves([row for row in rows if row["panel"] == panel])
            draw_shrinkage(ax, curves, legend=False)
            ax.set_title(title)
            ax.label_outer()
            ax.set_xlim(-_REACH, _REACH)
            _name_steep(ax)
        letter_panels(axes)
        label_ends(*axes)
    save_figure(figure, path)


def _name_steep(ax: Any) -> None:
    """Name the curves that leave a panel before its right end, to the right of their lower branches.

    A curve without a lower branch, the exponential prior's, is named above its left end.
    """
    falling = []
    for line in ax.get_lines():
        eta, mean = line.get_data()
        name = str(line.get_label())
        inside = (np.abs(mean) <= _REACH) & (np.abs(eta) <= _REACH)
        if name.startswith("_") or not inside.any() or eta[inside][-1] > 0.95 * _REACH:
            continue
        line.set_label("_")  # the others are named at their ends
        look = {"color": readable(line.get_color()), "fontsize": 9, "bbox": _GROUND}
        if mean[inside][0] > 0:
            ax.text(-0.97 * _REACH, mean[inside][0] + 0.15, name, va="bottom", **look)
        else:
            falling.append((-eta[inside][0], name, eta, mean, line.get_color(), look))
    names = sorted(falling, key=lambda one: one[0])  # the rightmost first, so that few leads cross
    heights = np.linspace(-0.37, -0.93, max(len(names), 2)) * _REACH
    for height, (_, name, eta, mean, colour, look) in zip(heights, names, strict=False):
        point = (float(np.interp(height, mean, eta)), height)
        ax.plot(*point, ".", color=colour, markersize=6)
        lead = {"arrowstyle": "-", "color": colour, "lw": 0.8, "relpos": (0, 0.5), "shrinkB": 0}
        ax.annotate(name, point, (-0.1 * _REACH, height), va="center", arrowprops=lead, **look)


def _curves(rows: Sequence[dict[str, Any]]) -> list[ShrinkageCurve]:
    """Put the points of a panel together to curves again."""
    return [
        ShrinkageCurve(
            name, values(group, "eta"), values(group, "mean"), (group[0]["low"], group[0]["high"])
        )
        for name, group in groups(rows, "prior").items()
    ]


SHRINKAGE = Study(
    "shrinkage",
    "what eight priors make of the evidence",
    fits=panels("shrinkage", tuple(_PANELS)),
    fit=_panel,
    draw=_draw,
    report=caption_only("shrinkage", Texts("shrinkage.md")("caption", lam=_LAM, variance=2 / _LAM)),
    columns=("panel", "prior", "low", "high", "eta", "mean"),
    duration="1 s",
    shows="MEDN 1",
    unit="panels",
    scaled=False,
    place=1,
)
"""The study."""
