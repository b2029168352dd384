"""The KL-norm: a divergence, shifted and scaled."""

from __future__ import annotations

import math

import numpy as np

from medn_edu.checks import check_positive
from medn_edu.priors import Prior


def kl_norm(mu: np.ndarray, lam: float, prior: Prior | None = None) -> float:
    r"""Return the KL-norm :math:`\|\mu\|_{KL} = (\sum_k \Lambda^*(\mu_k) + K) / \sqrt\lambda`.

    Examples
    --------
    With a large ``lam`` it is almost the L1-norm:

    >>> import numpy as np
    >>> mu = np.array([0.5, -2.0, 0.0])
    >>> round(kl_norm(mu, 1e10), 3)
    2.5

    Two priors whose tails fall at the same rate, and one that has no tails:

    >>> from medn_edu.priors import BoxPrior, NormalInverseGaussianPrior
    >>> round(kl_norm(mu, 100.0), 2)
    2.27
    >>> round(kl_norm(mu, 100.0, NormalInverseGaussianPrior(alpha=10.0)), 2)
    1.65
    >>> kl_norm(mu, 100.0, BoxPrior(a=2.0))
    inf
    """
    scale = math.sqrt(check_positive("lam", lam))
    mu = np.asarray(mu, dtype=np.float64)
    if np.isnan(mu).any():
        raise ValueError("mu holds NaN; expected numbers.")
    if prior is not None:
        return float(prior.kl(mu.ravel()).sum() + mu.size) / scale
    root = np.hypot(1.0, scale * mu)
    return float(np.sum(root - np.log((root + 1) / 2)) / scale)
