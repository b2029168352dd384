"""The study ``predictors``: its data, what a posterior predicts with, and how marginals are measured."""

import numpy as np
import pytest

from medn_edu import M3N, LaplaceMEDN
from medn_edu.studies.kit.runner import evaluate
from medn_edu.studies.kit.specs import FitSpec
from medn_edu.studies.kit.splits import iid_split
from medn_edu.studies.kit.summary import numbers
from medn_edu.studies.posterior import (
    AveragedMarginals,
    GibbsDraws,
    PosteriorMean,
    draw_weights,
    thresholded,
    with_weights,
)
from medn_edu.studies.predictors import reliability
from medn_edu.studies.predictors_fits import (
    ARGMAX,
    CONSTANTS,
    FLIPPED,
    IID,
    N_BINS,
    OCR,
    calibration,
    split_of,
)
from medn_edu.studies.registry import STUDIES

STUDY = STUDIES["predictors"]


@pytest.fixture(scope="module")
def chains():
    return split_of(FitSpec(IID, 0, ""))


def test_every_fit_that_is_given_constants_has_one_that_chooses_them():
    for scale in ("quick", "paper"):
        specs = STUDY.fits(scale, 0)
        keys = {spec.key: spec for spec in specs}
        assert len(keys) == len(specs)
        for spec in specs:
            if spec.after:
                chooser = keys[spec.after]
                data = spec.data.removesuffix(CONSTANTS)
                assert (chooser.data, chooser.fold, chooser.after) == (data, spec.fold, "")


def test_data(chains):
    """The chains are those of ``synthetic-iid``; what is done to labels is done to nothing else."""
    other = iid_split(FitSpec(IID, 0, ""))
    np.testing.assert_array_equal(chains.X_test, other.X_test)
    np.testing.assert_array_equal(chains.y_train, other.y_train)
    best = split_of(FitSpec(f"{IID}{ARGMAX}", 0, ""))
    np.testing.assert_array_equal(best.X_train, chains.X_train)
    assert 0.03 < np.mean(np.array(best.y_test) != np.array(chains.y_test)) < 0.2
    before = np.zeros((50, 8), dtype=bool)
    for percent in FLIPPED:
        data = split_of(FitSpec(f"{IID}-flipped-{percent}", 0, ""))
        np.testing.assert_array_equal(data.y_test, chains.y_test)
        flipped = np.array(data.y_train) != np.array(chains.y_train)
        assert flipped.mean() == pytest.approx(percent / 100, abs=0.05)
        assert (flipped | ~before).all(), "what was flipped stays so"
        before = flipped
    more = split_of(FitSpec(IID, 0, ""), validate=True)
    assert (len(chains.X_train), len(more.X_train), len(more.X_test)) == (50, 250, 750)
    assert not {x.tobytes() for x in more.X_test} & {x.tobytes() for x in more.X_train}


@pytest.mark.parametrize(
    "model", [LaplaceMEDN(C=10.0, lam=20_000.0, verbose=0), M3N(C=0.1, verbose=0)]
)
def test_draws_have_the_posteriors_mean_and_variance(model, chains):
    model.fit(chains.X_train[:20], chains.y_train[:20])
    mean, variance = model.posterior_mean_, model.posterior_variance_
    n_draws = 20_000
    draws = draw_weights(model, np.random.default_rng(0), n_draws)
    z = (draws.mean(axis=0) - mean) / np.sqrt(variance / n_draws)
    assert np.abs(z).max() < 5
    # A Laplace prior, tilted, has a kurtosis of 9 at most, so its variance varies with 8 / n.
    assert np.abs(draws.var(axis=0) / variance - 1).max() < 5 * np.sqrt(8 / n_draws)


def test_predictors_of_a_posterior(chains):
    X, y, new = chains.X_train, chains.y_train, chains.X_test[:40]
    mean = PosteriorMean("M3N", C=0.1).fit(X, y)
    model = M3N(C=0.1, verbose=0).fit(X, y)
    np.testing.assert_array_equal(np.stack(mean.predict(new)), np.stack(model.predict(new)))
    narrow, wide = (AveragedMarginals("M3N", variance=v, C=0.1).fit(X, y) for v in (1e-12, 1.0))
    np.testing.assert_allclose(
        narrow.predict_marginals(new), model.predict_marginals(new), atol=1e-4
    )
    np.testing.assert_allclose(np.sum(wide.predict_marginals(new), axis=-1), 1)
    assert np.max(wide.predict_marginals(new)) < np.max(narrow.predict_marginals(new))
    narrow, wide = (GibbsDraws("M3N", variance=v, C=0.1).fit(X, y) for v in (1e-12, 1.0))
    np.testing.assert_array_equal(narrow.predict(new), np.stack(model.predict(new)))
    assert np.mean(np.array(wide.predict(new)) != np.array(narrow.predict(new))) > 0.2
    np.testing.assert_array_equal(wide.predict(new), wide.predict(new))


def test_thresholded_keeps_the_largest_weights(chains):
    X, y = chains.X_train, chains.y_train
    model = M3N(C=0.1, verbose=0).fit(X, y)
    few = thresholded(model, X, y, C=0.02)
    kept = few.weights_ != 0
    assert 5 < kept.sum() < 100
    np.testing.assert_array_equal(few.weights_[kept], model.weights_[kept])
    assert np.abs(model.weights_[kept]).min() >= np.abs(model.weights_[~kept]).max()
    whole = with_weights(few, model.weights_)
    np.testing.assert_array_equal(whole.transitions_, model.transitions_)


def test_calibration_on_known_probabilities():
    p = np.array([[0.9, 0.1], [0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    row = calibration(p, np.array(["a", "b"]), [["a", "a"], ["a", "z"]])
    assert row["ece"] == pytest.approx((2 - 1.8 + 0.8 + 0.6) / 4)
    assert row["log_loss"] == pytest.approx(-np.log([0.9, 0.9, 0.2]).mean(), rel=1e-9)
    count, sums, hits = numbers(row["bins"]).reshape(3, N_BINS)
    assert count.sum() == 4
    assert sums.sum() == pytest.approx(3.2)
    assert hits.sum() == 2
    np.testing.assert_allclose(reliability([row, row]), 2 * np.array([count, sums, hits]))


def test_measures_against_the_generating_model():
    """Best labels have no error; the papers' weights cannot be reached, their differences can."""
    rows = [
        evaluate(FitSpec(f"{data}{CONSTANTS}", 0, "L1-CRF", (("lam", 8.0),)), STUDY)[0]
        for data in (f"{IID}{ARGMAX}", IID, "correlated-10-0")
    ]
    best, drawn, parts = rows
    assert [row["failure"] for row in rows] == [""] * 3
    assert best["truth_error"] == 0 < drawn["truth_error"] < 0.2
    assert best["n_train"] == 50
    assert parts["n_train"] == 100
    for row in rows:
        assert row["plotted_cosine"] <= row["reachable_cosine"] + 1e-9 < 1
        assert row["truth_cosine"] > 0.9
        assert row["n_relevant"] + row["n_irrelevant"] <= row["n_nonzero"]


def test_words_are_told_apart():
    [row] = evaluate(
        FitSpec(OCR, 3, "L2-CRF", (("blocks", 100), ("n_tried", 1), ("every", 8))), STUDY
    )
    assert row["failure"] == ""
    assert row["n_train"] == 100
    assert len(numbers(row["word_errors"])) == 55
    assert 0 < row["ece"] < 0.3
    assert np.isfinite(row["log_loss"])
