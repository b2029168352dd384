"""Inference and learning on graphs with cycles, in numpy code that is easy to read.

`graph` answers every question by enumeration.  `entropies` replaces the entropy by local ones, and
`messages` shows how much work that saves.  `learning` trains weights either way.  For comparison,
`solvers` does the same with general convex solvers.
"""

from medn_edu.theory.factor_graphs.entropies import CountingNumbers
from medn_edu.theory.factor_graphs.graph import FactorGraph, log_partition, marginals, probabilities
from medn_edu.theory.factor_graphs.learning import (
    Example,
    Program,
    coordinate_descent,
    random_examples,
)
from medn_edu.theory.factor_graphs.messages import (
    beliefs,
    decomposed_soft_max,
    norm_product,
)

__all__ = [
    "CountingNumbers",
    "Example",
    "FactorGraph",
    "Program",
    "beliefs",
    "coordinate_descent",
    "decomposed_soft_max",
    "log_partition",
    "marginals",
    "norm_product",
    "probabilities",
    "random_examples",
]
