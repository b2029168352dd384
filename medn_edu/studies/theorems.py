"""The study ``theorems``: every statement of the papers on random instances, and with a slip in it.

`medn_edu.theory.checks` computes both sides of each theorem, lemma and corollary, by ways that know
nothing of each other.  Here the worst of several instances is taken, once as the statement stands and
once with a slip, which shows that the check can fail.  A statement that is wrong as printed is tried as
corrected in `medn_edu.theory.errata`, and marked with a dagger.  What is left between two sides is
rounding, which differs from machine to machine, so that two digits of it are kept; only the tolerance is
a promise.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from medn_edu.explorers import new_figure, save_figure, styled
from medn_edu.studies.kit.specs import Report, TraceStudy
from medn_edu.studies.kit.tables import markdown_table, text_table
from medn_edu.studies.theorems_panels import check_columns, draw_checks
from medn_edu.theory.checks import CHECKS, Check
from medn_edu.theory.errata import AS_CORRECTED

_COLUMNS = (
    "paper", "name", "statement", "sides", "instances", "discrepancy", "tolerance", "with_slip", "slip",
    "as_corrected",
)  # fmt: skip
_N_INSTANCES = {"quick": 2, "paper": 10}
_TITLES = {
    "MEDN": "Maximum entropy discrimination Markov networks (2009)",
    "L1-M3N": "Primal sparse max-margin Markov networks (2009)",
    "ASP": "Approximated structured prediction (2010)",
}


def _trace(scale: str, seed: int, progress: Callable[[int, int, str], Any]) -> list[dict[str, Any]]:
    rows = []
    for number, check in enumerate(CHECKS):
        progress(number, len(CHECKS), check.name)
        rows.append(_row(check, _N_INSTANCES[scale], seed))
    progress(len(CHECKS), len(CHECKS), "")
    return rows


def _row(check: Check, n_instances: int, seed: int) -> dict[str, Any]:
    return {
        "paper": check.name.split(" ", 1)[0],
        "name": check.name,
        "statement": check.statement,
        "sides": check.sides,
        "instances": n_instances,
        "discrepancy": _short(check.worst(n_instances, seed)),
        "tolerance": check.tolerance,
        "with_slip": _short(check.worst(n_instances, seed, slip=True)),
        "slip": check.slip,
        "as_corrected": "†" if check.name in AS_CORRECTED else "",
    }


def _short(value: float) -> float:
    return float(f"{value:.2g}")


def _draw(rows: Sequence[dict[str, Any]], path: Path) -> None:
    panels = check_columns(rows)
    figure = new_figure(11, 0.215 * max(map(len, panels)) + 1.9)
    axes = figure.subplots(1, 2)
    for ax, panel in zip(axes, panels, strict=True):
        draw_checks(ax, panel)
        ax.set_xlabel("largest difference between the two sides")
    longest = max(ax.get_ylim()[0] for ax in axes)
    for ax in axes:
        ax.set_ylim(bottom=longest)  # lines as far apart on the left as on the right
    with styled():
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    save_figure(figure, path)


def _report(rows: Sequence[dict[str, Any]], scale: str) -> Report:
    failed = [row["name"] for row in rows if not row["discrepancy"] <= row["tolerance"]]
    verdict = (
        f"Not within its tolerance: {', '.join(failed)}."
        if failed
        else f"All {len(rows)} statements that we tried hold to within their tolerances, "
        f"{sum(bool(row['as_corrected']) for row in rows)} of them (†) as corrected here."
    )
    caption = (
        f"The statements of three papers on {_N_INSTANCES[scale]} random instances each, both sides "
        "computed by ways that know nothing of each other.  Blue: the largest difference between "
        "them, relative to their size; of an inequality, by how much it is violated.  Grey: the "
        "tolerance, what rounding and the solvers' accuracy may leave.  Vermilion: the same with a "
        "slip in the statement or in its use; what is above 1,000 stands at the right edge.  "
        "A dagger (†) marks a statement that has a slip in print, or two readings, and is tried as "
        "corrected here; the notebook errata quotes it and shows what is wrong.  "
        f"{verdict}  The tables below the caption say what each states, how its sides are computed, "
        "and what the slip is."
    )
    remark = (
        "Differences below the tolerance are rounding: they vary from machine to machine, and two "
        "digits are shown."
    )
    parts = [textwrap.fill(text, 100) + "\n" for text in (caption, remark)]
    parts += [f"## {_TITLES.get(paper, paper)}\n\n{_table(rows, paper)}" for paper in _papers(rows)]
    return Report(_COLUMNS, list(rows), f"{_text(rows)}\n\n{verdict}", "\n".join(parts))


def _papers(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(row["paper"] for row in rows))


def _table(rows: Sequence[Mapping[str, Any]], paper: str) -> str:
    """Return what a paper states, in Markdown."""
    headers = ["", "statement", "sides", "apart", "tolerance", "with a slip", "the slip"]
    cells = [
        [
            *(_escaped(text) for text in (_place(row), row["statement"], row["sides"])),
            *(_number(row[name]) for name in ("discrepancy", "tolerance", "with_slip")),
            _escaped(row["slip"]),
        ]
        for row in rows
        if row["paper"] == paper
    ]
    return markdown_table(headers, cells)


def _place(row: Mapping[str, Any]) -> str:
    return " ".join([row["name"].removeprefix(f"{row['paper']} "), row["as_corrected"]]).strip()


def _escaped(text: str) -> str:
    """Return a text in which nothing is markup; ``<w>`` would be a tag."""
    return "".join(
        f"\\{character}" if character in r"\`*_[]<>|" else character for character in text
    )


def _number(value: float) -> str:
    return f"{value:.2g}"


def _text(rows: Sequence[Mapping[str, Any]]) -> str:
    cells = [
        [
            f"{row['name']} {row['as_corrected']}".strip(),
            *(_number(row[n]) for n in ("discrepancy", "tolerance", "with_slip")),
        ]
        for row in rows
    ]
    return text_table(["statement", "apart", "tolerance", "with a slip"], cells, right=(1, 2, 3))


THEOREM_STUDY = TraceStudy(
    "theorems",
    "the papers' statements, as corrected",
    _COLUMNS,
    (),
    _trace,
    _draw,
    _report,
    "quick 10 s, paper 40 s",
    "",
    unit="statements",
)
"""The study."""
