r"""What a prior asks of the posterior mean: the papers' KL-norm, its balls, limits and corners.

P1 pays :math:`KL(p \| p_0)`, and for a posterior with mean :math:`\mu` that is the conjugate
:math:`\sum_k \Lambda^*(\mu_k)` of the prior's log moment generating function (Theorem 2).  So
MaxEnDNet is a maximum margin Markov network whose penalty is :math:`\Lambda^*` instead of
:math:`\mu^2/2` (Corollary 4: the standard normal).  For the Laplace prior

.. math:: \Lambda^*(\mu) = \sqrt{1 + \lambda \mu^2} - 1 - \log \tfrac{\sqrt{1 + \lambda \mu^2} + 1}{2},

and Corollary 6 writes the sum over :math:`K` weights as :math:`\sqrt\lambda \|\mu\|_{KL} - K` with

.. math:: \|\mu\|_{KL} = \sum_{k=1}^K \Big( \sqrt{\mu_k^2 + \tfrac1\lambda}
          - \tfrac{1}{\sqrt\lambda} \log \tfrac{\sqrt{\lambda \mu_k^2 + 1} + 1}{2} \Big) .

**Not a norm** (footnote 3): it is not homogeneous, :math:`\|2\mu\|_{KL} \ne 2 \|\mu\|_{KL}`, and its
least value, taken at :math:`\mu = 0`, is :math:`K/\sqrt\lambda` and not 0.  Like a norm it is convex,
even, and grows with every :math:`|\mu_k|`.

**Other priors.**  What P1 pays is the divergence; shift and scale are there to make the Laplace prior's
look like the L1-norm.  The scale :math:`\sqrt\lambda` is the steepest slope that :math:`\Lambda^*` ever
reaches, the end of the domain of :math:`\eta`.  Priors with exponential tails have such an end, and
:math:`(\sum_k \Lambda^*(\mu_k) + K) / \text{end}` grows like the L1-norm for each of them.  The normal
prior's and the bounded priors' slopes have no end: for them :math:`\lambda` is a unit of measurement and
nothing else, and no ball depends on it.

**Between two norms** (`medn_edu.theory.norms.limits`).  Near 0 it is
:math:`K/\sqrt\lambda + \sqrt\lambda \|\mu\|_2^2 / 4`, round like the squared :math:`L_2`-norm; far out
it grows like the :math:`L_1`-norm, which it becomes everywhere as :math:`\lambda \to \infty`.  Its ball
turns smoothly where it meets the axes, in a curve the narrower the larger :math:`\lambda`: weights
become small and never exactly zero (`medn_edu.theory.norms.touching`).

**The formula with Figure 2** reads, in the text available to us,
:math:`\log(\sqrt{\lambda w^2 + 1/2} + 1/2)`.  With it the "divergence" at :math:`w = 0` would be
:math:`-\log(\sqrt{1/2} + 1/2) = -0.19`, and a divergence is never negative.  Corollary 6 has
:math:`\log(\tfrac12 \sqrt{\lambda w^2 + 1} + \tfrac12)`, which agrees with :math:`\Lambda^*`; likewise
the value at (0, 1) is

.. math:: b = \sqrt{1/\lambda} + \sqrt{1 + 1/\lambda}
          - \tfrac{1}{\sqrt\lambda} \log\big(\tfrac12 \sqrt{\lambda + 1} + \tfrac12\big).
"""

from __future__ import annotations

from medn_edu.theory.norms.balls import kl_ball, kl_level, kl_solid, norm_ball, norm_solid
from medn_edu.theory.norms.limits import l1_ball_error, l1_error, l2_ball_error, quadratic_error
from medn_edu.theory.norms.penalty import kl_norm
from medn_edu.theory.norms.touching import touching_corners, touching_l2, touching_point

__all__ = [
    "kl_ball",
    "kl_level",
    "kl_norm",
    "kl_solid",
    "l1_ball_error",
    "l1_error",
    "l2_ball_error",
    "norm_ball",
    "norm_solid",
    "quadratic_error",
    "touching_corners",
    "touching_l2",
    "touching_point",
]
