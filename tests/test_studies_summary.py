"""What reports have in common: groups, means with intervals, paired differences, curves, tables."""

import math

import numpy as np
import pytest
from scipy import stats

from medn_edu.studies.kit import summary as s
from medn_edu.studies.kit.texts import bullets, listed, over, paragraphs


def fit(model, fold, error, n_train=100, **more):
    return {"model": model, "data": "d", "fold": fold, "n_train": n_train, "error": error, **more}


ROWS = [
    fit("M3N", 0, 0.1, 200), fit("M3N", 0, 0.2), fit("M3N", 1, 0.4),
    fit("CRF", 1, 0.5), fit("CRF", 0, None), fit("CRF", 2, 0.9),
]  # fmt: skip


def test_groups_keep_their_order_unless_told_otherwise():
    found = s.groups(ROWS, "model")
    assert list(found) == ["M3N", "CRF"]
    assert [row["fold"] for row in found["CRF"]] == [1, 0, 2]
    keys = s.groups(ROWS, "model", lambda row: row["fold"] > 0, order=lambda key: key)
    assert list(keys) == [("CRF", False), ("CRF", True), ("M3N", False), ("M3N", True)]
    assert s.most(found.values()) == 3
    assert (s.groups([], "model"), s.most([])) == ({}, 0)


def test_missing_values_are_left_out():
    crf = [*s.groups(ROWS, "model")["CRF"], {"model": "CRF"}, fit("CRF", 3, math.nan)]
    assert s.values(crf, "error").tolist() == [0.5, 0.9]
    assert s.values(crf, lambda row: row.get("error") and 2 * row["error"]).tolist() == [1.0, 1.8]
    assert s.mean(crf, "error") == pytest.approx(0.7)
    assert s.largest(crf, "error") == 0.9
    assert s.largest([{"gap": math.inf}], "gap") == math.inf
    assert s.mean(crf, "gap") is s.largest(crf, "gap") is None


def test_a_mean_knows_its_interval():
    found = s.mean_of([1.0, 2.0, 4.0])
    low, high = stats.t.interval(0.95, 2, 7 / 3, stats.sem([1, 2, 4]))
    assert (found.value, found.n) == (pytest.approx(7 / 3), 3)
    assert (found.value - found.half, found.value + found.half) == pytest.approx((low, high))
    assert found.sign == 0
    assert [s.mean_of(x).sign for x in ([3, 3.1], [-3, -3.1], [5.0], [2, 2, 2])] == [1, -1, 0, 1]
    one, none = s.mean_of([5.0]), s.mean_of([])
    assert (one.value, one.deviation, one.half, one.n) == (5.0, None, None, 1)
    assert math.isnan(none.value)
    assert none.n == 0


def test_differences_are_taken_on_the_same_data_and_fold():
    found = s.groups([row for row in ROWS if row["n_train"] == 100], "model")
    m3n, crf = found["M3N"], found["CRF"]
    assert s.differences(crf, m3n) == pytest.approx([0.1])
    assert len(s.pairs(crf, m3n)) == 2, "with and without an error"
    assert s.differences(crf, m3n, by=[lambda row: row["fold"] % 2]) == pytest.approx([0.1, 0.7])
    [less] = s.curves_less([row for row in ROWS if row["n_train"] == 100], "M3N")
    assert (less.name, less.x.tolist(), less.n.tolist()) == ("CRF", [100], [1])
    assert less.mean == pytest.approx([0.1])


def test_curves_have_means_and_deviations_at_each_value():
    m3n, crf = s.curves([*ROWS, fit("L1-CRF", 0, None)])
    assert (m3n.name, crf.name) == ("M3N", "CRF")
    assert m3n.x.tolist() == [100, 200]
    np.testing.assert_allclose(m3n.mean, [0.3, 0.1])
    np.testing.assert_allclose(m3n.deviation, [np.std([0.2, 0.4], ddof=1), 0.0])
    assert m3n.n.tolist() == [2, 1]
    half = s.with_intervals(m3n)
    assert half.deviation == pytest.approx([s.mean_of([0.2, 0.4]).half, 0.0])
    by_fold = s.curve("any", ROWS, lambda row: -row["fold"], "n_train")
    assert by_fold.x.tolist() == [-2, -1, 0]
    assert s.curve("none", [], "n_train").x.shape == (0,)


def test_cells_hold_constants_and_numbers():
    text = s.constants_text([("C", 1.0), ("lam", 1e-4)])
    assert text == "C=1 lam=0.0001"
    assert s.read_constants(text) == (("C", 1.0), ("lam", 1e-4))
    assert s.read_constants(None) == ()
    row = {"parameters": text, "errors": s.numbers_text([[0.5], [math.nan]]), "one": 3}
    assert (s.constant(row, "lam"), s.constant(row, "beta"), s.constant({}, "C")) == (
        1e-4,
        None,
        None,
    )
    assert row["errors"] == "0.5 nan"
    np.testing.assert_array_equal(s.matrix([row, {}, row], "errors"), [[0.5, math.nan]] * 2)
    assert s.numbers(row["one"]).tolist() == [3.0]
    assert [s.is_at_end(x, (1, 2, 3)) for x in (1, 2, 3, None)] == [True, False, True, False]


def test_one_set_of_columns_gives_text_and_markdown():
    columns = [
        s.Column("model", "model"),
        s.Column("error", "error", ".2f", right=True),
        s.Column("share", lambda row: row["fold"] / 4, s.percent(".0f"), right=True),
    ]
    table = s.table(columns, ROWS[3:])
    assert table.text().splitlines() == [
        "  model  error  share",
        "  ─────  ─────  ─────",
        "  CRF     0.50   25 %",
        "  CRF        –    0 %",
        "  CRF     0.90   50 %",
    ]
    assert table.markdown().splitlines()[:3] == [
        "| model | error | share |", "| --- | --- | --- |", "| CRF | 0.50 | 25 % |",
    ]  # fmt: skip


def test_a_crossed_table_has_a_column_for_each_value():
    table = s.crossed(ROWS[1:4] + ROWS[:1], ["model"], "n_train", lambda r: f"{r['error']}", "{} w")
    assert table.head == ["model", "100 w", "200 w"]
    assert table.cells == [["M3N", "0.4", "0.1"], ["CRF", "0.5", "–"]]
    assert table.text().splitlines()[2] == "  M3N      0.4    0.1"


def test_values_with_their_spread():
    assert s.plus_minus(0.1234, 0.01) == "0.123 ± 0.010"
    assert s.plus_minus(0.1234, None, ".1f", times=100, unit=" %") == "12.3 %"
    assert s.plus_minus(0.1234, 0.01, ".1f", times=100, sign="+") == "+12.3 ± 1.0"
    assert s.plus_minus(None, 0.01) == "–"


def test_sentences():
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert over(1) == "1 fold"
    assert over(5, "sets") == "mean ± deviation over 5 sets"
    text = paragraphs("long " * 30, "", "short")
    assert text.count("\n\n") == 1
    assert max(map(len, text.splitlines())) <= 100
    assert bullets(["long " * 30]).splitlines()[1].startswith("  long")
