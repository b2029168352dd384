"""The study of the algorithms for L1-M3N: what is counted, what is drawn, what a quick run finds."""

import re

import numpy as np
import pytest

from medn_edu.studies.kit.specs import FitSpec
from medn_edu.studies.kit.tables import csv_text, read_csv
from medn_edu.studies.l1_table import ALGORITHMS, table_1
from medn_edu.studies.l1m3n_algorithms import L1_STUDY

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
        **L1_STUDY.fit.measure(spec, model), **more,
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
        constants = np.array(algorithm.constants[CHAINS])
        assert [line["constant"] for line in table] == [
            *sorted(constants), *sorted(algorithm.constants[OCR]),
        ]  # fmt: skip
        if algorithm.parameter == "lam":
            np.testing.assert_allclose(constants / 14_000, algorithm.printed)
        else:
            squares = {"radius": 1, "C": 100}[algorithm.parameter] * constants
            np.testing.assert_allclose(np.sqrt(squares), algorithm.printed, atol=0.008)


def test_table_and_caption_show_the_papers_numbers_beside_ours():
    rows = [
        row(name, c, fold, {(0, 0): 1.0, (0, 50): 5e-5})
        for name, algorithm in ALGORITHMS.items()
        for c in algorithm.constants[CHAINS]
        for fold in range(2)
    ]
    report = L1_STUDY.report(rows, "paper")
    lines = report.caption.splitlines()
    head = "| cutting plane: constant in Table 1 | 0.5 | 0.7 | 0.87 | 1 | 1.41 | 1.73 | 2 | 3 | 4 |"
    start = lines.index(head)
    irrelevant, total, ours, _, large, all_large = lines[start + 2 : start + 8]
    assert irrelevant == "| irrelevant, paper | 0 | 0 | 2 | 16 | 103 | 122 | 134 | 139 | 140 |"
    assert total == "| total, paper | 13 | 21 | 26 | 44 | 145 | 169 | 184 | 186 | 189 |"
    assert ours == "| irrelevant |" + 9 * " 1 |"
    assert large == "| irrelevant, 0.0001 or more |" + 9 * " 0 |"
    assert all_large == "| total, 0.0001 or more |" + 9 * " 1 |"
    assert "| Synthetic set 1 | path | C = 0.16 | 2 | 0.150 | 1.50 s | 5 | 1 % |" in lines
    assert "16 / 44" in report.text
    assert "counts are of fewer folds" in " ".join(lines)
    assert set(report.rows[0]) <= set(report.columns)


def counts(name, n_irrelevant, small=0):
    """Ten folds at each constant, with so many irrelevant weights, some of them small."""
    places = [(label, feature) for label in (0, 1) for feature in range(30, 100)]
    return [
        row(name, c, fold, {p: 5e-5 if k < small else 1.0 for k, p in enumerate(places[:n])})
        for c, n in zip(ALGORITHMS[name].constants[CHAINS], n_irrelevant, strict=True)
        for fold in range(10)
    ]


def test_the_caption_says_what_comes_out_and_what_does_not():
    batch, online = (0, 0, 0, 0, 0, 8, 60, 140, 140), (116, 122, 136, *(140,) * 6)
    rows = counts("sub-gradient", batch) + counts("online sub-gradient", online, small=3)
    rows += counts("cutting plane", (0, 0, 1, 13, 62, 101, 119, 136, 139))
    zero = {"l1_norm": 0.0, "relative_gap": 0.0166}
    rows += [row("cutting plane", 0.1, fold, {}, OCR, **zero) for fold in range(3)]
    rows += [row("cutting plane", 0.15, fold, {}, OCR, relative_gap=0.4) for fold in range(4)]
    caption = " ".join(L1_STUDY.report(rows, "paper").caption.split())
    assert "the method in batch does *not* show it: 0, 0, 0, 0, 0, 8, 60, 140, 140." in caption
    assert "the method online shows it: 116, 122, 136, 140, 140, 140, 140, 140, 140." in caption
    assert "takes at most 3 from any of these counts" in caption
    assert "62 and 62 instead of 103 and 145 at 1.41" in caption
    assert "OCR100: cutting plane 40 % (40 %)." in caption
    assert "weights of zero, which there have a gap of 1.7 % at most" in caption
    assert "price of the mean slack" in caption
    first, second, *_ = L1_STUDY.report(rows, "paper").caption.split("\n\n")
    assert "tables" not in first, "the first paragraph is of the figure"
    assert second.startswith("The tables below")
    swapped = counts("sub-gradient", online) + counts("online sub-gradient", batch)
    caption = " ".join(L1_STUDY.report(swapped, "paper").caption.split())
    assert "in batch shows it: 116" in caption
    assert "online does *not* show it: 0" in caption
    assert "weights of zero" not in caption


def written(path):
    """The texts of a figure, which matplotlib draws as shapes and notes next to them."""
    return re.findall(r"<!-- (.*?) -->", path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("folds", "note"),
    [
        ({OCR: 1}, "OCR100: 1 fold"),
        ({CHAINS: 3, OCR: 1}, "Synthetic set 1: mean ± deviation over 3 folds; OCR100: 1 fold"),
    ],
)
def test_a_figure_of_what_there_is(tmp_path, folds, note):
    rows = [
        row(name, c, fold, {}, data)
        for data, n_folds in folds.items()
        for name, algorithm in ALGORITHMS.items()
        for c in algorithm.constants[data][:2]
        for fold in range(n_folds)
    ]
    L1_STUDY.draw(rows, tmp_path / "figure.svg")
    texts = written(tmp_path / "figure.svg")
    assert f"100 sequences or words train, 900 test; {note}; one thread" in texts
    titles = ["Synthetic set 1", "OCR100"][-len(folds) :]
    assert [text[4:] for text in texts if re.fullmatch(r"\([a-f]\) .+", text)] == titles
    assert texts.count("sum of the absolute weights") == 3
    assert [texts.count(name) for name in ALGORITHMS] == [len(folds)] * len(ALGORITHMS)
