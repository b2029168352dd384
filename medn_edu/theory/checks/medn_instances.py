"""Random instances on which the statements about maximum entropy discrimination are tried.

Small ones, for everything is enumerated: a few short chains with two labels, two features a node, and
so at most eight weights.
"""

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

from medn_edu import priors
from medn_edu.samples import label_samples, pack
from medn_edu.slacks import ExponentialSlack, LinearSlack, QuadraticSlack
from medn_edu.theory.medn import EnumeratedProblem, ShippedSlack, enumerate_problem
from medn_edu.theory.medn_solvers import penalty_slope

_Vector = Callable[[np.ndarray], np.ndarray]


def draw_gallery(rng: np.random.Generator) -> tuple[priors.Prior, ...]:
    """Return the gallery's priors, with random constants."""
    a, b = rng.uniform(0.8, 2.0, 2)
    return (
        priors.GaussianPrior(a),
        priors.LaplacePrior(4 * a),
        priors.NormalGammaPrior(2 * a, 6 * b),
        priors.NormalInverseGaussianPrior(a, b),
        priors.BoxPrior(a),
        priors.TwoPointPrior(a),
        priors.ExponentialPrior(2 * a),
        priors.SpikeSlabPrior(0.3, 2 * a),
    )


def draw_prior(rng: np.random.Generator) -> priors.Prior:
    """Return one of the gallery's priors."""
    gallery = draw_gallery(rng)
    return gallery[rng.integers(len(gallery))]


def draw_slacks(rng: np.random.Generator) -> tuple[ShippedSlack, ...]:
    """Return the three slacks, each with a random constant."""
    a, b, c = rng.uniform(0.5, 2.0, 3)
    return LinearSlack(a), QuadraticSlack(b), ExponentialSlack(c)


def draw_problem(
    rng: np.random.Generator,
    prior: priors.Prior,
    slack: ShippedSlack,
    lengths: Sequence[int] = (1, 2, 2),
    weights: Sequence[int] | None = None,
) -> EnumeratedProblem:
    """Draw chains whose labels follow a feature, most of the time, and write all labellings out."""
    X = [rng.normal(size=(length, 2)) for length in lengths]
    noisy = np.concatenate(X)[:, 0] + 0.7 * rng.normal(size=sum(lengths))
    data = label_samples(pack(X), (noisy > 0).astype(int), np.ones((1, 2, 2), dtype=bool))
    problem = enumerate_problem(data, prior, slack)
    kept = slice(None) if weights is None else list(weights)
    return dataclasses.replace(problem, differences=problem.differences[:, kept])


def draw_steep_problem(rng: np.random.Generator) -> tuple[EnumeratedProblem, float]:
    """Return a problem with a normal prior whose two weights stay small, and its constant C.

    Features are eight times as large as in `draw_problem`.
    """
    C = rng.uniform(2.0, 5.0)
    problem = draw_problem(rng, priors.GaussianPrior(), LinearSlack(C), weights=[0, 3])
    return dataclasses.replace(problem, differences=8 * problem.differences), C


def least_under_margins(
    problem: EnumeratedProblem, C: float, penalty: Callable[[np.ndarray], float], slope: _Vector
) -> tuple[float, np.ndarray]:
    """Minimise ``penalty(mu) + C sum_i xi_i`` under the margin constraints, as the papers print them."""
    K, price = problem.n_weights, C * problem.sample_weight
    wrong = problem.losses > 0  # y != y^i
    A = np.hstack([problem.differences, problem.member])[wrong]
    result = minimize(
        lambda z: penalty(z[:K]) + price @ z[K:],
        np.concatenate([np.zeros(K), problem.xi(np.zeros(K))]),
        jac=lambda z: np.concatenate([slope(z[:K]), price]),
        bounds=[(None, None)] * K + [(0, None)] * problem.n_samples,
        constraints={
            "type": "ineq",
            "fun": lambda z: A @ z - problem.losses[wrong],
            "jac": lambda z: A,
        },
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-15},
    )
    return float(result.fun), result.x[:K]


def best_dual(
    problem: EnumeratedProblem,
    C: float,
    cost: Callable[[np.ndarray], float],
    slope: _Vector,
    *,
    only_wrong: bool = False,
) -> tuple[float, np.ndarray]:
    """Maximise ``sum alpha loss - cost(eta)`` with totals of ``C`` per sample, as printed."""
    rows = np.flatnonzero(problem.losses > 0)
    F, losses, sample = problem.differences[rows], problem.losses[rows], problem.sample[rows]
    member = problem.member[rows].T
    total = C * problem.sample_weight
    result = minimize(
        lambda a: min(cost(a @ F), 1e6) - a @ losses,
        0.1 * total[sample] / member.sum(axis=1)[sample],
        jac=lambda a: F @ slope(a @ F) - losses,
        bounds=[(0, None)] * len(rows),
        constraints={
            "type": "eq" if only_wrong else "ineq",
            "fun": lambda a: total - member @ a,
            "jac": lambda a: -member,
        },
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-15},
    )
    return -float(result.fun), result.x @ F


def best_distribution(
    problem: EnumeratedProblem, points: np.ndarray, prior_mass: np.ndarray
) -> np.ndarray:
    """Solve P1 over the probabilities of weight vectors and the slacks themselves, by SLSQP.

    Nothing is assumed of the solution, neither that it is a tilted prior nor that only means matter.
    """
    n, N = len(points), problem.n_samples
    A = np.hstack([problem.differences @ points.T, problem.member])
    total = np.concatenate([np.ones(n), np.zeros(N)])

    def objective(z: np.ndarray) -> tuple[float, np.ndarray]:
        ratio, xi = np.log(z[:n] / prior_mass), z[n:]
        prices = problem.sample_weight * penalty_slope(problem.slack, xi)
        return z[:n] @ ratio + problem.penalty(xi), np.concatenate([ratio + 1, prices])

    result = minimize(
        objective,
        np.concatenate([prior_mass, problem.xi(prior_mass @ points)]),
        jac=True,
        bounds=[(1e-12, 1)] * n + [(1e-12, None)] * N,
        constraints=[
            {"type": "ineq", "fun": lambda z: A @ z - problem.losses, "jac": lambda z: A},
            {"type": "eq", "fun": lambda z: total @ z - 1, "jac": lambda z: total},
        ],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-15},
    )
    return result.x[:n]


@dataclass(frozen=True, eq=False)
class DiscretePrior(priors.Prior):
    """A prior on a few points of the line; all it answers are sums over these."""

    points: np.ndarray
    mass: np.ndarray

    @property
    def domain(self) -> tuple[float, float]:
        """Every natural parameter."""
        return (-math.inf, math.inf)

    def _logits(self, eta: np.ndarray) -> np.ndarray:
        return np.log(self.mass) + np.asarray(eta, dtype=float)[..., None] * self.points

    def _tilted(self, eta: np.ndarray) -> np.ndarray:
        return softmax(self._logits(eta), axis=-1)

    def log_mgf(self, eta: np.ndarray, index: np.ndarray | None = None) -> np.ndarray:
        """Logarithm of a sum of exponentials."""
        return logsumexp(self._logits(eta), axis=-1)

    def mean(self, eta: np.ndarray, index: np.ndarray | None = None) -> np.ndarray:
        """Mean of the tilted probabilities."""
        return self._tilted(eta) @ self.points

    def variance(self, eta: np.ndarray, index: np.ndarray | None = None) -> np.ndarray:
        """Variance of the tilted probabilities."""
        return self._tilted(eta) @ self.points**2 - self.mean(eta) ** 2

    def grid(self) -> tuple[np.ndarray, np.ndarray]:
        """Return all vectors of two weights, and their probabilities."""
        pairs = np.stack(np.meshgrid(self.points, self.points, indexing="ij"), axis=-1)
        return pairs.reshape(-1, 2), np.outer(self.mass, self.mass).ravel()


def normal_by_quadrature(n_nodes: int) -> DiscretePrior:
    """Return points and probabilities that stand for N(0, 1), by Gauss and Hermite's rule."""
    points, mass = np.polynomial.hermite_e.hermegauss(n_nodes)
    return DiscretePrior(points, mass / math.sqrt(2 * math.pi))


def laplace_by_quadrature(lam: float, n_nodes: int = 60) -> DiscretePrior:
    r"""Return points and probabilities that stand for a Laplace prior in every expectation.

    On either side of 0 its density is :math:`\frac{1}{2} e^{-x}` in :math:`x = \sqrt\lambda |w|`, for
    which there is Gauss and Laguerre's rule.
    """
    x, mass = np.polynomial.laguerre.laggauss(n_nodes)
    points = np.concatenate([-x[::-1], x]) / math.sqrt(lam)
    return DiscretePrior(points, np.concatenate([mass[::-1], mass]) / 2)
