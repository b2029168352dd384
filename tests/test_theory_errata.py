"""Slips of the papers: the corrected formula is right, the printed one is not, and both are shown."""

import math
import re
from pathlib import Path

import nbformat
import numpy as np
import pytest

from medn_edu.course.navigation import slips_index
from medn_edu.course.syllabus import CHAPTERS
from medn_edu.theory.checks import CHECKS
from medn_edu.theory.entries import Register
from medn_edu.theory.errata import AS_CORRECTED, ASP_MISPRINTS, SLIPS
from medn_edu.theory.errata.slip import Slip

NOTEBOOK = Path(__file__).resolve().parent.parent / "notebooks" / "errata.ipynb"


@pytest.fixture(scope="module")
def numbers():
    """The numbers of every slip, by its id."""
    return {slip.id: slip.numbers() for slip in SLIPS}


def test_every_paper_has_some_and_every_slip_a_name_of_its_own():
    papers = [slip.paper for slip in SLIPS]
    assert papers == sorted(papers, key=["MEDN", "L1-M3N", "ASP"].index)
    assert [papers.count(paper) for paper in ("MEDN", "L1-M3N", "ASP")] == [13, 8, 12]
    assert len({slip.title for slip in SLIPS}) == len({slip.id for slip in SLIPS}) == len(SLIPS)


def test_the_corrected_formula_is_right_and_the_printed_one_is_not(numbers):
    for slip in SLIPS:
        found = numbers[slip.id]
        printed, corrected = slip.errors(found)
        assert math.isfinite(found["truth"]), slip.id
        assert corrected <= slip.tolerance <= 1e-3 < slip.margin == 0.01, slip.id
        assert not printed < slip.margin, slip.id  # infinite, or no number at all, will do
        assert slip.is_settled(found), slip.id


def test_printed_formulas_give_what_pencil_and_paper_give(numbers):
    assert numbers["prior"]["printed"] == pytest.approx(1 / (1 + 3 * np.exp(-2)), rel=1e-12)
    upside_down = numbers["power-of-the-product"]
    assert upside_down["printed"] + upside_down["truth"] == pytest.approx(1.0, abs=1e-12)
    weights = numbers["lagrangian-weights"]
    assert weights["printed"] == -weights["corrected"]
    sign = numbers["regulariser-sign"]  # there is no minimum
    assert sign["printed, at 100 times the weights"] < -1000 < 0 < sign["printed"]


def test_words_are_sentences():
    for slip in SLIPS:
        assert slip.why.endswith("."), slip.id
        assert slip.matters.endswith("."), slip.id
        assert slip.quote.count('"') in {2, 4, 6}, slip.id
        assert slip.quote.endswith((".", '."')), slip.id
        for text in (slip.quote, slip.printed, slip.corrected, slip.why, slip.matters):
            assert text.count("$") % 2 == 0, slip.id
    for where, printed, meant in ASP_MISPRINTS:
        assert where, printed
        assert printed != meant


def test_statements_tried_as_corrected_are_statements():
    assert {check.name for check in CHECKS} >= AS_CORRECTED
    assert set().union(*(slip.checks for slip in SLIPS)) < AS_CORRECTED
    assert {"MEDN Theorem 5", "L1-M3N Theorem 2", "ASP Theorem 2"} < AS_CORRECTED


def squeezed(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def test_the_notebook_shows_each_and_nothing_else_as_a_slip():
    cells = nbformat.read(NOTEBOOK, as_version=4).cells
    prose = squeezed("\n".join(cell.source for cell in cells if cell.cell_type == "markdown"))
    for slip in SLIPS:
        head = f"### {slip.heading} **{slip.paper}, {slip.where}** · *"
        parts = (slip.quote, slip.printed, slip.corrected, slip.why, slip.matters, slip.example)
        for part in (head, *parts):
            assert squeezed(part) in prose, (slip.id, part)
    assert prose.count("*Printed:*") == prose.count("*Corrected:*") == len(SLIPS)
    assert slips_index() in "\n".join(cell.source for cell in cells)
    sections = [cell.source for cell in cells if cell.source.startswith("### ")]
    headings = [source.partition("\n")[0].removeprefix("### ") for source in sections]
    assert all(source.endswith("[↑ Index](#Index)") for source in sections)
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    shown = re.findall(r'^show\("([^"]*)"', code, re.MULTILINE)
    assert sorted(shown) == sorted(slip.title for slip in SLIPS)

    # ten for every student, then the others; both as the course meets them
    order = [chapter.slug for chapter in CHAPTERS]
    slips = sorted(SLIPS, key=lambda slip: (not slip.trips, order.index(slip.chapter)))
    assert sum(slip.trips for slip in slips) == 10
    assert headings[: len(slips)] == [slip.heading for slip in slips]
    for slip, source in zip(slips, sections, strict=False):
        assert ("unconfirmed" in source) == slip.unconfirmed, slip.id
        assert f"{slip.severity}* · chapter [{slip.chapter}](" in source


def test_doubtful_slips_are_unconfirmed():
    for slip in SLIPS:
        assert slip.unconfirmed == bool(re.search("extract", slip.why)), slip.id
        assert not (slip.unconfirmed and slip.trips), slip.id


FIELDS = (
    *("where", "title", "chapter", "quote", "printed", "corrected"),
    *("why", "matters", "example", "truth"),
)
ENTRY = "\n".join([*(f'{field} = "a {field}"' for field in FIELDS), 'severity = "reader"'])
PAPER = f'paper = "a paper"\n[slip.sum]\n{ENTRY}\n'


def read(*papers: str, numbers=("sum",)):
    register = Register("slip", Slip, "numbers")
    for id in numbers:
        register(id)(lambda: {"printed": 12.0, "corrected": 14.0, "truth": 14.0})
    return register.read({f"{n}.toml": text for n, text in enumerate(papers)})


def test_an_entry_is_read_and_settled_by_no_other_numbers():
    [slip] = read(PAPER.replace('"a quote"', "'''\na \\quote,\n  wrapped'''"))
    assert (slip.id, slip.paper, slip.where) == ("sum", "a paper", "a where")
    assert slip.quote == r"a \quote, wrapped"
    assert (slip.checks, slip.tolerance, slip.margin) == ((), 1e-6, 0.01)
    assert slip.is_settled()
    for key, other in (("printed", 14.0), ("corrected", 12.0), ("truth", 12.0)):
        assert not slip.is_settled({**slip.numbers(), key: other})
    with pytest.raises(KeyError, match="corrected"):
        slip.is_settled({"printed": 1.0, "truth": 2.0})


def test_what_is_wrong_in_a_file_is_named():
    wrong = {
        "0.toml, slip 'sum': unknown field 'colour'": (PAPER + 'colour = "red"',),
        "0.toml, slip 'sum': field 'why' is missing": (PAPER.replace('why = "a why"\n', ""),),
        "0.toml, slip 'sum': severity is 'grave'": (PAPER.replace("reader", "grave"),),
        "0.toml, slip 'product': no function computes it": (PAPER.replace("sum", "product"),),
        "1.toml, slip 'sum': the id is taken": (PAPER, PAPER),
    }
    for message, papers in wrong.items():
        with pytest.raises(ValueError, match=re.escape(message)):
            read(*papers)
    with pytest.raises(ValueError, match=r"there is no slip 'product' in 0\.toml"):
        read(PAPER, numbers=("sum", "product"))
    with pytest.raises(ValueError, match="slip 'sum' has a function already"):
        read(PAPER, numbers=("sum", "sum"))
