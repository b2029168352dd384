"""The study ``shrinkage``: posterior means against eta (MEDN, Figure 1), then the gallery of priors.

Three panels: the paper's figure, all priors of the gallery, and these again at equal variances.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from medn_edu.explorers import new_figure, save_figure, styled
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
    figure = new_figure(11, 4.6)
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
            ax.set_xlim(-4, 4)
        for ax, side, columns in ((axes[0], "left", 2), (axes[1], "right", 4)):
            handles = ax.get_legend_handles_labels()
            figure.legend(*handles, loc=f"outside lower {side}", ncols=columns)
    save_figure(figure, path)


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
