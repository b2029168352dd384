r"""Priors over weights, as one convex function each.

Maximum entropy discrimination (MEDN, Theorem 2) tilts a prior ``p0(w)`` by ``exp(eta * w)``.  All that
learning needs to know of the prior is its *log moment generating function*, one coordinate at a time,

.. math:: \Lambda(\eta) = \log E_{p_0}[e^{\eta w}],

because the posterior mean is its slope :math:`\Lambda'(\eta)` (the shrinkage curve), the posterior
variance its curvature, and the divergence :math:`KL(p \| p_0)` of a posterior with mean :math:`\mu` its
convex conjugate :math:`\Lambda^*(\mu) = \max_\eta (\eta \mu - \Lambda(\eta))`.

=============================== ============================================ ==========================
prior                           :math:`\Lambda(\eta)`                        what it does to the mean
=============================== ============================================ ==========================
`GaussianPrior`                 :math:`v \eta^2 / 2`                         nothing: a straight line
`LaplacePrior`                  :math:`-\log(1 - \eta^2 / \lambda)`          shrinks small weights
`NormalGammaPrior`              :math:`-a \log(1 - \eta^2 / \lambda)`        Laplace ... Gaussian
`NormalInverseGaussianPrior`    :math:`\delta(\alpha - \sqrt{\alpha^2        shrinks small weights, less
                                - \eta^2})`                                  than Laplace
`BoxPrior`                      :math:`\log(\sinh(a \eta) / a \eta)`         keeps it between bounds
`TwoPointPrior`                 :math:`\log\cosh(a \eta)`                    decides on a sign
`ExponentialPrior`              :math:`-\log(1 - \eta / \text{rate})`        keeps it above 0
`SpikeSlabPrior`                :math:`\log(1 - \pi + \pi e^{v\eta^2/2})`    selects features
=============================== ============================================ ==========================

With the standard normal prior the mean is :math:`\eta` itself, the divergence :math:`|\mu|^2 / 2`, and
MEDN is exactly the maximum margin Markov network M3N (Theorem 3).

Which priors will do?  ``Lambda`` is convex whatever the prior, so learning is a convex program even for
spike and slab.  Two things can go wrong:

*No tilt at all.*  The tails of a Student-t fall as a power of ``w``, and no power can hold
:math:`e^{\eta w}`: the expectation is infinite for every :math:`\eta` but 0, so there is no
:math:`\Lambda`.  In the primal this reads: a sliver of probability sent far out moves the mean
anywhere and costs next to nothing, so the divergence that a mean costs is always 0 and never reached.

*Not steep.*  If :math:`\Lambda` ends at a finite :math:`\eta` with a finite slope there, as it does for
a density like :math:`e^{-|w|} / (1 + |w|)^4`, means beyond this slope are again only approached, by
slivers sent ever farther out, and P1 may have no minimiser.  A prior is *steep* if its mean leaves
every bound at the ends of the domain; `check_prior` refuses the others.

A prior of your own is a subclass of `Prior`, which has an example.
"""

from __future__ import annotations

from medn_edu.priors.base import Prior
from medn_edu.priors.bounded import BoxPrior, TwoPointPrior
from medn_edu.priors.checking import check_prior
from medn_edu.priors.gaussian import GaussianPrior, SpikeSlabPrior
from medn_edu.priors.tailed import (
    ExponentialPrior,
    LaplacePrior,
    NormalGammaPrior,
    NormalInverseGaussianPrior,
)

__all__ = [
    "BoxPrior",
    "ExponentialPrior",
    "GaussianPrior",
    "LaplacePrior",
    "NormalGammaPrior",
    "NormalInverseGaussianPrior",
    "Prior",
    "SpikeSlabPrior",
    "TwoPointPrior",
    "check_prior",
]
