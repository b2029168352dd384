"""What a packed sample is.

A *sample* is a set of nodes, each with a feature vector and an unknown label, joined by edges.  The
edges form a forest: every node has at most one parent.  A chain, such as a handwritten word, is the
forest in which the parent of letter ``t`` is letter ``t - 1``.  All samples of a data set are *packed*
into a few flat arrays, which compiled code walks through.  Node features are compressed sparse rows,
because handwriting, words and one-hot codes are mostly zeros.

Conventions
-----------
* Nodes are numbered through the whole set; sample ``i`` owns nodes ``offsets[i]:offsets[i + 1]``.
* ``parents[t]`` is the number of the parent of node ``t``, always smaller than ``t``, or ``-1`` at a
  root.  Edges are named by their child, so ``edge_types[t]`` belongs to the edge ``parents[t] -> t``.
* Labels are codes ``0 .. n_labels - 1``; `medn_edu.samples.labels` knows what they stand for.
* A weight vector is ``concatenate([coef.ravel(), transitions.ravel()])``, with ``coef`` of shape
  ``(n_labels, n_features)`` and ``transitions`` of shape ``(n_edge_types, n_labels, n_labels)``,
  indexed ``[type, parent's label, child's label]``.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from medn_edu.samples.checks import are_positions, check_packed


@dataclass(frozen=True, eq=False)
class Forest:
    """One sample whose nodes hang together as a forest.

    Parameters
    ----------
    features : array_like or scipy sparse matrix of shape (n_nodes, n_features)
        One row per node.
    parents : array_like of int, shape (n_nodes,), or None
        Number of each node's parent within this sample, or -1 at a root.  Parents come before their
        children: ``parents[t] < t``.  None stands for a chain.
    edge_types : array_like of int, shape (n_nodes,), optional
        Type of the edge from the parent to each node, ``0 .. n_edge_types - 1``; each type has its
        own transition weights.  Ignored at roots.  By default all edges are of type 0.

    Examples
    --------
    A root with two children:

    >>> import numpy as np
    >>> from medn_edu import Forest
    >>> tree = Forest(np.eye(3), parents=[-1, 0, 0])
    >>> tree.parents
    [-1, 0, 0]
    """

    features: Any
    parents: Any
    edge_types: Any = None


@dataclass(frozen=True)
class WeightShape:
    """Shape of a model's weights, and the one place that knows their order in a flat vector."""

    n_labels: int
    n_features: int
    n_edge_types: int

    @property
    def size(self) -> int:
        """Number of weights."""
        return self.n_labels * self.n_features + self.n_edge_types * self.n_labels**2

    def split(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return views ``coef`` and ``transitions`` of a flat weight vector."""
        if np.shape(weights) != (self.size,):
            raise ValueError(f"weights has shape {np.shape(weights)}; expected ({self.size},).")
        n_coef = self.n_labels * self.n_features
        coef = weights[:n_coef].reshape(self.n_labels, self.n_features)
        transitions = weights[n_coef:].reshape(self.n_edge_types, self.n_labels, self.n_labels)
        return coef, transitions

    def join(self, coef: np.ndarray, transitions: np.ndarray) -> np.ndarray:
        """Return the flat vector of all weights, a copy."""
        return np.concatenate([coef.ravel(), transitions.ravel()])


# Types of the arrays of `Packed`, in their order.
_KINDS = (np.float64, np.int32, np.int64, np.int64, np.int64, np.int64)


class Packed(NamedTuple):
    """The arrays of packed samples as kernels want them: C-contiguous and writeable.

    A read-only array (such as joblib's memory maps) would be another type to numba, and every
    kernel would be compiled once more.  ``sources`` are the arrays of which these are copies or views.
    """

    data: np.ndarray  # values of the node features,
    indices: np.ndarray  # their columns,
    indptr: np.ndarray  # and where the row of each node starts
    offsets: np.ndarray  # where each sample's nodes start
    parents: np.ndarray  # of each node, -1 at roots
    edge_types: np.ndarray  # of the edge from each node's parent
    sources: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, sources: tuple[np.ndarray, ...], before: Packed | None = None) -> Packed:
        """Pack arrays; copies made ``before`` of the same read-only arrays are taken over."""
        arrays: list[Any] = []
        for k, (array, kind) in enumerate(zip(sources, _KINDS, strict=True)):
            if before and array is before.sources[k] and not array.flags.writeable:
                arrays.append(before[k])
            else:
                arrays.append(np.require(array, dtype=kind, requirements=["C", "A", "W"]))
        return cls._make([*arrays, sources])

    @property
    def features(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values, columns and row starts of the node features."""
        return self.data, self.indices, self.indptr

    @property
    def forest(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Parents, edge types and sample offsets."""
        return self.parents, self.edge_types, self.offsets


@dataclass(frozen=True, eq=False)
class Samples:
    """Many forests, packed into flat arrays; made by `medn_edu.samples.pack`, not to be written to."""

    features: sp.csr_matrix  # (n_nodes, n_features), float64
    offsets: np.ndarray  # (n_samples + 1,)
    parents: np.ndarray  # (n_nodes,), numbered through the whole set; -1 at roots
    edge_types: np.ndarray  # (n_nodes,); 0 at roots, where they mean nothing

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """Refuse arrays that do not fit together, and forget what was computed from them."""
        packed = vars(self).get("packed")
        for name, member in vars(Samples).items():
            if isinstance(member, cached_property):
                vars(self).pop(name, None)
        check_packed(self.features, self.offsets, self.parents, self.edge_types)
        if packed is not None:
            vars(self)["packed"] = Packed.of(self._sources(), packed)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what was computed: as memory maps its copies would be read-only."""
        return {field.name: vars(self)[field.name] for field in fields(self)}

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.offsets) - 1

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all samples together."""
        return len(self.parents)

    @property
    def n_features(self) -> int:
        """Width of the node features."""
        return self.features.shape[1]

    @property
    def data(self) -> np.ndarray:
        """Non-zero feature values, float64."""
        return self.features.data

    @cached_property
    def indices(self) -> np.ndarray:
        """Column of each non-zero value, int32."""
        return self.features.indices.astype(np.int32, copy=False)

    @cached_property
    def indptr(self) -> np.ndarray:
        """Where each node's row starts in `data` and `indices`, int64, shape (n_nodes + 1,)."""
        return self.features.indptr.astype(np.int64, copy=False)

    @cached_property
    def packed(self) -> Packed:
        """The arrays as kernels want them; those that are read-only are copied, once."""
        return Packed.of(self._sources())

    def _sources(self) -> tuple[np.ndarray, ...]:
        rows = self.features
        return rows.data, rows.indices, rows.indptr, self.offsets, self.parents, self.edge_types

    @cached_property
    def lengths(self) -> np.ndarray:
        """Number of nodes of each sample."""
        return np.diff(self.offsets)

    @cached_property
    def sample_of_node(self) -> np.ndarray:
        """Sample to which each node belongs, int64, shape (n_nodes,)."""
        return np.repeat(np.arange(self.n_samples), self.lengths)

    @cached_property
    def n_edge_types(self) -> int:
        """One more than the largest edge type in use (at least 1)."""
        return int(self.edge_types.max(initial=0)) + 1

    def split(self, per_node: np.ndarray) -> list[np.ndarray]:
        """Cut an array with one row per node into one array per sample."""
        return np.split(per_node, self.offsets[1:-1])

    def take(self, index: np.ndarray) -> Samples:
        """Return the samples ``index`` (ints), in that order, packed anew."""
        index = np.asarray(index)
        if index.size == 0:
            index = np.zeros(0, dtype=np.int64)
        if not are_positions(index, self.n_samples):
            raise ValueError(
                f"index must hold whole numbers from 0 to {self.n_samples - 1}, the positions of "
                "samples."
            )
        starts, lengths = self.offsets[index], self.lengths[index]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        shift = np.repeat(starts - offsets[:-1], lengths)
        nodes = np.arange(offsets[-1]) + shift
        parents = self.parents[nodes]
        return Samples(
            features=self.features[nodes],
            offsets=offsets,
            parents=np.where(parents < 0, -1, parents - shift),
            edge_types=self.edge_types[nodes],
        )

    def __len__(self) -> int:
        return self.n_samples


@dataclass(frozen=True, eq=False)
class LabelledSamples:
    """Packed samples together with their labels: what a problem is made of."""

    samples: Samples
    labels: np.ndarray  # (n_nodes,), codes of the true labels
    allowed: np.ndarray  # (n_edge_types, n_labels, n_labels), [type, parent's label, child's label]
    sample_weight: np.ndarray  # (n_samples,), how often each sample counts; positive

    @property
    def n_labels(self) -> int:
        """Number of different labels."""
        return self.allowed.shape[1]

    @property
    def weight_shape(self) -> WeightShape:
        """Shape of the weights of a model of these samples."""
        return WeightShape(self.n_labels, self.samples.n_features, self.allowed.shape[0])
