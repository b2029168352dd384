r"""The study ``ocr-overfitting``: random fields read worse the longer they train (MEDN Fig. 8).

100 words of one fold train, 100 of each other fold test.  While a conditional random field is trained,
its weights are noted at 22 *change ratios*, where the log-likelihood first changes by no more than a
share of itself in one pass, and at 22 values of the *negative log-likelihood*, where that is first
reached; both lists are the paper's.  Afterwards the words of the test part are read with each of these
weights: what a training would have given that had been stopped there.  The test part has no say in
training.

What the paper leaves open
--------------------------
* The constants.  The L2-CRF has the one it is compared with everywhere, the L1-CRF 1 (likewise) and,
  as the other end, 0.0001, the smallest that the paper tries elsewhere.  A penalty keeps the likelihood
  from 1, so these curves end where the optimum is.
* What a change is relative to.  The words are separable: without a penalty the loss goes to 0, by a
  good share of itself in every pass, and its relative change would never be small.  So a loss below 1
  counts as 1, which is how the L-BFGS-B program judges it.  With a penalty the change is that of the
  penalised log-likelihood, which is what training raises.
* The optimiser.  The paper's is a quasi-Newton method, for the L1-CRF that of Andrew and Gao (2007).

Where there is no optimum, the optimiser decides where one goes
---------------------------------------------------------------
Many weights label all training words without error, and how one gets there is a choice.  Plain L-BFGS
starts down the gradient, and steps stay in the span of the gradients it has seen: weights remain small
in the Euclidean norm, as if there were an L2 penalty.  The L-BFGS of this package divides by the
curvature, and directions in pixel space along which the training words hardly differ bend the loss
little, so they get large weights, although little speaks for them.  Of the squared weights of pixels
without a penalty, when the negative log-likelihood is 1, about 80 % lie in that half of the directions
(eigenvectors of the second moments) of which the training words have least, against 12-17 % with plain
L-BFGS (folds 0 and 1); leaving them out takes 6 points off the error.  Transitions play no part in it.
That is why `medn_edu.CRF` does not use the curvature without a penalty.  Here each model is trained in
two ways:

===========================  ==============================================================
``CRF``, ``L2-CRF``          plain L-BFGS (SciPy's L-BFGS-B without bounds, 10 pairs)
``L1-CRF``                   OWL-QN (`medn_edu.solvers.owlqn`)
the same, *preconditioned*   L-BFGS and proximal L-BFGS upon a guess of the curvature, with
                             which `medn_edu.CRF` trains where there is a penalty
===========================  ==============================================================
"""

from __future__ import annotations

import copy
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

from medn_edu.estimators import CRF
from medn_edu.experiments.models import MODELS, Model
from medn_edu.experiments.runner import label_error
from medn_edu.experiments.selection import read_constants
from medn_edu.experiments.specs import FitSpec, Report, Study
from medn_edu.experiments.splits import FOLDS, ocr_split
from medn_edu.experiments.tables import markdown_table, text_table
from medn_edu.packing import pack
from medn_edu.plots.style import MUTED, new_figure, save_figure, series_style, styled
from medn_edu.problems import L1SoftMaxProblem, SoftMaxProblem
from medn_edu.results import Iterate, SolveResult, run
from medn_edu.solvers import lbfgs, owlqn, proximal_lbfgs

__all__ = [
    "CHANGES", "LOSSES", "OVERFITTING_STUDY", "Mark", "PlainCRF", "TracedCRF", "curves", "rises",
]  # fmt: skip

CHANGES = (
    1, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.04, 0.03, 0.02, 0.01, 0.005, 0.004, 0.003, 0.002, 0.001,
    0.0005, 0.0004, 0.0003, 0.0002, 0.0001, 0.00005,
)  # fmt: skip
"""Relative changes of the log-likelihood at which the paper measures."""

LOSSES = (
    1000, 800, 700, 600, 500, 300, 100, 50, 30, 10, 5, 3, 1, 0.5, 0.3, 0.1, 0.05, 0.03, 0.01, 0.005,
    0.003, 0.002,
)  # fmt: skip
"""Negative log-likelihoods at which the paper measures."""

PRECONDITIONED = " preconditioned"
"""How names of models end that are trained by this package's solvers."""

_NEVER = 1e-300  # a gap at which no run ends
_LEAST = 1.0  # what a change is relative to, at least
_DATA = "ocr-100"
_FAINT = 1e-4  # the smallest penalty of the paper's Fig. 9


# ---------------------------------------------------------------------------------------------
# training that leaves marks


@dataclass(frozen=True, eq=False)
class Mark:
    """Weights on the way.

    Parameters
    ----------
    n_passes : int
        After how many passes.
    weights : ndarray of shape (n_weights,)
        The weights.
    """

    n_passes: int
    weights: np.ndarray


class TracedCRF(CRF):
    """A `CRF` that notes its weights where marks are first reached, and ends when all are.

    Without a penalty it uses the curvature all the same.

    Parameters
    ----------
    penalty : {"l2", "l1", None}, default="l2"
        Penalty on the weights.
    lam : float, default=1.0
        Its strength.
    forbidden : collection of pairs, or dict from edge type to pairs, optional
        Transitions that never occur.
    tol : float, default=1e-4
        Not looked at.
    max_iter : int, default=1000
        Largest number of iterations.
    warm_start : bool, default=False
        Not looked at: training starts from zeros.
    n_jobs : int, default=1
        Threads for sweeps over all samples.
    verbose : int, default=1
        Not looked at.

    Attributes
    ----------
    at_change_, at_loss_ : list of Mark or None
        Weights where the relative change was first at most each of `CHANGES`, and the negative
        log-likelihood at most each of `LOSSES`; None where that did not happen.

    Examples
    --------
    >>> import numpy as np
    >>> model = TracedCRF(penalty=None).fit([np.eye(2), np.eye(2)[::-1]], ["ab", "ba"])
    >>> sum(mark is not None for mark in model.at_loss_)
    22
    """

    def _solve(self, problem: Any, start: SolveResult | None) -> SolveResult:
        iterates = self._marked(self._iterates(problem, start))
        return run(iterates, problem, tol=_NEVER, max_iter=self.max_iter)

    def _iterates(
        self, problem: SoftMaxProblem | L1SoftMaxProblem, start: SolveResult | None
    ) -> Iterator[Iterate]:
        if isinstance(problem, L1SoftMaxProblem):
            return proximal_lbfgs(problem)
        return lbfgs(problem, change_tol=_NEVER)

    def _marked(self, iterates: Iterator[Iterate]) -> Iterator[Iterate]:
        """Pass iterates on, noting marks, until all are reached that can be."""
        changes, losses = _Marks(CHANGES), _Marks(LOSSES)
        before = np.inf
        for n_passes, iterate in enumerate(iterates):
            objective = iterate.objective_estimate
            if n_passes > 0:
                change = (before - objective) / max(abs(before), abs(objective), _LEAST)
                changes.note(change, n_passes, iterate)
            losses.note(objective - self._penalty_of(iterate.weights), n_passes, iterate)
            before = objective
            self.at_change_, self.at_loss_ = changes.found, losses.found
            if changes.complete and (losses.complete or self.penalty is not None):
                yield replace(iterate, stopped=iterate.stopped or "all marks reached")
                return
            yield iterate

    def _penalty_of(self, weights: np.ndarray) -> float:
        if self.penalty is None:
            return 0.0
        if self.penalty == "l1":
            return self.lam * float(np.abs(weights).sum())
        return 0.5 * self.lam * float(weights @ weights)

    def _warn(self, result: SolveResult, problem: Any) -> None:
        """Say nothing: the run ends by its marks, not by a gap."""


class _Marks:
    """Descending values, and the iterates that first were at most as large."""

    def __init__(self, values: Sequence[float]) -> None:
        self.values = values
        self.found: list[Mark | None] = [None] * len(values)

    def note(self, value: float, n_passes: int, iterate: Iterate) -> None:
        """Keep an iterate for all values that it is the first to reach."""
        reached = [k for k, at in enumerate(self.values) if value <= at and self.found[k] is None]
        mark = Mark(n_passes, iterate.weights.copy()) if reached else None
        for k in reached:
            self.found[k] = mark

    @property
    def complete(self) -> bool:
        """Whether all have been reached."""
        return self.found[-1] is not None


class PlainCRF(TracedCRF):
    """The same, by solvers that guess no curvature: OWL-QN for the L1 penalty, otherwise L-BFGS.

    Parameters
    ----------
    penalty : {"l2", "l1", None}, default="l2"
        Penalty on the weights.
    lam : float, default=1.0
        Its strength.
    forbidden : collection of pairs, or dict from edge type to pairs, optional
        Transitions that never occur.
    tol : float, default=1e-4
        Not looked at.
    max_iter : int, default=1000
        Largest number of iterations.
    warm_start : bool, default=False
        Not looked at: training starts from zeros.
    n_jobs : int, default=1
        Threads for sweeps over all samples.
    verbose : int, default=1
        Not looked at.

    Examples
    --------
    >>> import numpy as np
    >>> model = PlainCRF(penalty=None).fit([np.eye(2), np.eye(2)[::-1]], ["ab", "ba"])
    >>> model.at_loss_[-1] is not None
    True
    """

    def _iterates(
        self, problem: SoftMaxProblem | L1SoftMaxProblem, start: SolveResult | None
    ) -> Iterator[Iterate]:
        if isinstance(problem, L1SoftMaxProblem):
            return owlqn(problem)
        return _lbfgs(problem, self.max_iter)


def _lbfgs(problem: SoftMaxProblem, max_iter: int) -> Iterator[Iterate]:
    """Minimise by SciPy's L-BFGS-B, from zeros; yield the start and then once per iteration.

    SciPy does not pause between iterations, so all are made, and kept, before the first is yielded.
    """
    start = np.zeros(problem.weight_shape.size)
    path = [(start, problem.objective_and_gradient(start)[0])]
    minimize(
        problem.objective_and_gradient,
        start,
        jac=True,
        method="L-BFGS-B",
        callback=lambda intermediate_result: path.append(
            (intermediate_result.x.copy(), float(intermediate_result.fun))
        ),
        options={"maxiter": max_iter, "maxcor": 10, "ftol": 0.0, "gtol": 1e-7},
    )
    for number, (weights, objective) in enumerate(path, start=1):
        yield Iterate(
            weights=weights,
            gap_estimate=np.inf,
            objective_estimate=objective,
            n_oracle_calls=number * problem.n_samples,
            stopped="L-BFGS-B ended" if number == len(path) else "",
        )


# ---------------------------------------------------------------------------------------------
# fits


_KINDS = {"CRF": None, "L2-CRF": "l2", "L1-CRF": "l1"}


def _models() -> dict[str, Model]:
    ways = {"": PlainCRF, PRECONDITIONED: TracedCRF}
    return {
        name + suffix: Model(name + suffix, _Builder(made, penalty), MODELS[name].summary)
        for suffix, made in ways.items()
        for name, penalty in _KINDS.items()
    }


@dataclass(frozen=True)
class _Builder:
    """Makes estimators; unlike a function within a function it can be sent to workers."""

    made: type[TracedCRF]
    penalty: str | None

    def __call__(self, **parameters: Any) -> TracedCRF:
        return self.made(penalty=self.penalty, max_iter=2000, verbose=0, **parameters)


_MODELS = _models()
_L1_CONSTANTS = (MODELS["L1-CRF"].parameters, (("lam", _FAINT),))


def _specs(scale: str, seed: int) -> list[FitSpec]:
    folds = range(2) if scale == "quick" else FOLDS
    fits = [
        (name + suffix, parameters)
        for suffix in ("", PRECONDITIONED)
        for name, constants in (
            ("CRF", ((),)),
            ("L2-CRF", (MODELS["L2-CRF"].parameters,)),
            ("L1-CRF", _L1_CONSTANTS),
        )
        for parameters in constants
    ]
    return [FitSpec(_DATA, fold, *fit, seed) for fit in fits for fold in folds]


def _measure(spec: FitSpec, model: TracedCRF) -> dict[str, Any]:
    """Read the test part with the weights of all marks."""
    data = ocr_split(spec)
    test = pack(data.X_test)
    reader = copy.copy(model)
    known: dict[int, float] = {}

    def error(mark: Mark | None) -> float:
        if mark is None:
            return np.nan
        if mark.n_passes not in known:
            reader.coef_, reader.transitions_ = model._weight_shape.split(mark.weights)
            known[mark.n_passes] = label_error(reader.predict(test), data.y_test)
        return known[mark.n_passes]

    found: dict[str, Any] = {}
    for axis, marks in (("change", model.at_change_), ("loss", model.at_loss_)):
        found[f"{axis}_errors"] = _numbers(error(mark) for mark in marks)
        found[f"{axis}_passes"] = _numbers(np.nan if m is None else m.n_passes for m in marks)
    return found


def _numbers(values: Any) -> str:
    return " ".join(f"{value:.5g}" for value in values)


# ---------------------------------------------------------------------------------------------
# means over folds


_AXES = {"change": CHANGES, "loss": LOSSES}
_COLUMNS = ("model", "lam", "axis", "value", "fits", "error", "error_deviation", "n_passes")


def curves(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return mean errors at all marks.

    Parameters
    ----------
    rows : iterable of dict
        Results.

    Returns
    -------
    list of dict
        One row per model, ``lam`` (None without a penalty), ``axis`` (``"change"`` or ``"loss"``) and
        ``value`` on it: mean and standard deviation of the test error over the ``fits`` that reached
        it, and the mean number of passes this took.  Values that none reached are left out.
    """
    found = []
    for (name, lam), group in _groups(rows).items():
        for axis, values in _AXES.items():
            errors, passes = (_table(group, f"{axis}_{what}") for what in ("errors", "passes"))
            for k, value in enumerate(values if errors.size else ()):
                known = np.isfinite(errors[:, k])
                if known.any():
                    several = known.sum() > 1
                    found.append(
                        {
                            "model": name,
                            "lam": lam,
                            "axis": axis,
                            "value": value,
                            "fits": int(known.sum()),
                            "error": float(errors[known, k].mean()),
                            "error_deviation": float(errors[known, k].std(ddof=1))
                            if several
                            else None,
                            "n_passes": float(passes[known, k].mean()),
                        }
                    )
    return found


def rises(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return by how much errors grow from the best moment of training to its end.

    The best moment is the mark, on either axis, at which the mean over folds is lowest, of those that
    all folds reach.  It is known only when the test part has been read, so some of the rise is luck.

    Parameters
    ----------
    rows : iterable of dict
        Results.

    Returns
    -------
    list of dict
        One row per model and ``lam``: ``lowest`` mean error, reached at ``value`` on ``axis`` after
        ``n_passes``; mean error at the ``end``; ``rise`` from one to the other and its standard
        deviation over folds; ``fits``.
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
                "rise_deviation": float(rise.std(ddof=1)) if len(rise) > 1 else None,
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
    place = {name: number for number, name in enumerate(_MODELS)}
    return dict(sorted(found.items(), key=lambda item: (place[item[0][0]], -(item[0][1] or 0))))


def _table(rows: Sequence[dict[str, Any]], column: str) -> np.ndarray:
    """Return a measured column as numbers, one row per fit that has it."""
    texts = [str(row[column]) for row in rows if row.get(column) is not None]
    return np.array([[float(word) for word in text.split()] for text in texts])


# ---------------------------------------------------------------------------------------------
# figure


_LABELS = {"change": "√(1 / relative change)", "loss": "√(1000 / negative log-likelihood)"}
_WAYS = {
    "": ("Plain L-BFGS (L1-CRF: OWL-QN)", "plain"),
    PRECONDITIONED: ("Preconditioned by a guess of the curvature", "preconditioned"),
}


def _draw(rows: Sequence[dict[str, Any]], path: Path) -> None:
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
    names = {name + suffix: name for name in _KINDS}
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
        if kind[1] == _FAINT:
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


def _report(rows: Sequence[dict[str, Any]], scale: str) -> Report:
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
        "The paper does not tell the constants of its penalties: L2-CRF and the first L1-CRF have those "
        f"they are compared with everywhere, the second L1-CRF {_FAINT:g}, the smallest of the paper's "
        f"Fig. 9.  The paper's last negative log-likelihood is {LOSSES[-1]:g}{reached}."
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


OVERFITTING_STUDY = Study(
    "ocr-overfitting",
    "test error of random fields along their training",
    _specs,
    ocr_split,
    _draw,
    "only 55 different words occur in these data, each in every fold.",
    "quick 5 s, paper 20 s",
    models=_MODELS,
    measured=("change_errors", "change_passes", "loss_errors", "loss_passes"),
    measure=_measure,
    report=_report,
)
"""The study."""
