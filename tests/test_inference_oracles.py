"""Every question about forests against enumeration of all labellings, and against the readable twins.

This file also runs with bounds checked and as plain Python (tests/test_kernels_modes.py).
"""

import numpy as np
import pytest
from forests import Case, cases, make_case
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from medn_edu import inference
from medn_edu.inference import Potentials
from medn_edu.samples import WeightShape
from medn_edu.theory import reference

EPSILONS = st.sampled_from([1.0, 0.3, 2.0, 0.05])
few = settings(max_examples=60, deadline=None, derandomize=True)


def is_possible(case: Case) -> bool:
    return all(reference.best_labelling(tree)[1] > -np.inf for tree in case.trees())


@few
@given(cases())
def test_best_labelling(case):
    best = [reference.enumerated_best(tree) for tree in case.trees()]
    impossible = [i for i, (_, score) in enumerate(best) if score == -np.inf]
    if impossible:
        with pytest.raises(ValueError, match=f"sample {impossible[0]} has no allowed labelling"):
            inference.best_labelling(case.potentials)
        return
    labels, scores = inference.best_labelling(case.potentials)
    np.testing.assert_allclose(scores, [score for _, score in best], atol=1e-12)
    np.testing.assert_allclose(
        inference.labelling_scores(case.potentials, labels), scores, atol=1e-12
    )
    twins = [reference.best_labelling(tree)[0] for tree in case.trees()]
    np.testing.assert_array_equal(labels, np.concatenate(twins))


@few
@given(cases())
def test_a_root_is_told_the_best_score_of_each_of_its_labels(case):
    assume(is_possible(case))
    for tree in case.trees():
        up, down = reference.max_product(tree)
        every, scores = reference.labellings(tree), reference.all_scores(tree)
        for root in tree.roots():
            best = [scores[every[:, root] == b].max() for b in range(tree.n_labels)]
            rest = sum(up[t].max() for t in tree.roots() if t != root)
            np.testing.assert_allclose(up[root] + rest, best, atol=1e-12)
            np.testing.assert_array_equal(down[root], up[root])


@few
@given(cases(), st.sampled_from([1, 2, 3, 10, 2000]))
def test_k_best(case, k):
    assume(is_possible(case))
    best, _ = inference.best_labelling(case.potentials)
    found = inference.k_best(case.potentials, k)
    parts = zip(case.trees(), found, case.samples.split(best), strict=True)
    for tree, (labels, scores), first in parts:
        expected = reference.enumerated_k_best(tree, k)[1]
        np.testing.assert_allclose(scores, expected, atol=1e-12)
        np.testing.assert_array_equal(labels[0], first)
        assert len(np.unique(labels, axis=0)) == len(labels)
        assert (np.diff(scores) <= 0).all()
        own = [reference.score(tree, y) for y in labels]
        np.testing.assert_allclose(own, scores, atol=1e-12)


@few
@given(cases(), EPSILONS)
def test_log_partition(case, epsilon):
    assume(is_possible(case))
    found = inference.log_partition(case.potentials, epsilon)
    expected = [reference.enumerated_log_partition(tree, epsilon) for tree in case.trees()]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@few
@given(cases(), EPSILONS)
def test_marginals(case, epsilon):
    assume(is_possible(case))
    found = inference.marginals(case.potentials, epsilon)
    edges = inference.edge_marginals(case.potentials, epsilon)
    expected = [reference.enumerated_marginals(tree, epsilon) for tree in case.trees()]
    expected_edges = np.concatenate([edge for _, edge in expected])
    np.testing.assert_allclose(found.node, np.concatenate([n for n, _ in expected]), atol=1e-11)
    np.testing.assert_allclose(edges, expected_edges, atol=1e-11)
    for k, count in enumerate(found.edge_counts):
        total = expected_edges[case.samples.edge_types == k].sum(axis=0)
        np.testing.assert_allclose(count, total, atol=1e-10)
    np.testing.assert_array_equal(
        found.log_partition, inference.log_partition(case.potentials, epsilon)
    )


@few
@given(cases())
def test_temperature_zero_is_the_best_labelling(case):
    assume(is_possible(case))
    labels, scores = inference.best_labelling(case.potentials)
    found = inference.marginals(case.potentials, 0.0)
    np.testing.assert_array_equal(found.node, np.eye(case.node.shape[1])[labels])
    np.testing.assert_array_equal(found.log_partition, scores)
    np.testing.assert_array_equal(inference.log_partition(case.potentials, 0.0), scores)
    counts = inference.edge_counts(
        case.samples, labels, case.node.shape[1], n_edge_types=len(case.edge)
    )
    np.testing.assert_array_equal(found.edge_counts, counts)
    edges = inference.edge_marginals(case.potentials, 0.0)
    np.testing.assert_array_equal(edges.sum(axis=0), counts.sum(axis=0))
    rng = np.random.default_rng(0)
    draws = inference.draw_labellings(case.potentials, 3, 0.0, rng=rng)
    np.testing.assert_array_equal(draws, [labels] * 3)


@few
@given(cases(forbid=(0.0,)), EPSILONS, st.booleans(), st.booleans(), st.booleans())
def test_expected_statistics_is_the_steps_one_after_the_other(case, epsilon, with_loss, cold, cut):
    """With label sets and costs; also when cut into samples, and where kinds of edges are many."""
    rng = np.random.default_rng(0)
    samples, n_labels = case.samples, case.node.shape[1]
    epsilon = 0.0 if cold else epsilon
    coef = rng.normal(size=(n_labels, samples.n_features))
    weight = rng.random(samples.n_samples) + 0.5
    labels = rng.integers(0, n_labels, samples.n_nodes) if with_loss else None
    scale, mask = rng.uniform(0.5, 2.0, samples.n_nodes), rng.random(case.node.shape) < 0.7
    mask[np.arange(len(mask)), rng.integers(0, n_labels, len(mask))] = True
    with pytest.MonkeyPatch.context() as patch:
        for name in ("_CHUNK_NUMBERS", "_MANY_KINDS") if cut else ():
            patch.setattr(f"medn_edu.inference._sweeps.{name}", 0)
        found = inference.expected_statistics(
            samples,
            coef,
            case.edge,
            sample_weight=weight,
            epsilon=epsilon,
            loss_labels=labels,
            loss_scale=scale,
            mask=mask,
            want_entropies=True,
        )
    node = inference.node_potentials(samples, coef)
    np.testing.assert_allclose(node, samples.features.toarray() @ coef.T, atol=1e-12)
    node = np.where(mask, node, -np.inf)
    np.testing.assert_array_equal(inference.node_potentials(samples, coef, mask), node)
    if with_loss:
        wrong = scale[:, None] * (1 - np.eye(n_labels)[labels])
        half = Potentials(samples, node, case.edge).with_loss(labels, 0.5 * scale)
        np.testing.assert_allclose(half.node, node + 0.5 * wrong, atol=1e-15)
        node = node + wrong
    potentials = Potentials(samples, node, case.edge)
    steps = inference.marginals(potentials, epsilon, sample_weight=weight)
    mean = steps.node * weight[samples.sample_of_node][:, None]
    np.testing.assert_allclose(found.log_partition, steps.log_partition, rtol=1e-13)
    np.testing.assert_allclose(found.edge_counts, steps.edge_counts, atol=1e-12)
    np.testing.assert_allclose(found.feature_sums, mean.T @ samples.features.toarray(), atol=1e-11)
    np.testing.assert_allclose(
        inference.feature_sums(samples, mean), found.feature_sums, atol=1e-12
    )
    # The entropy is what the log-partition has above the expected score.
    edges = inference.edge_marginals(potentials, epsilon) * case.edge[samples.edge_types]
    scores = (steps.node * np.where(mask, node, 0)).sum(axis=1) + edges.sum(axis=(1, 2))
    above = steps.log_partition - np.add.reduceat(scores, samples.offsets[:-1])
    np.testing.assert_allclose(epsilon * found.entropies, above, atol=1e-10)
    if with_loss:
        losses = np.add.reduceat((steps.node * wrong).sum(axis=1), samples.offsets[:-1])
        np.testing.assert_allclose(found.losses, losses, atol=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_exact_draws_and_gibbs_sweeps_are_allowed_labellings(seed):
    case, rng = make_case(seed, n_labels=3, forbid=0.2), np.random.default_rng(seed)
    case.edge[:, 0], case.edge[:, :, 0], case.node[:, 0] = 0.0, 0.0, 0.0
    draws = inference.draw_labellings(case.potentials, 5, rng=rng)
    for labels in [*draws, inference.gibbs_labellings(case.potentials, 5, rng=rng)]:
        assert (inference.labelling_scores(case.potentials, labels) > -np.inf).all()


@few
@given(cases(forbid=(0.0, 0.3)), EPSILONS, st.integers(1, 3))
def test_twins_agree_with_enumeration(case, epsilon, k):
    assume(is_possible(case))
    for tree in case.trees():
        best = reference.best_labelling(tree)[1], reference.enumerated_best(tree)[1]
        scores = reference.k_best(tree, k)[1], reference.enumerated_k_best(tree, k)[1]
        log_sum = reference.enumerated_log_partition(tree, epsilon)
        sums = reference.log_partition(tree, epsilon), log_sum
        for found, expected in (best, scores, sums):
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
        marginals = (
            reference.marginals(tree, epsilon),
            reference.enumerated_marginals(tree, epsilon),
        )
        for found, expected in zip(*marginals, strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-11)


@pytest.mark.parametrize("seed", range(10))
def test_joint_features_give_scores(seed):
    case, rng = make_case(seed), np.random.default_rng(seed)
    samples, shape = case.samples, WeightShape(case.node.shape[1], 3, len(case.edge))
    weights = rng.normal(size=shape.size)
    coef, transitions = shape.split(weights)
    labels = rng.integers(0, shape.n_labels, samples.n_nodes)
    potentials = Potentials(samples, inference.node_potentials(samples, coef), transitions)
    features = inference.joint_features(samples, labels, shape)
    scores = inference.labelling_scores(potentials, labels)
    np.testing.assert_allclose(features @ weights, scores, atol=1e-12)
    weight = rng.random(samples.n_samples)
    counts = inference.edge_counts(
        samples, labels, shape.n_labels, weight, n_edge_types=len(case.edge)
    )
    np.testing.assert_allclose(counts.ravel(), weight @ features[:, coef.size :], atol=1e-12)
