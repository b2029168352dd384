"""The papers' sub-gradient descent, stopped early, and the optima that it was on its way to.

MEDN 7.1.2 and 7.2 train M3N, and the quadratic programs of LapMEDN, by online sub-gradient descent with
``C = 200 beta`` and steps ``1 / (2 beta sqrt(t))``, and do not tell when it ends.  With so large a
``C`` the optimum is nearly a hard margin, and twenty passes, which are made here, end far from it.
A common factor of all weights changes no prediction; under a normal prior of any variance the descent
goes through the same predictions, which is why ``lam`` hardly matters to it.
"""

from typing import Any

from medn_edu.estimators import M3N, LaplaceMEDN

PASSES = 20
"""Passes of sub-gradient descent."""

STEPS: dict[str, Any] = {
    "solver": "online_subgradient",
    "tol": 1e-12,
    "max_iter": PASSES,
    "verbose": 0,
}
"""Settings of an estimator whose training nothing ends but the number of passes."""


def m3n_stopped(beta: float = 1.0, **parameters: Any) -> M3N:
    """Return M3N by sub-gradient descent that stops early."""
    return M3N(C=200 * beta, beta=beta, **STEPS, **parameters)


def medn_stopped(beta: float = 1.0, lam: float = 36.0, **parameters: Any) -> LaplaceMEDN:
    """Return LapMEDN by three quadratic programs, each by sub-gradient descent that stops early."""
    options = {"method": "variational", "n_iterations": 3, **STEPS, **parameters}
    return LaplaceMEDN(C=200 * beta, lam=lam, beta=beta, **options)


def m3n_optimum(beta: float = 1.0, **parameters: Any) -> M3N:
    """Return M3N with the same constants, trained to its optimum."""
    return M3N(C=200 * beta, tol=1e-2, verbose=0, **parameters)


def medn_optimum(beta: float = 1.0, lam: float = 36.0, **parameters: Any) -> LaplaceMEDN:
    """Return the exact LapMEDN with the same constants."""
    return LaplaceMEDN(C=200 * beta, lam=lam, tol=1e-2, verbose=0, **parameters)
