"""The study ``ocr-overfitting``: random fields read worse the longer they train (MEDN Fig. 8).

How it works, and what the paper leaves open, stands at the head of ``ocr_overfitting.md``.
"""

import copy
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from medn_edu.explorers.kit.panels import letter_panels
from medn_edu.explorers.kit.style import new_figure, save_figure, series_style, styled
from medn_edu.intervals import deviation
from medn_edu.samples import WeightShape, pack
from medn_edu.studies.kit.models import MODELS, Model
from medn_edu.studies.kit.specs import FitSpec, Report, Study
from medn_edu.studies.kit.splits import FOLDS, ocr_split
from medn_edu.studies.kit.summary import (
    Column,
    constant,
    groups,
    matrix,
    numbers_text,
    plus_minus,
    table,
)
from medn_edu.studies.kit.texts import Texts, over, paragraphs
from medn_edu.studies.kit.trained import Trained, label_error
from medn_edu.studies.marks import CHANGES, LOSSES, Mark, PlainCRF, TracedCRF

_TEXTS = Texts("ocr_overfitting.md")
_PRECONDITIONED = " preconditioned"  # ends the names of models that this package's solvers train
_FAINT = 1e-4  # the smallest penalty of the paper's Fig. 9
_PENALTIES: dict[str, str | None] = {"CRF": None, "L2-CRF": "l2", "L1-CRF": "l1"}
_CONSTANTS = {
    "CRF": ((),),
    "L2-CRF": (MODELS["L2-CRF"].parameters,),
    "L1-CRF": (MODELS["L1-CRF"].parameters, (("lam", _FAINT),)),
}


@dataclass(frozen=True)
class _Way:
    """How models are trained."""

    title: str
    name: str
    made: type[TracedCRF]


_WAYS = {
    "": _Way("Plain L-BFGS (L1-CRF: OWL-QN)", "plain", PlainCRF),
    _PRECONDITIONED: _Way("Preconditioned", "preconditioned", TracedCRF),
}


_MODELS = {
    name + suffix: Model(
        name + suffix,
        partial(way.made, penalty=penalty, max_iter=2000, verbose=0),
        MODELS[name].summary,
    )
    for suffix, way in _WAYS.items()
    for name, penalty in _PENALTIES.items()
}


def _specs(scale: str, seed: int) -> list[FitSpec]:
    return [
        FitSpec("ocr-100", fold, name + suffix, parameters, seed)
        for suffix in _WAYS
        for name, constants in _CONSTANTS.items()
        for parameters in constants
        for fold in (range(1) if scale == "quick" else FOLDS)
    ]


def _measure(spec: FitSpec, model: TracedCRF) -> dict[str, Any]:
    """Read the test part with the weights of all marks."""
    data = ocr_split(spec)
    test = pack(data.X_test)
    reader = copy.copy(model)
    shape = WeightShape(len(model.classes_), test.n_features, len(model.transitions_))
    known: dict[int, float] = {}

    def error(mark: Mark | None) -> float:
        if mark is None:
            return np.nan
        if mark.n_passes not in known:
            reader.coef_, reader.transitions_ = shape.split(mark.weights)
            known[mark.n_passes] = label_error(reader.predict(test), data.y_test)
        return known[mark.n_passes]

    found: dict[str, Any] = {}
    for axis, marks in (("change", model.at_change_), ("loss", model.at_loss_)):
        found[f"{axis}_errors"] = numbers_text([error(mark) for mark in marks])
        found[f"{axis}_passes"] = numbers_text(
            [np.nan if mark is None else mark.n_passes for mark in marks]
        )
    return found


_AXES = {"change": CHANGES, "loss": LOSSES}
_COLUMNS = ("model", "lam", "axis", "value", "fits", "error", "error_deviation", "n_passes")


def curves(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return mean errors at all marks."""
    found = []
    for name, lam, group in _kinds(rows):
        for axis, values in _AXES.items():
            errors, passes = (matrix(group, f"{axis}_{what}") for what in ("errors", "passes"))
            for k, value in enumerate(values):
                known = np.isfinite(errors[:, k])
                if known.any():
                    found.append(
                        {
                            "model": name,
                            "lam": lam,
                            "axis": axis,
                            "value": value,
                            "fits": int(known.sum()),
                            "error": float(errors[known, k].mean()),
                            "error_deviation": deviation(errors[known, k]),
                            "n_passes": float(passes[known, k].mean()),
                        }
                    )
    return found


def rises(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return by how much errors grow from the best moment of training to its end.

    The best moment is the mark, on either axis, at which the mean over folds is lowest, of those that
    all folds reach.  It is known only when the test part has been read, so some of the rise is luck.
    """
    found = []
    for name, lam, group in _kinds(rows):
        errors = {axis: matrix(group, f"{axis}_errors") for axis in _AXES}
        means = [  # not a number where a fold is missing
            (mean, axis, k)
            for axis in _AXES
            for k, mean in enumerate(errors[axis].mean(axis=0))
            if np.isfinite(mean)
        ]
        if not means:
            continue
        lowest, axis, best = min(means, key=lambda place: place[0])
        end = np.array([row["error"] for row in group])
        rise = end - errors[axis][:, best]
        found.append(
            {
                "model": name,
                "lam": lam,
                "fits": len(group),
                "lowest": float(lowest),
                "axis": axis,
                "value": _AXES[axis][best],
                "n_passes": float(matrix(group, f"{axis}_passes")[:, best].mean()),
                "end": float(end.mean()),
                "rise": float(rise.mean()),
                "rise_deviation": deviation(rise),
            }
        )
    return found


def _kinds(
    rows: Iterable[dict[str, Any]],
) -> Iterator[tuple[str, float | None, list[dict[str, Any]]]]:
    """Yield name, constant and fits of each kind of model, in the order of the study."""
    order = list(_MODELS)
    made = [row for row in rows if row.get("change_errors") is not None]  # others have failed
    kinds = groups(
        made,
        "model",
        lambda row: constant(row, "lam"),
        order=lambda key: (order.index(key[0]), -(key[1] or 0)),
    )
    for (name, lam), group in kinds.items():
        yield name, lam, group


_LABELS = {
    "change": "change of the log-likelihood in one pass (%)",
    "loss": "negative log-likelihood of the training words (nats)",
}
_SHOWN = (0.29, 0.66)  # errors; of the first passes they are higher


def draw_overfitting(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw MEDN Fig. 8: errors along training."""
    points = curves(rows)
    figure = new_figure(9.6, 6.4)
    with styled():
        axes = figure.subplots(len(_WAYS), len(_AXES), sharex="col", sharey=True)
        for line, (suffix, way) in zip(axes, _WAYS.items(), strict=True):
            for ax, axis in zip(line, _AXES, strict=True):
                _draw_panel(ax, [p for p in points if p["axis"] == axis], suffix)
                ax.set_title(way.title)
                ax.set_xlabel(_LABELS[axis])
                ax.label_outer()
            line[0].set_ylabel("test error (% of labels)")
        for ax in axes[0]:
            ax.invert_xaxis()  # training goes on to the right
        axes[0, 0].set_ylim(*_SHOWN)
        letter_panels(axes.flat)
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=4, handlelength=4)
    save_figure(figure, path)


def _draw_panel(ax: Any, points: Sequence[dict[str, Any]], suffix: str) -> None:
    """Draw mean errors with their deviations along training, as far as all folds went."""
    names = {name + suffix: name for name in _PENALTIES}
    mine = [point for point in points if point["model"] in names]
    for (model, lam), line in groups(mine, "model", "lam").items():
        most = max(p["fits"] for p in line)
        line = [p for p in line if p["fits"] == most]
        unit = 100.0 if line[0]["axis"] == "change" else 1.0
        x = [unit * p["value"] for p in line]
        y = np.array([p["error"] for p in line])
        spread = np.array([p["error_deviation"] or 0.0 for p in line])
        style: dict[str, Any] = {**series_style(names[model]), "linewidth": 1.6, "markersize": 4}
        if lam == _FAINT:
            style |= {"markerfacecolor": "white", "marker": "o", "linestyle": "-"}
        label = names[model] + ("" if lam is None else f", λ = {lam:g}")
        ax.plot(x, y, label=label, **style)
        ax.fill_between(x, y - spread, y + spread, color=style["color"], alpha=0.13, linewidth=0)
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.4g}")
    ax.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.4g} %")
    ax.grid(axis="y")


def _folds(points: Iterable[dict[str, Any]]) -> str:
    return over(max((point["fits"] for point in points), default=0))


def _way(line: dict[str, Any]) -> str:
    return _PRECONDITIONED if line["model"].endswith(_PRECONDITIONED) else ""


_RISES = (
    Column("model", lambda line: line["model"].removesuffix(_way(line))),
    Column("lam", "lam", "g", right=True),
    Column("trained", lambda line: _WAYS[_way(line)].name),
    Column("fits", "fits", right=True),
    Column("lowest error", "lowest", ".3f", right=True),
    Column("at", lambda line: f"{line['axis']} {line['value']:g}"),
    Column("passes", "n_passes", ".0f", right=True),
    Column("at the end", "end", ".3f", right=True),
    Column(
        "rise",
        lambda line: plus_minus(line["rise"], line["rise_deviation"], ".1f", times=100),
        right=True,
    ),
)


def report_overfitting(rows: Sequence[dict[str, Any]], scale: str) -> Report:
    """Sum ``ocr-overfitting`` up."""
    del scale
    points, found = curves(rows), rises(rows)
    summary = table(_RISES, found)
    note = paragraphs(_TEXTS("columns"), width=96)
    caption = paragraphs(
        _TEXTS("caption", folds=_folds(points), highest=100 * _SHOWN[1]),
        _TEXTS("along"),
        _about_constants(points),
        _about_optimisers(found),
    )
    return Report(
        _COLUMNS,
        points,
        f"{summary.text()}\n\n{note}",
        f"{caption}\n\n{summary.markdown()}\n{note}\n",
    )


def _about_constants(points: Sequence[dict[str, Any]]) -> str:
    """Say what the paper leaves open, and where penalised trainings end."""
    ends = [p["value"] for p in points if p["axis"] == "loss" and p["lam"] is not None]
    defaults = [
        _TEXTS("default", lam=dict(MODELS[name].parameters)["lam"], model=name)
        for name, penalty in _PENALTIES.items()
        if penalty
    ]
    return _TEXTS(
        "open",
        defaults=" and ".join(defaults),
        faint=_FAINT,
        last=LOSSES[-1],
        reached=_TEXTS("reached", least=min(ends)) if ends else "",
    )


def _about_optimisers(found: Sequence[dict[str, Any]]) -> str:
    """Say what the optimiser makes of the same model."""
    by_kind = {(line["model"], line["lam"]): line for line in found}
    pairs = [
        _TEXTS(
            "pair",
            kind=name if lam is None else f"{name} with lambda = {lam:g}",
            lowest=line["lowest"],
            end=line["end"],
            other_lowest=other["lowest"],
            other_end=other["end"],
        )
        for (name, lam), line in by_kind.items()
        if (other := by_kind.get((name + _PRECONDITIONED, lam))) is not None
    ]
    return _TEXTS("optimisers", pairs="; ".join(pairs)) if pairs else ""


OVERFITTING_STUDY = Study(
    "ocr-overfitting",
    "test error of CRFs along their training",
    fits=_specs,
    fit=Trained(
        ocr_split,
        models=_MODELS,
        measure=_measure,
        measured=("change_errors", "change_passes", "loss_errors", "loss_passes"),
    ),
    draw=draw_overfitting,
    report=report_overfitting,
    remarks=_TEXTS("remarks"),
    duration="quick 5 s, paper 30 s",
    shows="MEDN 8",
    place=9,
)
"""The study."""
