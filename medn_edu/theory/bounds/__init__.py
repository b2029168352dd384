r"""PAC-Bayes bounds with every constant: what a training sample says about the error to come.

A model that was chosen by looking at a sample does well on that sample.  How much worse can it do on
new samples?  A PAC-Bayes bound answers for *distributions* over models: with probability
:math:`1 - \delta` over the sample, for every posterior :math:`p` at once, the error to come exceeds
what is observed by a term of the order of :math:`\sqrt{KL(p \| p_0) / N}`.  A prior that was fixed
before any data were seen, and a posterior that did not have to move far from it: that is simplicity.

From loose to tight:

=========================  =====================================================================
`theorem_8`                MEDN's Theorem 8 for the averaging model, by margins, all constants kept
`theorem_8_kl`             the same proof with Seeger's last step instead of McAllester's
`gibbs_bound`              the Gibbs predictor, by Seeger's bound: no margins, no labellings to count
`averaging_factor`         from there back to the average: at most twice, or e times, the Gibbs error
`gaussian_bounds`          Gaussian posteriors of every length (Langford and Shawe-Taylor)
=========================  =====================================================================

`Terms` and `KLTerms` are the terms of the first two for many numbers of samples at once.

What they need: margins by two-best decoding (`observed_margins`), the logarithm of the number of
labellings (`log_n_labellings`), a bound on all scores (`score_bound`; Theorem 8 only), draws from the
posterior (`Prior.draw`) and the divergence, which for a tilted prior with mean ``mu`` is exactly
``prior.kl(mu).sum()``, and for the variational posterior `medn_edu.theory.laplace.gaussian_kl`.

**What no bound forgives.**  The prior, and with it ``lam``, ``C`` where it fixes the prior, and the
choice of features, must not depend on the sample; samples must be independent and from the
distribution of what is to come.  One bound holds with probability :math:`1 - \delta`; to compute ten
for ten priors and quote the best takes :math:`\delta / 10` for each.
"""

from medn_edu.theory.bounds.binary_kl import binary_kl, kl_inverse
from medn_edu.theory.bounds.gibbs import (
    GibbsBound,
    averaging_factor,
    gaussian_bounds,
    gibbs_bound,
    gibbs_errors,
    gibbs_losses,
    mcallester_bound,
    sampled_risk,
    seeger_bound,
)
from medn_edu.theory.bounds.margins import (
    MarginSample,
    largest_score,
    log_n_labellings,
    margin_sample,
    observed_margins,
    score_bound,
)
from medn_edu.theory.bounds.theorem_8 import (
    KLTerms,
    MarginBound,
    Terms,
    theorem_8,
    theorem_8_kl,
    theorem_8_m,
)

__all__ = [
    "GibbsBound",
    "KLTerms",
    "MarginBound",
    "MarginSample",
    "Terms",
    "averaging_factor",
    "binary_kl",
    "gaussian_bounds",
    "gibbs_bound",
    "gibbs_errors",
    "gibbs_losses",
    "kl_inverse",
    "largest_score",
    "log_n_labellings",
    "margin_sample",
    "mcallester_bound",
    "observed_margins",
    "sampled_risk",
    "score_bound",
    "seeger_bound",
    "theorem_8",
    "theorem_8_kl",
    "theorem_8_m",
]
