"""The study ``ocr``: few OCR words to train on (MEDN Fig. 7, L1-M3N Fig. 4, LapM3N Fig. 4).

How it works, and what the paper leaves open, stands at the head of ``ocr.md``.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from medn_edu.estimators import L1M3N
from medn_edu.explorers import MUTED, new_figure, save_figure, styled
from medn_edu.intervals import deviation
from medn_edu.studies.em import l1_em
from medn_edu.studies.kit.figures import draw_grouped_errors
from medn_edu.studies.kit.models import MODELS, Model
from medn_edu.studies.kit.selection import CHOICE, TRIED, Grid, Selected
from medn_edu.studies.kit.specs import FitSpec, Report, Study
from medn_edu.studies.kit.splits import FOLDS, N_OUTSIDE_BLOCKS, ocr_split
from medn_edu.studies.kit.summary import (
    Curve,
    constants_text,
    crossed,
    curves,
    curves_less,
    differences,
    groups,
    is_at_end,
    largest,
    mean,
    numbers_text,
    plus_minus,
    read_constants,
    values,
    with_intervals,
)
from medn_edu.studies.kit.texts import Texts, bullets, listed, paragraphs
from medn_edu.studies.kit.trained import Trained
from medn_edu.studies.stopped import (
    PASSES,
    STEPS,
    m3n_optimum,
    m3n_stopped,
    medn_optimum,
    medn_stopped,
)

_TEXTS = Texts("ocr.md")
MEMORY = _TEXTS("memory")
"""What readers should know of these data."""

MEMORY_NOTE = _TEXTS("memory-note")
"""The same below a figure."""


_BETAS = {100: 4.0, 150: 4.0, 200: 2.0, 250: 2.0}  # the papers', for each number of words
_LAM = 36.0  # the papers', of LapMEDN
_L1_CONSTANT = 289.0  # radius or ``lam`` of L1-M3N, the middle of those of MEDN Fig. 9
_EM_C = 10.0  # which the paper does not tell

_PENALTIES: Grid = (("lam", (16.0, 9.0, 4.0, 1.0, 0.1, 0.01)),)
_PRICES: Grid = (("C", (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)),)
_LAMS: Grid = (("lam", tuple(float(round(268 - 267 * k / 19)) for k in range(20))),)
GRIDS: dict[str, Grid] = {
    "L2-CRF": _PENALTIES,
    "L1-CRF": _PENALTIES,
    "M3N": _PRICES,
    "epsilon-M3N": _PRICES,
    "L1-M3N": (("C", (0.1, 0.2, 0.3, 0.5)),),
    "LapMEDN variational": _LAMS,
    "LapMEDN": _LAMS,
}
"""Constants to choose from, for each model that chooses; from strong to weak regularisation."""

FIXED: dict[str, dict[str, Any]] = {
    "epsilon-M3N": {"epsilon": 0.5},
    "LapMEDN variational": {"C": 1.0},
    "LapMEDN": {"C": 1.0},
}
"""Constants that are neither the papers' nor chosen."""


_PAPERS = {
    model.name: model
    for model in (
        Model("M3N sub-gradient", m3n_stopped, "C = 200 beta, stopped early"),
        Model("M3N at its optimum", m3n_optimum, "C = 200 beta"),
        Model("L1-M3N sub-gradient", partial(L1M3N, **STEPS), "on a ball, stopped early"),
        Model("L1-M3N EM", partial(l1_em, C=_EM_C), "adaptive M3N, 15 quadratic programs"),
        Model("LapMEDN sub-gradient", medn_stopped, "C = 200 beta, stopped early"),
        Model("LapMEDN at its optimum", medn_optimum, "C = 200 beta"),
    )
}
_CHOSEN = ("CRF", *GRIDS)  # the CRF without a penalty has nothing to choose


def chooser(name: str, grid: Grid, goal: str, **options: Any) -> Model:
    """Return the model that chooses another's constants."""
    build = partial(Selected, name, grid, MODELS, **options, **FIXED.get(name, {}))
    return Model(f"{name}, chosen for {goal}", build, f"chooses the constants of {name}")


_CHOOSERS = {
    (name, n): chooser(name, grid, f"{n} words", blocks=(n,) * N_OUTSIDE_BLOCKS)
    for n in _BETAS
    for name, grid in GRIDS.items()
}


# At quick scale, with the choice of their constants, they would take too long.
_SLOW = (
    "L1-CRF", "epsilon-M3N", "L1-M3N", "L1-M3N EM", "LapMEDN variational", "LapMEDN at its optimum",
)  # fmt: skip


def _ocr_specs(scale: str, seed: int) -> list[FitSpec]:
    quick = scale == "quick"
    sizes, folds = ((100,), range(3)) if quick else (tuple(_BETAS), FOLDS)
    wanted = [name for name in (*_CHOSEN, *_PAPERS) if not (quick and name in _SLOW)]
    choosers = {
        (name, n): FitSpec(f"ocr-outside-{n}", 0, _CHOOSERS[name, n].name, TRIED[scale], seed)
        for n in sizes
        for name in wanted
        if name in GRIDS
    }

    def fit(n_words: int, fold: int, name: str) -> FitSpec:
        by = choosers.get((name, n_words))
        parameters = _constants(name, n_words)
        return FitSpec(f"ocr-{n_words}", fold, name, parameters, seed, by.key if by else "")

    fits = [fit(n, fold, name) for n in sizes for fold in folds for name in wanted]
    return [*choosers.values(), *fits]


def _constants(name: str, n_words: int) -> tuple[tuple[str, float], ...]:
    """Return the constants that are not chosen."""
    beta, lam = ("beta", _BETAS[n_words]), ("lam", _LAM)
    papers: dict[str, tuple[tuple[str, float], ...]] = {
        "M3N sub-gradient": (beta,),
        "M3N at its optimum": (beta,),
        "L1-M3N sub-gradient": (beta, ("radius", _L1_CONSTANT)),
        "L1-M3N EM": (("lam", _L1_CONSTANT),),
        "LapMEDN sub-gradient": (beta, lam),
        "LapMEDN at its optimum": (beta, lam),
    }
    return papers[name] if name in papers else tuple(FIXED.get(name, {}).items())


def grid_errors(spec: FitSpec, model: Any) -> dict[str, Any]:
    """Note the errors of a model that chooses its constants, for each point of the grid."""
    del spec
    if not isinstance(model, Selected):
        return {}
    return {"grid_errors": numbers_text(model.errors_)}


_HALVES = {  # title, models from left to right, and the one whose errors are subtracted
    "a": (
        "(a) The papers' constants (CRFs: chosen ones)",
        ("CRF", "L2-CRF", "L1-CRF", *_PAPERS),
        "M3N sub-gradient",
    ),
    "b": ("(b) Constants chosen on other words", _CHOSEN, "M3N"),
}


def _drawn(rows: Iterable[dict[str, Any]], models: Sequence[str]) -> list[dict[str, Any]]:
    """Return the fits to drawn words, in the order of the models."""
    found = []
    for row in rows:
        match = re.fullmatch(r"ocr-(\d+)", row["data"])
        if match and row["model"] in models and row.get("error") is not None:
            found.append({**row, "n_train": int(match[1])})
    return sorted(found, key=lambda row: models.index(row["model"]))


def draw_ocr(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw MEDN Fig. 7: errors against the number of words, in two ways to have constants."""
    figure = new_figure(12.5, 8.6)
    panels = []
    with styled():
        for half, (title, models, reference) in zip(
            figure.subfigures(1, 2), _HALVES.values(), strict=True
        ):
            upper, lower = half.subplots(2, 1, sharex=True)
            panels.append((upper, lower))
            drawn = _drawn(rows, models)
            above = curves(drawn)
            draw_grouped_errors(upper, above)
            draw_grouped_errors(lower, _below(drawn, above, reference), reference=reference)
            upper.set_xlabel("")
            upper.set_title(title)
            handles, labels = upper.get_legend_handles_labels()
            half.legend(handles, labels, loc="outside upper center", ncols=3)
        for axes in zip(*panels, strict=True):  # side by side: the same range
            lows, highs = zip(*(ax.get_ylim() for ax in axes), strict=True)
            for ax in axes:
                ax.set_ylim(min(lows), max(highs))
        fits = fits_text(max((int(curve.n.max()) for curve in above), default=0))
        figure.supxlabel(f"{_TEXTS('note', fits=fits)}\n{MEMORY_NOTE}", fontsize=9, color=MUTED)
    save_figure(figure, path)


def _below(drawn: Iterable[dict[str, Any]], above: Iterable[Curve], reference: str) -> list[Curve]:
    """Return differences to the reference, empty where there are none, to stand below the errors."""
    small = [row for row in drawn if row["model"] != "CRF"]  # which is far above all others
    less = {curve.name: with_intervals(curve) for curve in curves_less(small, reference)}
    nothing = [np.empty(0)] * 4
    return [less.get(curve.name, Curve(curve.name, *nothing)) for curve in above]


def fits_text(n: int) -> str:
    """Return what an axis says of the fits behind its points."""
    return "1 fit" if n == 1 else f"mean ± deviation of {n} fits"


_COLUMNS = (
    "constants", "model", "n_train", "fits", "error", "error_deviation", "train_error",
    "largest_gap", "parameters", "at_end_of_grid",
)  # fmt: skip


def report_ocr(rows: Sequence[dict[str, Any]], scale: str) -> Report:
    """Sum ``ocr`` up."""
    lines = [
        {
            "constants": kind if model != "CRF" else "none",
            "n_train": n_words,
            **summary_line(model, group, GRIDS.get(model, ())),
        }
        for kind, models in (("papers'", list(_PAPERS)), ("chosen", _CHOSEN))
        for (model, n_words), group in groups(_drawn(rows, models), "model", "n_train").items()
    ]
    chosen = [line for line in lines if line["constants"] == "chosen"]
    errors = crossed(lines, ("constants", "model"), "n_train", with_spread, "{} words")
    constants = crossed(
        chosen,
        ("model",),
        "n_train",
        lambda line: _chosen(line) + "*" * line["at_end_of_grid"],
        "{} words",
    )
    said = "\n\n".join(
        [
            bullets(_trends(lines)),
            paragraphs(_TEXTS("differences"), width=96),
            bullets(_comparisons(rows)),
        ]
    )
    n_fits = max((line["fits"] for line in lines), default=0)
    caption = "\n\n".join(
        [
            paragraphs(*_caption(n_fits, _ends(chosen), scale)),
            _TEXTS("errors"),
            f"{errors.markdown()}\n{_TEXTS('constants')}",
            f"{constants.markdown()}\n{said}\n",
        ]
    )
    titled = replace(constants, head=["chosen constants of", *constants.head[1:]], right=())
    return Report(_COLUMNS, lines, f"{errors.text()}\n\n{titled.text()}\n\n{said}", caption)


def summary_line(model: str, group: Sequence[dict[str, Any]], grid: Grid) -> dict[str, Any]:
    """Sum up the fits of one model to one kind of data."""
    errors = values(group, "error")
    parameters = str(group[0].get("parameters") or "")
    return {
        "model": model,
        "fits": len(errors),
        "error": float(errors.mean()),
        "error_deviation": deviation(errors),
        "train_error": mean(group, "train_error"),
        "largest_gap": largest(group, "relative_gap"),
        "parameters": parameters,
        "at_end_of_grid": ends_a_grid(parameters, grid),
    }


def ends_a_grid(parameters: str, grid: Grid) -> bool:
    """Say whether a chosen constant is the first or the last of its grid."""
    known = dict(read_constants(parameters))
    return any(is_at_end(known.get(name), tried) for name, tried in grid)


def with_spread(line: dict[str, Any]) -> str:
    """Return an error for a table, with the deviation of several."""
    return plus_minus(line["error"], line["error_deviation"])


def _caption(n_fits: int, ends: str, scale: str) -> tuple[str, ...]:
    """Return the paragraphs above the tables; the first one explains the figure by itself."""
    sizes = {beta: [str(n) for n in _BETAS if _BETAS[n] == beta] for beta in _BETAS.values()}
    betas = [f"{beta:g} for {' and '.join(n_words)} words" for beta, n_words in sizes.items()]
    subtracted = [f"{model} in ({half})" for half, (_, _, model) in _HALVES.items()]
    return (
        _TEXTS(
            "caption",
            passes=PASSES,
            n_fits=n_fits,
            subtracted=" and of ".join(subtracted),
            ends=ends,
        ),
        _TEXTS(
            "papers",
            lam=_LAM,
            betas=" and ".join(betas),
            passes=PASSES,
            l1=_L1_CONSTANT,
            em_C=_EM_C,
        ),
        _TEXTS("chosen", n_blocks=N_OUTSIDE_BLOCKS, choice=CHOICE[scale]),
        _TEXTS("grids", grids=grids_text(GRIDS)),
    )


def grids_text(grids: Mapping[str, Grid]) -> str:
    """Say which constants are tried, for models with the same grid at once."""
    models = {grid: [name for name in grids if grids[name] == grid] for grid in grids.values()}
    return "; ".join(
        f"{parameter} of {listed(names)} {values_text(tried)}"
        for grid, names in models.items()
        for parameter, tried in grid
    )


def values_text(tried: Sequence[float]) -> str:
    """Return constants for a sentence, many of them by their ends."""
    if len(tried) > 10:
        return f"{len(tried)} values from {tried[0]:g} to {tried[-1]:g}"
    return listed([f"{value:g}" for value in tried])


def _ends(chosen: Sequence[dict[str, Any]]) -> str:
    """Say which chosen constants are the first or the last of their grid."""
    if not chosen:
        return ""
    ends = [line for line in chosen if line["at_end_of_grid"]]
    return ends_sentence(
        f"{model} ({text} at {listed([str(line['n_train']) for line in group])})"
        for (model, text), group in groups(ends, "model", _chosen).items()
    )


def _chosen(line: dict[str, Any]) -> str:
    """Return the constants that a model has chosen, without those it was given."""
    names = [name for name, _ in GRIDS[line["model"]]]
    return constants_text(pair for pair in read_constants(line["parameters"]) if pair[0] in names)


def ends_sentence(models: Iterable[str]) -> str:
    """Say which constants were chosen at an end of their grid, if any, to follow another sentence."""
    models = "; ".join(models)
    return "  " + (_TEXTS("ends", models=models) if models else _TEXTS("inner"))


def _trends(lines: Sequence[dict[str, Any]]) -> list[str]:
    """Say who errs least, and whether errors and deviations fall with more words."""
    by_size = sorted(lines, key=lambda line: line["n_train"])
    series = [s for s in groups(by_size, "constants", "model").values() if len(s) > 1]
    texts = []
    if series:
        falls = [all(np.diff(values(found, "error")) < 0) for found in series]
        spreads = [[found[k]["error_deviation"] or 0 for k in (0, -1)] for found in series]
        calmer = sum(last < first for first, last in spreads)
        texts.append(_TEXTS("falls", falls=sum(falls), models=len(falls), calmer=calmer))
    for kind in ("papers'", "chosen"):
        mine = [line for line in by_size if line["constants"] == kind]
        best = [
            f"{min(group, key=lambda line: line['error'])['model']} ({n} words)"
            for n, group in groups(mine, "n_train").items()
        ]
        if best:
            texts.append(_TEXTS("best", kind=kind, models=", ".join(best)))
    return texts


_COMPARED = (
    ("LapMEDN sub-gradient", "M3N sub-gradient"),
    ("LapMEDN sub-gradient", "L2-CRF"),
    ("M3N sub-gradient", "M3N at its optimum"),
    ("LapMEDN sub-gradient", "LapMEDN at its optimum"),
    ("LapMEDN at its optimum", "M3N at its optimum"),
    ("L1-M3N EM", "L1-M3N sub-gradient"),
    ("L1-M3N sub-gradient", "LapMEDN sub-gradient"),
    ("M3N sub-gradient", "L1-CRF"),
    ("LapMEDN variational", "M3N"),
    ("LapMEDN variational", "LapMEDN"),
    ("LapMEDN", "M3N"),
    ("L2-CRF", "M3N"),
    ("L2-CRF", "L1-CRF"),
    ("L1-M3N", "L1-CRF"),
    ("L1-M3N", "M3N"),
    ("epsilon-M3N", "M3N"),
    ("L2-CRF", "CRF"),
)


def _comparisons(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return a line for each comparison of two models."""
    texts = []
    for one, other in _COMPARED:
        found = groups(_drawn(rows, (one, other)), "n_train", order=lambda n_words: n_words)
        parts = []
        for n_words, group in found.items():
            by_model = groups(group, "model")
            less = differences(by_model.get(one, ()), by_model.get(other, ()))
            if len(less):
                parts.append(
                    f"{100 * less.mean():+.1f} at {n_words} ({np.sum(less < 0)} of {len(less)})"
                )
        if parts:
            texts.append(_TEXTS("difference", one=one, other=other, sizes=", ".join(parts)))
    return texts


OCR_STUDY = Study(
    "ocr",
    "handwritten words: 100 to 250 train",
    fits=_ocr_specs,
    fit=Trained(
        ocr_split,
        models={**MODELS, **_PAPERS, **{model.name: model for model in _CHOOSERS.values()}},
        measure=grid_errors,
        measured=("grid_errors",),
    ),
    draw=draw_ocr,
    report=report_ocr,
    remarks=MEMORY,
    duration="quick 16 s, paper 16 min",
    shows="MEDN 7, LapM3N 4",
    place=7,
)
"""The study of few words."""
