"""Priors to try things on, with random parameters and natural parameters that suit them."""

import numpy as np
from hypothesis import strategies as st

from medn_edu.priors import (
    BoxPrior,
    ExponentialPrior,
    GaussianPrior,
    LaplacePrior,
    NormalGammaPrior,
    NormalInverseGaussianPrior,
    Prior,
    SpikeSlabPrior,
    TwoPointPrior,
)

GALLERY = [
    GaussianPrior(2.0),
    LaplacePrior(4.0),
    NormalGammaPrior(0.7, 3.0),
    NormalGammaPrior(4.0, 3.0),
    NormalInverseGaussianPrior(2.0, 0.5),
    BoxPrior(1.5),
    TwoPointPrior(0.7),
    ExponentialPrior(3.0),
    SpikeSlabPrior(0.1, 2.0),
]
WITH_DENSITY = [p for p in GALLERY if not isinstance(p, TwoPointPrior | SpikeSlabPrior)]

size = st.floats(-3, 3).map(lambda exponent: 10.0**exponent)
priors = st.one_of(
    st.builds(GaussianPrior, size),
    st.builds(LaplacePrior, size),
    st.builds(NormalGammaPrior, st.floats(0.1, 50.0), size),
    st.builds(NormalInverseGaussianPrior, size, size),
    st.builds(BoxPrior, size),
    st.builds(TwoPointPrior, size),
    st.builds(ExponentialPrior, size),
    st.builds(SpikeSlabPrior, st.floats(1e-3, 1.0), size),
)


def prior_scale(prior: Prior) -> float:
    """Where the prior's functions bend: eta of one over its standard deviation, or the slab's."""
    variance = getattr(prior, "slab_variance", prior.variance(np.zeros(1))[0])
    return 1 / float(np.sqrt(variance))


def etas(prior: Prior, farthest: float = 0.9, n: int = 21, reach: float = 5.0) -> np.ndarray:
    """Natural parameters of both signs: up to a share of the domain, or ``reach`` times its scale."""
    lower, upper = prior.domain
    scale = reach * prior_scale(prior)
    low = farthest * lower if np.isfinite(lower) else -scale
    high = farthest * upper if np.isfinite(upper) else scale
    return np.concatenate([np.linspace(low, 0, n), np.linspace(0, high, n)[1:]])


def names(prior: Prior) -> str:
    """Name of a test's prior; an address would differ from process to process."""
    text = repr(prior)
    return type(prior).__name__ if " object at 0x" in text else text


class Own(Prior):
    """A prior of somebody's own, with another's formulas and nothing else."""

    def __init__(self, model: Prior) -> None:
        self.model = model

    @property
    def domain(self):
        return self.model.domain

    def log_mgf(self, eta, index=None):
        return self.model.log_mgf(eta, index)

    def mean(self, eta, index=None):
        return self.model.mean(eta, index)
