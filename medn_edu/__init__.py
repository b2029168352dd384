"""Max-margin and maximum-entropy Markov networks: exact, fast, and the course that explains them.

Structured prediction labels many things at once: the letters of a word, the words of a sentence,
the nodes of a tree.  Every model here scores a labelling ``y`` of a sample ``x`` with a linear
function ``F(x, y; w) = w . f(x, y)``, where ``f`` sums the node features for each label and counts
the transitions along the edges.  It predicts the labelling with the highest score.  Everything else
builds on two questions about ``F``, and on chains and trees both have exact answers:

* Which labelling scores best?  Dynamic programming over ``max`` finds it.
* What do the scores of all labellings add up to?  Here it is dynamic programming over
  ``log sum exp``.

The first question leads to max-margin Markov networks (`M3N`, and `L1M3N`, which selects features).
It also leads to maximum entropy discrimination (`MEDN`, `LaplaceMEDN`), which learns a distribution
over weights under a prior of your choice.  The second question leads to conditional random fields
(`CRF`), and `EpsilonMarkovNetwork` joins the two families.  All of these are convex problems, so
training ends with a *certificate*: a lower bound on the optimum, and the gap between this bound and
the solution (``model.result_.relative_gap``).

Here is a first model.  Its sequences have two kinds of nodes, which their features tell apart:

>>> import numpy as np
>>> import medn_edu
>>> X = [np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]), np.array([[0.0, 1.0], [1.0, 0.0]])]
>>> y = ["aba", "ba"]
>>> model = medn_edu.M3N(C=10.0).fit(X, y)
>>> ["".join(labels) for labels in model.predict(X)]
['aba', 'ba']

What to read next: `medn_edu.samples` (what a sample is), `medn_edu.inference` (the two
questions), `medn_edu.problems` (the objectives and their gaps), `medn_edu.solvers` (the
algorithms), and `medn_edu.theory.reference` (the same ideas in a few plain lines of code each).
``medn-edu lab`` opens the course.

The names below are loaded when they are first used (PEP 562), so importing the package is quick and
loads neither a compiler nor a plotting library.
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from medn_edu import (
        datasets,
        estimators,
        inference,
        priors,
        problems,
        results,
        samples,
        slacks,
        solvers,
        text,
        theory,
    )
    from medn_edu.datasets import (
        DataError,
        load_chorales,
        load_digit_words,
        load_ocr,
        load_sentences,
        load_wnut17,
        make_chain_crf,
        make_text,
        token_features,
    )
    from medn_edu.estimators import (
        CRF,
        L1M3N,
        M3N,
        MEDN,
        EpsilonMarkovNetwork,
        LaplaceMEDN,
        load_model,
        save_model,
    )
    from medn_edu.results import SolveResult
    from medn_edu.samples import Forest, Graph, grid
    from medn_edu.text import (
        SequenceVectorizer,
        page_to_sample,
        parse_page,
        read_conll,
        span_scores,
    )

__all__ = [
    "CRF",
    "L1M3N",
    "M3N",
    "MEDN",
    "DataError",
    "EpsilonMarkovNetwork",
    "Forest",
    "Graph",
    "LaplaceMEDN",
    "SequenceVectorizer",
    "SolveResult",
    "__version__",
    "datasets",
    "estimators",
    "grid",
    "inference",
    "load_chorales",
    "load_digit_words",
    "load_model",
    "load_ocr",
    "load_sentences",
    "load_wnut17",
    "make_chain_crf",
    "make_text",
    "page_to_sample",
    "parse_page",
    "priors",
    "problems",
    "read_conll",
    "results",
    "samples",
    "save_model",
    "slacks",
    "solvers",
    "span_scores",
    "text",
    "theory",
    "token_features",
]

_HOME = {
    "CRF": "estimators",
    "EpsilonMarkovNetwork": "estimators",
    "L1M3N": "estimators",
    "LaplaceMEDN": "estimators",
    "M3N": "estimators",
    "MEDN": "estimators",
    "load_model": "estimators",
    "save_model": "estimators",
    "Forest": "samples",
    "Graph": "samples",
    "grid": "samples",
    "SolveResult": "results",
    "DataError": "datasets",
    "load_chorales": "datasets",
    "load_digit_words": "datasets",
    "load_ocr": "datasets",
    "load_sentences": "datasets",
    "load_wnut17": "datasets",
    "make_chain_crf": "datasets",
    "make_text": "datasets",
    "token_features": "datasets",
    "SequenceVectorizer": "text",
    "page_to_sample": "text",
    "parse_page": "text",
    "read_conll": "text",
    "span_scores": "text",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(f"medn_edu.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    if name in __all__:
        return importlib.import_module(f"medn_edu.{name}")
    raise AttributeError(f"module 'medn_edu' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
