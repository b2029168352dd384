"""The study of Algorithm 1 next to the exact solution: where it goes, what is measured and drawn."""

import numpy as np
import pytest

from medn_edu import LaplaceMEDN
from medn_edu.explorers import new_figure
from medn_edu.studies.both_laplace import ITERATIONS, BothLaplaceMEDNs
from medn_edu.studies.exact_vs_variational import VARIATIONAL_STUDY, draw_iterations
from medn_edu.studies.kit.gallery import PUBLISHED
from medn_edu.studies.kit.runner import evaluate
from medn_edu.studies.kit.summary import Curve, numbers, numbers_text
from medn_edu.studies.kit.tables import csv_text, read_csv
from medn_edu.studies.kit.trained import label_error

FAILED = {
    "data": "ocr-100", "fold": 0, "model": "both", "parameters": "C=1 lam=9", "failure": "ValueError",
}  # fmt: skip


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    X = [rng.standard_normal((4, 3)) for _ in range(12)]
    noise = [rng.standard_normal(4) for _ in X]
    return X, [(x[:, 0] + e > 0).astype(int) for x, e in zip(X, noise, strict=True)]


@pytest.fixture(scope="module")
def both(samples):
    return BothLaplaceMEDNs(C=2.0, lam=9.0, tol=1e-6).fit(*samples)


def test_the_iterations_go_to_the_limit_of_half_the_shrinkage_and_not_to_the_exact_solution(both):
    last, exact, eta = both.trail_[-1], both.result_, both.limit_.eta
    np.testing.assert_allclose(both.limit_.weights, eta / (9.0 - eta**2))
    scale = np.abs(exact.weights).max()
    np.testing.assert_allclose(last.weights, both.limit_.weights, atol=2e-3 * scale)
    assert np.abs(last.weights - exact.weights).max() > 0.05 * scale
    assert last.primal > exact.primal * 1.001
    assert both.limit_primal_ == pytest.approx(last.primal, rel=1e-3)
    sigma = last.variance
    np.testing.assert_allclose(sigma, 1 / (9.0 - (last.weights / sigma) ** 2), rtol=1e-2)


def test_the_trail_is_that_of_the_estimator(both, samples):
    for number, step in zip(ITERATIONS[:3], both.trail_, strict=False):
        model = LaplaceMEDN(
            C=2.0, lam=9.0, method="variational", n_iterations=number, tol=1e-6, verbose=0
        ).fit(*samples)
        np.testing.assert_allclose(step.weights, model.weights_, atol=1e-3)
        assert step.primal == pytest.approx(model.result_.primal, rel=1e-4)


def test_what_is_measured():
    constants = (("C", 1), ("lam", 36))
    [spec] = [s for s in VARIATIONAL_STUDY.fits("quick", 0) if s.parameters == constants]
    [row] = evaluate(spec, VARIATIONAL_STUDY)
    assert not row["failure"]
    row = read_csv(csv_text([row], list(row)))[0]
    names = ["errors", "excesses", "distances", "correlations", "limit_distances"]
    lists = {name: numbers(row[name]) for name in names}
    assert {len(values) for values in lists.values()} == {len(ITERATIONS) + 1}
    lists["gaps"] = numbers(row["gaps"])
    exact, last = (numbers(row[name]) for name in ("exact_weights", "weights_20"))
    distance = np.linalg.norm(last - exact) / np.linalg.norm(exact)
    assert lists["distances"][-2] == pytest.approx(distance, rel=1e-3)
    assert lists["correlations"][-2] == pytest.approx(np.corrcoef(last, exact)[0, 1], rel=1e-3)
    primals = (1 + lists["excesses"]) * row["primal"]
    assert min(primals) >= row["dual"]
    gap = 1 - row["dual"] / primals[2]
    assert lists["gaps"][2] >= gap - 1e-6  # its own dual value is no better than the exact one
    assert lists["limit_distances"][-1] == 0 < lists["limit_distances"][-2] < 0.01
    data = VARIATIONAL_STUDY.fit.split(spec)
    model = BothLaplaceMEDNs(C=1.0, lam=36.0).fit(data.X_train, data.y_train)
    X, y = data.X_test, data.y_test
    assert row["error"] == pytest.approx(label_error(model.predict(X), y))
    first = label_error(model.predict(X, model.trail_[0].weights), y)
    assert lists["errors"][0] == pytest.approx(first)


def planted(data, fold, C, lam, **more):
    """A row as the runner makes it: the weights pass by the exact ones."""
    limit = 0.25 + 0.02 * fold
    text = {
        "errors": [0.3, 0.2, 0.1, 0.15, 0.2, 0.2, limit],
        "excesses": [2, 1, 0.1, 0.2, 0.3, 0.3, 0.4],
        "gaps": [0.5, 0.4, 0.1, 0.2, 0.3, 0.3],
        "distances": [1, 0.5, 0.1, 0.2, 0.3, 0.3, 0.3],
        "correlations": [0.9] * 7,
        "limit_distances": [2, 1, 0.5, 0.1, 0.01, 0.001, 0],
    }
    return {
        "key": f"{data}{fold}{C}{lam}", "data": data, "fold": fold, "model": "both",
        "parameters": f"C={C:g} lam={lam:g}", "error": 0.1 + 0.01 * fold, "primal": 10.0,
        "relative_gap": 0.001,
        **{name: " ".join(map(str, values)) for name, values in text.items()}, **more,
    }  # fmt: skip


def test_table_and_caption_of_planted_rows():
    rows = [planted("ocr-100", fold, 1.0, lam) for lam in (1.0, 36.0) for fold in range(3)]
    rows += [planted(f"correlated-10-{number}", 0, 1.0, 36.0) for number in range(2)]
    rows += [
        {"data": "ocr-100", "fold": fold, "model": name, "parameters": "", "error": error + 0.01 * fold,
         "chosen": "C=10 lam=400", "n_extended": fold, "at_end": False}
        for fold in range(3)
        for name, error in (("LapMEDN", 0.1), ("LapMEDN variational", 0.12))
    ]  # fmt: skip
    rows.append(
        {
            "data": "ocr-100",
            "fold": 0,
            "model": "both",
            "parameters": "C=1 lam=9",
            "failure": "ValueError",
        }
    )
    report = VARIATIONAL_STUDY.report(rows, "paper")
    assert len(report.rows) == 3 * (len(ITERATIONS) + 1)
    assert set(report.rows[0]) <= set(report.columns)
    lines = {(line["data"], line["lam"], line["iterations"]): line for line in report.rows}
    third, limit = lines["ocr-100", 36.0, 3], report.rows[-1]
    assert third["fits"] == 3
    assert third["excess"] == pytest.approx(0.1)
    assert third["error_difference"] == pytest.approx(-0.01)
    assert third["error_difference_deviation"] == pytest.approx(0.01)
    assert limit["iterations"] == "limit"
    assert limit["excess"] == pytest.approx(0.4)
    assert "gap" not in limit
    assert limit["error_difference"] == pytest.approx(0.16)
    caption = " ".join(report.caption.split())
    assert "weights are 0.1 % (0.1 to 0.1 %) away from the limit, and 30 % (30 to 30 %)" in caption
    assert (
        "OCR100, the limit: mean difference of test errors from +16 points to +16 points" in caption
    )
    assert "2 settings 0 clearly better and 2 clearly worse" in caption
    text = (
        "OCR100: test error 11.0 % exactly and 13.0 % by three iterations, difference +2.00 ± 0.00"
    )
    assert text in caption
    assert "Of 6 choices 4 went beyond their grid, by at most 2 points" in caption
    assert "| OCR100 | 1 | 36 | 3 | 10.0 % | 50.0 % | 0.900 | 10.0 % | 10.0 % | 10.0 %" in caption


def test_the_published_columns_make_the_same_report():
    rows = [planted("ocr-100", fold, 1.0, 36.0) for fold in range(3)]
    names = (*PUBLISHED, *VARIATIONAL_STUDY.fit.measured)
    stored = [{name: row.get(name) for name in names} for row in rows]
    again = VARIATIONAL_STUDY.report(stored, "paper")
    assert len(again.rows) == len(ITERATIONS) + 1
    assert again == VARIATIONAL_STUDY.report(rows, "paper")


def test_a_report_where_all_fits_have_failed_and_one_of_kept_weights():
    failed = {
        "data": "ocr-100",
        "fold": 0,
        "model": "both",
        "parameters": "C=1 lam=9",
        "failure": "ValueError",
    }
    report = VARIATIONAL_STUDY.report([failed], "paper")
    assert not report.rows
    assert "next to the exact solution" in " ".join(report.caption.split())
    assert "Excess of the objective" not in report.caption
    names = [name for name in VARIATIONAL_STUDY.fit.measured if "weights" in name or "etas" in name]
    words = numbers_text(np.linspace(-1, 1, 9))
    row = planted("ocr-100", 0, 1.0, 36.0, **dict.fromkeys(names, words))
    report = VARIATIONAL_STUDY.report([planted("ocr-100", 0, 1.0, 1.0), row], "paper")
    text = report.captions["weights"]
    assert "one marker for each of 9 weights" in text
    assert "C = 1 and λ = 36" in text
    assert "0 of the squares" in text, "the planted weights are the same everywhere"


def test_a_curve_has_the_same_style_in_every_panel():
    left, right = new_figure().subplots(1, 2)
    mean, deviation = np.array([3.0, 2.0, 1.0]), np.array([0.1, 0.1, np.nan])
    both = (np.array([1, 4, 8]), mean, deviation, np.full(3, 2))
    curves = [Curve(name, *both) for name in ("strong", "weak")]
    draw_iterations(left, curves, logarithmic=True)
    draw_iterations(right, curves[1:])
    first, second, again = (
        bars.lines[0] for bars in (left.containers[0], left.containers[2], right.containers[0])
    )
    assert again.get_color() == second.get_color() != first.get_color()
    assert again.get_marker() == second.get_marker() != first.get_marker()
    assert [label.get_text() for label in right.get_xticklabels()] == ["1", "4", "limit"]
    assert right.get_lines()[0].get_ydata().tolist() == [3.0, 2.0]
