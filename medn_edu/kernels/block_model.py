"""What block visits work on besides the atoms: the tilted prior, the rules of the game, and room.

The weights are one flat vector here, first *feature, label* and then the transitions, so that scores
of all labels are updated by contiguous rows; ``coef`` is a view of its first part.  A *cell* is a
position in that vector.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from medn_edu.kernels._compile import inlined_kernel

__all__ = ["ROUNDING", "Terms", "Tilted", "Workspace", "edge_cell"]

# What is left of a mass below this share of it is what rounding leaves behind.  Taken for mass, it
# would make an atom without mass the worst that has some.
ROUNDING = 1e-13


class Tilted(NamedTuple):
    """The tilted prior: what it is tilted by, its means, which are the weights, and its variances."""

    coef: np.ndarray  # (n_features, n_labels), a view of the first part of `mean`
    edge: np.ndarray  # (n_edge_types, parent's label, child's label), means, -inf where forbidden
    edge_by_child: np.ndarray  # (n_edge_types, child's label, parent's label), the transpose
    eta: np.ndarray  # (n_weights,)
    mean: np.ndarray  # (n_weights,); with the standard normal prior `eta` itself
    variance: np.ndarray  # (n_weights,)


class Terms(NamedTuple):
    """Prior and slack, as `medn_edu.kernels.tilting` numbers them."""

    prior: int
    p: float  # parameters of the prior
    q: float
    lower: float  # ends of its domain
    upper: float
    unit: bool  # whether it is the standard normal prior: all variances are 1, forever
    slack: int
    constant: float


class Workspace(NamedTuple):
    """Room to work in."""

    scores: np.ndarray  # (longest sample, n_labels)
    augmented: np.ndarray  # (longest sample, n_labels)
    message: np.ndarray  # (n_labels,)
    labelling: np.ndarray  # (longest sample,)
    differs: np.ndarray  # (longest sample,), whether atoms disagree at a node
    delta: np.ndarray  # (n_weights,), zero between uses
    cells: np.ndarray  # (n_weights,), where delta has been written
    seen: np.ndarray  # (n_weights,), whether it has; False between uses


@inlined_kernel
def edge_cell(model, edge_type, parent_label, label):
    """Cell of a transition."""
    n_features, n_labels = model.coef.shape
    return (n_features + edge_type * n_labels + parent_label) * n_labels + label
