"""Structured prediction and duality (ASP sections 2.1 and 3): Theorem 1, Claim 1, Eq. (4) and (6)."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax

from medn_edu.theory.checks.check import apart, discrepancy_of
from medn_edu.theory.factor_graphs.entropies import CountingNumbers
from medn_edu.theory.factor_graphs.graph import (
    entropy,
    log_partition,
    probabilities,
    scores,
    soft_max,
)
from medn_edu.theory.factor_graphs.learning import Program, random_examples
from medn_edu.theory.factor_graphs.solvers import Blocks, exact_blocks, maximise, minimise

EPSILONS = (1.0, 0.3, 0.02, 0.0)
_TRIANGLE = ((0, 1), (1, 2), (2, 0))


def draw_program(
    rng: np.random.Generator,
    *,
    epsilon: float,
    p: float | None = None,
    scopes: tuple[tuple[int, ...], ...] = _TRIANGLE,
    n_labels: tuple[int, ...] = (2, 2, 2),
) -> Program:
    """Draw two training pairs on a small graph, by default a triangle, and a regulariser."""
    examples = random_examples(rng, scopes, n_labels)
    c = CountingNumbers.ones(examples[0].graph(np.zeros(3)))
    exponent = rng.choice([1.5, 2.0, 3.0]) if p is None else p
    return Program(examples, C=rng.uniform(0.3, 0.8), p=float(exponent), epsilon=epsilon, c=c)


def central_differences(
    value: Callable[[np.ndarray], float], at: np.ndarray, step: float = 1e-5
) -> np.ndarray:
    """Return the gradient of a function by central differences."""
    return np.array([(value(at + h) - value(at - h)) / (2 * step) for h in step * np.eye(len(at))])


# -- section 2.1 ----------------------------------------------------------------------------------


@discrepancy_of("gradient")
def _gradient(rng: np.random.Generator, slip: bool) -> float:
    program = draw_program(rng, epsilon=rng.uniform(0.3, 1.0))
    theta = rng.normal(size=3)
    formula = program.exact_gradient(theta)
    if slip:
        formula += (1 / program.C - 1) * program.regulariser_slope(theta)
    return apart(formula, central_differences(program.exact_value, theta))


@discrepancy_of("variational")
def _variational(rng: np.random.Generator, slip: bool) -> float:
    epsilon = rng.uniform(0.2, 1.5)
    graph = draw_program(rng, epsilon=epsilon).examples[0].graph(rng.normal(size=3))
    score, formula = scores(graph), probabilities(graph, epsilon)

    weight = 1.0 if slip else epsilon

    def value(p: np.ndarray) -> float:
        return float(p @ score) + weight * entropy(p)

    def descent(logits: np.ndarray) -> tuple[float, np.ndarray]:
        p = softmax(logits)
        slope = score - weight * np.log(p)
        return -value(p), -p * (slope - p @ slope)

    best = minimize(descent, np.zeros(8), jac=True, method="BFGS", options={"gtol": 1e-10}).fun
    return apart([-best, value(formula)], [log_partition(graph, epsilon)] * 2)


# -- Theorem 1 ------------------------------------------------------------------------------------


@discrepancy_of("fenchel")
def _fenchel(rng: np.random.Generator, slip: bool) -> float:
    """A soft-max and a regulariser that is not even, so that the sign of theta counts."""
    Phi, e, d, a = (rng.normal(size=size) for size in ((3, 5), 5, 3, 3))
    program = draw_program(rng, epsilon=rng.uniform(0.3, 1.5))
    sign = 1.0 if slip else -1.0

    def primal(theta: np.ndarray) -> float:
        h = program.regulariser(sign * theta) + a @ (sign * theta)
        return float(soft_max(Phi.T @ theta + e, program.epsilon) - d @ theta + h)

    best = maximise(Blocks([e], [Phi.T], [program.epsilon], d + a, program, 3))[0]
    conjugate = program.mismatch_price(Phi @ best - d - a)
    dual = program.epsilon * entropy(best) + best @ e - conjugate
    return apart(minimize(primal, np.zeros(3), method="BFGS", tol=1e-9).fun, dual)


# -- Claim 1 --------------------------------------------------------------------------------------


@discrepancy_of("conjugate-of-soft-max")
def _conjugate_of_soft_max(rng: np.random.Generator, slip: bool) -> float:
    epsilon, p = rng.uniform(0.2, 1.5), rng.dirichlet(np.full(5, 2.0))
    found = minimize(lambda z: soft_max(z, epsilon) - p @ z, np.zeros(5), method="BFGS", tol=1e-9)
    return apart(-found.fun, (1 if slip else -1) * epsilon * entropy(p))


@discrepancy_of("conjugate-of-norm")
def _conjugate_of_norm(rng: np.random.Generator, slip: bool) -> float:
    program = draw_program(rng, epsilon=1.0, p=rng.choice([1.5, 3.0]))
    z = rng.normal(size=4)
    found = minimize(lambda u: program.regulariser(u) - z @ u, z, method="BFGS", tol=1e-9)
    formula = program.mismatch_price(z)
    return apart(-found.fun, formula * program.C ** (program.q - 2) if slip else formula)


def _claim_1_value(program: Program, found: list[np.ndarray]) -> tuple[float, np.ndarray]:
    """Claim 1's dual as it stands there, and what it takes the norm of."""
    pairs = list(zip(found, program.examples, strict=True))
    z = np.asarray(sum(p @ example.features for p, example in pairs) - program.d)
    entropies = sum(program.epsilon * entropy(p) + p @ example.losses for p, example in pairs)
    return float(entropies) - program.mismatch_price(z), z


@discrepancy_of("asp-strong-duality")
def _strong_duality(rng: np.random.Generator, slip: bool) -> float:
    worst = 0.0
    for epsilon in EPSILONS:
        program = draw_program(rng, epsilon=epsilon)
        blocks = exact_blocks(program)
        if slip:
            blocks = replace(blocks, offsets=[-e for e in blocks.offsets])
        dual, _ = _claim_1_value(program, maximise(blocks))
        worst = max(worst, apart(dual, program.exact_value(minimise(exact_blocks(program)))))
    return worst


@discrepancy_of("best-weights")
def _best_weights(rng: np.random.Generator, slip: bool) -> float:
    program = draw_program(rng, epsilon=rng.uniform(0.5, 1.0))
    blocks = exact_blocks(program)
    _, z = _claim_1_value(program, maximise(blocks, accuracy=1e-10))
    size = (np.abs(z) / program.C) ** (program.q - 1)
    return apart((1 if slip else -1) * size * np.sign(z), minimise(blocks))


@discrepancy_of("one-temperature")
def _one_temperature(rng: np.random.Generator, slip: bool) -> float:
    program = draw_program(rng, epsilon=rng.uniform(0.1, 0.5))
    epsilon, sign = program.epsilon, -1.0 if slip else 1.0
    priors = [np.exp(sign * example.losses / epsilon) for example in program.examples]
    C = program.C * epsilon ** (program.p - 1)  # its C^(1-q) is C^(1-q) / epsilon

    def log_loss(theta: np.ndarray) -> float:
        pairs = zip(priors, program.examples, strict=True)
        parts = [np.log(prior @ np.exp(one.features @ theta)) for prior, one in pairs]
        return float(
            np.sum(parts) - program.d @ theta + C / program.p * np.sum(np.abs(theta) ** program.p)
        )

    start = np.zeros(len(program.d))
    lowest = minimize(log_loss, start, method="BFGS", options={"gtol": 1e-8}).fun
    return apart(epsilon * lowest, program.exact_value(minimise(exact_blocks(program))))
