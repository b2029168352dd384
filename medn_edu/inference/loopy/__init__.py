"""Inference on graphs with cycles, where two sweeps are no longer enough.

`norm_product` (``norm_product.py``) sends messages until beliefs agree.  `loopy_bp` is its best known
special case, and `mean_field` needs no messages.  All return a `LocalSolution`.  It has `Beliefs`, which
take the place of marginals.  These are the modules, from the bottom up:

* ``graphs.py``: samples with the same edges, side by side, as kernels expect them;
* ``counting.py``: how often each local entropy counts, and whether their sum is concave;
* ``messages.py``: one sweep, in each of the ways to send messages;
* ``bounds.py``: two bounds on the local program, one from any messages, one from any beliefs of nodes;
* ``solutions.py``, ``beliefs.py``: the form of the answers;
* ``walk.py``: messages as variables of an optimiser, for learning.

``references.py`` has the exact answers for comparison: enumeration, elimination of one node after the
other, a minimum cut, and the linear program over the local polytope.
"""

from medn_edu.inference.loopy.beliefs import Beliefs
from medn_edu.inference.loopy.counting import ConcaveForm, CountingNumbers
from medn_edu.inference.loopy.mean_field import mean_field
from medn_edu.inference.loopy.norm_product import loopy_bp, norm_product
from medn_edu.inference.loopy.references import (
    Cut,
    ExactMarginals,
    Relaxation,
    enumerate_labellings,
    local_polytope,
    min_cut,
    transfer_matrix,
)
from medn_edu.inference.loopy.solutions import LocalSolution

__all__ = [
    "Beliefs",
    "ConcaveForm",
    "CountingNumbers",
    "Cut",
    "ExactMarginals",
    "LocalSolution",
    "Relaxation",
    "enumerate_labellings",
    "local_polytope",
    "loopy_bp",
    "mean_field",
    "min_cut",
    "norm_product",
    "transfer_matrix",
]
