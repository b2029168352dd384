"""Weights that move one after the other take the steps that the theory takes, and know when to stop."""

import itertools

import numpy as np
import pytest
from loopy_programs import make_problem, program_of

from medn_edu.results import STUCK
from medn_edu.solvers import norm_product_learning
from medn_edu.theory.factor_graphs import learning


@pytest.mark.parametrize(("epsilon", "p"), [(0.5, 2.0), (0.5, 1.2), (0.0, 1.5)])
def test_weights_in_turn_take_the_steps_of_the_theory(epsilon, p):
    """In the first pass, whose sweep goes forward; the theory looks at the whole objective each time."""
    problem = make_problem("ring", epsilon, (0.5, 1.0), p=p, n_samples=2)
    found = learning.coordinate_descent(program_of(problem), n_rounds=1, in_turn=True)
    first = next(norm_product_learning(problem, in_turn=True))
    np.testing.assert_allclose(first.weights, found.theta, atol=1e-9)
    assert first.objective_estimate == pytest.approx(found.values[-1], rel=1e-9)
    assert len(found.values) > 2


def test_weights_in_turn_are_stuck_when_none_can_be_moved():
    problem = make_problem("mixed forbidden potts", 0.0, (0.5, 1.0), n_labels=3, n_samples=4)
    *_, last = itertools.islice(norm_product_learning(problem, in_turn=True), 1000)
    assert last.stopped == STUCK
    assert last.gap_estimate == 0.0
