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
  ``(n_labels, n_features)`` and ``transitions`` of shape ``(n_tables, n_labels, n_labels)``, indexed
  ``[table, parent's label, child's label]``.  Each edge type has one table, or one for each edge
  feature.  A Potts table has a single weight, which counts where both labels are equal.
* Edges that agree in type and features are of one *kind*; without edge features kinds are types.  So
  code that finds labellings needs to know nothing of edge features: it is given one table of potentials
  for each kind (`Samples.edge_tables`), and what it counts is summed up by kind (`Samples.table_sums`).
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
    """One sample whose nodes are joined into a chain, a tree or several trees.

    Parameters
    ----------
    features : array_like or scipy sparse matrix of shape (n_nodes, n_features)
        One row per node.
    parents : array_like of int, shape (n_nodes,), or None
        Number of each node's parent within this sample, or -1 at a root.  Parents come before their
        children: ``parents[t] < t``.  None, the default, stands for a chain.
    edge_types : array_like of int, shape (n_nodes,), optional
        Type of the edge from the parent to each node, ``0 .. n_edge_types - 1``; each type has its
        own transition weights.  Ignored at roots.  By default all edges are of type 0.
    edge_features : array_like of shape (n_nodes, n_edge_features), optional
        Real numbers for the edge from the parent to each node.  A transition scores the sum of edge
        features times weights; each pair of labels has one weight per feature and edge type.
        A feature that is always 1 gives the transition weights that samples without edge features
        have.  Ignored at roots.  All samples have the same edge features, or none has any.  Each
        different combination of them takes a table of ``n_labels ** 2`` numbers, fifty million of
        which is the limit: round features that take very many values.
    allowed_labels : sequence or ndarray of bool, optional
        The labels that each node may have, in training and in prediction: for each node a collection
        of labels, or None where all are allowed; or a mask, one array of bool of shape (n_nodes,
        n_labels), with columns in the order of the model's ``classes_``.  Labels must occur in training:
        in cross-validation, leave out those that a part may lack.

    Examples
    --------
    A root with two children:

    >>> import numpy as np
    >>> from medn_edu import Forest
    >>> tree = Forest(np.eye(3), parents=[-1, 0, 0])
    >>> tree.parents
    [-1, 0, 0]

    A chain whose edge has length 2.5, and whose second node can't be a verb:

    >>> chain = Forest(
    ...     np.eye(2), edge_features=[[1, 0], [1, 2.5]], allowed_labels=[None, ["noun", "name"]]
    ... )
    """

    features: Any
    parents: Any = None
    edge_types: Any = None
    edge_features: Any = None
    allowed_labels: Any = None


@dataclass(frozen=True)
class WeightShape:
    """Shape of a model's weights, and the one place that knows their order in a flat vector."""

    n_labels: int
    n_features: int
    n_tables: int  # of transitions: one for each edge type or, with edge features, for each of them
    is_potts: bool = False  # whether a table has one weight, that of equal labels

    @property
    def n_coef(self) -> int:
        """Number of weights of node features, which come first."""
        return self.n_labels * self.n_features

    @property
    def size(self) -> int:
        """Number of weights."""
        return self.n_coef + self.n_tables * (1 if self.is_potts else self.n_labels**2)

    def split(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return ``coef`` and ``transitions`` of a flat weight vector: views, but for Potts tables."""
        if np.shape(weights) != (self.size,):
            raise ValueError(f"weights has shape {np.shape(weights)}; expected ({self.size},).")
        coef = weights[: self.n_coef].reshape(self.n_labels, self.n_features)
        transitions = weights[self.n_coef :]
        if self.is_potts:
            return coef, transitions[:, None, None] * np.eye(self.n_labels)
        return coef, transitions.reshape(self.n_tables, self.n_labels, self.n_labels)

    def join(self, coef: np.ndarray, transitions: np.ndarray) -> np.ndarray:
        """Return the flat vector of what belongs to all weights: features, or terms of a gradient.

        A Potts weight gets the sum over equal labels.
        """
        if self.is_potts:
            transitions = np.trace(transitions, axis1=1, axis2=2)
        return np.concatenate([coef.ravel(), transitions.ravel()])


_N_POTENTIALS = 5 * 10**7  # of all kinds of edges together: 0.4 GB, and some 3 GB in training
# Types of the arrays of `Packed`, in their order.
_DTYPES = (np.float64, np.int32, np.int64, np.int64, np.int64, np.int64)


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
    edge_kinds: np.ndarray  # of the edge from each node's parent
    sources: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, sources: tuple[np.ndarray, ...], before: Packed | None = None) -> Packed:
        """Pack arrays; copies made ``before`` of the same read-only arrays are taken over."""
        arrays: list[Any] = []
        for k, (array, kind) in enumerate(zip(sources, _DTYPES, strict=True)):
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
        """Parents, kinds of edges and sample offsets."""
        return self.parents, self.edge_kinds, self.offsets


@dataclass(frozen=True, eq=False)
class Samples:
    """Many forests, packed into flat arrays; made by `medn_edu.samples.pack`, not to be written to."""

    features: sp.csr_matrix  # (n_nodes, n_features), float64
    offsets: np.ndarray  # (n_samples + 1,)
    parents: np.ndarray  # (n_nodes,), numbered through the whole set; -1 at roots
    edge_types: np.ndarray  # (n_nodes,); 0 at roots, where they mean nothing
    edge_features: np.ndarray | None = None  # (n_nodes, n_edge_features); 0 at roots
    allowed_labels: tuple[Any, ...] | None = None  # of each sample, as handed in

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """Refuse arrays that do not fit together, and forget what was computed from them."""
        packed = vars(self).get("packed")
        for name, member in vars(Samples).items():
            if isinstance(member, cached_property):
                vars(self).pop(name, None)
        check_packed(
            self.features, self.offsets, self.parents, self.edge_types,
            self.edge_features, self.allowed_labels,
        )  # fmt: skip
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
        return rows.data, rows.indices, rows.indptr, self.offsets, self.parents, self.edge_kinds

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

    @property
    def n_edge_features(self) -> int:
        """Number of edge features; 0 if there are none."""
        return 0 if self.edge_features is None else self.edge_features.shape[1]

    @cached_property
    def _kinds(self) -> tuple[np.ndarray, np.ndarray]:
        """A node whose edge is of each kind, and the kind of each node's edge."""
        assert self.edge_features is not None
        rows = np.column_stack([self.edge_types, self.edge_features])
        _, first, kinds = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        return first, kinds.astype(np.int64)

    @property
    def edge_kinds(self) -> np.ndarray:
        """Kind of the edge from each node's parent, int64, shape (n_nodes,)."""
        return self.edge_types if self.edge_features is None else self._kinds[1]

    @property
    def n_edge_kinds(self) -> int:
        """Number of kinds of edges."""
        return self.n_edge_types if self.edge_features is None else len(self._kinds[0])

    def per_kind(self, per_type: np.ndarray) -> np.ndarray:
        """Repeat what belongs to each edge type for each kind of edge."""
        if self.edge_features is None:
            return per_type
        if per_type.shape[:1] < (self.n_edge_types,):
            raise ValueError(
                f"allowed has shape {per_type.shape}; expected ({self.n_edge_types}, n_labels, "
                "n_labels), one table per edge type."
            )
        return per_type[self.edge_types[self._kinds[0]]]

    def kind_rows(self, n_tables: int) -> sp.csr_matrix:
        """Return the factor of each table of transitions at each kind of edge."""
        if self.edge_features is None:
            return sp.eye(n_tables, format="csr")
        first, n_features = self._kinds[0], self.n_edge_features
        columns = self.edge_types[first, None] * n_features + np.arange(n_features)
        starts = np.arange(len(first) + 1) * n_features
        parts = (self.edge_features[first].ravel(), columns.ravel(), starts)
        rows = sp.csr_matrix(parts, shape=(len(first), n_tables))
        rows.eliminate_zeros()
        return rows

    def edge_tables(self, transitions: np.ndarray) -> np.ndarray:
        """Return a table for each kind of edge: edge features times ``transitions``, or just these."""
        if self.edge_features is None:
            return transitions
        n_features = self.n_edge_features
        least = n_features * self.n_edge_types
        if transitions.ndim != 3 or len(transitions) < least or len(transitions) % n_features:
            raise ValueError(
                f"transitions has shape {transitions.shape}; expected a table for each of {n_features} "
                f"edge features, for each edge type: ({least}, n_labels, n_labels), or more types."
            )
        n_tables, *pair = transitions.shape
        if self.n_edge_kinds * pair[0] * pair[1] > _N_POTENTIALS:
            raise ValueError(
                f"the edge features make {self.n_edge_kinds} different kinds of edges, whose tables for "
                f"{pair[0]} labels are more than {_N_POTENTIALS} numbers; expected rounded edge "
                "features, of which fewer differ, or, in prediction, fewer samples at a time."
            )
        tables = self.kind_rows(n_tables) @ transitions.reshape(n_tables, -1)
        return tables.reshape(-1, *pair)

    def table_sums(self, per_kind: np.ndarray, n_tables: int) -> np.ndarray:
        """Sum up what belongs to each kind of edge, times its features: `edge_tables` transposed."""
        if self.edge_features is None:
            return per_kind
        n_kinds, *pair = per_kind.shape
        sums = self.kind_rows(n_tables).T @ per_kind.reshape(n_kinds, -1)
        return sums.reshape(n_tables, *pair)

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
            edge_features=None if self.edge_features is None else self.edge_features[nodes],
            allowed_labels=self.allowed_labels and tuple(self.allowed_labels[i] for i in index),
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
    allowed_labels: np.ndarray | None = None  # (n_nodes, n_labels), a mask; None allows all
    costs: np.ndarray | None = None  # (n_nodes,), loss of a wrong label there; 1 by default
    is_potts: bool = False  # whether transitions have one weight, that of equal labels

    @property
    def n_labels(self) -> int:
        """Number of different labels."""
        return self.allowed.shape[1]

    @property
    def weight_shape(self) -> WeightShape:
        """Shape of the weights of a model of these samples."""
        n_tables = len(self.allowed) * max(self.samples.n_edge_features, 1)
        return WeightShape(self.n_labels, self.samples.n_features, n_tables, self.is_potts)

    @cached_property
    def allowed_pairs(self) -> np.ndarray:
        """What is allowed at each kind of edge, shape (n_edge_kinds, n_labels, n_labels)."""
        return self.samples.per_kind(self.allowed)

    @property
    def loss_scale(self) -> float | np.ndarray:
        """Loss of a wrong label: 1, or the cost at each node."""
        return 1.0 if self.costs is None else self.costs

    def join(self, node_sums: np.ndarray, pair_sums: np.ndarray) -> np.ndarray:
        """Return sums of features in the order of the weights, from those by label and by kind."""
        shape = self.weight_shape
        return shape.join(node_sums, self.samples.table_sums(pair_sums, shape.n_tables))
