"""The study of the algorithms for L1-M3N: what is counted, what is drawn, what a quick run finds."""

from __future__ import annotations

import numpy as np
import pytest

from medn_edu.experiments.l1_studies import ALGORITHMS, L1_STUDY, table_1
from medn_edu.experiments.runner import ResultStore, run_study
from medn_edu.experiments.specs import FitSpec
from medn_edu.experiments.tables import csv_text, read_csv

CHAINS, OCR = "chains-correlated", "ocr-100"


class Weights:
    """A model with planted weights."""

    def __init__(self, planted):
        self.coef_ = np.zeros((2, 100))
        for place, value in planted.items():
            self.coef_[place] = value
        self.weights_ = np.concatenate([self.coef_.ravel(), np.ones(4)])


def row(algorithm, constant, fold, planted, data=CHAINS, **more):
    """A row of results as the runner makes it, written and read again."""
    parameter = ALGORITHMS[algorithm].parameter
    spec = FitSpec(data, fold, algorithm, ((parameter, constant),))
    model = Weights(planted)
    values = {
        "key": spec.key, "data": data, "fold": fold, "model": algorithm,
        "parameters": f"{parameter}={constant:g}", "error": 0.1 * (1 + fold), "relative_gap": 0.01,
        "n_weights": 204, "n_nonzero": 4 + len(planted), "cpu_seconds": 1.0 + fold,
        **L1_STUDY.measure(spec, model), **more,
    }  # fmt: skip
    return read_csv(csv_text([values], values))[0]


def test_non_zero_average_weights_are_those_of_some_fold():
    folds = [{(0, 0): 1.0, (1, 40): -2.0}, {(0, 0): -1.0, (1, 0): 1e-5}, {(0, 99): 5e-5}]
    rows = [row("cutting plane", 0.01, fold, planted) for fold, planted in enumerate(folds)]
    [line] = table_1(rows)
    assert (line["irrelevant"], line["total"]) == (2, 4)
    assert (line["irrelevant_not_small"], line["total_not_small"]) == (1, 2)
    assert (line["paper_irrelevant"], line["paper_total"], line["printed"]) == (16, 44, 1.0)
    assert line["fits"] == 3
    assert line["error"] == pytest.approx(0.2)
    assert line["error_deviation"] == pytest.approx(0.1)
    assert line["cpu_seconds"] == pytest.approx(2.0)
    assert line["l1_norm"] == pytest.approx(4 + (3 + 1.00001 + 5e-5) / 3, rel=1e-6)


@pytest.mark.parametrize("place", [(0, 0), (0, 29), (0, 30), (1, 29), (1, 30), (1, 99)])
def test_which_features_are_irrelevant(place):
    [line] = table_1([row("path", 0.01, 0, {place: 1.0})])
    assert (line["irrelevant"], line["total"]) == (int(place[1] >= 30), 1)
    assert "paper_total" not in line


def test_the_papers_numbers_stand_at_their_constants():
    for name, algorithm in ALGORITHMS.items():
        rows = [
            row(name, c, 0, {}, data) for data in (CHAINS, OCR) for c in algorithm.constants[data]
        ]
        table = table_1(rows[::-1])
        chains = [line for line in table if line["data"] == CHAINS]
        assert [line["printed"] for line in chains] == list(algorithm.printed)
        assert [line.get("paper_total") for line in chains] == list(algorithm.total or [None] * 9)
        assert [line["constant"] for line in table] == sorted(algorithm.constants[CHAINS]) + sorted(
            algorithm.constants[OCR]
        )
        roots = {"radius": 1, "C": 100, "lam": None}[algorithm.parameter]
        if roots:
            squares = np.sqrt(roots * np.array(algorithm.constants[CHAINS]))
            np.testing.assert_allclose(squares, algorithm.printed, atol=0.008)
        else:
            np.testing.assert_allclose(
                algorithm.constants[CHAINS], 14_000 * np.array(algorithm.printed)
            )


def test_no_sequence_trains_and_tests():
    splits = [L1_STUDY.split(FitSpec(CHAINS, fold, "path")) for fold in range(10)]
    seen = [
        {id(x.base) if x.base is None else x.__array_interface__["data"][0] for x in s.X_train}
        for s in splits
    ]
    assert len(set.union(*seen)) == 1000
    for split, train in zip(splits, seen, strict=True):
        test = {x.__array_interface__["data"][0] for x in split.X_test}
        assert (len(train), len(test)) == (100, 900)
        assert not train & test


def test_table_and_caption_show_the_papers_numbers_beside_ours():
    rows = [
        row(name, c, fold, {(0, 0): 1.0, (0, 50): 1.0})
        for name, algorithm in ALGORITHMS.items()
        for c in algorithm.constants[CHAINS]
        for fold in range(2)
    ]
    report = L1_STUDY.report(rows, "paper")
    lines = report.caption.splitlines()
    start = lines.index(
        "| cutting plane: √(100 C) | 0.5 | 0.7 | 0.87 | 1 | 1.41 | 1.73 | 2 | 3 | 4 |"
    )
    assert (
        lines[start + 2] == "| irrelevant, paper | 0 | 0 | 2 | 16 | 103 | 122 | 134 | 139 | 140 |"
    )
    assert lines[start + 3] == "| total, paper | 13 | 21 | 26 | 44 | 145 | 169 | 184 | 186 | 189 |"
    assert lines[start + 4] == "| irrelevant | 1 | 1 | 1 | 1 | 1 | 1 | 1 | 1 | 1 |"
    assert "16 / 44" in report.text
    assert set(report.rows[0]) <= set(report.columns)


def test_a_figure_of_what_there_is(tmp_path):
    for number, data in enumerate([(CHAINS,), (OCR,), (CHAINS, OCR)]):
        rows = [
            row(name, c, fold, {}, each)
            for each in data
            for name, algorithm in ALGORITHMS.items()
            for c in algorithm.constants[each][:number]
            for fold in range(2)
        ]
        if rows:
            L1_STUDY.draw(rows, tmp_path / "figure.png")
            assert (tmp_path / "figure.png").stat().st_size > 10_000


def test_a_quick_run_finds_the_pattern(ocr, tmp_path):
    specs = L1_STUDY.specs("quick", 0)
    slow = [s for s in specs if s.data == OCR and s.model == "cutting plane"]
    assert len(slow) == 1  # takes as long as all others together
    specs = [spec for spec in specs if spec not in slow]
    store = ResultStore.open(tmp_path, L1_STUDY)
    rows = store.timed(run_study(L1_STUDY, specs, store))
    assert not [row["failure"] for row in rows if row["failure"]]
    table = table_1(rows)
    found = {
        name: [r for r in table if r["algorithm"] == name and r["data"] == CHAINS]
        for name in ALGORITHMS
    }
    for name in ("cutting plane", "path"):
        counts = [line["irrelevant"] for line in found[name]]
        assert counts[0] == 0
        assert counts == sorted(counts)
        assert counts[-1] > 20
        assert all(line["largest_gap"] <= 2e-3 for line in found[name])
    exact = zip(found["cutting plane"], found["path"], strict=True)
    assert all(a["l1_norm"] == pytest.approx(b["l1_norm"], rel=0.05) for a, b in exact)
    em = [line["irrelevant"] for line in found["EM"]]
    assert em == sorted(em, reverse=True)
    assert em[-1] < 20 < em[0]
    # Small weights: few in batch, a tail online.
    batch, online = found["sub-gradient"], found["online sub-gradient"]
    assert all(a["irrelevant"] + 20 < b["irrelevant"] for a, b in zip(batch, online, strict=True))
    assert all(line["cpu_seconds"] > 0 for line in table)
    assert [line["algorithm"] for line in table if line["data"] == OCR] == [
        name for name in ALGORITHMS if name != "cutting plane"
    ]
    L1_STUDY.draw(rows, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 10_000
