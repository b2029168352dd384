"""The studies of over-fitting and of sensitivity: marks along training, means, ranges, figures."""

import itertools

import numpy as np
import pytest
from test_studies_l1_algorithms import written

from medn_edu import CRF
from medn_edu.problems import L2Norm, Problem, SoftMaxLoss
from medn_edu.samples import encode_labels, forbidden_to_allowed, label_samples, pack
from medn_edu.studies import ocr_overfitting
from medn_edu.studies.kit.specs import FitSpec, Split
from medn_edu.studies.kit.tables import csv_text, read_csv
from medn_edu.studies.kit.trained import label_error
from medn_edu.studies.marks import CHANGES, LOSSES, PlainCRF, TracedCRF
from medn_edu.studies.ocr_overfitting import OVERFITTING_STUDY, curves, rises
from medn_edu.studies.sensitivity import (
    PANELS,
    PATHS,
    PRINTED,
    SENSITIVITY_STUDY,
    means,
    ranges,
    widths,
)


def words(n_words, seed, noise=0.2):
    """Noisy one-hot letters in words of three; with so little noise they are separable."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, (n_words, 3))
    features = [np.eye(3)[y] + rng.normal(0, noise, (3, 3)) for y in labels]
    return features, ["".join("abc"[k] for k in y) for y in labels]


def losses(X, y, weights):
    """The negative log-likelihood, from scratch."""
    samples = pack(X)
    codes, classes = encode_labels(y, samples)
    data = label_samples(samples, codes, forbidden_to_allowed(None, classes))
    return Problem(data, SoftMaxLoss(), L2Norm(0.0)).primal(weights)


@pytest.mark.parametrize("made", [PlainCRF, TracedCRF])
@pytest.mark.parametrize("penalty", [None, "l2", "l1"])
def test_marks_are_where_values_are_first_reached(made, penalty):
    X, y = words(12, seed=0)
    model = made(penalty=penalty, lam=0.1, max_iter=500).fit(X, y)
    assert [len(model.at_change_), len(model.at_loss_)] == [len(CHANGES), len(LOSSES)] == [22, 22]
    for marks in (model.at_change_, model.at_loss_):
        passes = [mark.n_passes for mark in marks if mark is not None]
        assert passes == sorted(passes)
    end = losses(X, y, model.weights_)
    for value, mark in zip(LOSSES, model.at_loss_, strict=True):
        assert end > value if mark is None else losses(X, y, mark.weights) <= value * (1 + 1e-9)
    assert all(mark is not None for mark in model.at_change_)
    assert model.at_change_[0].n_passes == 1
    assert len({mark.n_passes for mark in model.at_change_}) > 3
    if penalty is not None:  # where both ways end: at the optimum
        best = CRF(penalty=penalty, lam=0.1, tol=1e-6).fit(X, y)
        assert model.result_.primal == pytest.approx(best.result_.primal, rel=1e-2)
    else:
        assert model.at_loss_[-1] is not None


def test_changes_are_relative_to_a_loss_of_one_at_least():
    X, y = words(12, seed=0)
    model = PlainCRF(penalty=None, max_iter=500).fit(X, y)
    last = model.at_change_[-1]
    ends = [point.objective_estimate for point in model.result_.trace]
    falls = [(a - b) / max(a, b, 1.0) for a, b in itertools.pairwise(ends)]
    assert last.n_passes == 1 + next(k for k, fall in enumerate(falls) if fall <= CHANGES[-1])
    assert (ends[last.n_passes - 1] - ends[last.n_passes]) / ends[last.n_passes] > CHANGES[-1]


def test_errors_along_training_are_those_of_the_test_part(monkeypatch):
    (X, y), (X_test, y_test) = words(12, seed=0, noise=0.7), words(40, seed=1, noise=0.7)
    monkeypatch.setattr(ocr_overfitting, "ocr_split", lambda spec: Split(X, y, X_test, y_test))
    spec = FitSpec("ocr-100", 0, "L1-CRF", (("lam", 0.1),))
    model = TracedCRF(penalty="l1", lam=0.1).fit(X, y)
    weights = model.weights_
    found = OVERFITTING_STUDY.fit.measure(spec, model)
    assert set(found) == set(OVERFITTING_STUDY.fit.measured)
    errors = [float(word) for word in found["change_errors"].split()]
    assert errors[-1] == pytest.approx(label_error(model.predict(X_test), y_test), rel=1e-4)
    early = TracedCRF(penalty="l1", lam=0.1, max_iter=2).fit(X, y)  # the start, and one pass
    assert errors[0] == pytest.approx(label_error(early.predict(X_test), y_test), rel=1e-4)
    np.testing.assert_array_equal(model.weights_, weights)  # measuring leaves the model alone
    reached = [mark is not None for mark in model.at_loss_]
    for axis in ("errors", "passes"):
        numbers = [float(word) for word in found[f"loss_{axis}"].split()]
        assert [np.isfinite(number) for number in numbers] == reached
    assert not all(reached)


def row(name, lam, fold, change, loss, end):
    """A row of results, written and read again; errors at the first marks, the others not reached."""

    def text(values):
        return " ".join(f"{v:.5g}" for v in [*values, *[np.nan] * (22 - len(values))])

    values = {
        "model": name, "fold": fold, "parameters": "" if lam is None else f"lam={lam:g}",
        "error": end, "change_errors": text(change), "change_passes": text(range(1, 1 + len(change))),
        "loss_errors": text(loss), "loss_passes": text(range(1, 1 + len(loss))),
    }  # fmt: skip
    return read_csv(csv_text([values], values))[0]


def test_rises_are_from_the_best_mark_that_all_folds_reach():
    rows = [
        row("L1-CRF", 1, 0, [0.5, 0.3, 0.4], [0.45, 0.2], 0.41),
        row("L1-CRF", 1, 1, [0.5, 0.32, 0.4], [0.45], 0.45),
        row("CRF", None, 0, [0.5, 0.5], [0.5, 0.4, 0.3], 0.6),
    ]
    crf, l1 = rises(rows)
    assert (crf["model"], crf["lam"], crf["axis"], crf["value"]) == ("CRF", None, "loss", 700)
    assert (crf["rise"], crf["rise_deviation"]) == (pytest.approx(0.3), None)
    assert (l1["model"], l1["axis"], l1["value"], l1["fits"]) == ("L1-CRF", "change", 0.5, 2)
    assert (l1["lowest"], l1["end"]) == (pytest.approx(0.31), pytest.approx(0.43))
    assert (l1["rise"], l1["n_passes"]) == (pytest.approx(0.12), 2)
    assert l1["rise_deviation"] == pytest.approx(np.std([0.11, 0.13], ddof=1))
    failed = dict.fromkeys(rows[0]) | {"model": "CRF", "fold": 1}
    assert rises([*rows, failed]) == [crf, l1]
    assert curves([*rows, failed]) == curves(rows)
    lines = [line for line in curves(rows) if (line["model"], line["axis"]) == ("L1-CRF", "loss")]
    assert [(line["value"], line["fits"]) for line in lines] == [(1000, 2), (800, 1)]
    assert lines[1]["error"] == pytest.approx(0.2)
    assert lines[1]["error_deviation"] is None


def test_figure_and_caption_of_over_fitting(tmp_path):
    rows = [
        row(name + ending, lam, fold, [0.5, 0.3, 0.4], [0.45, 0.2], 0.4 + 0.1 * bool(ending))
        for ending in ("", " preconditioned")
        for name, lam in (("CRF", None), ("L2-CRF", 3), ("L1-CRF", 1), ("L1-CRF", 1e-4))
        for fold in range(3)
    ]
    OVERFITTING_STUDY.draw(rows, tmp_path / "figure.svg")
    texts = written(tmp_path / "figure.svg")
    for name in ("CRF", "L2-CRF, λ = 3", "L1-CRF, λ = 1", "L1-CRF, λ = 0.0001"):
        assert texts.count(name) == 1
    report = OVERFITTING_STUDY.report(rows, "paper")
    assert set(report.rows[0]) == set(report.columns)
    caption = " ".join(report.caption.split())
    assert "mean ± deviation over 3 folds" in caption
    assert "CRF 0.200 and 0.400 plain, 0.200 and 0.500 preconditioned" in caption
    assert "no penalised one comes below 800 here" in caption
    line = "| L1-CRF | 0.0001 | preconditioned | 3 | 0.200 | loss 800 | 2 | 0.500 | 30.0 ± 0.0 |"
    assert line in report.caption


def constants_row(name, constants, fold, error):
    return {
        "model": name, "fold": fold,
        "parameters": " ".join(f"{other}={value:.10g}" for other, value in constants.items()),
        "error": error, "relative_gap": 0.01 * (1 + fold), "cpu_seconds": 1.0, "n_nonzero": 10 + fold,
        "n_weights": 20,
    }  # fmt: skip


def test_ranges_are_between_mean_errors():
    errors = {1.0: (0.3, 0.5), 4.0: (0.1, 0.2), 9.0: (0.2, 0.2)}
    rows = [constants_row("L1-CRF", {"lam": lam}, 0, e) for lam, e in ((25.0, 0.7), (0.0001, 0.4))]
    for lam, pair in errors.items():
        for fold, error in enumerate(pair):  # in either order of the constants
            constants = {"lam": lam, "C": 1} if fold else {"C": 1, "lam": lam}
            rows.append(constants_row("LapMEDN", constants, fold, error))
    table = means(rows[::-1])
    assert [line["model"] for line in table] == ["L1-CRF"] * 2 + ["LapMEDN"] * 3
    assert [line["constant"] for line in table] == [25.0, 0.0001, 1.0, 4.0, 9.0]
    assert table[2]["error"] == pytest.approx(0.4)
    assert table[2]["error_deviation"] == pytest.approx(np.sqrt(0.02))
    assert (table[2]["largest_gap"], table[2]["n_nonzero"]) == (0.02, 10.5)
    crf, medn = ranges(table)
    assert (crf["range"], crf["best"], crf["worst"]) == (pytest.approx(0.3), 0.0001, 25.0)
    assert (medn["range"], medn["best"], medn["worst"]) == (pytest.approx(0.25), 4.0, 1.0)
    assert (crf["span"], medn["span"]) == (pytest.approx(250_000), 9)
    assert widths(table) == []


def test_every_path_spans_about_the_same_factor():
    assert all(sum(len(path.values) for path in paths) == 24 for paths in PATHS.values())
    specs = SENSITIVITY_STUDY.fits("paper", 0)
    rows = [constants_row(s.model, dict(s.parameters), s.fold, 0.3) for s in specs]
    lines = [line for line in means(rows) if line["factor"] is not None]
    assert len(lines) == 24 * len(PATHS)
    for name, paths in PATHS.items():
        factors = [line["factor"] for line in lines if line["model"] == name]
        each = len(factors) // len(paths)
        assert factors[::each] == [1] * len(paths)
        assert all(85 < last < 150 for last in factors[each - 1 :: each])
        assert all(np.diff(factors[:each]) > 0)
    assert not {line["model"] for line in ranges(means(rows))} & set(PATHS)


@pytest.mark.parametrize(
    ("points", "factor", "closed"),  # in points above the best
    [([9, 2, 0, 2, 9, 9], 100**0.2, True), ([9, 2, 0, 0, 0, 0], 100**0.7, False)],
)
def test_the_width_is_between_the_places_where_errors_are_a_point_above_the_best(
    points, factor, closed
):
    name = "LapMEDN, fair"
    shapes = [points, [15] * 6, [0.5, 15, 15, 15, 15, 15], [15] * 6]
    rows = [
        constants_row(name, path.point(number), 0, 0.3 + above / 100)
        for path, found in zip(PATHS[name], shapes, strict=True)
        for number, above in enumerate(found)
    ]
    first, second, third, _ = widths(means(rows))
    assert (first["factor"], first["closed"]) == (pytest.approx(factor), closed)
    assert (first["lowest"], first["shape"]) == (pytest.approx(0.3), "C=0.1")
    assert second["factor"] is None
    assert not third["closed"]
    report = SENSITIVITY_STUDY.report(rows, "paper")
    assert f"| {'' if closed else 'at least '}{factor:.2g} |" in report.caption


def test_figure_and_caption_of_sensitivity(tmp_path):
    specs = SENSITIVITY_STUDY.fits("paper", 0)
    rows = [constants_row(s.model, dict(s.parameters), s.fold, 0.3 + 0.01 * s.fold) for s in specs]
    SENSITIVITY_STUDY.draw(rows, tmp_path / "figure.svg")
    texts = written(tmp_path / "figure.svg")
    assert {name for panel in PANELS for name in panel.names} == set(PRINTED)
    shown = "\n".join(name for panel in PANELS for name in panel.names.values())
    assert set(shown.splitlines()) <= set(texts)
    assert {"(g) elastic CRF", "(h) elastic M3N", "L1 share", "0.9", "price C", "100"} <= set(texts)
    report = SENSITIVITY_STUDY.report(rows, "paper")
    assert set(report.rows[0]) == set(report.columns)
    assert len(report.rows) == len(specs) / 10 == 67 + 4 * 9 + 24 * len(PATHS)
    assert "means over 10 folds" in " ".join(report.caption.split())
    assert "| L1-M3N EM | lam = 169 … 441 |" in report.caption
    assert "table" not in report.caption.split("\n\n")[0], "the first paragraph is of the figure"
    assert "250,000 times (L2-CRF)" in " ".join(report.caption.split())


def test_every_constant_of_the_paper_is_tried():
    found = {name: set() for name in PRINTED}
    for spec in SENSITIVITY_STUDY.fits("paper", 0):
        assert spec.data == "ocr-100"
        if spec.model in PRINTED:
            found[spec.model].add(dict(spec.parameters)[PRINTED[spec.model].name])
    squares = [float(k * k) for k in range(1, 22)]
    assert found["M3N"] == found["LapMEDN"] == found["LapMEDN variational"] == set(squares[:9])
    assert found["M3N 20 passes"] == found["LapMEDN 20 passes, mean slack"] == set(squares[:9])
    assert found["L1-M3N EM"] == found["L1-M3N online sub-gradient"] == set(squares[12:])
    assert found["L1-CRF"] == found["L2-CRF"] == {1e-4, 1e-3, 1e-2, 0.1, 1, 4, 9, 16, 25}
    assert dict(PRINTED["LapMEDN variational"].shape) == {"C": 1.0}
