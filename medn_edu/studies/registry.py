"""The studies there are, one file each.

========================  ========================================================================
``shrinkage``             posterior mean against eta: MEDN Fig. 1, then the gallery of priors
``kl-norm``               balls of the L2-, the L1- and KL-norms: MEDN Fig. 2
``laplace``               the Laplace prior as a mixture, a bound on it, its limits: MEDN Eq. 4
``projections``           nearest points of the L2 and the L1 ball: L1-M3N Fig. 1
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

A study is a file of this folder in which a line begins with ``NAME = Study(``, and its words in a
Markdown file of the same name: `STUDIES` finds them all, in the order of their `place`.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

from medn_edu.studies.kit.specs import Study

__all__ = ["STUDIES"]

_DECLARATION = re.compile(r"^\w+ = Study\(", re.MULTILINE)


def _found() -> list[Study]:
    files = sorted(Path(__file__).parent.glob("*.py"))
    names = [f.stem for f in files if _DECLARATION.search(f.read_text(encoding="utf-8"))]
    modules = [import_module(f"medn_edu.studies.{name}") for name in names]
    found = [item for module in modules for item in vars(module).values()]
    studies = [item for item in found if isinstance(item, Study)]
    return sorted(studies, key=lambda study: (study.place, study.name))


STUDIES: dict[str, Study] = {study.name: study for study in _found()}
"""All studies by name: those of formulas, those that train models, those that watch something."""
