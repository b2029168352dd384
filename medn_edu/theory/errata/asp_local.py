r"""ASP, §2.2 to §4: slips about local entropies, messages, and the approximated program."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import logsumexp

from medn_edu.theory.errata.slip import Slip
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


LOCAL_SLIPS: tuple[Slip, ...] = (
    Slip(
        paper="ASP",
        where="§2.2, twice",
        title="the Bethe entropy",
        severity="program",
        quote=(
            r'"Therefore the entropy $H(\mathbf p)$ can be represented by sum of local entropies '
            r"over the marginal probabilities, $\sum_\alpha H(p(\hat y_\alpha)) - \sum_v (1 - "
            r'|N(v)|) H(p(\hat y_v))$, which is known as the Bethe entropy."'
        ),
        checks=("ASP section 2.2, the Bethe entropy",),
        printed=r"H(p) = \sum_\alpha H(p_\alpha) - \sum_v (1 - |N(v)|) H(p_v)",
        corrected=r"H(p) = \sum_\alpha H(p_\alpha) + \sum_v (1 - |N(v)|) H(p_v)",
        why=r"The factorisation before it has the node's marginal to the power $1 - |N(v)|$; minus its "
        r"logarithm is an entropy with a plus. Further on, $c_v = 1 - |N(v)|$ is used with a plus. "
        r"In the example the printed value is above the largest entropy that there is.",
        matters="Yes, to a program that has the first formula.",
        truth="the entropy of a chain's distribution, by enumeration",
        numbers=_bethe_entropy,
    ),
    Slip(
        paper="ASP",
        where="§2.2, the messages",
        title="the factor left out",
        severity="program",
        quote=(
            r'"$n_{v \to \alpha}(\hat y_v) \propto \big( \bar\phi_v(\hat y_v) \prod_{\beta \in '
            r"N(v) \setminus \alpha} m_{\beta \to v}(\hat y_v) \big)^{c_\alpha / \hat c_v} \big/ "
            r'm_{\alpha \to v}(\hat y_v)$".'
        ),
        checks=("ASP section 2.2, messages on trees",),
        printed=r"n_{v \to \alpha} \propto \Big( \bar\phi_v \prod_{\beta \in N(v) \setminus \alpha} "
        r"m_{\beta \to v} \Big)^{c_\alpha / \hat c_v} / m_{\alpha \to v}",
        corrected=r"n_{v \to \alpha} \propto \Big( \bar\phi_v \prod_{\beta \in N(v)} "
        r"m_{\beta \to v} \Big)^{c_\alpha / \hat c_v} / m_{\alpha \to v}",
        why="The division already takes the factor's own message out; left out of the product too, it "
        "is taken out twice. Lemma 3 and Figure 1 have the whole product.",
        matters="Yes, to a program: wrong marginals already on a chain, where the text promises exact "
        "ones.",
        truth="a marginal of a chain, by enumeration",
        numbers=_messages,
    ),
    Slip(
        paper="ASP",
        where="§2.2, the beliefs",
        title="the power of the product",
        severity="program",
        quote=(
            r'"After convergence, one can infer the beliefs by $b_v(\hat y_v) \propto \big( '
            r"\bar\phi_v(\hat y_v) \prod_{\alpha \in N(v)} m_{\alpha \to v}(\hat y_v) \big)^{1 / "
            r'\epsilon c_v}$".'
        ),
        checks=("ASP section 2.2, beliefs on trees",),
        printed=r"b_v \propto \Big( \bar\phi_v \prod_\alpha m_{\alpha \to v} \Big)^{1 / \epsilon c_v}",
        corrected=r"b_v \propto \Big( \bar\phi_v \prod_\alpha m_{\alpha \to v} "
        r"\Big)^{1 / \epsilon \hat c_v}",
        why=r"Lemma 4 takes $\phi_v - \sum_\alpha \lambda_{v \to \alpha}$ to the power "
        r"$1 / \epsilon c_v$. With the best messages that difference is $(\phi_v + \sum_\alpha "
        r"\mu_{\alpha \to v}) \, c_v / \hat c_v$, so here the power has a hat. Bethe's "
        r"number of an inner node of a chain is $-1$: the printed belief is upside down. That of a "
        r"leaf is 0. A hat is soon lost, by a printer or by the machine that read the text.",
        matters="Yes, to a program that has this line; Lemma 4 and Figure 1 use the other messages, "
        "with the right power.",
        truth="a marginal of a chain, by enumeration",
        numbers=_power,
    ),
    Slip(
        paper="ASP",
        where="Theorem 2",
        title="the sign of the regulariser",
        severity="program",
        quote=(
            r'"$\min_{\lambda_{x,y,v \to \alpha}, \theta} \dots - \mathbf d^\top \theta - \frac Cp '
            r'\|\theta\|_p^p$".'
        ),
        checks=("ASP Theorem 2",),
        printed=r"\min_{\lambda, \theta} \; \dots - d^\top \theta - \tfrac{C}{p} \|\theta\|_p^p",
        corrected=r"\min_{\lambda, \theta} \; \dots - d^\top \theta + \tfrac{C}{p} \|\theta\|_p^p",
        why="With the minus the program is unbounded below. The maximum over z at the end of the proof "
        "is the conjugate, with a plus, and so it is in Eq. (3) and in Lemma 4. One sign, perhaps the "
        "reading machine's.",
        matters="Yes, and a program would notice at once: it would never stop.",
        truth="the maximum of the dual (9), by Newton's method over beliefs",
        numbers=_regulariser,
    ),
    Slip(
        paper="ASP",
        where="Lemma 3, its last sentence, and the end of its proof",
        title="any number for a counting number 0",
        severity="program",
        quote=(
            r'"Moreover, if either $\epsilon$ and/or $c_\alpha$ are zero in the objective, then '
            r"the optimal $\lambda_{x,y,v \to \alpha}$ can be computed for any arbitrary $c_\alpha "
            '> 0$, and similarly for $c_v > 0$."'
        ),
        checks=("ASP Lemma 3, zeros",),
        printed=r"c_v = 0: \quad \lambda_{v \to \alpha} = \tfrac{c_\alpha}{\hat c_v} (\dots) - "
        r"\mu_{\alpha \to v} \text{ with any } c_v > 0 \text{ in } \hat c_v",
        corrected=r"c_v = 0: \quad \lambda_{v \to \alpha} = \tfrac{c_\alpha}{\sum_\beta c_\beta} "
        r"(\dots) - \mu_{\alpha \to v} \quad (\epsilon > 0)",
        why=r"Danskin's theorem asks for some distribution on the maximising labels that equals the "
        r"factors' one. At a positive temperature that one is positive everywhere, so all labels must "
        r"attain the maximum: 0 stays 0 in the formula, and likewise for a factor. Any number will do "
        r"only at $\epsilon = 0$, or where all counting numbers of the node and its factors are 0.",
        matters=r"Yes, to a program with $c_v = 0$ and $c_\alpha = 1$, the approximation of "
        r"Ganapathi et al.: its messages are not the best, and Claim 2's descent is lost.",
        truth="the least value over the node's messages, by SLSQP",
        numbers=_zero,
    ),
    Slip(
        paper="ASP",
        where="Lemma 3's proof, the definition of mu",
        title="a temperature left out",
        severity="proof",
        quote=(
            r'"Let $\mu_{x,y,\alpha \to v}(\hat y_v) = c_\alpha \ln \sum_{\hat y_\alpha \setminus '
            r"\hat y_v} \exp \big( \frac{\sum_{r: \alpha \in E_r} \theta_r \phi_{r,\alpha}(x, \hat "
            r"y_\alpha) + \sum_{u \in N(\alpha) \setminus v} \lambda_{x,y,u \to \alpha}(\hat "
            r'y_u)}{\epsilon c_\alpha} \big)$".'
        ),
        printed=r"\mu_{\alpha \to v} = c_\alpha \ln \sum \exp(\dots / \epsilon c_\alpha)",
        corrected=r"\mu_{\alpha \to v} = \epsilon c_\alpha \ln \sum \exp(\dots / \epsilon c_\alpha)",
        why=r"The lemma itself has the $\epsilon$. The next display, where $\mu$ is divided by "
        r"$\epsilon c_\alpha$, needs it. Eq. (10) is right without: both sides were multiplied by "
        r"$\epsilon$, which its constant takes in. A single letter, so that the fault may be the "
        r"machine's that read the text.",
        matters="To nobody who takes the rule from the lemma.",
        truth="the least value over the node's message, by a search in one dimension",
        numbers=_mu,
    ),
    Slip(
        paper="ASP",
        where="Lemma 4 and Claim 2",
        title="the size of the steps",
        severity="conclusion",
        quote=(
            r'"We choose the step size $\eta$ to guarantee a decent on the objective." And in '
            r'Claim 2: "if $\epsilon, c_\alpha, c_v > 0$, the objective is guaranteed to converge '
            'to the global minimum".'
        ),
        checks=("ASP Claim 2",),
        printed=r"\text{steps of } \theta \text{ that reduce the objective take it to its minimum}",
        corrected=r"\text{steps that reduce it by a fixed share of } \eta \|\nabla\|^2 "
        r"\text{, and are not needlessly short, do}",
        why="Of the step size only a decrease is asked, but steps may decrease the objective for ever "
        "and stop short of the minimum. The theorem cited is about steps to the minimum along a "
        "coordinate. Armijo's rule, or steps below the inverse of the gradient's Lipschitz constant, "
        "close the gap.",
        matters="To Claim 2's proof, and to a program whose step sizes shrink too fast.",
        truth="the maximum of the dual (9), by Newton's method over beliefs",
        numbers=_steps,
    ),
)
"""In the paper's order."""
