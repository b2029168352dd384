"""Every kernel has a readable twin; here are those that no other test compares with theirs."""

import importlib
import re
import tomllib
from functools import reduce
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from enumerated import KINDS, PRIORS, SLACKS, make_data

from medn_edu import inference, kernels
from medn_edu.kernels.tilting import (
    EXPONENTIAL_SLACK,
    LINEAR,
    QUADRATIC,
    slack_slopes_along,
)
from medn_edu.priors import GaussianPrior
from medn_edu.problems import MarginLoss, Problem
from medn_edu.samples import pack
from medn_edu.solvers.dual_state import DualState
from medn_edu.solvers.textbook.exponentiated_gradient import block_exponentiated_gradient
from medn_edu.solvers.textbook.smo import smo
from medn_edu.solvers.textbook.subgradient import online_subgradient
from medn_edu.solvers.training import public_order
from medn_edu.theory import frank_wolfe, reference, textbook
from medn_edu.theory.medn import EnumeratedProblem, enumerate_problem
from medn_edu.theory.medn_solvers import conjugate_slopes

SLACK = SLACKS["linear"]
each_kind = pytest.mark.parametrize("kind", KINDS)


def listed_twins() -> dict[str, list[str]]:
    """Names of twins by the name of the kernel."""
    return tomllib.loads(Path(reference.__file__).with_name("twins.toml").read_text("utf-8"))


def test_every_kernel_that_python_calls_is_in_the_list():
    folder = Path(kernels.__file__).parent
    public = {
        ".".join([*path.relative_to(folder).with_suffix("").parts, name])
        for path in folder.rglob("*.py")
        for name in re.findall(r"^@kernel\ndef (\w+)\(", path.read_text("utf-8"), re.MULTILINE)
    }
    assert len(public) > 30
    assert set(listed_twins()) == public


def test_every_twin_in_the_list_is_a_plain_function():
    for kernel, twins in listed_twins().items():
        for twin in twins:
            module, *rest = twin.split(".") if "." in twin else ("reference", twin)
            found = reduce(getattr, rest, importlib.import_module(f"medn_edu.theory.{module}"))
            assert type(found) is type(pack), (kernel, twin)


@each_kind
def test_scores_features_and_entropies(kind):
    data, rng = make_data(kind), np.random.default_rng(1)
    samples, labels, shape = data.samples, data.labels, data.allowed.shape
    coef = rng.normal(size=(shape[1], samples.n_features))
    node = inference.node_potentials(samples, coef)
    np.testing.assert_allclose(node, reference.node_scores(samples, coef), atol=1e-13)
    values = rng.normal(size=node.shape)
    found = inference.feature_sums(samples, values)
    np.testing.assert_allclose(found, reference.feature_sums(samples, values), atol=1e-13)
    weight = data.sample_weight
    counts = inference.edge_counts(
        samples, labels, shape[1], n_edge_types=shape[0], sample_weight=weight
    )
    expected = reference.edge_counts(samples, labels, weight, shape)
    np.testing.assert_allclose(counts, expected, atol=1e-13)
    edge = inference.edge_potentials(rng.normal(size=shape), data.allowed)
    for epsilon in (1.0, 0.3):
        found = inference.expected_statistics(
            samples, coef, edge, epsilon=epsilon, want_entropies=True
        )
        trees = [reference.Tree.of(samples, node, edge, i) for i in range(samples.n_samples)]
        entropies = [reference.enumerated_entropy(tree, epsilon) for tree in trees]
        np.testing.assert_allclose(found.entropies, entropies, atol=1e-12)


def test_dense_rows_are_compressed():
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(7, 5)) * (rng.random((7, 5)) < 0.4)
    dense[2] = 0.0
    packed = pack([dense[:3], dense[3:]]).features
    values, columns, ends = reference.compressed(dense)
    np.testing.assert_array_equal(packed.data, values)
    np.testing.assert_array_equal(packed.indices, columns)
    np.testing.assert_array_equal(packed.indptr, [0, *ends])


@each_kind
@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("prior", ["gaussian", "laplace", "box"])
def test_extrapolation_and_sums_over_all_blocks(prior, slack, kind):
    data, prior, slack = make_data(kind, seed=2, n_samples=6), PRIORS[prior], SLACKS[slack]
    problem = Problem(data, MarginLoss(slack), prior)
    enumerated = enumerate_problem(data, prior, slack)
    state = DualState(problem, gram_budget=10**6, capacity=1)
    state.load(None)
    alpha, eta = frank_wolfe.start(enumerated), np.zeros(enumerated.n_weights)
    previous = frank_wolfe.dense(enumerated, alpha)
    n_moves, rng = 0, np.random.default_rng(1)
    for _ in range(5):
        for i in rng.permutation(6):
            state.visit(np.array([i]), with_oracle=True)
            eta, _ = frank_wolfe.block_step(enumerated, alpha, eta, i)
        now, before = frank_wolfe.dense(enumerated, alpha), eta
        state.extrapolate()
        eta = frank_wolfe.extrapolate(enumerated, alpha, previous, eta)
        previous, n_moves = now, n_moves + bool(np.any(eta != before))
        np.testing.assert_allclose(eta, public_order(state.tilted.eta, state.shape), atol=1e-9)
        values = frank_wolfe.dense(enumerated, alpha)
        np.testing.assert_allclose(values, enumerated.dense(state.dual_variables()), atol=1e-9)
        assert state.dual_value() == pytest.approx(enumerated.dual_value(values), abs=1e-9)
    assert n_moves > 1
    state.rebuild()
    np.testing.assert_allclose(
        enumerated.eta(values), public_order(state.tilted.eta, state.shape), atol=1e-9
    )
    # A warm start takes a share of all dual variables, apart from those of the true labellings.
    state.load(state.dual_variables())
    loaded, wrong = enumerated.dense(state.dual_variables()), enumerated.losses > 0
    share = loaded[wrong].sum() / values[wrong].sum()
    assert 0.5 < share < 1 + 1e-9
    np.testing.assert_allclose(loaded[wrong], share * values[wrong], atol=1e-9)


@pytest.mark.parametrize("name", SLACKS)
def test_slopes_of_slacks_along_a_direction(name):
    slack, rng = SLACKS[name], np.random.default_rng(0)
    constant = getattr(slack, "C", None) or slack.c
    weight, total, change = rng.uniform(0.5, 2, 4), rng.uniform(0, 0.2, 4), rng.normal(size=4)
    code = {"linear": LINEAR, "quadratic": QUADRATIC, "exponential": EXPONENTIAL_SLACK}[name]
    found = slack_slopes_along(code, constant, constant * weight, total, change, 0.1)
    first, second = conjugate_slopes(slack, (total + 0.1 * change) / weight)
    expected = change @ first, change**2 @ (second / weight)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def make_problems(kind: str) -> tuple[Problem, EnumeratedProblem]:
    data = make_data(kind)
    size = Problem(data, MarginLoss(SLACK), GaussianPrior()).weight_shape.size
    prior = GaussianPrior(np.random.default_rng(3).uniform(0.2, 2.0, size))
    return Problem(data, MarginLoss(SLACK), prior), enumerate_problem(data, prior, SLACK)


def same_marginals(found, expected: np.ndarray) -> None:
    together = np.concatenate([found.node.ravel(), found.edge.ravel()])
    np.testing.assert_allclose(together, expected, atol=1e-9)


@each_kind
def test_exponentiated_steps(kind):
    problem, listed = make_problems(kind)
    parts, rng = textbook.parts(listed, problem.data), np.random.default_rng(0)
    C, n = textbook.totals(listed), problem.n_samples
    alpha, steps = (C / listed.totals(np.ones(len(listed.losses))))[listed.sample], np.full(n, 0.3)
    passes = block_exponentiated_gradient(
        problem, rng=np.random.default_rng(0), step=0.3, momentum=False
    )
    for iterate in islice(passes, 4):
        for i in rng.permutation(n):
            alpha, steps[i] = textbook.exponentiated_step(listed, alpha, i, steps[i])
        same_marginals(iterate.dual(), alpha @ parts)
        np.testing.assert_allclose(iterate.weights, listed.posterior_mean(alpha), atol=1e-9)
    assert len(set(steps)) > 1


@each_kind
def test_subgradient_steps(kind):
    problem, listed = make_problems(kind)
    n, rng, t = problem.n_samples, np.random.default_rng(0), 0
    alpha, average = np.zeros(len(listed.losses)), np.zeros(listed.n_weights)
    for iterate in islice(online_subgradient(problem, rng=np.random.default_rng(0)), 4):
        for i in rng.permutation(n):
            t += 1
            step = 2 / (t + 2 * n - 1)
            alpha, average = textbook.subgradient_step(listed, alpha, average, i, step)
        np.testing.assert_allclose(iterate.weights, average, atol=1e-9)


@each_kind
def test_smo_steps(kind):
    problem, listed = make_problems(kind)
    parts, rng = textbook.parts(listed, problem.data), np.random.default_rng(0)
    true = listed.losses == 0
    marginal, eta = textbook.totals(listed) @ parts[true], np.zeros(listed.n_weights)
    for iterate in islice(smo(problem, rng=np.random.default_rng(0), n_steps=1), 6):
        for i in rng.permutation(problem.n_samples):
            marginal, eta = textbook.smo_step(listed, parts, marginal, eta, i)
        same_marginals(iterate.dual(), marginal)
        np.testing.assert_allclose(iterate.weights, listed.prior.mean(eta), atol=1e-9)
    assert np.abs(eta).max() > 0.01


def test_textbook_steps_need_the_linear_slack():
    data = make_data(KINDS[0])
    listed = enumerate_problem(data, GaussianPrior(), SLACKS["quadratic"])
    with pytest.raises(ValueError, match="expected the linear one"):
        textbook.totals(listed)
