"""Every kernel has a readable twin; here are those that no other test compares with theirs."""

import importlib
import re
import tomllib
from functools import reduce
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from enumerated import KINDS, SLACKS, make_data, uneven_prior

from medn_edu import inference, kernels
from medn_edu.kernels.tilting import SLACKS as CODES
from medn_edu.kernels.tilting import slack_slopes_along
from medn_edu.problems import MarginLoss, Problem
from medn_edu.samples import pack
from medn_edu.solvers.textbook.exponentiated_gradient import block_exponentiated_gradient
from medn_edu.solvers.textbook.smo import smo
from medn_edu.solvers.textbook.subgradient import online_subgradient
from medn_edu.theory import reference, textbook
from medn_edu.theory.medn import EnumeratedProblem, enumerate_problem
from medn_edu.theory.medn_solvers import conjugate_slopes

each_kind = pytest.mark.parametrize("kind", KINDS)


def test_the_list_has_every_kernel_that_python_calls_and_twins_that_are_plain_functions():
    folder = Path(kernels.__file__).parent
    public = {
        ".".join([*path.relative_to(folder).with_suffix("").parts, name])
        for path in folder.rglob("*.py")
        for name in re.findall(r"^@kernel\ndef (\w+)\(", path.read_text("utf-8"), re.MULTILINE)
    }
    assert len(public) > 30
    twins_of = tomllib.loads(Path(reference.__file__).with_name("twins.toml").read_text("utf-8"))
    assert set(twins_of) == public
    for kernel, twins in twins_of.items():
        for twin in twins:
            module, *rest = twin.split(".") if "." in twin else ("reference", twin)
            found = reduce(getattr, rest, importlib.import_module(f"medn_edu.theory.{module}"))
            assert type(found) is type(pack), (kernel, twin)


@each_kind
def test_scores_features_and_entropies(kind):
    data, rng = make_data(kind), np.random.default_rng(1)
    samples, shape, weight = data.samples, data.allowed.shape, data.sample_weight
    coef = rng.normal(size=(shape[1], samples.n_features))
    node = inference.node_potentials(samples, coef)
    np.testing.assert_allclose(node, reference.node_scores(samples, coef), atol=1e-13)
    values = rng.normal(size=node.shape)
    found = inference.feature_sums(samples, values)
    np.testing.assert_allclose(found, reference.feature_sums(samples, values), atol=1e-13)
    counts = inference.edge_counts(
        samples, data.labels, shape[1], n_edge_types=shape[0], sample_weight=weight
    )
    expected = reference.edge_counts(samples, data.labels, weight, shape)
    np.testing.assert_allclose(counts, expected, atol=1e-13)
    edge = inference.edge_potentials(rng.normal(size=shape), data.allowed)
    trees = [reference.Tree.of(samples, node, edge, i) for i in range(samples.n_samples)]
    for epsilon in (1.0, 0.3):
        found = inference.expected_statistics(
            samples, coef, edge, epsilon=epsilon, want_entropies=True
        )
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


@pytest.mark.parametrize("slack", SLACKS.values(), ids=list(SLACKS))
def test_slopes_of_slacks_along_a_direction(slack):
    rng, (name, constant) = np.random.default_rng(0), slack.compiled
    weight, total, change = rng.uniform(0.5, 2, 4), rng.uniform(0, 0.2, 4), rng.normal(size=4)
    found = slack_slopes_along(CODES[name], constant, constant * weight, total, change, 0.1)
    first, second = conjugate_slopes(slack, (total + 0.1 * change) / weight)
    expected = change @ first, change**2 @ (second / weight)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def make_problems(kind: str) -> tuple[Problem, EnumeratedProblem]:
    data = make_data(kind)
    prior, slack = uneven_prior(data), SLACKS["linear"]
    return Problem(data, MarginLoss(slack), prior), enumerate_problem(data, prior, slack)


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
