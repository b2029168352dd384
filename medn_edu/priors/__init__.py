r"""Priors over weights, as one convex function each.

Maximum entropy discrimination (MEDN, Theorem 2) tilts a prior ``p0(w)`` by ``exp(eta * w)``, where
``eta`` is the natural parameter.  Learning needs to know only one thing about the prior, its *log
moment generating function*, one coordinate at a time:

.. math:: \Lambda(\eta) = \log E_{p_0}[e^{\eta w}].

The posterior mean is its slope :math:`\Lambda'(\eta)` (the shrinkage curve), and the posterior
variance is its second derivative.  The divergence :math:`KL(p \| p_0)` of a posterior with mean
:math:`\mu` is its convex conjugate :math:`\Lambda^*(\mu) = \max_\eta (\eta \mu - \Lambda(\eta))`.

============================ =========================================== ==========================
prior                        :math:`\Lambda(\eta)`                       what it does to the mean
============================ =========================================== ==========================
`GaussianPrior`              :math:`v \eta^2 / 2`                        scales it: a straight line
`LaplacePrior`               :math:`-\log(1 - \eta^2 / \lambda)`         shrinks small weights
`NormalGammaPrior`           :math:`-a \log(1 - \eta^2 / \lambda)`       Laplace ... Gaussian
`NormalInverseGaussianPrior` :math:`\delta(\alpha - \sqrt{\alpha^2       shrinks small weights, less
                             - \eta^2})`                                 than Laplace
`BoxPrior`                   :math:`\log(\sinh(a \eta) / a \eta)`        keeps it between bounds
`TwoPointPrior`              :math:`\log\cosh(a \eta)`                   decides on a sign
`ExponentialPrior`           :math:`-\log(1 - \eta / \text{rate})`       keeps it above 0
`SpikeSlabPrior`             :math:`\log(1 - \pi + \pi e^{v\eta^2/2})`   selects features
============================ =========================================== ==========================

With the standard normal prior the mean is :math:`\eta` itself and the divergence
:math:`|\mu|^2 / 2`.  So MEDN is exactly the maximum margin Markov network M3N (Theorem 3).

Which priors can you use?  ``Lambda`` is convex for every prior, so learning is a convex program
even with spike and slab.  Two things can go wrong:

*There is no tilted prior.*  The density of a Student-t falls as a power of ``w``, and
:math:`e^{\eta w}` outgrows every power of ``w``.  So the expectation is infinite for every
:math:`\eta` but 0, and there is no :math:`\Lambda`.  In the primal, moving a tiny probability far
out changes the mean by any amount and costs almost nothing.  So the divergence that a mean costs
comes as close to 0 as you like, but never reaches it.

*The prior is not steep.*  For a density like :math:`e^{-|w|} / (1 + |w|)^4`, :math:`\Lambda` ends
at a finite :math:`\eta` with a finite slope.  Means beyond this slope can only be approached, by
moving a tiny probability ever farther out, so P1 may have no minimiser.  A prior is *steep* if its
mean grows without bound towards every finite end of the domain.  `check_prior` refuses the others.

The parameters of all priors are finite numbers above 0; anything else is a ValueError.

To write a prior of your own, subclass `Prior` (``base.py``).  Its docstring has an example.  The
package's own priors are in ``gaussian.py``, ``tailed.py`` and ``bounded.py``.  A new one there is a
``ClosedForm`` with ``domain``, ``largest``, ``_log_mgf``, ``_mean`` and ``_variance``.  To be fast it
also needs a number in ``PRIORS`` of `medn_edu.kernels.tilting`, under the name that ``compiled``
returns, and a branch with its slope and curvature in ``tilt`` there.
"""

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
