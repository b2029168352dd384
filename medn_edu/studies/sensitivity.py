"""The study ``sensitivity``: test error against each model's constant (MEDN Fig. 9, LapM3N Fig. 5).

How it works, and what the paper leaves open, stands at the head of ``sensitivity.md``.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from medn_edu.estimators import CRF, L1M3N
from medn_edu.explorers.kit.style import MUTED, new_figure, save_figure, styled
from medn_edu.intervals import deviation
from medn_edu.studies.em import l1_em
from medn_edu.studies.kit.figures import draw_against_constant
from medn_edu.studies.kit.models import MODELS, Model
from medn_edu.studies.kit.specs import FitSpec, Report, Study
from medn_edu.studies.kit.splits import FOLDS, ocr_split
from medn_edu.studies.kit.summary import (
    Column,
    constant,
    curve,
    groups,
    largest,
    mean,
    table,
    values,
)
from medn_edu.studies.kit.texts import Texts, over, paragraphs
from medn_edu.studies.kit.trained import Trained

_TEXTS = Texts("sensitivity.md")
_BETA, _PASSES = 4.0, 20  # of the online sub-gradients


@dataclass(frozen=True)
class Family:
    """A model with the constants it is tried with."""

    model: str
    parameter: str  # the constant that is varied
    constants: tuple[float, ...]  # its values, ascending
    quick: tuple[float, ...]  # those at quick scale
    fixed: tuple[tuple[str, float], ...] = ()  # constants that are the same throughout


_PENALTIES = (0.0001, 0.001, 0.01, 0.1, 1.0, 4.0, 9.0, 16.0, 25.0)
_SQUARES = tuple(float(k * k) for k in range(1, 10))
_LARGE = tuple(float(k * k) for k in range(13, 22))
_ONE = (("C", 1.0),)

FAMILIES = {
    family.model: family
    for family in (
        Family("L2-CRF", "lam", _PENALTIES, (0.01, 1.0, 16.0)),
        Family("L1-CRF", "lam", _PENALTIES, (0.1, 1.0, 16.0)),
        Family("M3N", "C", _SQUARES, (1.0, 25.0, 81.0)),
        Family("LapMEDN variational", "lam", _SQUARES, (1.0, 25.0, 81.0), _ONE),
        Family("LapMEDN", "lam", _SQUARES, (1.0, 25.0, 81.0), _ONE),
        Family("L1-M3N EM", "lam", _LARGE, (169.0, 289.0, 441.0), _ONE),
        Family("L1-M3N online sub-gradient", "radius", _LARGE, (169.0, 289.0, 441.0)),
        Family("L1-M3N", "C", (0.1, 0.15, 0.2, 0.3), (0.1, 0.15)),
    )
}
"""The models, in the order of tables."""


# by OWL-QN, as in the papers
_L1_CRF = partial(CRF, penalty="l1", solver="owlqn", tol=2e-2, max_iter=10_000, verbose=0)
# No gap ends it: it makes its steps, as in the paper.
_ONLINE = partial(
    L1M3N, solver="online_subgradient", beta=_BETA, max_iter=_PASSES, tol=1e-12, verbose=0
)
_PATH = partial(L1M3N, solver="path", tol=2e-2, verbose=0)

_MODELS = {name: MODELS[name] for name in ("L2-CRF", "M3N", "LapMEDN variational", "LapMEDN")} | {
    model.name: model
    for model in (
        Model("L1-CRF", _L1_CRF, MODELS["L1-CRF"].summary),
        Model("L1-M3N EM", l1_em, "adaptive M3N, 15 quadratic programs"),
        Model("L1-M3N online sub-gradient", _ONLINE, "projected on the L1 ball after each word"),
        Model("L1-M3N", _PATH, "the linear program, by exact Laplace MEDNs with growing lambda"),
    )
}


def _specs(scale: str, seed: int) -> list[FitSpec]:
    quick = scale == "quick"
    return [
        FitSpec("ocr-100", fold, name, ((family.parameter, value), *family.fixed), seed)
        for name, family in FAMILIES.items()
        # The long trainings of a CRF have small constants, and short ones come first.
        for value in (family.quick if quick else family.constants)[
            :: -1 if name.endswith("CRF") else 1
        ]
        for fold in (range(1) if quick else FOLDS)
    ]


_COLUMNS = (
    "model", "parameter", "constant", "fits", "error", "error_deviation", "n_nonzero", "n_weights",
    "largest_gap",
)  # fmt: skip


def means(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return means over folds, a line for each model and constant."""
    order = list(FAMILIES)
    found = groups(rows, "model", _constant, order=lambda key: (order.index(key[0]), key[1]))
    return [
        {
            "model": name,
            "parameter": FAMILIES[name].parameter,
            "constant": value,
            "fits": len(group),
            "error": mean(group, "error"),
            "error_deviation": deviation(values(group, "error")),
            "n_nonzero": mean(group, "n_nonzero"),
            "n_weights": mean(group, "n_weights"),
            "largest_gap": largest(group, "relative_gap"),
        }
        for (name, value), group in found.items()
    ]


def _constant(row: dict[str, Any]) -> float | None:
    """Return the constant that is varied."""
    return constant(row, FAMILIES[row["model"]].parameter)


def ranges(lines: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return how far apart each model's mean errors are over its constants."""
    found = []
    for name, group in groups(lines, "model").items():
        best, worst = (choose(group, key=lambda line: line["error"]) for choose in (min, max))
        constants = values(group, "constant")
        found.append(
            {
                "model": name,
                "parameter": FAMILIES[name].parameter,
                "lowest": best["error"],
                "best": best["constant"],
                "highest": worst["error"],
                "worst": worst["constant"],
                "range": worst["error"] - best["error"],
                "smallest": constants.min(),
                "largest": constants.max(),
                "span": constants.max() / constants.min(),
            }
        )
    return found


def _folds(lines: Iterable[dict[str, Any]]) -> str:
    return over(max((line["fits"] for line in lines), default=0))


_PANELS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("CRF", "λ", ("L2-CRF", "L1-CRF")),
    ("M3N, LapMEDN", "C of M3N, λ of LapMEDN", ("M3N", "LapMEDN variational", "LapMEDN")),
    ("L1-M3N", "λ of EM, radius", ("L1-M3N EM", "L1-M3N online sub-gradient")),
    ("L1-M3N, exactly", "C", ("L1-M3N",)),
)


def _draw(rows: Sequence[dict[str, Any]], path: Path) -> None:
    by_model = groups(rows, "model")
    figure = new_figure(11, 4.6)
    with styled():
        axes = figure.subplots(1, len(_PANELS), sharey=True, width_ratios=[1.35, 1.1, 1, 0.7])
        for ax, (title, label, names) in zip(axes, _PANELS, strict=True):
            curves = [curve(name, by_model.get(name, ()), _constant) for name in names]
            shown = [curve for curve in curves if len(curve.x)]
            draw_against_constant(ax, shown, label=label, share=True)
            ax.set_title(title)
            ax.legend(loc="upper left" if len(shown) > 1 else "upper right", handlelength=3)
            ax.label_outer()
        axes[0].set_ylabel("test error (% of labels)")
        figure.supxlabel(_TEXTS("note", folds=_folds(means(rows))), fontsize=9, color=MUTED)
    save_figure(figure, path)


_RANGES = (
    Column("model", "model"),
    Column("constants", lambda x: f"{x['parameter']} = {x['smallest']:g} … {x['largest']:g}"),
    Column("lowest error", "lowest", ".3f", right=True),
    Column("at", "best", "g"),
    Column("highest", "highest", ".3f", right=True),
    Column("at", "worst", "g"),
    Column("range", lambda line: 100 * line["range"], ".1f", right=True),
)
_MEANS = (
    Column("model", "model"),
    Column("constant", lambda line: f"{line['parameter']} = {line['constant']:g}"),
    Column("fits", "fits"),
    Column("test error", "error", ".3f"),
    Column("deviation", "error_deviation", ".3f"),
    Column("non-zero", "n_nonzero", ".0f"),
    Column("largest gap", "largest_gap", ".2g"),
)


def _report(rows: Sequence[dict[str, Any]], scale: str) -> Report:
    lines = means(rows)
    summary = table(_RANGES, ranges(lines))
    folds = _folds(lines)
    unknown = _TEXTS("unknown", beta=_BETA, passes=_PASSES)
    figure = [_TEXTS("caption", folds=folds), *([_TEXTS("quick")] if scale == "quick" else [])]
    caption = paragraphs("  ".join(figure), unknown, _findings(lines))
    note = paragraphs(f"{_TEXTS('range', folds=folds)}  {unknown}", width=96)
    return Report(
        _COLUMNS,
        lines,
        f"{summary.text()}\n\n{note}",
        f"{caption}\n\n{summary.markdown()}\n{table(_MEANS, lines).markdown()}",
    )


def _findings(lines: Sequence[dict[str, Any]]) -> str:
    """Say what a reader of the ranges should know."""
    spans = [
        f"{line['span']:,.{0 if line['span'] >= 10 else 1}f} times ({line['model']})"
        for line in ranges(lines)
    ]
    sentences = [_TEXTS("tables"), _TEXTS("spans", spans=", ".join(spans))]
    for name in ("L1-CRF", "L2-CRF"):
        weak = [line for line in lines if line["model"] == name and line["constant"] <= 1]
        if len(weak) > 1:
            [found] = ranges(weak)
            sentences.append(_TEXTS("weak", model=name, span=100 * found["range"]))
    return "  ".join(sentences)


SENSITIVITY_STUDY = Study(
    "sensitivity",
    "test error against each model's constant",
    fits=_specs,
    fit=Trained(ocr_split, models=_MODELS),
    draw=_draw,
    report=_report,
    remarks=_TEXTS("remarks"),
    duration="quick 13 s, paper 5 min",
    shows="MEDN 9, LapM3N 5",
    place=10,
)
"""The study."""
