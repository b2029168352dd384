"""The course's word of three letters: the same words for the package's solvers, and its marginals."""

import numpy as np
import pytest

from medn_edu.priors import GaussianPrior
from medn_edu.slacks import LinearSlack
from medn_edu.theory import enumerate_problem
from medn_edu.theory.axi import AXI, HABIT, WORDS, axi_problem, axi_samples, labelling_scores
from medn_edu.theory.factor_graphs.graph import distribution, soft_max
from medn_edu.theory.reference import (
    Tree,
    enumerated_log_partition,
    enumerated_marginals,
    enumerated_probabilities,
)


def test_18_weights_that_are_ink_and_habit_score_as_two_do():
    every = enumerate_problem(axi_samples(), GaussianPrior(), LinearSlack(1.0))
    two = axi_problem(GaussianPrior(), LinearSlack(1.0))
    np.testing.assert_array_equal(every.losses, two.losses)
    np.testing.assert_array_equal(np.array(every.labellings), np.array(two.labellings))
    ink, habit = 0.7, -1.3
    w = np.concatenate([ink * np.eye(3).ravel(), habit * HABIT.ravel()])
    np.testing.assert_allclose(every.differences @ w, two.differences @ [ink, habit], atol=1e-12)


@pytest.mark.parametrize("word", WORDS, ids=lambda word: word.word)
@pytest.mark.parametrize("epsilon", [2.0, 0.1])
def test_soft_max_distribution_and_marginals_by_enumeration(word, epsilon):
    tree = Tree(word.ink, 1.25 * HABIT[None], np.array([-1, 0, 1]), np.zeros(3, dtype=int))
    scores = labelling_scores(word, [1.0, 1.25])
    p = distribution(scores, epsilon)
    assert soft_max(scores, epsilon) == pytest.approx(enumerated_log_partition(tree, epsilon))
    np.testing.assert_allclose(p, enumerated_probabilities(tree, epsilon), atol=1e-12)
    np.testing.assert_allclose(
        word.marginals(p), enumerated_marginals(tree, epsilon)[0], atol=1e-12
    )


def test_a_certain_labelling_has_certain_labels():
    certain = np.arange(27) == AXI.true_row
    np.testing.assert_array_equal(AXI.marginals(certain), AXI.true[:, None] == np.arange(3))
