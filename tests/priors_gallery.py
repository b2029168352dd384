"""Priors to try things on, with random parameters and natural parameters that suit them."""

import numpy as np
from hypothesis import strategies as st

from medn_edu import priors

GALLERY = [
    priors.GaussianPrior(2.0),
    priors.LaplacePrior(4.0),
    priors.NormalGammaPrior(0.7, 3.0),
    priors.NormalGammaPrior(4.0, 3.0),
    priors.NormalInverseGaussianPrior(2.0, 0.5),
    priors.BoxPrior(1.5),
    priors.TwoPointPrior(0.7),
    priors.ExponentialPrior(3.0),
    priors.SpikeSlabPrior(0.1, 2.0),
]
WITH_DENSITY = [
    p for p in GALLERY if not isinstance(p, priors.TwoPointPrior | priors.SpikeSlabPrior)
]

size = st.floats(-3, 3).map(lambda exponent: 10.0**exponent)
any_prior = st.one_of(
    st.builds(priors.GaussianPrior, size),
    st.builds(priors.LaplacePrior, size),
    st.builds(priors.NormalGammaPrior, st.floats(0.1, 50.0), size),
    st.builds(priors.NormalInverseGaussianPrior, size, size),
    st.builds(priors.BoxPrior, size),
    st.builds(priors.TwoPointPrior, size),
    st.builds(priors.ExponentialPrior, size),
    st.builds(priors.SpikeSlabPrior, st.floats(1e-3, 1.0), size),
)


def prior_scale(prior: priors.Prior) -> float:
    """Where the prior's functions bend: eta of one over its standard deviation, or the slab's."""
    variance = getattr(prior, "slab_variance", prior.variance(np.zeros(1))[0])
    return 1 / float(np.sqrt(variance))


def etas(prior: priors.Prior, farthest: float = 0.9, n: int = 21, reach: float = 5.0) -> np.ndarray:
    """Natural parameters of both signs: up to a share of the domain, or ``reach`` times its scale."""
    lower, upper = prior.domain
    scale = reach * prior_scale(prior)
    low = farthest * lower if np.isfinite(lower) else -scale
    high = farthest * upper if np.isfinite(upper) else scale
    return np.concatenate([np.linspace(low, 0, n), np.linspace(0, high, n)[1:]])


def tilted(prior: priors.Prior, eta: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ``u``, weights and tilted density over ``u``, for sums by Simpson's rule.

    The weights crowd at 0, where some densities have a cusp or a pole.
    """
    mean, variance, log_mgf = (
        float(f(np.array([eta]))[0]) for f in (prior.mean, prior.variance, prior.log_mgf)
    )
    reach = getattr(prior, "a", 40 * np.hypot(mean, np.sqrt(variance)))
    u = np.linspace(-1, 1, 40_001)
    w, stride = reach * u**5, 5 * reach * u**4
    density = np.exp(prior.log_density(w) + eta * w - log_mgf) * stride
    density[u == 0] = 0.0  # the stride wins over a pole
    return u, w, density


def names(prior: priors.Prior) -> str:
    """Name of a test's prior; an address would differ from process to process."""
    text = repr(prior)
    return type(prior).__name__ if " object at 0x" in text else text


class Own(priors.Prior):
    """A prior of somebody's own, with another's formulas and nothing else."""

    def __init__(self, model: priors.Prior) -> None:
        self.model = model

    @property
    def domain(self):
        return self.model.domain

    def log_mgf(self, eta, index=None):
        return self.model.log_mgf(eta, index)

    def mean(self, eta, index=None):
        return self.model.mean(eta, index)
