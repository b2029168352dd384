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

from medn_edu.estimators import L1M3N
from medn_edu.explorers.kit.style import INK, MUTED, new_figure, save_figure, styled
from medn_edu.inference import Potentials, best_labelling
from medn_edu.samples import pack
from medn_edu.studies.kit.figures import draw_errors, draw_grouped_errors
from medn_edu.studies.kit.models import MODELS, Model
from medn_edu.studies.kit.selection import CHOICE, TRIED, Grid, Selected
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
from medn_edu.studies.kit.texts import Texts, paragraphs
from medn_edu.studies.kit.trained import Trained

_TEXTS = Texts("synthetic_iid.md")
_RELEVANT = (10, 30, 50)
_SIZES = (30, 50, 80, 100, 150)
_REFERENCE = "M3N"  # whose errors are subtracted


_PENALTIES: Grid = (("lam", (16.0, 9.0, 4.0, 1.0, 0.1, 0.01)),)
_LAMS: Grid = (("lam", tuple(float(round(lam)) for lam in np.linspace(268, 1, 20))),)
GRIDS: dict[str, Grid] = {
    "CRF": (),
    "L2-CRF": _PENALTIES,
    "L1-CRF": _PENALTIES,
    "M3N": (("C", (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)),),
    "L1-M3N": (("C", (0.0025, 0.005, 0.0075, 0.01, 0.02, 0.03, 0.04, 0.09, 0.16)),),
    "LapMEDN variational": _LAMS,
    "LapMEDN": _LAMS,
}
"""Constants to choose from, from strong to weak regularisation."""

FIXED: dict[str, dict[str, Any]] = {"LapMEDN": {"C": 1.0}, "LapMEDN variational": {"C": 1.0}}
"""Constants that are not chosen."""

_L1_M3N = Model("L1-M3N", partial(L1M3N, tol=2e-2, verbose=0), "few weights, to a gap of 2 %")
BASE = {**MODELS, "L1-M3N": _L1_M3N}
"""The models that are given their constants."""


def selected(base: dict[str, Model], name: str, grid: Grid, **options: Any) -> Model:
    """Return a model that chooses its constants."""
    build = partial(Selected, name, grid, base, **options, **FIXED.get(name, {}))
    return Model(name, build, base[name].summary)


def _specs(scale: str, seed: int) -> list[FitSpec]:
    quick = scale == "quick"
    numbers, settings, sizes = (range(1), (10,), (30, 50)) if quick else (FOLDS, _RELEVANT, _SIZES)
    return [
        FitSpec(
            f"iid-{n_relevant}-{n_train}", number, model, TRIED[scale] if grid else (), seed=seed
        )
        for number in numbers
        for n_relevant in settings
        for n_train in sizes
        for model, grid in GRIDS.items()
    ]


def measure_truth(spec: FitSpec, model: Any) -> dict[str, Any]:
    """Return what the generating model gets wrong, labels and sequences, where a fit is tested."""
    del model
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


_ORDER = (
    "CRF", "L2-CRF", "L1-CRF", "M3N", "M3N sub-gradient", "L1-M3N",
    "LapMEDN sub-gradient", "LapMEDN variational", "LapMEDN",
)  # fmt: skip


def place(model: str) -> int:
    """Return where a model stands in legends and tables."""
    return _ORDER.index(model) if model in _ORDER else len(_ORDER)


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
            "constants": _usual(group),
        }
        less = mean_of(differences(group, reference))
        if name != _REFERENCE and less.n:
            line |= {"to_m3n": less.value, "to_m3n_interval": less.half}
        lines.append(line)
    return lines


def _usual(rows: Iterable[dict[str, Any]]) -> str:
    """Return the constants that were chosen most often."""
    found = Counter(row.get("chosen") or row.get("parameters") or "" for row in rows)
    return min(found, key=lambda text: (-found[text], text))


def _by_relevant(rows: Iterable[dict[str, Any]]) -> dict[int, list[dict[str, Any]]]:
    """Return the rows of each number of relevant features."""
    return groups(rows, lambda row: int(row["data"].split("-")[1]), order=lambda n: n)


def draw_iid(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw MEDN Fig. 3: errors against the number of training sequences."""
    settings = _by_relevant(rows)
    figure = new_figure(4.2 * len(settings) + 0.6, 7.4)
    with styled():
        axes = figure.subplots(2, len(settings), sharey="row", squeeze=False)
        for column, (n_relevant, part) in zip(axes.T, settings.items(), strict=True):
            column[0].set_title(f"{n_relevant} of 100 features relevant")
            draw_pair(column, part)
        finish(figure, axes, rows, "random CRFs")
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


def finish(figure: Any, axes: np.ndarray, rows: Iterable[dict[str, Any]], units: str) -> None:
    """Add the legend of all panels, and how many repetitions there are."""
    handles: dict[str, Any] = {}
    for ax in axes.flat:
        found, names = ax.get_legend_handles_labels()
        handles = dict(zip(names, found, strict=True)) | handles
        if axes.shape[0] > 1 and ax not in axes[-1]:
            ax.label_outer()
    names = sorted(handles, key=place)
    figure.legend(
        [handles[name] for name in names],
        names,
        loc="outside upper center",
        ncols=min(len(names), 5, int(figure.get_figwidth() / 2.2)),  # a column has 2.2 inches
    )
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
    caption = _TEXTS("caption", n_crfs=n_units(rows), choice=CHOICE[scale])
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
    said = paragraphs(caption, " ".join([*_findings(lines, settings), truth]))
    return Report(
        (*settings, "n_train", "model", "units", "error", "interval", "to_m3n",
         "to_m3n_interval", "constants"),
        lines,
        f"{errors.text()}\n\n{_TEXTS('table')}",
        f"{said}\n\n{errors.markdown()}",
    )  # fmt: skip


def _findings(lines: Sequence[dict[str, Any]], settings: tuple[str, ...]) -> list[str]:
    """Say who errs least where, and who surely errs less than M3N."""
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
        iid_split,
        models={
            name: selected(BASE, name, grid) if grid else BASE[name] for name, grid in GRIDS.items()
        },
        measure=measure_truth,
        measured=("truth_error", "truth_sequences"),
    ),
    draw=draw_iid,
    report=report_iid,
    duration="quick 9 s, paper 16 min",
    shows="MEDN 3, LapM3N 2",
    place=5,
)
"""The study of independent features."""
