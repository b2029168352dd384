r"""ASP, §2.1 and §3: slips about losses, gradients, conjugates and priors, where everything is exact.

The examples have one training pair with one node, so that the labellings are three or four labels and
everything can be followed with pencil and paper.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog, minimize, minimize_scalar
from scipy.special import logsumexp, softmax

from medn_edu.theory.errata.slip import Slip
from medn_edu.theory.factor_graphs.entropies import CountingNumbers
from medn_edu.theory.factor_graphs.graph import entropy
from medn_edu.theory.factor_graphs.learning import Example, Program


def _three_labels(*, C: float = 0.5, epsilon: float = 1.0) -> Program:
    """One node with three labels and two features; the first label is true."""
    loss, features = np.array([0.0, 1.0, 1.0]), np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.5]])
    example = Example((loss,), (features,), (), (), (0,))
    return Program((example,), C, 2.0, epsilon, CountingNumbers(np.ones(1), np.ones(0)))


# -- section 2.1 ----------------------------------------------------------------------------------


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


EXACT_SLIPS: tuple[Slip, ...] = (
    Slip(
        paper="ASP",
        where="§2.1",
        title="the label that the hinge loss is about",
        severity="reader",
        quote=(
            r'"the regularized hinge loss $\ell_{hinge}(\theta, x, y)$, which measures the loss of '
            r'the label $y_\theta(x)$ that most violates the training pair", where "$y_\theta(x) = '
            r'\operatorname{argmax}_{y \in \mathcal Y} \theta^\top \Phi(x, y)$"; "Since '
            r'$y_\theta(x)$ is independent of the training label $y$".'
        ),
        printed=r"\ell_{hinge} = e(y, y_\theta) + \theta^\top \Phi(x, y_\theta) - \theta^\top "
        r"\Phi(x, y) \text{ at } y_\theta = \operatorname{argmax}_{\hat y} \theta^\top \Phi(x, \hat y)",
        corrected=r"\ell_{hinge} = \max_{\hat y} \{e(y, \hat y) + \theta^\top \Phi(x, \hat y)\} "
        r"- \theta^\top \Phi(x, y)",
        why="The label that violates the margin most is not the one that would be predicted: a right "
        "prediction by less than the margin has a loss too. What does not depend on the maximising "
        "label, and so comes out of the maximum, is the score of the true one.",
        matters="To a reader: the displayed formula is right, the sentences round it are not.",
        truth="the smallest slack that satisfies all margin constraints, by linear programming",
        numbers=_most_violating,
    ),
    Slip(
        paper="ASP",
        where="Eq. (4), and three more times in §2",
        title="the regulariser's slope",
        severity="program",
        quote=(
            r'"The gradient of $\theta_r$ takes the form $\sum_{(x, y) \in \mathcal S} \sum_{\hat '
            r"y \in \mathcal Y} p_\epsilon(\hat y | \theta_{x,y}) \phi_r(x, \hat y) - d_r + "
            r'|\theta_r|^{p-1} \text{sign}(\theta_r)$", of a program with "$\frac Cp '
            r'\|\theta\|_p^p$".'
        ),
        checks=("ASP Eq. (4)",),
        printed=r"\sum p_\epsilon(\hat y) \phi_r(x, \hat y) - d_r + |\theta_r|^{p-1} "
        r"\operatorname{sign}(\theta_r)",
        corrected=r"\sum p_\epsilon(\hat y) \phi_r(x, \hat y) - d_r + C |\theta_r|^{p-1} "
        r"\operatorname{sign}(\theta_r)",
        why="The factor C of Eq. (3) is missing, in the gradient of the random field, the sub-gradient "
        "of the support vector machine, Eq. (4) and its local form; Lemma 4 has it. The first of the "
        "four is moreover called the direction of descent, which is its negative.",
        matters="Yes, to a program: its solution is that of C = 1, whatever C is.",
        truth="central differences of Eq. (3)",
        numbers=_gradient,
    ),
    Slip(
        paper="ASP",
        where="§3, Claim 1's proof",
        title="the conjugate of the soft-max",
        severity="proof",
        quote=(
            r'"Recall that the conjugate dual for the soft-max is the entropy barrier $\epsilon '
            'H(p_{x,y})$ over the set of probability distributions".'
        ),
        checks=("ASP Claim 1, the conjugate of the soft-max",),
        printed=r"f^*(p) = \epsilon H(p)",
        corrected=r"f^*(p) = -\epsilon H(p)",
        why="The conjugate of a convex function is convex, and the entropy is concave. The minimum over "
        "mu in the proof is minus the conjugate, so that Claim 1 itself is right.",
        matters="To a reader who puts the conjugate into Theorem 1.",
        truth="the supremum, by a search in one dimension",
        numbers=_conjugate,
    ),
    Slip(
        paper="ASP",
        where="§3, Claim 1's proof",
        title="the weights in the Lagrangian",
        severity="program",
        quote=(
            r'"$+ \min_\theta \{ \frac Cp \|\theta\|_p^p - \theta^\top ( \sum_{(x, y), \hat y} '
            r'p_{x,y}(\hat y) \Phi(x, \hat y) - \mathbf d ) \}$".'
        ),
        checks=("ASP Claim 1, the weights",),
        printed=r"\min_\theta \{\tfrac{C}{p} \|\theta\|_p^p - \theta^\top z\}, "
        r"\quad z = \sum p_{x,y}(\hat y) \Phi(x, \hat y) - d",
        corrected=r"\min_\theta \{\tfrac{C}{p} \|\theta\|_p^p + \theta^\top z\}",
        why="The Lagrangian above it has a plus before the sum of the features. The norm is even, so "
        "the minimum is the same, but it is at minus theta. One sign, perhaps the reading machine's.",
        matters="Yes, to a program that recovers the weights from the dual's solution.",
        truth="the weights that minimise Eq. (3), by BFGS",
        numbers=_weights,
        tolerance=1e-5,
    ),
    Slip(
        paper="ASP",
        where="§3, after Claim 1",
        title="the prior",
        severity="conclusion",
        quote=(
            r'"in CRFs the $\mathbf p_{x,y}$ are chosen with respect to a KL-divergence from the '
            r'prior $\exp(-\mathbf e_y)$", and "we can approximate structured SVMs by solving CRFs '
            r'with prior $\exp(-\mathbf e_y / \epsilon)$"; "considering the zero-one loss, the prior '
            r"suggests the dual optimal solution is a distribution which is concentrated around the "
            r'training label".'
        ),
        checks=("ASP section 3, one temperature",),
        printed=r"p_0 \propto \exp(-e_y / \epsilon), \text{ concentrated round the true label}",
        corrected=r"p_0 \propto \exp(e_y / \epsilon), \text{ concentrated away from it}",
        why="The dual is minus a divergence from the exponential of plus the loss. The remark on the "
        "zero-one loss is so reversed: the prior is for the wrong labels, and against it the features "
        "have to win; that is what makes a margin.",
        matters="Yes, to the remark on the zero-one loss, and for code of the random field that "
        "stands for a small ε.",
        truth="the solution of Claim 1's program without features, by BFGS",
        numbers=_prior,
    ),
)
"""In the paper's order."""
