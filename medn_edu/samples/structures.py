"""What a packed sample is.

A *sample* is a set of nodes, each with a feature vector and an unknown label, joined by edges.  All
samples of a data set are *packed* into a few flat arrays, which compiled code walks through.  Node
features are compressed sparse rows, because handwriting, words and one-hot codes are mostly zeros.

If no sample has a cycle, the edges form a forest: every node has at most one parent.  A chain, such as
a handwritten word, is the forest in which the parent of letter ``t`` is letter ``t - 1``.  Such a data
set is packed into `Samples`.  One with cycles is packed into `medn_edu.samples.graphs.GraphSamples`.
`SampleSet` holds what the two have in common.

Conventions
-----------
* Nodes are numbered through the whole set; sample ``i`` owns nodes ``offsets[i]:offsets[i + 1]``.
* ``parents[t]`` is the number of the parent of node ``t``, always smaller than ``t``, or ``-1`` at a
  root.  Edges are named by their child, so ``edge_types[t]`` belongs to the edge ``parents[t] -> t``.
* A `Graph` without cycles is packed as a forest, too.  Its nodes may come in any order, and its edges
  may run from child to parent.  `AsGiven` remembers the original order and directions, so that users see
  everything as they gave it.  `Samples.as_packed` converts from the order as given to the packed order.
  `Samples.split` and `Samples.split_edges` convert back.
* Labels are codes ``0 .. n_labels - 1``; `medn_edu.samples.labels` knows what they stand for.
* A weight vector is ``concatenate([coef.ravel(), transitions.ravel()])``, with ``coef`` of shape
  ``(n_labels, n_features)`` and ``transitions`` of shape ``(n_tables, n_labels, n_labels)``, indexed
  ``[table, parent's label, child's label]``.  Each edge type has one table, or one for each edge
  feature.  A Potts table has a single weight, which counts where both labels are equal.  `WeightShape`
  knows of Ising tables, too.
* Edges that agree in type, features and direction are of one *kind*.  Mostly, kinds are the same as
  types.  Code that finds labellings gets one table of potentials for each kind
  (`SampleSet.edge_tables`), and what it counts is summed up by kind (`SampleSet.table_sums`).  So it
  needs to know nothing about edge features and directions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
import scipy.sparse as sp

from medn_edu.samples.checks import (
    are_positions,
    check_as_given,
    check_packed,
    check_packed_parents,
)


@dataclass(frozen=True, eq=False)
class Forest:
    """One sample whose nodes are joined into a chain, a tree or several trees.

    Parameters
    ----------
    features : array_like or scipy sparse matrix of shape (n_nodes, n_features)
        One row per node.
    parents : array_like of int, shape (n_nodes,), or None
        Number of each node's parent within this sample, or -1 at a root.  Parents come before their
        children: ``parents[t] < t``.  The default, None, means a chain.
    edge_types : array_like of int, shape (n_nodes,), optional
        Type of the edge from the parent to each node, ``0 .. n_edge_types - 1``; each type has its
        own transition weights.  Ignored at roots.  By default all edges are of type 0.
    edge_features : array_like of shape (n_nodes, n_edge_features), optional
        Real numbers for the edge from the parent to each node.  A transition scores the sum of edge
        features times weights; each pair of labels has one weight per feature and edge type.
        A feature that is always 1 gives the transition weights that samples without edge features
        have.  Ignored at roots.  Either all samples have the same edge features, or none has any.  Each
        different combination of values takes a table of ``n_labels ** 2`` numbers, and all tables
        together may have at most fifty million.  So round features that take very many values.
    allowed_labels : sequence or ndarray of bool, optional
        The labels that each node may have, in training and in prediction.  Give one entry per node: a
        collection of labels, or None where all are allowed.  Or give a mask, one array of bool of shape
        (n_nodes, n_labels), with columns in the order of the model's ``classes_``.  Labels that do not
        occur in training cannot be predicted, so they are ignored, but each node needs at least one that
        does occur.  Check your spelling, because a misspelt label is ignored without a warning.

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


TABLES = ("full", "potts", "ising")
"""What tables of transitions can be; `WeightShape` explains them."""


@dataclass(frozen=True)
class WeightShape:
    """Shape of a model's weights, and the one place that knows their order in a flat vector.

    A table of transitions can be "full", with a weight for each pair of labels, or "potts", with a
    single weight for equal labels.  "ising" is for two labels, which become the numbers -1 and +1, as in
    physics.  Then there is one row of node weights; its product with the features is multiplied by the
    label.  And there is one weight per table, which is multiplied by both labels of an edge.

    Parameters
    ----------
    n_labels : int
        Number of labels.
    n_features : int
        Number of node features.
    n_tables : int
        Number of tables of transitions: one for each edge type or, with edge features, one for each
        feature of each type.
    table : {"full", "potts", "ising"}, default="full"
        What a table is.
    """

    n_labels: int
    n_features: int
    n_tables: int
    table: str = "full"

    def __post_init__(self) -> None:
        if self.table not in TABLES:
            raise ValueError(f"table is {self.table!r}; expected one of {', '.join(TABLES)}.")
        if self.table == "ising" and self.n_labels != 2:
            raise ValueError(
                f"edge_table is 'ising', which is for 2 labels; there are {self.n_labels}; expected "
                "'full' or 'potts'."
            )

    @property
    def n_rows(self) -> int:
        """Number of rows of node weights: one per label, or one in all."""
        return 1 if self.table == "ising" else self.n_labels

    @property
    def n_coef(self) -> int:
        """Number of weights of node features, which come first."""
        return self.n_rows * self.n_features

    @property
    def size(self) -> int:
        """Number of weights."""
        return self.n_coef + self.n_tables * (self.n_labels**2 if self.table == "full" else 1)

    def split(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return ``coef`` and ``transitions`` of a flat weight vector: views, if tables are full."""
        if np.shape(weights) != (self.size,):
            raise ValueError(f"weights has shape {np.shape(weights)}; expected ({self.size},).")
        coef = weights[: self.n_coef].reshape(self.n_rows, self.n_features)
        transitions = weights[self.n_coef :]
        if self.table == "full":
            return coef, transitions.reshape(self.n_tables, self.n_labels, self.n_labels)
        if self.table == "potts":
            return coef, transitions[:, None, None] * np.eye(self.n_labels)
        signs = np.array([-1.0, 1.0])
        return np.outer(signs, coef), transitions[:, None, None] * np.outer(signs, signs)

    def join(self, coef: np.ndarray, transitions: np.ndarray) -> np.ndarray:
        """Return one flat vector of sums that belong to weights, of features or terms of a gradient.

        A Potts weight gets the sum over equal labels, and an Ising weight the sum over all labels with
        their signs.  This is the transpose of `split`.
        """
        if self.table == "potts":
            transitions = np.trace(transitions, axis1=1, axis2=2)
        if self.table == "ising":
            coef = coef[1] - coef[0]
            transitions = 2 * np.trace(transitions, axis1=1, axis2=2) - transitions.sum(axis=(1, 2))
        return np.concatenate([coef.ravel(), transitions.ravel()])

    def weights(self, coef: np.ndarray, transitions: np.ndarray) -> np.ndarray:
        """Return the flat weight vector, the inverse of `split`."""
        if self.table != "full":
            transitions = transitions[:, -1, -1]
        return np.concatenate([coef[-self.n_rows :].ravel(), transitions.ravel()])


_N_POTENTIALS = 5 * 10**7  # of all kinds of edges together: 0.4 GB, and some 3 GB in training


def as_writeable(
    sources: tuple[np.ndarray, ...], dtypes: tuple[type, ...], before: Any = None
) -> list[Any]:
    """Return arrays as kernels want them: C-contiguous and writeable.

    A read-only array (such as joblib's memory maps) would be another type to numba, and every kernel
    would be compiled once more.  Copies made ``before`` of the same read-only arrays are taken over.
    """
    arrays: list[Any] = []
    for k, (array, kind) in enumerate(zip(sources, dtypes, strict=True)):
        if before and array is before.sources[k] and not array.flags.writeable:
            arrays.append(before[k])
        else:
            arrays.append(np.require(array, dtype=kind, requirements=["C", "A", "W"]))
    return arrays


class Packed(NamedTuple):
    """The arrays of `Samples` as kernels want them (`as_writeable`).

    ``sources`` are the arrays of which these are copies or views.
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
        """Pack arrays; copies made ``before`` are taken over where they still hold."""
        dtypes = (np.float64, np.int32, np.int64, np.int64, np.int64, np.int64)
        return cls._make([*as_writeable(sources, dtypes, before), sources])

    @property
    def features(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values, columns and row starts of the node features."""
        return self.data, self.indices, self.indptr

    @property
    def forest(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Parents, kinds of edges and sample offsets."""
        return self.parents, self.edge_kinds, self.offsets


class PackedRows(Protocol):
    """What kernels are given of all samples, with cycles or without."""

    @property
    def features(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values, columns and row starts of the node features."""

    @property
    def offsets(self) -> np.ndarray:
        """Where each sample's nodes start."""


class SampleSet(ABC):
    """What packed samples have in common, with cycles or without.

    "Each edge" is a row of ``edge_types`` here.  `Samples` have one for every node, that of its parent.
    """

    features: sp.csr_matrix  # (n_nodes, n_features), float64
    offsets: np.ndarray  # (n_samples + 1,)
    edge_types: np.ndarray
    edge_features: np.ndarray | None
    allowed_labels: tuple[Any, ...] | None  # of each sample, as handed in

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """Refuse arrays that do not fit together, and forget what was computed from them."""
        packed = vars(self).get("packed")
        for base in type(self).__mro__:
            for name, member in vars(base).items():
                if isinstance(member, cached_property):
                    vars(self).pop(name, None)
        self._check()
        if packed is not None:
            vars(self)["packed"] = packed.of(self._sources(), packed)

    @abstractmethod
    def _check(self) -> None:
        """Refuse arrays that do not fit together."""

    @abstractmethod
    def _sources(self) -> tuple[np.ndarray, ...]:
        """Return the arrays of which ``packed`` is made."""

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what was computed: as memory maps its copies would be read-only."""
        return {field.name: vars(self)[field.name] for field in fields(self)}  # type: ignore[arg-type]

    @property
    @abstractmethod
    def packed(self) -> PackedRows:
        """The arrays as kernels want them; those that are read-only are copied, once."""

    @property
    @abstractmethod
    def forests(self) -> Samples:
        """These samples, if they have no cycles; a ValueError if they may have some."""

    @property
    @abstractmethod
    def ends(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The rows of ``edge_types`` that are edges, and the first and second node of each.

        A table of transitions is indexed ``[first node's label, second node's label]``.
        """

    @abstractmethod
    def take(self, index: np.ndarray) -> Self:
        """Return the samples ``index`` (ints), in that order, packed anew."""

    @abstractmethod
    def split_edges(self, per_edge: np.ndarray) -> list[np.ndarray]:
        """Cut tables of each edge, ``[..., label, label]``, into one array per sample, as given."""

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.offsets) - 1

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all samples together."""
        return self.features.shape[0]

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

    @property
    def has_plain_edges(self) -> bool:
        """Whether kinds of edges are types: no edge has features, or is turned round."""
        return self.edge_features is None

    def _what_kinds_differ_in(self) -> list[np.ndarray]:
        """Return columns that are equal at edges of one kind; the first is the type."""
        features = [] if self.edge_features is None else [self.edge_features]
        return [self.edge_types, *features]

    @cached_property
    def _kinds(self) -> tuple[np.ndarray, np.ndarray]:
        """An edge of each kind, and the kind of each edge."""
        rows = np.column_stack(self._what_kinds_differ_in())
        _, first, kinds = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        return first, kinds.astype(np.int64)

    @property
    def edge_kinds(self) -> np.ndarray:
        """Kind of each edge, int64, as long as ``edge_types``."""
        return self.edge_types if self.has_plain_edges else self._kinds[1]

    @property
    def n_edge_kinds(self) -> int:
        """Number of kinds of edges."""
        return self.n_edge_types if self.has_plain_edges else len(self._kinds[0])

    def per_kind(self, per_type: np.ndarray) -> np.ndarray:
        """Repeat what belongs to each edge type for each kind of edge."""
        if self.has_plain_edges:
            return per_type
        if per_type.shape[:1] < (self.n_edge_types,):
            raise ValueError(
                f"allowed has shape {per_type.shape}; expected ({self.n_edge_types}, n_labels, "
                "n_labels), one table per edge type."
            )
        return per_type[self.edge_types[self._kinds[0]]]

    def kind_rows(self, n_tables: int) -> sp.csr_matrix:
        """Return the factor of each table of transitions at each kind of edge."""
        if self.has_plain_edges:
            return sp.eye(n_tables, format="csr")
        first, n_features = self._kinds[0], max(self.n_edge_features, 1)
        factors = np.ones(len(first)) if self.edge_features is None else self.edge_features[first]
        columns = self.edge_types[first, None] * n_features + np.arange(n_features)
        starts = np.arange(len(first) + 1) * n_features
        parts = (factors.ravel(), columns.ravel(), starts)
        rows = sp.csr_matrix(parts, shape=(len(first), n_tables))
        rows.eliminate_zeros()
        return rows

    def edge_tables(self, transitions: np.ndarray) -> np.ndarray:
        """Return a table for each kind of edge: edge features times ``transitions``, or just these."""
        if self.has_plain_edges:
            return transitions
        n_features = max(self.n_edge_features, 1)
        least = n_features * self.n_edge_types
        if transitions.ndim != 3 or len(transitions) < least or len(transitions) % n_features:
            raise ValueError(
                f"transitions has shape {transitions.shape}; expected a table for each of {n_features} "
                f"edge features, for each edge type: ({least}, n_labels, n_labels), or more types."
            )
        n_tables, *pair = transitions.shape
        if self.n_edge_kinds * pair[0] * pair[1] > _N_POTENTIALS:
            raise ValueError(
                f"the edge features make {self.n_edge_kinds} different kinds of edges, and their tables "
                f"for {pair[0]} labels have more than {_N_POTENTIALS} numbers; expected edge features "
                "rounded so that fewer differ or, in prediction, fewer samples at a time."
            )
        tables = self.kind_rows(n_tables) @ transitions.reshape(n_tables, -1)
        return tables.reshape(-1, *pair)

    def table_sums(
        self, per_kind: np.ndarray, n_tables: int, *, squared: bool = False
    ) -> np.ndarray:
        """Sum up what belongs to each kind of edge, times its features: `edge_tables` transposed.

        With ``squared``, the features are squared.
        """
        if self.has_plain_edges:
            return per_kind
        n_kinds, *pair = per_kind.shape
        rows = self.kind_rows(n_tables)
        sums = (rows.power(2) if squared else rows).T @ per_kind.reshape(n_kinds, -1)
        return sums.reshape(n_tables, *pair)

    def cut(self, per_node: np.ndarray) -> list[np.ndarray]:
        """Cut an array with one row per node into one array per sample: views, in the packed order."""
        return np.split(per_node, self.offsets[1:-1])

    def split(self, per_node: np.ndarray) -> list[np.ndarray]:
        """Cut an array with one row per node into one array per sample, in the order as given."""
        return self.cut(per_node)

    def as_packed(self, per_node: np.ndarray) -> np.ndarray:
        """Return an array with one row per node, all in the order as given, in the packed order."""
        return per_node

    def place(self, node: int) -> tuple[int, int]:
        """Return the sample to which a node belongs, and its number there, as given."""
        i = int(self.sample_of_node[node])
        return i, int(node - self.offsets[i])

    def _taken(self, index: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return what `take` begins with: positions of samples, their offsets, and their nodes."""
        index = np.asarray(index)
        if index.size == 0:
            index = np.zeros(0, dtype=np.int64)
        if not are_positions(index, self.n_samples):
            raise ValueError(
                f"index must hold whole numbers from 0 to {self.n_samples - 1}, the positions of "
                "samples."
            )
        return index, *ranges(self.offsets, index)

    def __len__(self) -> int:
        return self.n_samples


def ranges(offsets: np.ndarray, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return new offsets of some of the ranges that ``offsets`` cut, and the positions in them."""
    starts, lengths = offsets[index], np.diff(offsets)[index]
    new = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return new, np.arange(new[-1]) + np.repeat(starts - new[:-1], lengths)


@dataclass(frozen=True, eq=False)
class AsGiven:
    """How samples were given, where `Samples` are packed in another way.

    ``edges`` has a row for each edge of a `Graph`, and one for each node of any other sample.
    """

    nodes: np.ndarray  # (n_nodes,), where each node stood, numbered through the whole set
    turned: np.ndarray  # (n_nodes,), bool, whether the edge was given from the child to its parent
    edges: np.ndarray  # (n_rows,), the node that has what is said of each edge
    edge_offsets: np.ndarray  # (n_samples + 1,), where each sample's rows start


@dataclass(frozen=True, eq=False)
class Samples(SampleSet):
    """Many forests, packed into flat arrays by `medn_edu.samples.pack`.  Do not write to them.

    Parameters
    ----------
    features : scipy.sparse.csr_matrix of float64, shape (n_nodes, n_features)
        One row per node.
    offsets : ndarray of int64, shape (n_samples + 1,)
        Sample ``i`` owns nodes ``offsets[i]:offsets[i + 1]``.
    parents : ndarray of int64, shape (n_nodes,)
        Each node's parent, numbered through the whole set; -1 at roots.
    edge_types : ndarray of int64, shape (n_nodes,)
        Type of the edge from the parent; 0 at roots, where it means nothing.
    edge_features : ndarray of float64, shape (n_nodes, n_edge_features), optional
        Features of the edge from the parent; 0 at roots.
    allowed_labels : tuple, optional
        The allowed labels of each sample, as handed in.
    given : AsGiven, optional
        Order and directions as given, if some sample was a `Graph`.
    """

    features: sp.csr_matrix
    offsets: np.ndarray
    parents: np.ndarray
    edge_types: np.ndarray
    edge_features: np.ndarray | None = None
    allowed_labels: tuple[Any, ...] | None = None
    given: AsGiven | None = None

    def _check(self) -> None:
        check_packed(
            "Samples", self.features, self.offsets, self.edge_types, self.edge_features,
            self.allowed_labels, n_edges=self.features.shape[0],
        )  # fmt: skip
        check_packed_parents(self.parents, self.offsets)
        if self.given is not None:
            check_as_given(vars(self.given), self.offsets)

    @cached_property
    def packed(self) -> Packed:
        """The arrays as kernels want them; those that are read-only are copied, once."""
        return Packed.of(self._sources())

    def _sources(self) -> tuple[np.ndarray, ...]:
        rows = self.features
        return rows.data, rows.indices, rows.indptr, self.offsets, self.parents, self.edge_kinds

    @property
    def forests(self) -> Samples:
        """These samples."""
        return self

    @property
    def ends(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Children, and the first and second node of the edge of each: the parent and the child.

        Where an edge was turned round, the child is the first node, as it was given.
        """
        child = np.flatnonzero(self.parents >= 0)
        parent, turned = self.parents[child], self._turned
        if turned is None:
            return child, parent, child
        is_turned = turned[child]
        return child, np.where(is_turned, child, parent), np.where(is_turned, parent, child)

    # -- turned edges ---------------------------------------------------------------------------

    @cached_property
    def _turned(self) -> np.ndarray | None:
        """Whether each node's edge was turned round, or None if none was."""
        return self.given.turned if self.given is not None and self.given.turned.any() else None

    @property
    def has_plain_edges(self) -> bool:
        """Whether kinds of edges are types: no edge has features, or is turned round."""
        return self.edge_features is None and self._turned is None

    def _what_kinds_differ_in(self) -> list[np.ndarray]:
        columns = super()._what_kinds_differ_in()
        return columns if self._turned is None else [*columns, self._turned]

    def is_turned_kind(self) -> np.ndarray:
        """Return whether the edges of each kind were turned round; their tables are transposed."""
        if self._turned is None:
            return np.zeros(self.n_edge_kinds, dtype=bool)
        return self._turned[self._kinds[0]]

    def _turn(self, per_kind: np.ndarray) -> np.ndarray:
        """Transpose the tables of kinds that were turned round."""
        return per_kind if self._turned is None else _transposed(per_kind, self.is_turned_kind())

    def per_kind(self, per_type: np.ndarray) -> np.ndarray:
        """Repeat what belongs to each edge type for each kind of edge."""
        return self._turn(super().per_kind(per_type))

    def edge_tables(self, transitions: np.ndarray) -> np.ndarray:
        """Return a table for each kind of edge: edge features times ``transitions``, or just these."""
        return self._turn(super().edge_tables(transitions))

    def table_sums(
        self, per_kind: np.ndarray, n_tables: int, *, squared: bool = False
    ) -> np.ndarray:
        """Sum up what belongs to each kind of edge, times its features: `edge_tables` transposed."""
        return super().table_sums(self._turn(per_kind), n_tables, squared=squared)

    # -- the order as given ---------------------------------------------------------------------

    def split(self, per_node: np.ndarray) -> list[np.ndarray]:
        """Cut an array with one row per node into one array per sample, in the order as given."""
        if self.given is not None:
            packed, per_node = per_node, np.empty_like(per_node)
            per_node[self.given.nodes] = packed
        return self.cut(per_node)

    def as_packed(self, per_node: np.ndarray) -> np.ndarray:
        """Return an array with one row per node, all in the order as given, in the packed order."""
        return per_node if self.given is None else per_node[self.given.nodes]

    def place(self, node: int) -> tuple[int, int]:
        """Return the sample to which a node belongs, and its number there, as given."""
        return super().place(node if self.given is None else self.given.nodes[node])

    def split_edges(self, per_edge: np.ndarray) -> list[np.ndarray]:
        """Cut tables ``[label, label]``, one per node, into one array per sample, as given.

        A `Graph` gets a table for each of its edges, any other sample one for each of its nodes.
        """
        if self.given is None:
            return self.cut(per_edge)
        tables = per_edge if self._turned is None else _transposed(per_edge, self._turned)
        return np.split(tables[self.given.edges], self.given.edge_offsets[1:-1])

    def take(self, index: np.ndarray) -> Samples:
        """Return the samples ``index`` (ints), in that order, packed anew."""
        index, offsets, nodes = self._taken(index)
        shift = nodes - np.arange(len(nodes))
        parents = self.parents[nodes]
        given = self.given
        if given is not None:
            edge_offsets, rows = ranges(given.edge_offsets, index)
            moved = np.repeat(self.offsets[index] - offsets[:-1], np.diff(edge_offsets))
            given = AsGiven(
                given.nodes[nodes] - shift,
                given.turned[nodes],
                given.edges[rows] - moved,
                edge_offsets,
            )
        return Samples(
            features=self.features[nodes],
            offsets=offsets,
            parents=np.where(parents < 0, -1, parents - shift),
            edge_types=self.edge_types[nodes],
            edge_features=None if self.edge_features is None else self.edge_features[nodes],
            allowed_labels=self.allowed_labels and tuple(self.allowed_labels[i] for i in index),
            given=given,
        )


def _transposed(tables: np.ndarray, which: np.ndarray) -> np.ndarray:
    """Return tables, some of them transposed."""
    return np.where(which[:, None, None], tables.transpose(0, 2, 1), tables)


@dataclass(frozen=True, eq=False)
class LabelledSamples:
    """Packed samples together with their labels, from which a problem is built.

    Parameters
    ----------
    samples : SampleSet
        The samples.
    labels : ndarray of int64, shape (n_nodes,)
        Codes of the true labels.
    allowed : ndarray of bool, shape (n_edge_types, n_labels, n_labels)
        Which transitions are allowed, as tables of transitions.
    sample_weight : ndarray of float64, shape (n_samples,)
        How often each sample counts; positive.
    allowed_labels : ndarray of bool, shape (n_nodes, n_labels), optional
        The labels that each node may have; all by default.
    costs : ndarray of float64, shape (n_nodes,), optional
        Loss of a wrong label at each node; 1 by default.
    table : {"full", "potts", "ising"}, default="full"
        What a table of transitions is; see `WeightShape`.
    """

    samples: SampleSet
    labels: np.ndarray
    allowed: np.ndarray
    sample_weight: np.ndarray
    allowed_labels: np.ndarray | None = None
    costs: np.ndarray | None = None
    table: str = "full"

    @property
    def n_labels(self) -> int:
        """Number of different labels."""
        return self.allowed.shape[1]

    @property
    def weight_shape(self) -> WeightShape:
        """Shape of the weights of a model of these samples."""
        n_tables = len(self.allowed) * max(self.samples.n_edge_features, 1)
        return WeightShape(self.n_labels, self.samples.n_features, n_tables, self.table)

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
