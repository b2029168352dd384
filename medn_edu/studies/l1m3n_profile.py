"""The study ``l1m3n-profile``: where L1-M3N's algorithms spend their time.

How it works stands at the head of ``l1m3n_profile.md``.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from medn_edu.estimators import L1M3N
from medn_edu.explorers.kit.panels import label_ends, letter_panels
from medn_edu.explorers.kit.style import MUTED, new_figure, save_figure, styled
from medn_edu.problems import L1Norm, MarginLoss, Problem
from medn_edu.results import run
from medn_edu.slacks import LinearSlack
from medn_edu.solvers._l1_bounds import Bounds
from medn_edu.solvers._linear_program import LinearProgram, ProgramSolution, cut
from medn_edu.solvers.textbook.projected_subgradient import project_l1
from medn_edu.studies.kit.specs import FitSpec, Report, Row, Split, Study
from medn_edu.studies.kit.splits import FOLDS, chain_split, ocr_split
from medn_edu.studies.kit.summary import MISSING, Column, groups, mean, table, values
from medn_edu.studies.kit.texts import Texts, counted, paragraphs
from medn_edu.studies.kit.trained import label_error
from medn_edu.studies.l1_table import CHAINS, OCR, ROUNDS, TITLES, flags_of, mask_of
from medn_edu.studies.stopped import steps

BALL, PLANES, COLD = "online sub-gradient", "cutting plane", "cutting plane, cold"
"""Projected sub-gradients, and cutting planes whose simplex starts from the last basis, or from none."""

BETA = 10.0
"""Of the steps ``1 / (2 beta sqrt(t))`` in the study ``l1m3n-algorithms``."""

_BETAS = (0.01, 0.1, 1.0, 3.0, BETA, 30.0, 100.0)
_PASSES = 20
_RADII = {CHAINS: (0.25, 1.0, 9.0), OCR: (20.0, 100.0, 400.0)}
_PRICES = {CHAINS: (0.01, 0.03, 0.16), OCR: (0.1,)}
_N_RELEVANT, _N_IRRELEVANT = 30, 140  # features of the chains, the first ones; weights of others
_COLUMNS = (
    "data", "fold", "model", "constant", "beta", "error", "total_seconds", "part_seconds",
    "irrelevant", "n_rounds",
)  # fmt: skip


def _specs(scale: str, seed: int) -> list[FitSpec]:
    quick = scale == "quick"
    places = [(CHAINS, range(1))] if quick else [(CHAINS, FOLDS), (OCR, FOLDS[:5])]
    return [
        FitSpec(data, fold, name, parameters, seed)
        for data, folds in places
        for name, parameters in (
            *(
                (BALL, (("radius", radius), ("beta", beta)))
                for radius in _RADII[data][:: 2 if quick else 1]
                for beta in _BETAS[:: 2 if quick else 1]
            ),
            *((name, (("C", C),)) for name in (PLANES, COLD) for C in _PRICES[data][quick:]),
        )
        for fold in folds
    ]


def _fit(spec: FitSpec) -> Row:
    data = chain_split(spec) if spec.data == CHAINS else ocr_split(spec)
    found = (_ball if spec.model == BALL else _planes)(spec, data)
    constant = spec.parameters[0][1]
    where = {"data": spec.data, "fold": spec.fold, "model": spec.model, "constant": constant}
    return {**dict.fromkeys(_COLUMNS), **where, **found}


def _ball(spec: FitSpec, data: Split) -> Row:
    """Train with sub-gradient steps, and repeat the projections with weights like the last ones."""
    given: dict[str, Any] = dict(spec.parameters)
    model = L1M3N(**given, random_state=spec.seed, **steps(_PASSES))
    begin = process_time()
    model.fit(data.X_train, data.y_train)
    total = process_time() - begin
    stepped = 1.01 * model.weights_  # where weights lie on the ball, a step leads out of it
    begin = process_time()
    for _ in range(_PASSES * len(data.X_train)):
        project_l1(stepped, given["radius"])
    part = process_time() - begin
    irrelevant = mask_of(model.coef_[:, _N_RELEVANT:].ravel() != 0)
    return {
        "beta": given["beta"],
        "error": label_error(model.predict(data.X_test), data.y_test),
        "total_seconds": total,
        "part_seconds": part,
        "irrelevant": irrelevant if spec.data == CHAINS else None,
    }


class _Timed(LinearProgram):
    """The linear program of a working set, which notes how long it takes, and may forget its basis."""

    cold = False
    seconds = 0.0

    def solve(self) -> ProgramSolution:
        """Solve the program."""
        if self.cold:
            self._highs.clearSolver()
        begin = process_time()
        try:
            return super().solve()
        finally:
            self.seconds += process_time() - begin


def _planes(spec: FitSpec, data: Split) -> Row:
    """Train by cutting planes, and time the linear programs apart."""
    slack = LinearSlack(spec.parameters[0][1])
    problem = Problem.of(data.X_train, data.y_train, MarginLoss(slack), L1Norm())
    begin = process_time()
    program = _Timed(problem)
    program.cold = spec.model == COLD
    rounds = cut(program, Bounds(problem), np.zeros(problem.weight_shape.size))
    result = run(rounds, problem, tol=1e-3, max_iter=ROUNDS)
    total = process_time() - begin
    return {"total_seconds": total, "part_seconds": program.seconds, "n_rounds": result.n_passes}


def kept(rows: Iterable[Row]) -> int:
    """Return how many irrelevant weights are not zero in some fold, which is how Table 1 counts."""
    flags = [flags_of(row["irrelevant"], _N_IRRELEVANT) for row in rows]
    return int(np.any(flags, axis=0).sum())


def _error(rows: Iterable[Row]) -> float | None:
    return mean(rows, "error")


def _draw(rows: Sequence[Row], path: Path) -> None:
    """Draw what the step changes: irrelevant weights on the chains, errors on words."""
    figure = new_figure(10.5, 4.2)
    with styled():
        axes = figure.subplots(1, 2)
        for ax, data, measured, label in zip(
            axes,
            (CHAINS, OCR),
            (kept, _error),
            ("irrelevant weights that are not zero, of 140", "test error (% of labels)"),
            strict=True,
        ):
            balls = [row for row in rows if (row["data"], row["model"]) == (data, BALL)]
            for (radius, group), marker in zip(
                groups(balls, "constant").items(), "osD", strict=False
            ):
                by_step = groups(
                    group, lambda row: _first_step(row["beta"]), order=lambda step: step
                )
                found = [measured(each) for each in by_step.values()]
                ax.plot(list(by_step), found, marker=marker, label=f"radius {radius:g}")
            ax.set(title=TITLES[data], xlabel="length of the first step, 1/(2 beta)", ylabel=label)
            if balls:
                ax.set_xscale("log")
                ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
                ax.axvline(_first_step(BETA), color=MUTED, linestyle=":", linewidth=0.8, zorder=0)
            ax.set_ylim(bottom=0)
        axes[1].yaxis.set_major_formatter(lambda value, _: f"{100 * value:g} %")
        letter_panels(axes)
        label_ends(*axes)
    save_figure(figure, path)


def _first_step(beta: float) -> float:
    """Return the first of the steps ``1 / (2 beta sqrt(t))``."""
    return 1 / (2 * beta)


_TEXTS = Texts("l1m3n_profile.md")


def _report(rows: Sequence[Row], scale: str) -> Report:
    del scale
    shown = [row for row in rows if row["beta"] in (None, BETA)]
    lines = [
        {
            "data": TITLES[data],
            "model": model,
            "constant": constant,
            "seconds": mean(group, "total_seconds"),
            "share": values(group, "part_seconds").sum() / values(group, "total_seconds").sum(),
            "n_rounds": mean(group, "n_rounds"),
        }
        for (data, model, constant), group in groups(shown, "data", "model", "constant").items()
    ]
    found = table(
        (
            Column("data", "data"),
            Column("algorithm", "model"),
            Column("radius or C", "constant", "g", right=True),
            Column("seconds", "seconds", ".3g", right=True),
            Column("projections, or programs", partial(_percent, "share"), right=True),
            Column("rounds", "n_rounds", ".1f", right=True),
        ),
        lines,
    )
    folds = {
        data: counted(len({row["fold"] for row in group}), "fold")
        for data, group in groups(rows, "data").items()
    }
    betas = [row["beta"] for row in rows if row["beta"] is not None]
    caption = _TEXTS(
        "caption", passes=_PASSES, beta=BETA, step=_first_step(BETA),
        smallest=_first_step(max(betas, default=BETA)), largest=_first_step(min(betas, default=BETA)),
        chains=folds.get(CHAINS, MISSING), words=folds.get(OCR, MISSING),
    )  # fmt: skip
    text = f"{paragraphs(caption)}\n\n{found.markdown()}"
    return Report(_COLUMNS, list(map(dict, rows)), found.text(), text)


def _percent(name: str, line: Row) -> str:
    return f"{100 * line[name]:.3g} %"


L1M3N_PROFILE = Study(
    "l1m3n-profile",
    "where L1-M3N's algorithms spend their time",
    fits=_specs,
    fit=_fit,
    draw=_draw,
    report=_report,
    columns=_COLUMNS,
    duration="quick 5 s, paper 9 min",
    place=14,
)
"""The study."""
