"""Random labellings against the enumerated distribution, with fixed seeds."""

import numpy as np
import pytest
from forests import make_case
from scipy.stats import chisquare

from medn_edu import inference
from medn_edu.inference import Potentials
from medn_edu.theory import reference


def frequencies(draws: np.ndarray, n_labels: int) -> np.ndarray:
    """Count labellings, in the order of `reference.labellings`."""
    n_nodes = draws.shape[1]
    codes = draws @ n_labels ** np.arange(n_nodes - 1, -1, -1)
    return np.bincount(codes, minlength=n_labels**n_nodes)


def check_frequencies(counts: np.ndarray, p: np.ndarray) -> None:
    assert counts[p == 0].sum() == 0
    often = p * counts.sum() > 5
    observed = np.append(counts[often], counts[~often].sum())
    expected = np.append(p[often], p[~often].sum()) * counts.sum()
    if expected[-1] < 5:  # too few for the test's approximation
        observed[-2], expected[-2] = observed[-2:].sum(), expected[-2:].sum()
        observed, expected = observed[:-1], expected[:-1]
    assert chisquare(observed, expected).pvalue > 1e-4


@pytest.mark.parametrize("kind", ["chain", "tree", "forest"])
@pytest.mark.parametrize("epsilon", [1.0, 0.5])
@pytest.mark.parametrize("far", [False, True])
def test_exact_draws_have_the_right_frequencies(kind, epsilon, far):
    case = make_case(5, n_labels=3, n_samples=2, n_nodes=4, kind=kind)
    case.edge[:, 0, 1] = -np.inf
    if far:  # so that the beliefs come from the log domain
        case.node[[0, 4], 2] = -1e4
    draws = inference.draw_labellings(
        case.potentials, 20_000, epsilon, rng=np.random.default_rng(1)
    )
    for tree, part in zip(case.trees(), (draws[:, :4], draws[:, 4:]), strict=True):
        check_frequencies(frequencies(part, 3), reference.enumerated_probabilities(tree, epsilon))


def test_readable_draws_have_the_right_frequencies():
    case = make_case(5, n_labels=3, n_samples=1, n_nodes=3, kind="tree")
    tree, rng = case.trees()[0], np.random.default_rng(2)
    draws = np.array([reference.draw_labelling(tree, rng) for _ in range(3000)])
    check_frequencies(frequencies(draws, 3), reference.enumerated_probabilities(tree))


def repeated(case, n: int):
    """The same sample ``n`` times over."""
    samples = case.samples.take(np.zeros(n, dtype=np.int64))
    return Potentials(samples, np.tile(case.node, (n, 1)), case.edge)


@pytest.mark.parametrize("kind", ["chain", "tree", "forest", "star"])
@pytest.mark.parametrize("epsilon", [1.0, 0.7])
def test_gibbs_sweeps_make_the_enumerated_transitions(kind, epsilon):
    """After 1 and 3 sweeps from a known start, and converged after 60."""
    case = make_case(6, n_labels=3, n_samples=1, n_nodes=4, kind=kind, scale=0.4)
    case.edge[:, 1, 2] = -np.inf  # label 0 is allowed next to every label
    tree = case.trees()[0]
    sweep = reference.gibbs_transition(tree, epsilon)
    p = reference.enumerated_probabilities(tree, epsilon)
    np.testing.assert_allclose(p @ sweep, p, atol=1e-12)
    np.testing.assert_allclose(np.linalg.matrix_power(sweep, 60)[0], p, atol=1e-3)
    n = 8000
    many = repeated(case, n)
    start = np.zeros(4 * n, dtype=np.int64)
    for n_sweeps in (1, 3, 60):
        labels = inference.gibbs_labellings(
            many, n_sweeps, rng=np.random.default_rng(n_sweeps), start=start, epsilon=epsilon
        )
        expected = p if n_sweeps == 60 else np.linalg.matrix_power(sweep, n_sweeps)[0]
        check_frequencies(frequencies(labels.reshape(n, 4), 3), expected)
    np.testing.assert_array_equal(start, 0)  # not written to


@pytest.mark.parametrize("kind", ["chain", "forest", "star"])
def test_sums_kept_from_sweep_to_sweep_change_no_draw(kind):
    """One sweep alone keeps none; none at all returns its start, the best labelling."""
    case = make_case(2, n_labels=3, n_samples=4, n_nodes=4, kind=kind)
    case.edge[:, 1, 2] = -np.inf
    many = inference.gibbs_labellings(case.potentials, 100, rng=np.random.default_rng(0))
    rng = np.random.default_rng(0)
    labels = inference.gibbs_labellings(case.potentials, 0, rng=rng)
    np.testing.assert_array_equal(labels, inference.best_labelling(case.potentials)[0])
    for _ in range(100):
        labels = inference.gibbs_labellings(case.potentials, 1, rng=rng, start=labels)
    np.testing.assert_array_equal(many, labels)


def test_gibbs_refuses_what_could_trap_it_and_a_forbidden_start():
    case = make_case(0, n_labels=2, n_samples=1, n_nodes=3, kind="chain")

    def sweep(start=None):
        inference.gibbs_labellings(case.potentials, 1, rng=np.random.default_rng(0), start=start)

    case.edge[:] = np.where(np.eye(2, dtype=bool), 0.0, -np.inf)
    with pytest.raises(ValueError, match="could trap Gibbs sampling"):
        sweep()
    case.edge[:] = [[0.0, 0.0], [0.0, -np.inf]]
    sweep()
    with pytest.raises(ValueError, match="start is not an allowed labelling of sample 0"):
        sweep(start=np.ones(3, dtype=int))
    case.edge[:] = [[0.0, 0.0], [-np.inf, 0.0]]  # each label lacks a neighbour, on one side
    with pytest.raises(ValueError, match="could trap Gibbs sampling"):
        sweep()
    case.edge[:] = [[0.0, 0.0], [0.0, -np.inf]]
    case.node[1, 0] = -np.inf  # the label that was allowed everywhere no longer is
    with pytest.raises(ValueError, match="could trap Gibbs sampling"):
        sweep()


def test_draws_follow_their_generator():
    case = make_case(9, n_labels=4, n_nodes=50, n_samples=4, kind="tree")
    for draw in (inference.draw_labellings, inference.gibbs_labellings):
        first, again, other = (
            draw(case.potentials, 2, rng=np.random.default_rng(seed)) for seed in (3, 3, 4)
        )
        np.testing.assert_array_equal(first, again)
        assert (first != other).any()
