"""The readable visit of a sample against the compiled one, visit by visit, and what it leaves behind.

This file also runs as plain Python (tests/test_kernels_modes.py).
"""

from dataclasses import dataclass

import numpy as np
import pytest
from enumerated import KINDS, RICH, make_data
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import entr, logsumexp, softmax

from medn_edu.kernels.log_linear import (
    FIRST_STEP,
    ON_THE_TRUTH,
    LogLinear,
    mean_squares,
    sum_models,
    visit_samples,
)
from medn_edu.priors import GaussianPrior
from medn_edu.problems import L2Norm, Problem, SoftMaxLoss
from medn_edu.samples import LabelledSamples, label_samples, pack
from medn_edu.slacks import LinearSlack
from medn_edu.solvers.training import public_order, rows_of, training_blocks
from medn_edu.theory import log_linear, reference
from medn_edu.theory.medn import EnumeratedProblem, enumerate_problem
from medn_edu.theory.textbook import parts

MORE = ["chain costs weights", "chain types sets weights", RICH[0] + " weights"]


@dataclass
class Compiled:
    """What the kernel works on, and the same problem with all labellings listed."""

    data: LabelledSamples
    epsilon: float
    l1: float
    loss_augmented: bool
    listed: EnumeratedProblem
    parts: np.ndarray  # of each labelling: labels at nodes, transitions summed by sample and type
    models: LogLinear
    shares: np.ndarray
    eta: np.ndarray

    def visit(self, *order: int) -> int:
        return visit_samples(
            np.array(order), self.blocks, self.costs, self.data.allowed, self.epsilon, self.l1,
            self.shares, self.models, self.eta,
        )  # fmt: skip

    @property
    def blocks(self):
        return training_blocks(Problem(self.data, SoftMaxLoss(), L2Norm()))

    @property
    def costs(self) -> np.ndarray:
        return self.blocks.costs * self.loss_augmented

    def public(self, rows: np.ndarray) -> np.ndarray:
        return public_order(rows.ravel(), self.data.weight_shape)

    def theta(self) -> np.ndarray:
        """The potentials of each labelling, less those of the true one."""
        node, edge = self.models.node, self.models.edge
        sums = self.parts @ np.concatenate([node.ravel(), edge.ravel()], dtype=float)
        return sums - sums[self.listed.losses == 0][self.listed.sample]

    def marginals(self) -> np.ndarray:
        """Those of the potentials; of the true labelling where there are none yet."""
        theta, true = self.theta(), self.listed.losses == 0
        theta[(self.models.entropy == ON_THE_TRUTH)[self.listed.sample] & ~true] = -np.inf
        p = [softmax(theta[self.listed.sample == i]) for i in range(self.listed.n_samples)]
        return np.concatenate(p) @ self.parts


def compiled(
    kind: str, seed: int = 0, *, epsilon=1.0, l1=0.0, loss_augmented=False, scale=1.0
) -> Compiled:
    """All on the true labellings; shares and the proximal term's part of ``eta`` are drawn."""
    data, rng = make_data(kind, seed), np.random.default_rng(seed)
    samples, n, n_labels = data.samples, data.samples.n_nodes, data.n_labels
    listed = enumerate_problem(data, GaussianPrior(), LinearSlack(1.0))
    apart = parts(listed, data)
    pairs = apart[:, n * n_labels :].reshape(-1, n, n_labels, n_labels)
    summed = np.zeros((len(apart), samples.n_samples, *data.allowed.shape))
    for t, (i, k) in enumerate(zip(samples.sample_of_node, samples.edge_kinds, strict=True)):
        summed[:, i, k] += pairs[:, t]
    apart = np.hstack([apart[:, : n * n_labels], summed.reshape(len(apart), -1)])
    shape = data.weight_shape
    single, n_samples = np.float32, samples.n_samples
    models = LogLinear(
        node=np.zeros((n, n_labels), single),
        edge=np.zeros((n_samples, *data.allowed.shape), single),
        entropy=np.full(n_samples, ON_THE_TRUTH),
        loss=np.zeros(n_samples),
        log_truth=np.zeros(n_samples),
        step=np.full(n_samples, FIRST_STEP),
        gap=np.full(n_samples, np.inf),
    )
    eta = rows_of(scale * rng.normal(size=shape.size), shape)
    shares = np.append(rng.uniform(0.2, 2.0, samples.n_features), np.full(eta.shape[0], 0.8))
    shares = shares[: len(eta)]
    return Compiled(data, epsilon, l1, loss_augmented, listed, apart, models, shares, eta)


def compare_visits(case: Compiled, n_visits: int = 30) -> list[int]:
    """Make visits in both ways, each from where the compiled one was; return how many sums they took."""
    listed, models, twin = case.listed, case.models, log_linear.start(case.listed)
    options = {
        "epsilon": case.epsilon, "l1": case.l1, "loss_augmented": case.loss_augmented,
        "share": case.public(np.broadcast_to(case.shares[:, None], case.eta.shape)),
    }  # fmt: skip
    n_sums, n_steps = [], 0
    for i in np.random.default_rng(7).integers(0, listed.n_samples - 1, n_visits):
        before, rows = case.public(case.eta), listed.sample == i
        n_sums.append(case.visit(i))
        eta = log_linear.visit(listed, twin, before, i, **options)
        scale = 1 + np.abs(twin.theta[rows]).max()
        np.testing.assert_allclose(case.marginals(), twin.p @ case.parts, atol=1e-6 * scale)
        np.testing.assert_allclose(case.public(case.eta), eta, atol=1e-5 * scale)
        assert models.entropy[i] == pytest.approx(entr(twin.p[rows]).sum(), abs=1e-5 * scale)
        assert models.gap[i] == pytest.approx(twin.gap[i], rel=1e-3, abs=1e-5)
        if np.abs(eta - before).max() > 1e-3:  # else rounding decides about steps
            n_steps += 1
            np.testing.assert_allclose(case.theta()[rows], twin.theta[rows], atol=5e-7 * scale)
            log_truth = -logsumexp(twin.theta[rows])
            assert models.log_truth[i] == pytest.approx(log_truth, abs=1e-6 * scale)
            assert models.step[i] == pytest.approx(twin.step[i], rel=2e-2)
        twin.theta[rows] = case.theta()[rows]
        twin.p[rows] = softmax(twin.theta[rows])
        twin.step[i] = models.step[i]
    assert n_steps > 2
    # The last sample is still on its true labelling, and has no part in the sums.
    n, eta = listed.n_samples, np.zeros_like(case.eta)
    entropies, losses, log_truths = np.ones((3, n))
    sum_models(
        case.blocks, case.costs, case.data.allowed, models, eta, entropies, losses, log_truths
    )
    p, weight = twin.p, listed.sample_weight[listed.sample]
    np.testing.assert_allclose(case.public(eta), (weight * p) @ listed.differences, atol=1e-4)
    expected = listed.totals(p * listed.losses * case.loss_augmented)
    np.testing.assert_allclose(losses, expected, atol=1e-4)
    np.testing.assert_allclose(
        entropies, np.where(models.entropy < 0, 0, models.entropy), atol=1e-5
    )
    np.testing.assert_allclose(log_truths, models.log_truth, rtol=1e-5, atol=1e-5)
    assert entropies[-1] == losses[-1] == log_truths[-1] == 0
    return n_sums


@pytest.mark.parametrize("l1", [0.0, 0.4])
@pytest.mark.parametrize("epsilon", [1.0, 0.1])
@pytest.mark.parametrize("kind", [*KINDS, *MORE])
def test_every_compiled_visit_is_the_readable_one(kind, epsilon, l1):
    for loss_augmented in (False, True):
        case = compiled(kind, 1, epsilon=epsilon, l1=l1, loss_augmented=loss_augmented)
        n_sums = compare_visits(case)
        assert epsilon == 1.0 or max(n_sums) > 1  # some steps were undone


@pytest.mark.parametrize("kind", KINDS)
def test_potentials_of_hundreds(kind):
    compare_visits(compiled(kind, 2, scale=300.0), 20)


def test_visits_where_scaled_sweeps_are_lost():
    """Nodes ask for labels that the transition all but forbids, so every exponential underflows."""
    data = label_samples(pack([np.eye(2)]), np.zeros(2, np.int64), np.ones((1, 2, 2), bool))
    blocks = training_blocks(Problem(data, SoftMaxLoss(), L2Norm()))
    models = LogLinear(
        np.zeros((2, 2), np.float32), np.zeros((1, 1, 2, 2), np.float32),
        *np.array([[ON_THE_TRUTH], [0.0], [0.0], [FIRST_STEP], [np.inf]]),
    )  # fmt: skip
    eta = np.array([[0.0, -800.0], [-800.0, 0.0], [0.0, -2000.0], [-2000.0, 0.0]])
    start = eta.copy()
    visit_samples(
        np.zeros(1, int), blocks, np.zeros(2), data.allowed, 1.0, 0.0, np.ones(4), models, eta
    )
    # Both labels are 0, or, with a bonus less of 4 each, 1.
    assert models.log_truth[0] == pytest.approx(-np.log1p(np.exp(-8.0)), rel=1e-3)
    p = np.exp(models.log_truth[0])
    assert models.entropy[0] == pytest.approx(entr([p, 1 - p]).sum(), rel=1e-9)
    moved = [[1 - p, p - 1], [1 - p, p - 1], [1 - p, 0], [0, p - 1]]
    np.testing.assert_allclose(eta - start, moved, atol=1e-9)


@pytest.mark.parametrize("kind", [KINDS[1], MORE[2]])
def test_a_rejected_step_is_undone(kind):
    """As if the step that was taken in the end had been the first to be tried."""
    cases = [compiled(kind, 3, epsilon=0.1, loss_augmented=True) for _ in range(2)]
    for case in cases:
        case.visit(*range(5))
        case.shares *= 8.0  # steeper than what the steps were made for
        case.models.step[:] = 1.0
    found, again = cases
    n_sums = np.array([found.visit(i) for i in range(5)])
    assert n_sums.max() > 1
    again.models.step[:] = 0.5 ** (n_sums - 1)
    assert [again.visit(i) for i in range(5)] == [1] * 5
    for one, other in zip([*found.models, found.eta], [*again.models, again.eta], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("kind", MORE)
def test_rounding_at_the_optimum_leaves_steps_as_they_are(kind):
    """There no step raises the dual by more than single precision can tell; none is worth a trial."""
    case = compiled(kind, epsilon=0.3, l1=0.4, loss_augmented=True)
    for _ in range(300):
        case.visit(*range(5))
    eta, n_sums = case.eta.copy(), [case.visit(*range(5)) for _ in range(100)]
    assert sum(n_sums) < 600
    assert case.models.step.min() > 1e-3
    assert case.models.gap.max() < 1e-9
    np.testing.assert_allclose(case.eta, eta, atol=1e-6)


@given(
    st.integers(0, 99), st.sampled_from([*KINDS, *MORE]), st.sampled_from([1.0, 0.1]),
    st.sampled_from([0.0, 0.4]), st.lists(st.integers(0, 4), max_size=30),
)  # fmt: skip
def test_eta_is_that_of_the_potentials(seed, kind, epsilon, l1, order):
    """With the proximal term, after any visits: ``sum_i c_i (f(x_i, y_i) - E f)``, written out."""
    case = compiled(kind, seed, epsilon=epsilon, l1=l1, loss_augmented=True)
    data, start, truth = case.data, case.eta.copy(), case.marginals()
    samples, weight, n = data.samples, data.sample_weight, data.labels.size * data.n_labels
    case.visit(*order) if order else None
    moved = truth - case.marginals()
    node = np.repeat(weight, samples.lengths)[:, None] * moved[:n].reshape(-1, data.n_labels)
    edge = np.tensordot(weight, moved[n:].reshape(-1, *data.allowed.shape), 1)
    expected = np.concatenate([reference.feature_sums(samples, node).ravel(), edge.ravel()])
    np.testing.assert_allclose(case.public(case.eta - start), expected, atol=1e-12)


def test_mean_squares():
    rng = np.random.default_rng(0)
    samples = pack([rng.normal(size=(9, 6)) * (rng.random((9, 6)) < 0.3) * [1, 1, 9, 1, 1, 0]])
    found = np.empty(6)
    mean_squares(*samples.packed.features[:2], found)
    np.testing.assert_allclose(found, reference.mean_squares(samples))
    assert found[5] == 1
