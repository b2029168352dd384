"""The study ``synthetic-iid``: chains that random CRFs with independent features have labelled.

How it works, and what the paper leaves open, stands at the head of ``synthetic_iid.md``.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from medn_edu.explorers.kit.panels import label_ends, letter_panels
from medn_edu.explorers.kit.style import INK, MUTED, new_figure, save_figure, styled
from medn_edu.inference import Potentials, best_labelling
from medn_edu.samples import pack
from medn_edu.studies.kit.fair import (
    CHOICE_COLUMNS,
    COMPARED,
    FAIR_MODELS,
    SIX_LAM,
    Ranges,
    choices_text,
    choosing,
    ends_text,
    fair_grids,
    fair_models,
    grids_text,
    measure_choice,
    shapes_text,
    six_lam_crfs,
    split_and_validate,
)
from medn_edu.studies.kit.figures import draw_errors, draw_grouped_errors
from medn_edu.studies.kit.models import Model
from medn_edu.studies.kit.selection import CHOICE, TRIED, Grid, Selected, paths_of
from medn_edu.studies.kit.specs import FitSpec, Report, Study
from medn_edu.studies.kit.splits import (
    FOLDS,
    correlated_chains,
    correlated_split,
    iid_chains,
    iid_split,
)
from medn_edu.studies.kit.summary import (
    crossed,
    curves,
    curves_less,
    differences,
    groups,
    mean_of,
    plus_minus,
    values,
    with_intervals,
)
from medn_edu.studies.kit.texts import Texts, counted, paragraphs
from medn_edu.studies.kit.trained import Trained

_TEXTS = Texts("synthetic_iid.md")
_RELEVANT = (10, 30, 50)
_SIZES = (30, 50, 80, 100, 150)
_REFERENCE = "M3N"  # whose errors are subtracted


RANGES = Ranges(l2_crf=(100, 0.1), l1_crf=(50, 0.5), m3n=(0.001, 1), l1_m3n=(0.005, 0.3))
"""Constants of the fair protocol, before paths are extended."""

_LAMS: Grid = (("lam", tuple(float(round(lam)) for lam in np.linspace(268, 1, 20))),)
_ONE_PRICE = {"LapMEDN variational, C = 1": "LapMEDN variational", "LapMEDN, C = 1": "LapMEDN"}
PRINTED = (*_ONE_PRICE, *SIX_LAM)
"""The second reading: the paper's 20 ``lam``, with one ``C``, and six, by 5-fold cross-validation."""


def _printed() -> dict[str, Model]:
    models = six_lam_crfs()
    for name, base in _ONE_PRICE.items():
        build = partial(Selected, base, paths_of(_LAMS), FAIR_MODELS, n_folds=5, C=1.0)
        models[name] = Model(name, build, FAIR_MODELS[base].summary)
    return models


def _specs(scale: str, seed: int) -> list[FitSpec]:
    quick = scale == "quick"
    numbers, settings, sizes = (range(1), (10,), (30, 50)) if quick else (FOLDS, _RELEVANT, _SIZES)
    return [
        FitSpec(
            f"iid-{n_relevant}-{n_train}",
            number,
            model,
            TRIED[scale] if model in PRINTED else choosing(model, n_train, scale),
            seed=seed,
        )
        for number in numbers
        for n_relevant in settings
        for n_train in sizes
        for model in (*COMPARED, *PRINTED)
    ]


def _measure(spec: FitSpec, model: Any) -> dict[str, Any]:
    return measure_truth(spec) | measure_choice(spec, model)


def measure_truth(spec: FitSpec) -> dict[str, Any]:
    """Return what the generating model gets wrong, labels and sequences, where a fit is tested."""
    return dict(_truth(spec.data, spec.fold, spec.seed))


@lru_cache(maxsize=256)  # all fits to the same data share it
def _truth(data: str, fold: int, seed: int) -> dict[str, float]:
    place = FitSpec(data, fold, "", seed=seed)
    kind, first, second = data.split("-")
    if kind == "iid":
        bunch, split = iid_chains(int(first), fold, seed), iid_split(place)
    else:
        bunch, split = correlated_chains(seed, int(second)), correlated_split(place)
    samples = pack(split.X_test)
    node = np.vstack(split.X_test) @ bunch.coef.T
    found, _ = best_labelling(Potentials(samples, node, bunch.transitions))
    wrong = (found != np.concatenate(split.y_test)).reshape(len(split.X_test), -1)
    return {
        "truth_error": float(wrong.mean()),
        "truth_sequences": float(wrong.any(axis=1).mean()),
    }


def place(model: str) -> int:
    """Return where a model stands in panels and tables: readings of the papers come last."""
    return COMPARED.index(model) if model in COMPARED else len(COMPARED)


def n_units(rows: Iterable[dict[str, Any]]) -> int:
    """Return how many random CRFs stand behind a mean."""
    return len({row["fold"] for row in rows if row.get("error") is not None})


def table_lines(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return mean error and mean difference to M3N, with intervals, per model and size."""
    known = [row for row in rows if row.get("error") is not None]
    reference = groups(known, "model").get(_REFERENCE, ())
    found = groups(known, "model", "n_train", order=lambda key: (place(key[0]), *key))
    lines = []
    for (name, n_train), group in found.items():
        error = mean_of(values(group, "error"))
        line = {
            "n_train": n_train,
            "model": name,
            "units": error.n,
            "error": error.value,
            "interval": error.half,
        }
        less = mean_of(differences(group, reference))
        if name != _REFERENCE and less.n:
            line |= {"to_m3n": less.value, "to_m3n_interval": less.half}
        lines.append(line)
    return lines


def _by_relevant(rows: Iterable[dict[str, Any]]) -> dict[int, list[dict[str, Any]]]:
    """Return the rows of each number of relevant features."""
    return groups(rows, lambda row: int(row["data"].split("-")[1]), order=lambda n: n)


def draw_iid(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw MEDN Fig. 3: errors against the number of training sequences."""
    settings = _by_relevant(row for row in rows if row["model"] in COMPARED)
    figure = new_figure(3.8 * len(settings) + 1.8, 6.8)
    with styled():
        axes = figure.subplots(2, len(settings), sharey="row", squeeze=False)
        for column, (n_relevant, part) in zip(axes.T, settings.items(), strict=True):
            draw_pair(column, part)
            column[0].set(title=f"{n_relevant} of 100 features relevant", xlabel="")
        for ax in axes[:, 1:].flat:
            ax.set_ylabel("")
        finish(figure, axes.flat, rows, "random CRFs")
        label_ends(*axes[:, -1])
    save_figure(figure, path)


def draw_pair(axes: Sequence[Any], rows: Iterable[dict[str, Any]]) -> None:
    """Draw mean errors, and what is left of them after those of M3N on the same data."""
    rows = sorted(rows, key=lambda row: place(row["model"]))
    means = [replace(curve, n=np.ones_like(curve.n)) for curve in curves(rows)]
    draw_errors(axes[0], means, unit="sequences")
    axes[0].get_legend().remove()
    truth = [{**row, "model": "generating model", "error": row["truth_error"]} for row in rows]
    for curve in curves(truth):
        axes[0].plot(curve.x, curve.mean, color=MUTED, linewidth=4, alpha=0.5, label=curve.name)
    less = [with_intervals(curve) for curve in curves_less(rows, _REFERENCE)]
    draw_grouped_errors(axes[1], less, unit="sequences", reference=_REFERENCE)


def finish(figure: Any, axes: Iterable[Any], rows: Iterable[dict[str, Any]], units: str) -> None:
    """Add the panels' letters, and how many repetitions there are."""
    letter_panels(axes)
    n = n_units(rows)
    one = _TEXTS("one-repetition", units=units)
    note = one if n == 1 else _TEXTS("repetitions", n=n, units=units)
    figure.supxlabel(note, fontsize=10, color=INK)


def report_iid(rows: Sequence[dict[str, Any]], scale: str) -> Report:
    """Sum ``synthetic-iid`` up."""
    lines = [
        {"relevant": n_relevant, **line}
        for n_relevant, part in _by_relevant(rows).items()
        for line in table_lines(part)
    ]
    caption = _TEXTS(
        "caption",
        crfs=counted(n_units(rows), "CRF"),
        grids=grids_text(fair_grids(RANGES)),
        choice=CHOICE[scale],
        choices=choices_text(row for row in rows if row["model"] in COMPARED),
        ends=ends_text(rows),
    )
    return report_errors(rows, lines, ("relevant",), caption)


def report_errors(
    rows: Sequence[dict[str, Any]],
    lines: list[dict[str, Any]],
    settings: tuple[str, ...],
    caption: str,
) -> Report:
    """Return what both studies say of errors: who errs least where, and a table."""
    errors = crossed(
        lines,
        (*settings, "model"),
        "n_train",
        lambda line: plus_minus(line["error"], line["interval"], ".1f", times=100),
    )
    truth = _TEXTS(
        "truth",
        labels=100 * mean_of(values(rows, "truth_error")).value,
        sequences=100 * mean_of(values(rows, "truth_sequences")).value,
    )
    fair = [row for row in rows if row["model"] in COMPARED]
    found = " ".join([*_findings(lines, settings), truth])
    said = paragraphs(caption, found, shapes_text(fair))
    return Report(
        (*settings, "n_train", "model", "units", "error", "interval", "to_m3n",
         "to_m3n_interval"),
        lines,
        f"{errors.text()}\n\n{_TEXTS('table')}",
        f"{said}\n\n{errors.markdown()}",
    )  # fmt: skip


def _findings(lines: Sequence[dict[str, Any]], settings: tuple[str, ...]) -> list[str]:
    """Say who errs least where, and who surely errs less than M3N."""
    lines = [line for line in lines if line["model"] in COMPARED]
    cells = groups(lines, *settings, "n_train").values()
    best = Counter(min(group, key=lambda line: line["error"])["model"] for group in cells)
    texts = [_TEXTS("smallest", n=len(cells), models=_counted(best))]
    compared = [line for line in lines if line.get("to_m3n_interval") is not None]
    sure = Counter(
        line["model"] for line in compared if line["to_m3n"] + line["to_m3n_interval"] < 0
    )
    if compared:
        texts.append(_TEXTS("surely-less", models=_counted(sure) or "none"))
    return texts


def _counted(models: Counter[str]) -> str:
    return ", ".join(f"{name} in {n}" for name, n in models.most_common())


IID_STUDY = Study(
    "synthetic-iid",
    "random CRFs with 10 to 50 relevant features",
    fits=_specs,
    fit=Trained(
        split_and_validate(iid_split),
        models=fair_models(RANGES) | _printed(),
        measure=_measure,
        measured=("truth_error", "truth_sequences", *CHOICE_COLUMNS),
    ),
    draw=draw_iid,
    report=report_iid,
    duration="quick 9 s, paper 30 min",
    shows="MEDN 3, LapM3N 2",
    place=5,
)
"""The study of independent features."""
