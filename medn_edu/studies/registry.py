"""The studies there are, one file each.

========================  ========================================================================
``shrinkage``             posterior mean against eta: MEDN Fig. 1, then the gallery of priors
``kl-norm``               balls of the L2-, the L1- and KL-norms: MEDN Fig. 2
``laplace``               the Laplace prior as a mixture, a bound on it, its limits: MEDN Eq. 4
``synthetic-iid``         random CRFs with independent features (MEDN Fig. 3, LapM3N Fig. 2)
``synthetic-correlated``  features in groups (MEDN Fig. 4-6, L1-M3N Fig. 2-3, LapM3N Fig. 3)
``ocr``                   handwritten words: few words of one fold to train on, and nine folds
                          (MEDN Fig. 7, L1-M3N Fig. 4, LapM3N Fig. 4)
``ocr-full``              the same letters, all words: folds 1-9 to train and 0 to test, and the
                          reverse
``ocr-overfitting``       test error of random fields along their training (MEDN Fig. 8)
``sensitivity``           test error against each model's constant (MEDN Fig. 9, LapM3N Fig. 5)
``exact-vs-variational``  the Laplace MEDN by Algorithm 1 of MEDN, and exactly
``priors``                the gallery of priors at equal variances
``l1m3n-algorithms``      L1-M3N by four algorithms (L1-M3N Table 1, Fig. 5 and 6)
``solvers``               every solver of M3N on one problem
``pac-bayes``             Theorem 8 of MEDN where the error to come is known
``theorems``              every statement of the papers, tried on random instances
========================  ========================================================================

`STUDIES` make fits, `TRACES` watch solvers, bounds and theorems, and `CURVES` compute formulas.
"""

from __future__ import annotations

from medn_edu.studies.exact_vs_variational import VARIATIONAL_STUDY
from medn_edu.studies.kit.specs import Study
from medn_edu.studies.l1_algorithms import L1_STUDY
from medn_edu.studies.ocr import OCR_STUDY
from medn_edu.studies.ocr_full import OCR_FULL_STUDY
from medn_edu.studies.overfitting import OVERFITTING_STUDY
from medn_edu.studies.priors import PRIOR_STUDY
from medn_edu.studies.sensitivity import SENSITIVITY_STUDY
from medn_edu.studies.synthetic import IID_STUDY
from medn_edu.studies.synthetic_correlated import CORRELATED_STUDY

__all__ = ["STUDIES"]

STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        IID_STUDY,
        CORRELATED_STUDY,
        OCR_STUDY,
        OCR_FULL_STUDY,
        OVERFITTING_STUDY,
        SENSITIVITY_STUDY,
        VARIATIONAL_STUDY,
        PRIOR_STUDY,
        L1_STUDY,
    )
}
"""The studies that make fits, by name."""
