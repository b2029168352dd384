r"""ASP, §2.1 and §3: slips about losses, gradients, conjugates and priors, where everything is exact.

The examples have one training pair with one node, so that the labellings are three or four labels and
everything can be followed with pencil and paper.
"""

import numpy as np
from scipy.optimize import linprog, minimize, minimize_scalar
from scipy.special import logsumexp, softmax

from medn_edu.theory.errata.slip import numbers_of
from medn_edu.theory.factor_graphs.entropies import CountingNumbers
from medn_edu.theory.factor_graphs.graph import entropy
from medn_edu.theory.factor_graphs.learning import Example, Program


def _three_labels(*, C: float = 0.5, epsilon: float = 1.0) -> Program:
    """One node with three labels and two features; the first label is true."""
    loss, features = np.array([0.0, 1.0, 1.0]), np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.5]])
    example = Example((loss,), (features,), (), (), (0,))
    return Program((example,), C, 2.0, epsilon, CountingNumbers(np.ones(1), np.ones(0)))


# -- section 2.1 ----------------------------------------------------------------------------------


@numbers_of("hinge-label")
def _most_violating() -> dict[str, float]:
    """A prediction that is right, but by less than the margin."""
    score, loss = np.array([1.0, 0.6, -1.0]), np.array([0.0, 1.0, 1.0])
    violation = loss + score - score[0]
    predicted = int(np.argmax(score))
    slack = linprog([1.0], A_ub=-np.ones((3, 1)), b_ub=-violation, bounds=[(None, None)])
    return {
        "printed": float(violation[predicted]),
        "corrected": float(violation.max()),
        "truth": float(slack.fun),
    }


@numbers_of("regulariser-slope")
def _gradient() -> dict[str, float]:
    """The slope of Eq. (3) in the first weight."""
    program, theta = _three_labels(), np.array([0.8, -0.5])
    corrected = program.exact_gradient(theta)[0]
    step = np.array([1e-6, 0.0])
    rise = program.exact_value(theta + step) - program.exact_value(theta - step)
    return {
        "printed": float(corrected - program.C * theta[0] + theta[0]),
        "corrected": float(corrected),
        "truth": rise / 2e-6,
    }


# -- section 3 ------------------------------------------------------------------------------------


@numbers_of("soft-max-conjugate")
def _conjugate() -> dict[str, float]:
    """The conjugate of the soft-max of two numbers, of which only the difference counts."""
    epsilon, p = 0.5, np.array([0.8, 0.2])
    found = minimize_scalar(
        lambda z: epsilon * np.logaddexp(z / epsilon, 0.0) - p[0] * z, options={"xtol": 1e-12}
    )
    return {
        "printed": epsilon * entropy(p),
        "corrected": -epsilon * entropy(p),
        "truth": -float(found.fun),
    }


@numbers_of("lagrangian-weights")
def _weights() -> dict[str, float]:
    """The first weight, from the distribution that solves Claim 1 and from the primal."""
    program = _three_labels()
    example = program.examples[0]

    def claim_1(logits: np.ndarray) -> float:
        p = softmax(logits)
        z = p @ example.features - program.d
        return entropy(p) + float(p @ example.losses) - program.mismatch_price(z)

    dual = minimize(lambda u: -claim_1(u), np.zeros(3), method="BFGS", options={"gtol": 1e-9})
    z = softmax(dual.x) @ example.features - program.d

    def primal(theta: np.ndarray) -> float:
        total = logsumexp(example.losses + example.features @ theta) - program.d @ theta
        return float(total + program.C / 2 * theta @ theta)

    weights = minimize(primal, np.zeros(2), method="BFGS", options={"gtol": 1e-9}).x
    return {
        "printed": float(z[0] / program.C),
        "corrected": float(-z[0] / program.C),
        "truth": float(weights[0]),
    }


@numbers_of("prior")
def _prior() -> dict[str, float]:
    """The true label's probability in Claim 1's solution where there are no features."""
    epsilon, loss = 0.5, np.array([0.0, 1.0, 1.0, 1.0])

    def claim_1(logits: np.ndarray) -> float:
        p = softmax(logits)
        return epsilon * entropy(p) + float(p @ loss)

    found = minimize(lambda u: -claim_1(u), np.zeros(4), method="BFGS", options={"gtol": 1e-9})
    return {
        "printed": float(softmax(-loss / epsilon)[0]),
        "corrected": float(softmax(loss / epsilon)[0]),
        "truth": float(softmax(found.x)[0]),
    }
