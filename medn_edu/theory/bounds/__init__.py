r"""PAC-Bayes bounds with every constant: what a training sample says about future error.

A model that was chosen by looking at a sample does well on that sample.  How much worse can it do on
new samples?  A PAC-Bayes bound answers for *distributions* over models.  With probability
:math:`1 - \delta` over the sample, it holds for every posterior :math:`p` at once: the future error
exceeds the observed error by at most a term of the order of :math:`\sqrt{KL(p \| p_0) / N}`.  The prior
:math:`p_0` is fixed before anyone sees the data.  A simple model is a posterior that did not have to
move far from this prior.

From loose to tight:

=========================  =====================================================================
`theorem_8`                MEDN's Theorem 8 for the averaging model, from margins, with all constants
`theorem_8_kl`             the same proof with Seeger's last step instead of McAllester's
`gibbs_bound`              Seeger's bound on the Gibbs predictor, without margins or label counts
`averaging_factor`         back to the averaging model: at most 2 or e times the Gibbs error
`gaussian_bounds`          Gaussian posteriors with means of any length (Langford and Shawe-Taylor)
=========================  =====================================================================

`Terms` and `KLTerms` compute the terms of the first two bounds for many sample sizes at once.

The bounds need these inputs:

* margins, by two-best decoding (`observed_margins`);
* the logarithm of the number of labellings (`log_n_labellings`);
* a bound on all scores (`score_bound`), for Theorem 8 only;
* draws from the posterior (`Prior.draw`);
* the divergence.  For a tilted prior with mean ``mu`` it is exactly ``prior.kl(mu).sum()``.  For the
  variational posterior it is `medn_edu.theory.laplace.gaussian_kl`.

**What every bound requires.**  The prior must not depend on the sample.  This includes ``lam``, the
choice of features, and ``C`` where it fixes the prior.  The samples must be independent, and they must
come from the same distribution as future samples.  One bound holds with probability
:math:`1 - \delta`.  If you compute ten bounds for ten priors and quote the best, each of them must use
:math:`\delta / 10`.
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
