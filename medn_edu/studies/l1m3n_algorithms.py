"""The study ``l1m3n-algorithms``: L1-M3N by five algorithms (L1-M3N paper, Table 1, Fig. 5 and 6).

How it works, and what the paper leaves open, stands at the head of ``l1m3n_algorithms.md``.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter

from medn_edu.estimators import L1M3N
from medn_edu.explorers.kit.panels import label_ends, letter_panels
from medn_edu.explorers.kit.style import MUTED, new_figure, save_figure, series_style, styled
from medn_edu.studies.em import SMALL, l1_em
from medn_edu.studies.kit.models import Model
from medn_edu.studies.kit.specs import FitSpec, Report, Split, Study
from medn_edu.studies.kit.splits import FOLDS, chain_split, ocr_split
from medn_edu.studies.kit.summary import (
    MISSING,
    Column,
    Row,
    Table,
    curve,
    groups,
    most,
    table,
    values,
)
from medn_edu.studies.kit.texts import Texts, over, paragraphs
from medn_edu.studies.kit.trained import Trained
from medn_edu.studies.l1_table import (
    ALGORITHMS,
    CHAINS,
    COLUMNS,
    EM_C,
    OCR,
    ROUNDS,
    TITLES,
    Algorithm,
    constant_of,
    mask_of,
    table_1,
)

# No gap ends the sub-gradient methods: they make their steps, as in the paper.
_STEPS: dict[str, Any] = {"tol": 1e-12, "verbose": 0}
_TO_A_GAP: dict[str, Any] = {"tol": 1e-3, "verbose": 0}
_BATCH = partial(L1M3N, solver="subgradient", beta=1.0, max_iter=200, **_STEPS)
_ONLINE = partial(L1M3N, solver="online_subgradient", beta=10.0, max_iter=20, **_STEPS)
_PLANES = partial(L1M3N, solver="cutting_plane", max_iter=ROUNDS, **_TO_A_GAP)
_PATH = partial(L1M3N, solver="path", **_TO_A_GAP)

_MODELS = {
    model.name: model
    for model in (
        Model("sub-gradient", _BATCH, "projected sub-gradients on the L1 ball, in batch"),
        Model("online sub-gradient", _ONLINE, "the same, a step after each sequence"),
        Model("cutting plane", _PLANES, "linear programs over working sets"),
        Model("EM", partial(l1_em, C=EM_C), "adaptive M3N, 15 quadratic programs"),
        Model("path", _PATH, "exact Laplace MEDNs with growing lambda"),
    )
}


def _specs(scale: str, seed: int) -> list[FitSpec]:
    quick = scale == "quick"
    folds = {CHAINS: range(2), OCR: range(1)} if quick else dict.fromkeys(TITLES, FOLDS)
    return [
        FitSpec(data, fold, name, _parameters(algorithm, data, constant), seed)
        for data in TITLES
        for name, algorithm in ALGORITHMS.items()
        for constant in algorithm.constants[data][_some(data, algorithm) if quick else slice(None)]
        for fold in folds[data]
    ]


def _some(data: str, algorithm: Algorithm) -> slice:
    """Return which constants are tried at quick scale: no long fits."""
    if data == CHAINS:
        return slice(0, 7, 3)
    if algorithm.name == "cutting plane":
        return slice(0, 0)
    return slice(0, 1) if algorithm.parameter == "C" else slice(2, 3)


def _parameters(algorithm: Algorithm, data: str, constant: float) -> tuple[tuple[str, float], ...]:
    varied = (algorithm.parameter, constant)
    if algorithm.name == "path" and data == OCR:  # closer would take minutes
        return (varied, ("tol", 1e-2))
    return (varied,)


def _split(spec: FitSpec) -> Split:
    return chain_split(spec) if spec.data == CHAINS else ocr_split(spec)


def _measure(spec: FitSpec, model: Any) -> dict[str, Any]:
    """Note how large the weights are together, and which of the features' weights are not zero."""
    found: dict[str, Any] = {"l1_norm": float(np.abs(model.weights_).sum())}
    if spec.data == CHAINS:
        sizes = np.abs(model.coef_).ravel()
        found["nonzero"], found["not_small"] = mask_of(sizes > 0), mask_of(sizes >= SMALL)
    return found


_QUANTITIES = {
    "error": "test error (% of labels)",
    "n_nonzero": "weights that are not zero, of {n:,}",
    "cpu_seconds": "time to train (processor seconds)",
}


def _draw(rows: Sequence[Row], path: Path) -> None:
    """Draw errors, non-zero weights and times against the L1 norm of the weights that come out."""
    by_data = groups(rows, "data")
    shown = [data for data in TITLES if data in by_data]
    figure = new_figure(11.5, 3.2 * len(shown) + 0.7)
    with styled():
        axes = figure.subplots(len(shown), len(_QUANTITIES), squeeze=False)
        for line, data in zip(axes, shown, strict=True):
            n_weights = int(values(by_data[data], "n_weights").max(initial=0))
            for ax, (column, label) in zip(line, _QUANTITIES.items(), strict=True):
                _draw_panel(ax, by_data[data], column)
                ax.set_ylabel(label.format(n=n_weights))
            line[0].set_title(TITLES[data])
            line[0].yaxis.set_major_formatter(lambda value, _: f"{100 * value:g} %")
            line[1].yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        for ax in axes[-1]:
            ax.set_xlabel("sum of the absolute weights")
        letter_panels(axes.flat)
        folds = {data: groups(by_data[data], "model", constant_of).values() for data in shown}
        texts = [f"{TITLES[data]}: {over(most(fits))}; " for data, fits in folds.items()]
        figure.supxlabel(_TEXTS("note", folds="".join(texts)), fontsize=9, color=MUTED)
        label_ends(*axes[:, -1])
    save_figure(figure, path)


def _draw_panel(ax: Axes, rows: Sequence[Row], column: str) -> None:
    """Draw what each algorithm's fits are like; each of its constants is a point.

    The path comes first, so that what coincides with it stays visible.
    """
    names = list(ALGORITHMS)
    for name, group in groups(rows, "model", order=lambda name: -names.index(name)).items():
        norms = curve(name, group, constant_of, "l1_norm").mean
        found = curve(name, group, constant_of, column)
        order = np.argsort(norms)
        ax.errorbar(
            norms[order], found.mean[order], yerr=found.deviation[order], label=name, elinewidth=1,
            **{**series_style(name), "linewidth": 1.6, "markersize": 5},
        )  # fmt: skip
    ax.set_xscale("log")
    scaled = [ax.xaxis]
    if column == "cpu_seconds":
        ax.set_yscale("log")
        scaled.append(ax.yaxis)
    else:
        ax.set_ylim(bottom=0)
    for axis in scaled:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_minor_formatter(NullFormatter())
        axis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.grid(axis="y")


_TEXTS = Texts("l1m3n_algorithms.md")
_FAR = 10  # of 140 counts, a difference to speak of


def _report(rows: Sequence[Row], scale: str) -> Report:
    lines = table_1(rows)
    choices = {"em_C": EM_C, "small": SMALL, "rounds": ROUNDS}
    caption = paragraphs(
        _TEXTS("caption", folds=_TEXTS(f"folds-{scale}")),
        _TEXTS("tables", **choices),
        _tail(lines),
        _differences(lines),
        _gaps(rows),
    )
    counts = "\n".join(block.markdown() for block in _as_in_the_paper(lines))
    return Report(
        COLUMNS,
        lines,
        f"{table(_CONSOLE, lines).text()}\n\n{paragraphs(_TEXTS('counts'), width=96)}",
        f"{caption}\n\n{counts}\n{table(_PAGE, lines).markdown()}",
    )


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.995 else "100 %"


def _seconds(value: float) -> str:
    return f"{value:.2f} s"


def _papers_counts(line: Row) -> str:
    known = "paper_total" in line
    return f"{line['paper_irrelevant']} / {line['paper_total']}" if known else MISSING


_FIRST = (
    Column("data", "data", TITLES.__getitem__),
    Column("algorithm", "algorithm"),
    Column("constant", lambda line: f"{line['parameter']} = {line['constant']:g}"),
    Column("fits", "fits", right=True),
    Column("test error", "error", ".3f", right=True),
)
_CONSOLE = (
    *_FIRST,
    Column("time", "cpu_seconds", _seconds, right=True),
    Column("|w|₁", "l1_norm", ".3g", right=True),
    Column("gap", "largest_gap", _percent, right=True),
    Column("irrelevant", "irrelevant", right=True),
    Column("total", "total", right=True),
    Column("paper's", _papers_counts, right=True),
)
_PAGE = (
    *_FIRST,
    Column("processor time", "cpu_seconds", _seconds),
    Column("sum of abs(w)", "l1_norm", ".3g"),
    Column("largest gap", "largest_gap", _percent),
)


def _as_in_the_paper(lines: Sequence[Row]) -> list[Table]:
    """Return Table 1, a part for each algorithm, the paper's numbers above ours."""
    parts = []
    for name, algorithm in ALGORITHMS.items():
        counted = _counted(lines, name)
        if not counted:
            continue
        columns = {
            "irrelevant": "irrelevant",
            "total": "total",
            f"irrelevant, {SMALL:g} or more": "irrelevant_not_small",
            f"total, {SMALL:g} or more": "total_not_small",
        }
        if algorithm.total:
            papers = {"irrelevant, paper": "paper_irrelevant", "total, paper": "paper_total"}
            columns = papers | columns
        head = [f"{name}: constant in Table 1", *(f"{line['printed']:g}" for line in counted)]
        body = [[title, *(str(line[name]) for line in counted)] for title, name in columns.items()]
        parts.append(Table(head, body))
    return parts


def _counted(lines: Sequence[Row], name: str) -> list[Row]:
    return [line for line in lines if (line["data"], line["algorithm"]) == (CHAINS, name)]


def _lacks_folds(lines: Sequence[Row]) -> bool:
    return any(line["fits"] < len(FOLDS) for line in lines if line["data"] == CHAINS)


def _tail(lines: Sequence[Row]) -> str:
    """Say whether the sub-gradients' many small weights are there, as in the paper."""
    names = {"in batch": "sub-gradient", "online": "online sub-gradient"}
    ways = {way: counted for way, name in names.items() if (counted := _counted(lines, name))}
    if not ways:
        return ""
    if _lacks_folds(lines):
        return _TEXTS("fewer-folds")

    def listed(counted: Sequence[Row], column: str) -> str:
        return ", ".join(f"{line[column]:g}" for line in counted)

    found = []
    for way, counted in ways.items():
        there = all(2 * line["irrelevant"] >= line["paper_irrelevant"] for line in counted)
        text = "tail-shown" if there else "tail-not-shown"
        found.append(_TEXTS(text, way=way, counts=listed(counted, "irrelevant")))
    taken = [
        line[column] - line[f"{column}_not_small"]
        for counted in ways.values()
        for line in counted
        for column in ("irrelevant", "total")
    ]
    first = next(iter(ways.values()))
    return _TEXTS(
        "tail", counts=listed(first, "paper_irrelevant"), roots=listed(first, "printed"),
        ways="  ".join(found), small=SMALL, most=max(taken),
    )  # fmt: skip


def _differences(lines: Sequence[Row]) -> str:
    """Say where the other counts are far from the paper's."""
    sentences = []
    for name in ("cutting plane", "EM"):
        far = [
            _TEXTS("far-at", **{n: line[n] for n in _COMPARED})
            for line in _counted(lines, name)
            if any(abs(line[of] - line[f"paper_{of}"]) > _FAR for of in ("irrelevant", "total"))
        ]
        if far and not _lacks_folds(lines):
            sentences.append(f"{name[0].upper()}{name[1:]}: {'; '.join(far)}.")
    return "  ".join([_TEXTS("far", far=_FAR), *sentences]) if sentences else ""


_COMPARED = ("irrelevant", "total", "paper_irrelevant", "paper_total", "printed")


def _gaps(rows: Sequence[Row]) -> str:
    """Say how far from the optimum the fits ended."""
    sentences = [_TEXTS("gaps")]
    fits = groups(rows, "data", "model")
    for data, title in TITLES.items():
        found = {name: values(fits.get((data, name), []), "relative_gap") for name in ALGORITHMS}
        parts = [
            f"{name} {_percent(float(np.median(gaps)))} ({_percent(max(gaps))})"
            for name, gaps in found.items()
            if len(gaps)
        ]
        if parts:
            sentences.append(f"{title}: {', '.join(parts)}.")
    zero = [row for row in rows if row["data"] == OCR and row["l1_norm"] == 0]
    if len(gaps := values(zero, "relative_gap")):
        sentences.append(_TEXTS("zero-weights", gap=_percent(max(gaps))))
    return "  ".join(sentences)


L1_STUDY = Study(
    "l1m3n-algorithms",
    "L1-M3N by five algorithms: error and time",
    fits=_specs,
    fit=Trained(
        _split, models=_MODELS, measure=_measure, measured=("l1_norm", "nonzero", "not_small")
    ),
    draw=_draw,
    report=_report,
    duration="quick 13 s, paper 10 min",
    shows="L1-M3N 5-6",
    place=13,
)
"""The study."""
