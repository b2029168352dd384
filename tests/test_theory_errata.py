"""Slips of the papers: the corrected formula is right, the printed one is not, and both are shown."""

from __future__ import annotations

import math
import re
from functools import cache
from pathlib import Path

import nbformat
import pytest

from medn_edu.theory.checks import CHECKS
from medn_edu.theory.errata import AS_CORRECTED, SEVERITIES, SLIPS, Slip
from medn_edu.theory.errata.l1m3n import L1M3N_SLIPS
from medn_edu.theory.errata.medn import MEDN_SLIPS

NOTEBOOK = Path(__file__).resolve().parent.parent / "notebooks" / "errata.ipynb"
each_slip = pytest.mark.parametrize(
    "slip", [pytest.param(slip, id=f"{slip.paper} {slip.where}") for slip in SLIPS]
)


def test_every_paper_has_some():
    assert [slip.paper for slip in SLIPS] == sorted(
        (slip.paper for slip in SLIPS), key=["MEDN", "L1-M3N", "ASP"].index
    )
    assert len(MEDN_SLIPS) > 10
    assert len(L1M3N_SLIPS) > 5
    assert len({(slip.paper, slip.where, slip.title) for slip in SLIPS}) == len(SLIPS)


@cache
def numbers(slip: Slip) -> dict[str, float]:
    return slip.numbers()


@each_slip
def test_the_corrected_formula_is_right_and_the_printed_one_is_not(slip: Slip):
    found = numbers(slip)
    assert math.isfinite(found["truth"])
    printed, corrected = slip.errors(found)
    assert corrected <= slip.tolerance <= slip.margin
    assert not printed < slip.margin  # infinite, or no number at all, will do
    assert slip.is_settled(found)


@each_slip
def test_other_numbers_would_not_settle_it(slip: Slip):
    """Not if the printed formula were right, nor if the correction or the truth agreed with it."""
    found = numbers(slip)
    for key, other in (("printed", "truth"), ("corrected", "printed"), ("truth", "printed")):
        assert not slip.is_settled({**found, key: found[other]})


@each_slip
def test_words_are_sentences(slip: Slip):
    assert slip.why.endswith(".")
    assert slip.matters.endswith(".")
    assert slip.severity in SEVERITIES
    assert slip.quote.count('"') in {2, 4, 6}
    assert slip.quote.endswith((".", '."'))
    for text in (slip.quote, slip.why, slip.matters):
        assert text.count("$") % 2 == 0
    assert "$" not in slip.printed + slip.corrected


def test_statements_tried_as_corrected_are_statements():
    assert {check.name for check in CHECKS} >= AS_CORRECTED
    assert set().union(*(slip.checks for slip in SLIPS)) < AS_CORRECTED
    assert {"MEDN Theorem 5", "L1-M3N Theorem 2", "ASP Theorem 2"} < AS_CORRECTED


def test_numbers_must_be_complete():
    with pytest.raises(KeyError, match="corrected"):
        SLIPS[0].is_settled({"printed": 1.0, "truth": 2.0})


def squeezed(text: str) -> str:
    return re.sub(r"\s+", " ", text)


@each_slip
def test_the_notebook_shows_it(slip: Slip):
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    prose = squeezed("\n".join(c.source for c in notebook.cells if c.cell_type == "markdown"))
    head = f"### {slip.where}: {slip.title}"
    for part in (head, slip.quote, slip.printed, slip.corrected, slip.why, slip.matters):
        assert squeezed(part) in prose, part


def test_the_notebook_shows_nothing_else_as_a_slip():
    cells = nbformat.read(NOTEBOOK, as_version=4).cells
    prose = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    assert prose.count("*Printed:*") == prose.count("*Corrected:*") == len(SLIPS)
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    settled = re.findall(r'settle\("([^"]*)"\)', code)
    assert sorted(settled) == sorted(slip.title for slip in SLIPS)
