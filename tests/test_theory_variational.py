"""Algorithm 1 with one weight: against the package's solver, and against a search on a line."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from medn_edu.priors import GaussianPrior, LaplacePrior, NormalGammaPrior
from medn_edu.problems import MarginLoss, Problem
from medn_edu.samples import label_samples, pack
from medn_edu.slacks import LinearSlack
from medn_edu.solvers import variational_laplace
from medn_edu.theory.laplace import jensen_bound
from medn_edu.theory.variational import cheapest_mean, one_weight_bounds, one_weight_tangents

CONSTANTS = [(4.0, 1.0), (9.0, 0.5), (1.0, 2.0)]


@pytest.mark.parametrize(("lam", "C"), CONSTANTS)
def test_one_weight_is_what_the_solver_does_twice(lam, C):
    """One letter, two labels, one feature of size 1/2: two weights, one the other's mirror image.

    Each of the two pays for itself and they share the margin, so a price of 2 C is C for each.
    """
    data = label_samples(pack([np.array([[0.5]])]), np.array([1]), np.ones((1, 2, 2), bool))
    problem = Problem(data, MarginLoss(LinearSlack(2 * C)), LaplacePrior(lam))
    variances, means = one_weight_bounds(lam, C, 6)
    bounds = jensen_bound(means, variances, lam) + C * np.maximum(0, 1 - means)
    solver = variational_laplace(
        problem, rng=np.random.default_rng(0), n_iterations=6, tol=1e-10, max_iter=10_000
    )
    for number, iterate in enumerate(solver):
        assert iterate.weights[1] == pytest.approx(means[number], abs=1e-6)
        assert iterate.variance[1] == pytest.approx(variances[number], abs=1e-6)
        idle = jensen_bound(0.0, iterate.variance[2:], lam).sum()  # transitions, of no use
        bound = (iterate.objective_estimate - idle) / 2
        assert bound == pytest.approx(bounds[number], abs=1e-6)


@pytest.mark.parametrize("C", [0.3, 1.0, 5.0])
@pytest.mark.parametrize("prior", [GaussianPrior(0.4), LaplacePrior(4.0), NormalGammaPrior(0.5, 4)])
def test_no_other_mean_is_cheaper(prior, C):
    def cost(mu):
        return float(prior.kl(np.array(mu))) + C * max(0.0, 1 - mu)

    found = minimize_scalar(cost, bounds=(-1, 3), method="bounded", options={"xatol": 1e-9})
    assert cheapest_mean(prior, C) == pytest.approx(found.x, abs=1e-5)


@pytest.mark.parametrize(("lam", "C"), CONSTANTS)
def test_where_the_iterations_end(lam, C):
    """Algorithm 1 at the solution for another prior, the other iterations at the exact one."""
    assert one_weight_bounds(lam, C, 300)[1][-1] == pytest.approx(
        cheapest_mean(NormalGammaPrior(0.5, lam), C), abs=1e-6
    )
    variances, means = one_weight_tangents(lam, C, 300)
    assert means[-1] == pytest.approx(cheapest_mean(LaplacePrior(lam), C), abs=1e-6)
    w, prior = np.linspace(-3, 3, 61), LaplacePrior(lam)
    for mean, variance in zip(means[:5], variances[1:6], strict=True):
        parabola = prior.kl(np.array(mean)) + (w**2 - mean**2) / (2 * variance)
        assert (parabola >= prior.kl(w) - 1e-12).all()  # it touches from above


@pytest.mark.parametrize("iterations", [one_weight_bounds, one_weight_tangents])
def test_refusals(iterations):
    for lam, C, number, name in ((-1, 1, 3, "lam"), (4, 0, 3, "C"), (4, 1, 0, "n_iterations")):
        with pytest.raises(ValueError, match=name):
            iterations(lam, C, number)
