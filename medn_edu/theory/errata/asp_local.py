r"""ASP, §2.2 to §4: slips about local entropies, messages, and the approximated program."""

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import logsumexp

from medn_edu.theory.errata.slip import numbers_of
from medn_edu.theory.factor_graphs.entropies import CountingNumbers
from medn_edu.theory.factor_graphs.graph import FactorGraph, entropy, marginals, probabilities
from medn_edu.theory.factor_graphs.learning import Program, coordinate_descent, random_examples
from medn_edu.theory.factor_graphs.messages import node_beliefs, norm_product, sweep
from medn_edu.theory.factor_graphs.printed import messages_of_section_2, node_beliefs_of_section_2
from medn_edu.theory.factor_graphs.solvers import as_beliefs, local_blocks, maximise, minimise


def _chain() -> FactorGraph:
    """Three nodes in a row, two labels each."""
    nodes = (np.array([0.0, 1.0]), np.array([0.0, -2.0]), np.array([0.0, 1.0]))
    return FactorGraph(nodes, ((0, 1), (1, 2)), (2 * np.eye(2), 3 * np.eye(2)))


def _triangle(C: float = 1.0) -> Program:
    """Two training pairs on a cycle of three nodes."""
    scopes = ((0, 1), (1, 2), (2, 0))
    examples = random_examples(np.random.default_rng(0), scopes, (2, 2, 2), n_features=2)
    return Program(examples, C, 2.0, 1.0, CountingNumbers(np.ones(3), np.ones(3)))


def _dual_maximum(program: Program) -> float:
    """The approximated dual (9), by Newton's method."""
    return program.dual_value(as_beliefs(program, maximise(local_blocks(program))))


# -- section 2.2 ----------------------------------------------------------------------------------


@numbers_of("bethe-entropy")
def _bethe_entropy() -> dict[str, float]:
    """The entropy of a chain."""
    chain = _chain()
    p = probabilities(chain)
    b, c = marginals(chain, p), CountingNumbers.bethe(chain)
    factors = sum(entropy(b_a) for b_a in b.factor)
    nodes = float(sum(c_v * entropy(b_v) for c_v, b_v in zip(c.node, b.node, strict=True)))
    return {
        "printed": factors - nodes,
        "corrected": factors + nodes,
        "truth": entropy(p),
        "ln 8, the largest entropy": float(np.log(8)),
    }


@numbers_of("left-out-factor")
def _messages() -> dict[str, float]:
    """The middle node's probability of the second label."""
    chain = _chain()
    c = CountingNumbers.bethe(chain)
    printed = norm_product(chain, c, 1.0, update=messages_of_section_2)
    return {
        "printed": float(node_beliefs(chain, printed, c, 1.0)[1][1]),
        "corrected": float(node_beliefs(chain, norm_product(chain, c, 1.0), c, 1.0)[1][1]),
        "truth": float(marginals(chain, probabilities(chain)).node[1][1]),
    }


@numbers_of("power-of-the-product")
def _power() -> dict[str, float]:
    """The same, from the right messages with either power; c_v is -1, hat c_v is 1."""
    chain = _chain()
    c = CountingNumbers.bethe(chain)
    lam = norm_product(chain, c, 1.0)
    return {
        "printed": float(node_beliefs_of_section_2(chain, lam, c, 1.0)[1][1]),
        "corrected": float(node_beliefs(chain, lam, c, 1.0)[1][1]),
        "truth": float(marginals(chain, probabilities(chain)).node[1][1]),
    }


# -- Theorem 2 ------------------------------------------------------------------------------------


@numbers_of("regulariser-sign")
def _regulariser() -> dict[str, float]:
    """Theorem 2 where it is least with the regulariser added, and the dual's maximum."""
    program = _triangle(C=0.5)
    blocks = local_blocks(program)
    u = minimise(blocks)
    far = np.concatenate([100.0 * u[:2], u[2:]])
    return {
        "printed": blocks.value(u) - 2 * program.regulariser(u[:2]),
        "corrected": blocks.value(u),
        "truth": _dual_maximum(program),
        "printed, at 100 times the weights": blocks.value(far) - 2 * program.regulariser(far[:2]),
    }


# -- Lemma 3 --------------------------------------------------------------------------------------

_PHI, _TABLE = np.array([0.0, 1.0]), np.array([[0.0, 0.0], [1.5, 0.5]])


@numbers_of("left-out-temperature")
def _mu() -> dict[str, float]:
    """One node with one factor over two: what the message that Lemma 3's proof gives costs."""
    epsilon = 0.25
    mu = epsilon * logsumexp(_TABLE / epsilon, axis=1)

    def block(lam: np.ndarray) -> float:
        both = logsumexp((_PHI - lam) / epsilon) + logsumexp((mu + lam) / epsilon)
        return float(epsilon * both)

    def rule(mu: np.ndarray) -> np.ndarray:
        return (_PHI + mu) / 2 - mu

    return {
        "printed": block(rule(mu / epsilon)),
        "corrected": block(rule(mu)),
        "truth": float(minimize_scalar(lambda x: block(np.array([0.0, x]))).fun),
    }


@numbers_of("zero-counting-number")
def _zero() -> dict[str, float]:
    """The same node without entropy, c_v = 0, at epsilon = 1."""
    mu = logsumexp(_TABLE, axis=1)

    def rule(c_v: float) -> np.ndarray:
        return (_PHI + mu) / (c_v + 1) - mu

    def block(lam: np.ndarray) -> float:
        return float((_PHI - lam).max() + logsumexp(mu + lam))

    found = minimize(
        lambda x: x[2] + logsumexp(mu + x[:2]),
        np.array([0.0, 0.0, 1.0]),
        constraints={"type": "ineq", "fun": lambda x: x[2] - _PHI + x[:2]},
        method="SLSQP",
        options={"ftol": 1e-14},
    )
    return {"printed": block(rule(1.0)), "corrected": block(rule(0.0)), "truth": float(found.fun)}


# -- Claim 2 --------------------------------------------------------------------------------------


@numbers_of("step-sizes")
def _steps() -> dict[str, float]:
    """Steps that decrease the objective, each half as long as the one before."""
    program = _triangle()
    theta, lam, step, values = np.zeros(2), program.zero_messages(), 0.02, []
    for _ in range(60):
        pairs = zip(program.examples, lam, strict=True)
        lam = tuple(sweep(e.graph(theta), each, program.c, 1.0) for e, each in pairs)
        theta = theta - step * program.gradient(theta, lam)
        values.append(program.value(theta, lam))
        step /= 2
    return {
        "printed": values[-1],
        "largest increase": float(np.diff(values).max()),
        "corrected": coordinate_descent(program, n_rounds=100).values[-1],
        "truth": _dual_maximum(program),
    }
