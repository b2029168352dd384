"""MEDN, §3.3 to §5 and Appendix B.4: slips about the Laplace prior and Algorithm 1."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from scipy.integrate import quad

from medn_edu.priors import GaussianPrior, LaplacePrior
from medn_edu.samples import label_samples, pack
from medn_edu.slacks import LinearSlack
from medn_edu.theory.errata.slip import Slip
from medn_edu.theory.l1m3n import solve_l1m3n
from medn_edu.theory.medn import EnumeratedProblem, enumerate_problem
from medn_edu.theory.medn_solvers import solve_dual, solve_primal


def _chains(prior: LaplacePrior, C: float) -> EnumeratedProblem:
    """Three random chains of two nodes with two labels and three features: ten weights."""
    rng = np.random.default_rng(4)
    data = label_samples(
        pack([rng.normal(size=(2, 3)) for _ in range(3)]),
        rng.integers(0, 2, 6),
        np.ones((1, 2, 2), dtype=bool),
    )
    return enumerate_problem(data, prior, LinearSlack(C))


def _log_laplace_by_mixture(w: float, lam: float) -> float:
    """Logarithm of the Laplace density from Eq. (4), a normal density of random variance."""

    def integrand(s: float) -> float:  # tau = s^2, which takes the singularity at 0 away
        bell = math.exp(-(w**2) / (2 * s**2)) / math.sqrt(2 * math.pi)
        return bell * lam * math.exp(-lam * s**2 / 2)

    return math.log(quad(integrand, 0, math.inf)[0])


def _log_concave() -> dict[str, float]:
    """By how much the log density at a midpoint exceeds the mean of the log densities at the ends."""
    lam, a, b = 4.0, -1.0, 2.0
    middle, ends = _log_laplace_by_mixture((a + b) / 2, lam), (a, b)
    return {
        "printed": 0.0,
        "corrected": math.sqrt(lam) * ((abs(a) + abs(b)) / 2 - abs(a + b) / 2),
        "truth": middle - sum(_log_laplace_by_mixture(w, lam) for w in ends) / 2,
    }


def _how_many_weights() -> dict[str, float]:
    """Return how many of ten weights differ from 0, in L1-M3N and in the Laplace MEDN."""
    lam, C = 100.0, 1.0
    problem = _chains(LaplacePrior(lam), 2 * C * math.sqrt(lam))
    eta = problem.eta(np.asarray(solve_dual(problem).alpha))
    cheaper = dataclasses.replace(problem, slack=LinearSlack(C))
    means = np.abs(solve_primal(problem).w)
    return {
        "printed": float(np.sum(np.abs(solve_l1m3n(cheaper).weights) > 1e-9)),
        "corrected": float(np.sum(np.abs(2 * eta / (lam - eta**2)) > 1e-6)),
        "truth": float(np.sum(means > 1e-6)),
        "smallest mean": float(means.min()),
        "largest mean": float(means.max()),
    }


def _same_variance() -> dict[str, float]:
    """Mean over eta at eta = 0.1: a share below 1 is shrinkage against the standard normal."""
    eta, as_drawn, matched = 0.1, 4.0, 2.0  # Laplace priors of variance 2 / lambda

    def weighted(power: int) -> float:
        density = math.sqrt(matched) / 2

        def integrand(w: float) -> float:
            right = math.exp(-(math.sqrt(matched) - eta) * w)
            left = math.exp(-(math.sqrt(matched) + eta) * w)
            return density * w**power * (right + (-1) ** power * left)

        return float(quad(integrand, 0, math.inf)[0])

    return {
        "printed": 2 / (as_drawn - eta**2),
        "corrected": 2 / (matched - eta**2),
        "truth": weighted(1) / weighted(0) / eta,
        "normal prior of variance 1/2": 0.5,
    }


def _large_lambda() -> dict[str, float]:
    """One weight, one row ``w >= 1 - xi``: its Laplace MEDN for a large lambda, and L1-M3N.

    L1-M3N pays half a unit for a unit of weight, so the weight is 1 for ``C`` above a half and 0 below.
    """
    lam, loss = 1e8, 1.0

    def mean(price: float) -> float:
        """Return where the slope of the divergence reaches the price, or the margin is had."""
        return min(loss, 2 * price / (lam - price**2)) if price**2 < lam else loss

    def l1_m3n(C: float) -> float:
        row = EnumeratedProblem(
            sample=np.zeros(2, dtype=int),
            labellings=[np.array([0]), np.array([1])],
            differences=np.array([[0.0], [1.0]]),
            losses=np.array([0.0, loss]),
            sample_weight=np.ones(1),
            prior=GaussianPrior(),
            slack=LinearSlack(C),
        )
        return float(solve_l1m3n(row).weights[0])

    return {
        "printed": mean(0.6),
        "corrected": mean(2 * 0.6 * math.sqrt(lam)),
        "truth": l1_m3n(0.6),
        "corrected, C = 0.4": mean(2 * 0.4 * math.sqrt(lam)),
        "truth, C = 0.4": l1_m3n(0.4),
    }


def _hidden_variance() -> dict[str, float]:
    """Return the mean of tau under q, for a weight whose second moment is 9, and under p(tau)."""
    lam, moment = 4.0, 9.0

    def integral(power: int) -> float:
        def integrand(tau: float) -> float:
            return math.exp(-moment / (2 * tau) - lam * tau / 2) * tau ** (power - 0.5)

        return float(quad(integrand, 0, math.inf)[0])

    return {
        "printed": 2 / lam,
        "corrected": math.sqrt(moment / lam) + 1 / lam,
        "truth": integral(1) / integral(0),
    }


def _irrelevant_variance() -> dict[str, float]:
    """Run Algorithm 1 on a weight for which eta is 0."""
    lam, variance = 4.0, 1.0
    for _ in range(60):
        moment = variance + (variance * 0.0) ** 2  # Step 1: the mean is variance times eta
        variance = math.sqrt(moment / lam)  # Step 2
    return {
        "printed": 0.0,
        "corrected": 1 / lam,
        "truth": variance,
        "exact posterior": float(LaplacePrior(lam).variance(np.zeros(1))[0]),
    }


def _other_root() -> dict[str, float]:
    """Return the lower root of ``mu eta^2 + 2 eta - lambda mu = 0`` for a small mean."""
    lam, mu = 4.0, 1e-3
    return {
        "printed": 0.0,
        "corrected": (-1 - math.sqrt(1 + lam * mu**2)) / mu,
        "truth": float(np.roots([mu, 2.0, -lam * mu]).min()),
    }


LAPLACE_SLIPS: tuple[Slip, ...] = (
    Slip(
        paper="MEDN",
        where="§4",
        title="primal sparse",
        severity="conclusion",
        quote=(
            '"the $h_1$ defined by a Laplace MaxEnDNet is not only dual-sparse, but also primal '
            'sparse". What that means says §3.1: "only a few elements in the weight vector '
            r'$\mathbf w$ are non-zero".'
        ),
        printed=r"\text{primal sparse: only a few } \langle w_k \rangle \ne 0",
        corrected=r"\text{pseudo-primal sparse: many } \langle w_k \rangle \text{ small, }"
        r"\langle w_k \rangle = 0 \text{ only if } \eta_k = 0",
        why=(
            "§3.1 calls a model primal sparse if only a few weights differ from 0, §4 then calls the "
            "Laplace MEDN so because its weights are shrunk. Figure 1 and its text say it rightly (no "
            "weight is set to zero), and the L1-M3N paper introduces the word pseudo-primal sparse. "
            "The paper names no number; the first below is what L1-M3N keeps, which is primal sparse."
        ),
        matters="Yes, if you count features: none is discarded.",
        truth="posterior means of P1 by a general solver, counted above a millionth",
        numbers=_how_many_weights,
        tolerance=0.0,
    ),
    Slip(
        paper="MEDN",
        where="§4, Figure 1",
        title="scale taken for shape",
        severity="conclusion",
        quote=(
            r'"under the entropic regularization with a Laplace prior, the $\langle \mathbf w '
            r'\rangle_p$ gets shrunk toward zero when $\eta$ is small", of "a standard normal, a '
            r'Laplace with $\lambda = 4$, and a Laplace with $\lambda = 6$"; "for the Gaussian '
            "MaxEnDNet, which is equivalent to the standard M³N, there is no such a shrinkage "
            'effect."'
        ),
        printed=r"\frac{\langle w \rangle}{\eta} = \frac{2}{\lambda - \eta^2} < 1 \text{ for small } "
        r"\eta: \text{ an effect of the Laplace prior}",
        corrected=r"\frac{\langle w \rangle}{\eta} \to \operatorname{var}_{p_0}(w) \text{ for small } "
        r"\eta \text{, whatever the prior; of the Laplace prior } \tfrac2\lambda",
        why=(
            "Figure 1 compares the standard normal with Laplace priors of variance 1/2 and 1/3. A "
            "normal prior of variance 1/2 halves all means just so. At equal variance the Laplace prior "
            "never shrinks more than the normal one: it lets large weights go."
        ),
        matters="To the explanation, not to any formula.",
        truth="the mean of the tilted Laplace prior of variance 1, by quadrature",
        numbers=_same_variance,
    ),
    Slip(
        paper="MEDN",
        where="§4, after Corollary 6",
        title="from Laplace to L1 as λ grows",
        severity="conclusion",
        quote=(
            '"This means that the MaxEnDNet with a Laplace prior will be (nearly) the same as the '
            r'$L_1$-M³N if the regularization constant $\lambda$ is large enough."'
        ),
        printed=r"\sqrt\lambda\, \|\boldsymbol\mu\|_{KL} + C \sum_i \xi_i "
        r"\;\xrightarrow{\lambda \to \infty}\; \text{L1-M3N}",
        corrected=r"\sqrt\lambda\, \|\boldsymbol\mu\|_{KL} + 2 C \sqrt\lambda \sum_i \xi_i "
        r"\;\xrightarrow{\lambda \to \infty}\; \text{L1-M3N with } C",
        why=(
            "The KL-norm does become the L1 norm, but its factor √λ grows. With C fixed the weights go "
            "to 0; C must grow with √λ. The L1-M3N paper (§5.1) repeats the sentence."
        ),
        matters="Yes, to experiments that vary λ with C fixed (§7.3): large λ means small weights.",
        truth="L1-M3N's linear program",
        numbers=_large_lambda,
    ),
    Slip(
        paper="MEDN",
        where="§5, before P1′",
        title="what q(τ) approximates",
        severity="reader",
        quote=(
            r'"$q(\tau)$ is a variational distribution used to approximate $p(\tau | \lambda)$."'
        ),
        printed=r"q(\tau) \approx p(\tau \mid \lambda)",
        corrected=r"q(\tau) \approx p(\tau \mid \mathbf w), \text{ averaged over } p(\mathbf w)",
        why=(
            "Step 2 multiplies the hyper-prior by what the weights say about it: q is a posterior. "
            "Only with the posterior is the bound tight."
        ),
        matters="To nobody: the formulas of Step 2 are right.",
        truth="the mean of Step 2's density, by quadrature",
        numbers=_hidden_variance,
    ),
    Slip(
        paper="MEDN",
        where="§5, after Eq. (11)",
        title="variances of irrelevant weights",
        severity="conclusion",
        quote=(
            '"for irrelevant features, the variances should converge to zeros and thus lead to a '
            r'sparse estimation of $\mathbf w$."'
        ),
        printed=r"\eta_k = 0 \;\Rightarrow\; \Sigma_{kk} \to 0",
        corrected=r"\eta_k = 0 \;\Rightarrow\; \Sigma_{kk} \to \tfrac1\lambda",
        why=(
            "With mean 0, Step 2 reads v ← √(v/λ), whose fixed point is 1/λ. The exact posterior of "
            "such a weight is the prior, with variance 2/λ. Variances are smallest for irrelevant "
            "weights, but they do not vanish, and it is the mean that is used to predict."
        ),
        matters="To the intuition only.",
        truth="60 rounds of Algorithm 1",
        numbers=_irrelevant_variance,
    ),
)
"""In the paper's order."""

BRANCH_SLIP = Slip(
    paper="MEDN",
    where="Appendix B.4",
    title="a root that does not stay",
    severity="reader",
    quote=(
        r'"when $\mu_k \to 0$, $\frac{-1 \pm \sqrt{1 + \lambda \mu_k^2}}{\mu_k} \to 0$ by using '
        '''the *L'Hospital's Rule*."'''
    ),
    printed=r"\lim_{\mu_k \to 0} \frac{-1 \pm \sqrt{1 + \lambda \mu_k^2}}{\mu_k} = 0",
    corrected=r"\lim_{\mu_k \to 0} \frac{-1 + \sqrt{1 + \lambda \mu_k^2}}{\mu_k} = 0",
    why="L'Hospital's rule takes the upper sign to 0; with the lower sign the quotient is about −2/μ.",
    matters="To nobody: the next line discards the lower sign.",
    truth="the roots of the quadratic equation, by numbers",
    numbers=_other_root,
)
"""In Appendix B.4, after the main text."""

EARLIER_SLIP = Slip(
    paper="MEDN",
    where="§4 of the ICML 2008 version",
    title="log-convex",
    severity="reader",
    quote=('"Another nice property is that the Laplace density is log-convex".'),
    printed=r"\log p_0\big(\tfrac{a + b}2\big) \le \tfrac12 \log p_0(a) + \tfrac12 \log p_0(b)"
    r"\quad\text{(log-convex)}",
    corrected=r"\log p_0\big(\tfrac{a + b}2\big) \ge \tfrac12 \log p_0(a) + \tfrac12 \log p_0(b)"
    r"\quad\text{(log-concave)}",
    why="The Laplace density is log-concave. The journal version has it right.",
    matters="To nobody: the authors mended it themselves.",
    truth="the density from Eq. (4), by quadrature",
    numbers=_log_concave,
)
"""In the first version of the paper."""
