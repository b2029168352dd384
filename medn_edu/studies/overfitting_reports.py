"""Figure, table and caption of the study ``ocr-overfitting``.

The figure shows test errors along training: to the left against the relative change of the
log-likelihood, to the right against the negative log-likelihood itself; above by plain solvers, below
by those that guess the curvature.  Means and standard deviations are over folds, each of which has
trained once; bands are the deviations.  Not every training gets as far as every mark: a curve is drawn
as far as all folds went.

How much over-fitting there is says `rises`: fold by fold, the error at the end minus that at the mark
with the lowest mean.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from medn_edu.explorers.kit.style import MUTED, new_figure, save_figure, series_style, styled
from medn_edu.intervals import deviation
from medn_edu.studies.kit.models import MODELS
from medn_edu.studies.kit.selection import read_constants
from medn_edu.studies.kit.specs import Report
from medn_edu.studies.kit.tables import markdown_table, text_table
from medn_edu.studies.marks import CHANGES, LOSSES

KINDS: dict[str, str | None] = {"CRF": None, "L2-CRF": "l2", "L1-CRF": "l1"}
"""The models and their penalties, in the order of tables."""

PRECONDITIONED = " preconditioned"
"""How names of models end that are trained by this package's solvers."""

FAINT = 1e-4
"""The smallest penalty of the paper's Fig. 9."""


# ---------------------------------------------------------------------------------------------
# means over folds


_AXES = {"change": CHANGES, "loss": LOSSES}
_WAYS = {
    "": ("Plain L-BFGS (L1-CRF: OWL-QN)", "plain"),
    PRECONDITIONED: ("Preconditioned by a guess of the curvature", "preconditioned"),
}
_COLUMNS = ("model", "lam", "axis", "value", "fits", "error", "error_deviation", "n_passes")


def curves(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return mean errors at all marks."""
    found = []
    for (name, lam), group in _groups(rows).items():
        for axis, values in _AXES.items():
            errors, passes = (_table(group, f"{axis}_{what}") for what in ("errors", "passes"))
            for k, value in enumerate(values if errors.size else ()):
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
    for (name, lam), group in _groups(rows).items():
        best: tuple[float, str, int] | None = None
        for axis in _AXES:
            errors = _table(group, f"{axis}_errors")
            if not errors.size:
                continue
            mean = errors.mean(axis=0)  # not a number where a fold is missing
            for k in map(int, np.flatnonzero(np.isfinite(mean))):
                if best is None or mean[k] < best[0]:
                    best = (float(mean[k]), axis, k)
        if best is None:
            continue
        lowest, axis, place = best
        end = np.array([row["error"] for row in group])
        rise = end - _table(group, f"{axis}_errors")[:, place]
        found.append(
            {
                "model": name,
                "lam": lam,
                "fits": len(group),
                "lowest": lowest,
                "axis": axis,
                "value": _AXES[axis][place],
                "n_passes": float(_table(group, f"{axis}_passes")[:, place].mean()),
                "end": float(end.mean()),
                "rise": float(rise.mean()),
                "rise_deviation": deviation(rise),
            }
        )
    return found


Kind = tuple[str, float | None]


def _groups(rows: Iterable[dict[str, Any]]) -> dict[Kind, list[dict[str, Any]]]:
    """Return the fits of each model and constant, in the order of the study."""
    found: dict[Kind, list[dict[str, Any]]] = {}
    for row in rows:
        lam = dict(read_constants(row["parameters"])).get("lam")
        found.setdefault((row["model"], lam), []).append(row)
    names = [name + suffix for suffix in _WAYS for name in KINDS]
    place = {name: number for number, name in enumerate(names)}
    return dict(sorted(found.items(), key=lambda item: (place[item[0][0]], -(item[0][1] or 0))))


def _table(rows: Sequence[dict[str, Any]], column: str) -> np.ndarray:
    """Return a measured column as numbers, one row per fit that has it."""
    texts = [str(row[column]) for row in rows if row.get(column) is not None]
    return np.array([[float(word) for word in text.split()] for text in texts])


# ---------------------------------------------------------------------------------------------
# figure


_LABELS = {"change": "√(1 / relative change)", "loss": "√(1000 / negative log-likelihood)"}


def draw_overfitting(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw MEDN Fig. 8: errors along training."""
    points = curves(rows)
    figure = new_figure(10, 7.2)
    with styled():
        axes = figure.subplots(len(_WAYS), len(_AXES), sharex="col", sharey=True)
        for line, (suffix, (title, _)) in zip(axes, _WAYS.items(), strict=True):
            for ax, axis in zip(line, _AXES, strict=True):
                _draw_panel(ax, [p for p in points if p["axis"] == axis], suffix)
                ax.set_xlabel(_LABELS[axis])
                ax.label_outer()
            line[0].set_ylabel("test error (% of labels)")
            line[0].set_title(title)
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=4, handlelength=4)
        figure.supxlabel(_note(points), fontsize=9, color=MUTED)
    save_figure(figure, path)


def _draw_panel(ax: Any, points: Sequence[dict[str, Any]], suffix: str) -> None:
    """Draw mean errors with their deviations along training, as far as all folds went."""
    names = {name + suffix: name for name in KINDS}
    kinds = dict.fromkeys((p["model"], p["lam"]) for p in points if p["model"] in names)
    for kind in kinds:
        line = [p for p in points if (p["model"], p["lam"]) == kind]
        most = max(p["fits"] for p in line)
        line = [p for p in line if p["fits"] == most]
        unit = 1.0 if line[0]["axis"] == "change" else 1000.0
        x = [np.sqrt(unit / p["value"]) for p in line]
        y = np.array([p["error"] for p in line])
        spread = np.array([p["error_deviation"] or 0.0 for p in line])
        style: dict[str, Any] = {**series_style(names[kind[0]]), "linewidth": 1.6, "markersize": 4}
        if kind[1] == FAINT:
            style |= {"markerfacecolor": "white", "marker": "o", "linestyle": "-"}
        label = names[kind[0]] + ("" if kind[1] is None else f", λ = {kind[1]:g}")
        ax.plot(x, y, label=label, **style)
        ax.fill_between(x, y - spread, y + spread, color=style["color"], alpha=0.13, linewidth=0)
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.4g}")
    ax.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.4g} %")
    ax.grid(axis="y")


def _note(points: Sequence[dict[str, Any]]) -> str:
    return f"OCR100: 100 words of one fold train, 900 of the others test; {_folds(points)}"


def _folds(points: Sequence[dict[str, Any]]) -> str:
    most = max((point["fits"] for point in points), default=0)
    return "1 fold" if most == 1 else f"mean ± deviation over {most} folds"


# ---------------------------------------------------------------------------------------------
# report


def report_overfitting(rows: Sequence[dict[str, Any]], scale: str) -> Report:
    """Sum ``ocr-overfitting`` up."""
    del scale
    points, found = curves(rows), rises(rows)
    headers = [
        "model", "lam", "trained", "fits", "lowest error", "at", "passes", "at the end", "rise",
    ]  # fmt: skip
    cells = [_cells(line) for line in found]
    note = textwrap.fill(
        "lowest error: mean over folds at the best of the paper's marks, by change ratio or by negative "
        "log-likelihood (chosen by looking at the test part, so a little too low); rise: from there to "
        "the end of training, in points.  passes: iterations until then.",
        96,
    )
    paragraphs = (_caption(points), _open(points), _optimisers(found))
    caption = "\n\n".join(
        textwrap.fill(text, 100, break_on_hyphens=False) for text in paragraphs if text
    )
    return Report(
        _COLUMNS,
        points,
        f"{text_table(headers, cells, right=(1, 3, 4, 6, 7, 8))}\n\n{note}",
        f"{caption}\n\n{markdown_table(headers, cells)}\n{note}\n",
    )


def _cells(line: dict[str, Any]) -> list[str]:
    suffix = PRECONDITIONED if line["model"].endswith(PRECONDITIONED) else ""
    spread = "" if line["rise_deviation"] is None else f" ± {100 * line['rise_deviation']:.1f}"
    return [
        line["model"].removesuffix(suffix),
        "–" if line["lam"] is None else f"{line['lam']:g}",
        _WAYS[suffix][1],
        str(line["fits"]),
        f"{line['lowest']:.3f}",
        f"{line['axis']} {line['value']:g}",
        f"{line['n_passes']:.0f}",
        f"{line['end']:.3f}",
        f"{100 * line['rise']:.1f}{spread}",
    ]


def _caption(points: Sequence[dict[str, Any]]) -> str:
    return (
        "Test error of conditional random fields along their training, after Fig. 8 of the MEDN paper: "
        f"100 OCR words of one fold train, 900 of the others test; {_folds(points)}.  To the left "
        "against the relative change of the log-likelihood per pass (of the penalised one where there "
        "is a penalty; a loss below 1 counts as 1), to the right against the negative log-likelihood, "
        "each where the paper's values were first reached; curves end where not all folds went on.  "
        "Errors were measured afterwards, with the weights of then; "
        "axes are logarithmic, the paper's are not."
    )


def _open(points: Sequence[dict[str, Any]]) -> str:
    """Say what the paper leaves open, and where penalised trainings end."""
    ends = [p["value"] for p in points if p["axis"] == "loss" and p["lam"] is not None]
    reached = f"; no penalised one comes below {min(ends):g} here" if ends else ""
    return (
        f"The paper does not tell the constants of its penalties: {_defaults()} are the package's for "
        "models that choose none (the study ocr chooses them for each number of words); "
        f"{FAINT:g}, of the second L1-CRF, is the smallest of the paper's Fig. 9.  The paper's last "
        f"negative log-likelihood is {LOSSES[-1]:g}{reached}."
    )


def _defaults() -> str:
    """Return the constants that come from the list of models."""
    return " and ".join(
        f"lambda = {dict(MODELS[name].parameters)['lam']:g} of the {name}"
        for name, penalty in KINDS.items()
        if penalty
    )


def _optimisers(found: Sequence[dict[str, Any]]) -> str:
    """Say what the optimiser makes of the same model."""
    by_kind = {(line["model"], line["lam"]): line for line in found}
    parts = []
    for (name, lam), line in by_kind.items():
        other = by_kind.get((name + PRECONDITIONED, lam))
        if other is not None:
            kind = name if lam is None else f"{name} with lambda = {lam:g}"
            parts.append(
                f"{kind} {line['lowest']:.3f} and {line['end']:.3f} plain, {other['lowest']:.3f} and "
                f"{other['end']:.3f} preconditioned"
            )
    if not parts:
        return ""
    return (
        "The curves depend on the optimiser, above all where there is no optimum or a flat one: lowest "
        f"error and error at the end are, {'; '.join(parts)}.  Plain L-BFGS moves along gradients and "
        "keeps weights small, as if it had an L2 penalty; dividing by the curvature gives large weights "
        "to directions in pixel space along which the training words hardly differ."
    )
