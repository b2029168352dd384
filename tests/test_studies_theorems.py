"""The study ``theorems``: its table, page and figure, and what is published of it."""

import re
from dataclasses import replace

import pytest
from making import make

from medn_edu.explorers import new_figure
from medn_edu.studies import theorems
from medn_edu.studies.kit.stored import stored_folder, stored_rows
from medn_edu.studies.kit.tables import read_csv
from medn_edu.studies.theorems import THEOREM_STUDY, check_columns, draw_checks
from medn_edu.theory.checks import CHECKS
from medn_edu.theory.errata import AS_CORRECTED

FAST = ("MEDN Eq. (4)", "MEDN Eq. (15)", "MEDN Corollary 7", "ASP Eq. (4)", "ASP Lemma 3")


@pytest.fixture
def few(monkeypatch):
    chosen = tuple(check for check in CHECKS if check.name in FAST)
    assert len(chosen) == len(FAST)
    monkeypatch.setattr(theorems, "CHECKS", chosen)
    return chosen


def test_a_run_makes_table_and_page(few, tmp_path):
    """Another seed draws other instances; test_quick_studies.py makes figure and rows of all."""
    said = []
    report = make(THEOREM_STUDY, tmp_path / "0", progress=lambda *told: said.append(told))
    assert said[0] == (0, len(few), few[0].name)
    assert said[-1] == (len(few), len(few), "")
    table = read_csv((tmp_path / "0" / "table.csv").read_text(encoding="utf-8"))
    for row, check in zip(table, few, strict=True):
        assert row["paper"] == check.name.split(" ")[0]
        assert row["discrepancy"] == pytest.approx(check.worst(2), rel=0.05)
        assert row["with_slip"] == pytest.approx(check.worst(2, slip=True), rel=0.05)
        assert (row["sides"], row["slip"]) == (check.sides, check.slip)
        assert bool(row["term"]) == (row["tightness"] is not None) == (row["name"] == FAST[1])
    assert "ASP Eq. (4) †" in report.text
    assert f"All {len(few)} statements that we tried hold" in report.text
    page = (tmp_path / "0" / "caption.md").read_text(encoding="utf-8")
    assert "on 2 random instances" in " ".join(page.split())
    assert re.findall(r"^## .*\((\d+)\)$", page, re.MULTILINE) == ["2009", "2010"]
    assert len(re.findall(r"^\| (?:Eq|Cor|Lem)", page, re.MULTILINE)) == len(few)
    other = make(THEOREM_STUDY, tmp_path / "1", seed=1)
    assert [row["with_slip"] for row in other.rows] != [row["with_slip"] for row in report.rows]


def test_what_does_not_hold_is_said(few, monkeypatch, tmp_path):
    false = replace(few[0], discrepancy=lambda rng, slip=False: 1.0)
    monkeypatch.setattr(theorems, "CHECKS", (false, *few[1:]))
    report = make(THEOREM_STUDY, tmp_path)
    assert f"Not within its tolerance: {false.name}." in report.text
    assert "Not within its tolerance" in " ".join(report.caption.split())
    assert "we tried hold" not in report.text


def test_nothing_in_a_table_is_markup():
    row = {
        "paper": "MEDN", "name": "MEDN Eq. (1)", "statement": "<w> = E[w|x] * 2_k", "sides": "a; b",
        "discrepancy": 0.0, "tolerance": 1e-9, "with_slip": 1.0, "slip": "none", "as_corrected": "",
    }  # fmt: skip
    line = THEOREM_STUDY.report([row], "quick").caption.splitlines()[-1]
    assert r"\<w\> = E\[w\|x\] \* 2\_k" in line
    assert len(re.findall(r"(?<!\\)\|", line)) == 10


def test_every_dot_is_within_the_figure():
    row = {"paper": "MEDN", "tolerance": 1e-9}
    rows = [
        row | {"name": "MEDN Eq. (1)", "discrepancy": 0.0, "with_slip": 1e9},
        row | {"name": "MEDN section 2", "as_corrected": "†", "discrepancy": 0, "with_slip": 0.5},
    ]
    ax = new_figure().add_subplot()
    draw_checks(ax, rows)
    low, high = ax.get_xlim()
    dots = [line for line in ax.get_lines() if len(line.get_xdata()) == 2]
    assert len(dots) == 3
    assert all(low <= x <= high for line in dots for x in line.get_xdata())
    assert [label.get_text() for label in ax.get_yticklabels()] == ["MEDN", "Eq. (1)", "§2 †"]


def test_columns_are_equally_long_and_part_no_heading():
    rows = [{"paper": check.name.split(" ")[0], "name": check.name} for check in CHECKS]
    left, right = check_columns(rows)
    assert left[0] == rows[0]
    assert sorted(row["name"] for row in left + right) == sorted(row["name"] for row in rows)
    assert abs(len(left) - len(right)) <= 4
    for column in (left, right):
        assert [row for row in rows if row in column] == column
    proof = [row for row in rows if row["name"].startswith("MEDN B.5")]
    assert all(row in right for row in proof) or all(row in left for row in proof)


def test_what_is_published_holds():
    """Rounding differs from machine to machine; names, statements and tolerances do not."""
    rows = stored_rows("theorems")
    assert [row["name"] for row in rows] == [check.name for check in CHECKS]
    for row, check in zip(rows, CHECKS, strict=True):
        assert row["statement"] == check.statement
        assert row["tolerance"] == check.tolerance
        assert bool(row["as_corrected"]) == (check.name in AS_CORRECTED)
        assert 0 <= row["discrepancy"] <= check.tolerance
        assert row["with_slip"] > 100 * check.tolerance
        assert float(f"{row['with_slip']:.2g}") == row["with_slip"]
        assert (0 < row["tightness"] <= 1) if check.term else row["tightness"] is None
    page = (stored_folder() / "theorems.md").read_text(encoding="utf-8")
    assert f"All {len(CHECKS)} statements that we tried hold" in " ".join(page.split())
