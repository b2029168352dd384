"""The max-margin problem against its definition, by enumeration."""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medn_edu.priors import GaussianPrior
from medn_edu.problems import DualMarginals, DualVariables, L2Norm, MarginLoss, Problem
from medn_edu.samples import Forest, label_samples, pack
from medn_edu.slacks import LinearSlack


class Enumerated:
    """A random small problem with every labelling of every sample written out."""

    def __init__(self, seed, n_labels=3, n_features=2, C=1.3):
        rng = np.random.default_rng(seed)
        forests, codes = [], []
        for n in rng.integers(1, 4, 3):
            parents = np.array([int(rng.integers(-1, t)) if t else -1 for t in range(n)])
            types = rng.integers(0, 2, n)
            forests.append(Forest(rng.normal(size=(n, n_features)), parents, types))
            codes.append(rng.integers(0, n_labels, n))
        forests.append(Forest(np.ones((2, n_features)), [-1, 0], [0, 1]))  # both types occur
        codes.append(np.array([0, 1]))
        self.weight = rng.uniform(0.5, 2, len(forests))
        allowed = np.ones((2, n_labels, n_labels), bool)
        self.data = label_samples(pack(forests), np.concatenate(codes), allowed, self.weight)
        self.problem = Problem(self.data, MarginLoss(LinearSlack(C)), GaussianPrior())
        self.C, self.n_labels, self.n_features = C, n_labels, n_features
        self.forests, self.codes = forests, codes
        self.labellings = [
            np.array(list(itertools.product(range(n_labels), repeat=len(c)))) for c in codes
        ]

    def joint_feature(self, i, labels):
        """Return f(x_i, y), written down from its definition."""
        coef = np.zeros((self.n_labels, self.n_features))
        transitions = np.zeros((2, self.n_labels, self.n_labels))
        forest = self.forests[i]
        for t, a in enumerate(labels):
            coef[a] += forest.features[t]
            if forest.parents[t] >= 0:
                transitions[forest.edge_types[t], labels[forest.parents[t]], a] += 1
        return np.concatenate([coef.ravel(), transitions.ravel()])

    def differences(self, i):
        """Return f(x_i, y_i) - f(x_i, y) and the loss, for every labelling y."""
        true = self.joint_feature(i, self.codes[i])
        features = np.array([true - self.joint_feature(i, y) for y in self.labellings[i]])
        return features, (self.labellings[i] != self.codes[i]).sum(axis=1)

    def random_alpha(self, rng):
        """Return random feasible dual variables on some of the labellings."""
        chosen, values, sample = [], [], []
        for i, all_labellings in enumerate(self.labellings):
            some = rng.choice(len(all_labellings), size=min(3, len(all_labellings)), replace=False)
            chosen += [all_labellings[j] for j in some]
            values += list(rng.dirichlet(np.ones(len(some))) * self.C * self.weight[i])
            sample += [i] * len(some)
        offsets = np.concatenate([[0], np.cumsum([len(y) for y in chosen])])
        return DualVariables(np.array(sample), offsets, np.concatenate(chosen), np.array(values))


def take(alpha, j):
    """Return labelling ``j`` of dual variables."""
    return alpha.labels[alpha.offsets[j] : alpha.offsets[j + 1]]


@pytest.mark.parametrize("seed", range(6))
def test_values_equal_enumeration(seed):
    """P(w), D(alpha) and eta, each from its formula over all labellings."""
    case = Enumerated(seed)
    rng = np.random.default_rng(seed + 100)
    weights = rng.normal(size=case.data.weight_shape.size)
    xi = []
    for i in range(len(case.codes)):
        features, loss = case.differences(i)
        xi.append((loss - features @ weights).max())
    np.testing.assert_allclose(case.problem.xi(weights), xi, atol=1e-12)
    primal = 0.5 * weights @ weights + case.C * np.dot(case.weight, xi)
    assert case.problem.primal(weights) == pytest.approx(primal)

    alpha = case.random_alpha(rng)
    eta, gain = np.zeros_like(weights), 0.0
    for j, i in enumerate(alpha.sample):
        true = case.joint_feature(i, case.codes[i])
        eta += alpha.values[j] * (true - case.joint_feature(i, take(alpha, j)))
        gain += alpha.values[j] * (take(alpha, j) != case.codes[i]).sum()
    np.testing.assert_allclose(alpha.eta(case.problem.data), eta, atol=1e-12)
    assert case.problem.dual(alpha) == pytest.approx(gain - 0.5 * eta @ eta)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_weak_duality(seed):
    """No dual value exceeds any primal value."""
    case = Enumerated(seed % 7)
    rng = np.random.default_rng(seed)
    weights = rng.normal(scale=rng.uniform(0, 2), size=case.data.weight_shape.size)
    assert case.problem.dual(case.random_alpha(rng)) <= case.problem.primal(weights) + 1e-9


def test_infeasible_dual_variables_bound_nothing():
    """Negative dual variables, or a total above C, have the dual value minus infinity."""
    case = Enumerated(0)
    alpha = case.random_alpha(np.random.default_rng(0))
    for values in (-alpha.values, 1.01 * alpha.values):
        bad = DualVariables(alpha.sample, alpha.offsets, alpha.labels, values)
        assert case.problem.dual(bad) == -np.inf


def test_dual_variables_that_are_no_numbers_are_not_feasible():
    data = Enumerated(0).data
    alpha = DualVariables.on(data.samples, data.labels, np.full(data.samples.n_samples, np.nan))
    assert not alpha.is_feasible(data)


def test_losses_and_slacks_are_checked():
    with pytest.raises(TypeError, match=r"^slack is 1\.0; expected LinearSlack\(C\)"):
        MarginLoss(1.0)
    with pytest.raises(TypeError, match=r"^loss is LinearSlack\(C=1\.0\); expected a MarginLoss"):
        Problem(Enumerated(0).data, LinearSlack(), GaussianPrior())


@pytest.mark.parametrize("regulariser", [None, "l2", L2Norm])
def test_data_regularisers_and_weights_are_checked(regulariser):
    data, loss = Enumerated(0).data, MarginLoss(LinearSlack())
    with pytest.raises(TypeError, match=r"^regulariser is .*; expected a prior or another"):
        Problem(data, loss, regulariser)
    with pytest.raises(TypeError, match=r"^data is \[\]; expected LabelledSamples"):
        Problem([], loss, GaussianPrior())
    with pytest.raises(ValueError, match=r"^weights has shape \(3,\); expected"):
        Problem(data, loss, GaussianPrior()).primal(np.zeros(3))


def test_dual_variables_of_other_samples_are_refused():
    case = Enumerated(0)
    samples, labels = case.data.samples, case.data.labels
    values = np.ones(samples.n_samples)
    with pytest.raises(ValueError, match=r"^labels and values have shapes"):
        DualVariables.on(samples, labels[1:], values)
    with pytest.raises(ValueError, match=r"^alpha holds a label code beyond the"):
        case.problem.dual(DualVariables.on(samples, labels + 99, values))
    alpha = DualVariables.on(samples, labels, values)
    with pytest.raises(ValueError, match=r"^alpha names a sample beyond the"):
        case.problem.dual(dataclasses.replace(alpha, sample=alpha.sample + 1))


@pytest.mark.parametrize("chosen", [[99], [-1], [True], slice(1)])
def test_labellings_are_taken_by_their_positions(chosen):
    case = Enumerated(0)
    alpha = DualVariables.on(case.data.samples, case.data.labels, np.ones(case.problem.n_samples))
    assert len(alpha.take([1, 0])) == 2
    with pytest.raises(ValueError, match=r"^chosen must hold .* booleans, or whole numbers"):
        alpha.take(chosen)


def test_certificate_needs_dual_variables():
    """A solver that keeps no dual variables cannot be certified."""
    case = Enumerated(0)
    weights = np.zeros(case.data.weight_shape.size)
    with pytest.raises(TypeError, match="dual variables"):
        case.problem.certify(weights)


def test_sweeps_do_not_depend_on_threads(small_groups):
    """One and two threads give the same bits."""
    case = Enumerated(1)
    assert small_groups(case.data.samples) > 1
    weights = np.random.default_rng(1).normal(size=case.data.weight_shape.size)
    threaded = Problem(case.data, MarginLoss(LinearSlack(case.C)), GaussianPrior(), n_jobs=2)
    assert threaded.primal(weights) == case.problem.primal(weights)


def test_labellings_that_are_forbidden_bound_nothing():
    """A total all on a labelling that cannot occur would prove too much."""
    allowed = np.ones((1, 2, 2), bool)
    allowed[0, 0, 1] = False
    data = label_samples(pack([np.eye(2)]), np.array([0, 0]), allowed)
    problem = Problem(data, MarginLoss(LinearSlack(1.0)), GaussianPrior())
    for labels, feasible in (([0, 1], False), ([1, 1], True)):
        alpha = DualVariables(np.array([0]), np.array([0, 2]), np.array(labels), np.array([0.5]))
        assert alpha.is_feasible(problem.data) == feasible
        assert (problem.dual(alpha) > -np.inf) == feasible


def test_marginals_are_judged_by_the_total_of_their_own_sample():
    """A sample that hardly counts has to be as consistent as the others."""
    weight = np.array([1.0, 1e-10])
    data = label_samples(
        pack([np.eye(1), np.eye(1)]), np.array([0, 1]), np.ones((1, 2, 2), bool), weight
    )
    problem = Problem(data, MarginLoss(LinearSlack(1.0)), GaussianPrior())
    edge = np.zeros((2, 2, 2))
    fine = DualMarginals(np.array([[0.5, 0.5], [1e-10, 0.0]]), edge)
    wrong = DualMarginals(np.array([[0.5, 0.5], [2e-10, -1e-10]]), edge)
    assert fine.is_feasible(problem.data)
    assert not wrong.is_feasible(problem.data)
