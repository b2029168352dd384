"""Two weights: of *axi*, whose dual variables solve D1, and shares and modes of the tilted prior."""

import numpy as np
import pytest

from medn_edu.priors import BoxPrior, ExponentialPrior, GaussianPrior, LaplacePrior, TwoPointPrior
from medn_edu.slacks import LinearSlack
from medn_edu.theory import enumerate_problem, solve_dual
from medn_edu.theory.axi import HABIT, WORDS, axi_problem, axi_samples
from medn_edu.theory.two_weights import (
    exact_dual_variables,
    share_missing,
    support_dual_variables,
    tilted_density,
    tilted_mode,
    tilted_points,
    worst_labellings,
)

PRIORS = [
    GaussianPrior(),
    LaplacePrior(4.0),
    BoxPrior(3**0.5),
    ExponentialPrior(2.0),
    TwoPointPrior(1.0),
]


def test_18_weights_that_are_ink_and_habit_score_as_two_do():
    every = enumerate_problem(axi_samples(), GaussianPrior(), LinearSlack(1.0))
    two = axi_problem(GaussianPrior(), LinearSlack(1.0))
    np.testing.assert_array_equal(every.losses, two.losses)
    np.testing.assert_array_equal(np.array(every.labellings), np.array(two.labellings))
    ink, habit = 0.7, -1.3
    w = np.concatenate([ink * np.eye(3).ravel(), habit * HABIT.ravel()])
    np.testing.assert_allclose(every.differences @ w, two.differences @ [ink, habit], atol=1e-12)


@pytest.mark.parametrize(
    "find", [exact_dual_variables, lambda p, s: support_dual_variables(p, s, solve_dual(p).alpha)]
)
@pytest.mark.parametrize("prior", PRIORS, ids=lambda prior: type(prior).__name__)
@pytest.mark.parametrize(("C", "n_words"), [(0.1, 1), (0.4, 1), (3.0, 1), (0.3, 3), (4.0, 3)])
def test_dual_variables_are_optimal(find, prior, C, n_words):
    problem = axi_problem(prior, LinearSlack(C), WORDS[:n_words])
    slots = worst_labellings(n_words)
    rows, found = [slot.row for slot in slots], find(problem, slots)
    alpha = np.zeros(len(problem.losses))
    alpha[rows] = found
    assert np.allclose(problem.totals(alpha), C)
    mean = problem.posterior_mean(alpha)
    gap = problem.primal_value(mean) - problem.dual_value(alpha)
    assert 0 <= gap + 1e-12 < 1e-6  # a certificate, however they were found
    wanted = problem.losses[rows] - problem.xi(mean)[problem.sample[rows]]
    tight = problem.differences[rows] @ mean - wanted
    assert np.all(np.abs(tight[found > 0]) < 1e-6)
    assert np.count_nonzero(found) <= n_words + 2


def test_no_labelling_without_a_slot_is_ever_the_worst():
    rng = np.random.default_rng(0)
    rows = {slot.row for slot in worst_labellings(3)}
    for k, word in enumerate(WORDS):
        short = word.losses - rng.uniform(0, 4, size=(2000, 2)) @ word.differences.T
        assert {27 * k + int(row) for row in np.round(short, 9).argmax(axis=1)} <= rows


ETA = np.array([0.8, -0.3])


@pytest.mark.parametrize("prior", PRIORS, ids=lambda prior: type(prior).__name__)
@pytest.mark.parametrize("difference", [(1.0, 2.0), (-1.0, 0.5), (2.0, 0.0), (0.0, -1.0)])
def test_shares_agree_with_draws(prior, difference):
    draws = prior.draw(ETA, np.random.default_rng(0), 40_000) @ difference
    margin = 0.4
    share = share_missing(prior, ETA, np.array(difference), margin)
    assert share == pytest.approx((draws < margin - 1e-9).mean(), abs=0.01)


def test_shares_of_lines_along_the_axes_and_of_points():
    low = share_missing(TwoPointPrior(1.0), np.array([0.5, 0.0]), np.array([1.0, 0.0]), 0.0)
    assert low == pytest.approx(1 / (1 + np.exp(1.0)))
    low = share_missing(LaplacePrior(4.0), np.zeros(2), np.array([-1.0, 0.0]), 0.3)
    assert low == pytest.approx(1 - np.exp(-0.6) / 2, abs=2e-3)


@pytest.mark.parametrize("prior", PRIORS[:-1], ids=lambda prior: type(prior).__name__)
def test_the_density_has_the_mean_of_the_tilted_prior(prior):
    w = np.linspace(-12, 12, 240_001)
    density = tilted_density(prior, ETA[0], w)
    assert density.max() == 1
    mean = (w * density).sum() / density.sum()
    assert mean == pytest.approx(float(prior.mean(ETA)[0]), abs=1e-3)


def test_modes_in_closed_form():
    ends = {0: ETA, 1: [0, 0], 2: [1.732, -1.732], 3: [0, 0], 4: [1, -1]}
    for number, expected in ends.items():
        np.testing.assert_allclose(tilted_mode(PRIORS[number], ETA, -2.0, 4.0), expected, atol=1e-9)


def test_points_have_the_mean_and_a_total_of_one():
    points, probabilities = tilted_points(TwoPointPrior(1.5), ETA)
    assert probabilities.sum() == pytest.approx(1)
    np.testing.assert_allclose(probabilities @ points, TwoPointPrior(1.5).mean(ETA))
    assert len(tilted_points(GaussianPrior(), ETA)[0]) == 0
