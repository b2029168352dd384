"""Dual variables ``alpha_i(y)``: how much each labelling of each sample counts.

There are exponentially many of them, so they come in three compact forms.  `DualVariables` lists those
above 0.  `ModelDistributions` holds the distributions of a model, as the sums that a dual value needs.
`medn_edu.problems.DualMarginals` sums them by node and edge, for solvers that change very many dual
variables at once.  `Dual` is what all forms have in common.  Each form provides three sums,

    loss    sum_i,y alpha_i(y) loss_i(y),
    eta     sum_i,y alpha_i(y) (f(x_i, y_i) - f(x_i, y)),
    totals  sum_y alpha_i(y) of each sample i,

and says whether the dual variables are feasible.  A soft-max loss also needs their ``entropies``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import scipy.sparse as sp
from scipy.special import entr

from medn_edu import inference
from medn_edu.samples import LabelledSamples, SampleSet
from medn_edu.samples.checks import are_positions


class Dual(Protocol):
    """Any form of dual variables."""

    def scaled(self, share: float) -> Dual:
        """Return these dual variables times a number."""

    def loss(self, data: LabelledSamples) -> float:
        """Return ``sum alpha_i(y) loss_i(y)``."""

    def totals(self, data: LabelledSamples) -> np.ndarray:
        """Return ``sum_y alpha_i(y)`` of each sample."""

    def eta(self, data: LabelledSamples) -> np.ndarray:
        """Return ``sum alpha_i(y) (f(x_i, y_i) - f(x_i, y))``, shape (n_weights,)."""

    def is_feasible(self, data: LabelledSamples) -> bool:
        """Say whether no dual variable is negative and no labelling forbidden."""


@dataclass(frozen=True, eq=False)
class DualVariables:
    """Sparse dual variables: the labellings with ``alpha_i(y) > 0``.

    Labelling ``j`` is ``labels[offsets[j]:offsets[j + 1]]``.  Solutions list samples in ascending
    order.

    Parameters
    ----------
    sample : ndarray of int64, shape (n_labellings,)
        Sample of each labelling.
    offsets : ndarray of int64, shape (n_labellings + 1,)
        Where each labelling starts in ``labels``.
    labels : ndarray of int64, shape (offsets[-1],)
        Label codes of all labellings, one after the other.
    values : ndarray of float64, shape (n_labellings,)
        The dual variables, non-negative.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.samples import labelled
    >>> data = labelled([np.eye(2)], [[0, 1]])
    >>> alpha = DualVariables.on(data.samples, np.array([1, 1]), np.array([0.5]))
    >>> alpha.loss(data), alpha.eta(data)
    (0.5, array([ 0.5,  0. , -0.5,  0. ,  0. ,  0.5,  0. , -0.5]))
    """

    sample: np.ndarray
    offsets: np.ndarray
    labels: np.ndarray
    values: np.ndarray

    @classmethod
    def empty(cls) -> DualVariables:
        """Return dual variables that are all zero."""
        nothing = np.zeros(0, dtype=np.int64)
        return cls(nothing, np.zeros(1, dtype=np.int64), nothing, np.zeros(0))

    @classmethod
    def on(cls, samples: SampleSet, labels: np.ndarray, values: np.ndarray) -> DualVariables:
        """Return dual variables on one labelling per sample.

        Parameters
        ----------
        samples : Samples
            The samples.
        labels : ndarray of int64, shape (n_nodes,)
            The labellings of all samples, one after the other.
        values : ndarray of float64, shape (n_samples,)
            The dual variable of each labelling.

        Raises
        ------
        ValueError
            If there is not one label per node and one value per sample.
        """
        labels, values = np.asarray(labels), np.asarray(values, dtype=np.float64)
        if labels.shape != (samples.n_nodes,) or values.shape != (samples.n_samples,):
            raise ValueError(
                f"labels and values have shapes {labels.shape} and {values.shape}; expected "
                f"({samples.n_nodes},), one per node, and ({samples.n_samples},), one per sample."
            )
        return cls(np.arange(samples.n_samples), samples.offsets, labels, values)

    def check(self, data: LabelledSamples, name: str = "alpha") -> None:
        """Check that the labellings belong to these samples; raise a ValueError if they don't.

        Parameters
        ----------
        data : LabelledSamples
            The samples with their labels.
        name : str, default="alpha"
            Name of the argument that holds the dual variables, for the error message.

        Raises
        ------
        ValueError
            If a sample, a labelling's length or a label code does not fit the samples.
        """
        samples = data.samples
        if not are_positions(self.sample, samples.n_samples):
            raise ValueError(
                f"{name} refers to a sample that is not among the {samples.n_samples} of the problem; "
                "expected dual variables of the same samples."
            )
        lengths = np.diff(self.offsets)
        wrong = np.flatnonzero(lengths != samples.lengths[self.sample])
        if len(wrong):
            i = self.sample[wrong[0]]
            raise ValueError(
                f"{name} has a labelling of {lengths[wrong[0]]} nodes for sample {i}; expected "
                f"{samples.lengths[i]} nodes."
            )
        if len(self.labels) != self.offsets[-1] or not are_positions(self.labels, data.n_labels):
            raise ValueError(
                f"{name} holds a label code outside the {data.n_labels} labels; expected whole numbers "
                f"from 0 to {data.n_labels - 1}, one per node."
            )

    def __len__(self) -> int:
        return len(self.values)

    def scaled(self, share: float) -> DualVariables:
        """Return these dual variables times a number."""
        return replace(self, values=share * self.values)

    def take(self, chosen: np.ndarray) -> DualVariables:
        """Return some of the labellings: those where a mask is true, or those at positions."""
        chosen = np.asarray(chosen)
        index = np.flatnonzero(chosen) if chosen.dtype == bool else chosen
        if not are_positions(index, len(self)) or (
            chosen.dtype == bool and len(chosen) != len(self)
        ):
            raise ValueError(
                f"chosen does not fit the {len(self)} labellings; expected {len(self)} booleans, or "
                f"whole numbers from 0 to {len(self) - 1}."
            )
        lengths = np.diff(self.offsets)[index]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        position = np.arange(offsets[-1]) + np.repeat(self.offsets[index] - offsets[:-1], lengths)
        return DualVariables(self.sample[index], offsets, self.labels[position], self.values[index])

    def concat(self, other: DualVariables) -> DualVariables:
        """Return these labellings, followed by those of ``other``."""
        return DualVariables(
            sample=np.concatenate([self.sample, other.sample]),
            offsets=np.concatenate([self.offsets, self.offsets[-1] + other.offsets[1:]]),
            labels=np.concatenate([self.labels, other.labels]),
            values=np.concatenate([self.values, other.values]),
        )

    def nodes(self, samples: SampleSet) -> np.ndarray:
        """Return the node to which each entry of ``labels`` belongs."""
        shift = samples.offsets[self.sample] - self.offsets[:-1]
        return np.arange(len(self.labels)) + np.repeat(shift, np.diff(self.offsets))

    def edges(self, samples: SampleSet) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return each edge's entry of the child, entry of the parent, and node of the child."""
        node, parents = self.nodes(samples), samples.forests.parents
        child = np.flatnonzero(parents[node] >= 0)
        parent = child - (node[child] - parents[node[child]])
        return child, parent, node[child]

    def losses(self, data: LabelledSamples) -> np.ndarray:
        """Return the loss of each labelling: its number of wrong labels, or their total cost."""
        node = self.nodes(data.samples)
        wrong = self.labels != data.labels[node]
        if data.costs is not None:
            return np.add.reduceat(wrong * data.costs[node], self.offsets[:-1])
        return np.add.reduceat(wrong, self.offsets[:-1], dtype=np.int64)

    def loss(self, data: LabelledSamples) -> float:
        """Return ``sum alpha_i(y) loss_i(y)``."""
        return math.fsum(self.values * self.losses(data))

    def totals(self, data: LabelledSamples) -> np.ndarray:
        """Return ``sum_y alpha_i(y)`` of each sample."""
        n_samples = data.samples.n_samples
        return np.bincount(self.sample, weights=self.values, minlength=n_samples)

    def entropies(self, data: LabelledSamples) -> np.ndarray:
        """Return the terms of ``sum_i total_i H(alpha_i / total_i)``, one per distinct labelling."""
        total: dict[tuple[int, bytes], float] = {}
        labels = np.ascontiguousarray(self.labels)
        columns = (self.sample, self.offsets[:-1], self.offsets[1:], self.values)
        for i, a, b, value in zip(*(column.tolist() for column in columns), strict=True):
            key = i, labels[a:b].tobytes()
            total[key] = total.get(key, 0.0) + value
        of_sample = self.totals(data)[np.array([i for i, _ in total], dtype=np.int64)]
        return of_sample * entr(np.array(list(total.values())) / of_sample)

    def differences(self, data: LabelledSamples) -> sp.csr_matrix:
        """Return ``f(x_i, y_i) - f(x_i, y)``, one sparse row for each labelling."""
        samples, shape = data.samples.take(self.sample), data.weight_shape
        truth = data.labels[self.nodes(data.samples)]
        true = inference.joint_features(samples, truth, shape)
        return true - inference.joint_features(samples, self.labels, shape)

    def eta(self, data: LabelledSamples) -> np.ndarray:
        """Return ``sum alpha_i(y) (f(x_i, y_i) - f(x_i, y))``, shape (n_weights,)."""
        samples, n_labels, node = data.samples, data.n_labels, self.nodes(data.samples)
        value = np.repeat(self.values, np.diff(self.offsets))
        per_node = np.bincount(node, weights=value, minlength=samples.n_nodes)
        cells = samples.n_nodes * n_labels
        difference = np.bincount(node * n_labels + self.labels, weights=-value, minlength=cells)
        difference = difference.reshape(samples.n_nodes, n_labels)
        difference[np.arange(samples.n_nodes), data.labels] += per_node
        child, parent, at = self.edges(samples)
        shape = data.allowed_pairs.shape

        def counts(above: np.ndarray, below: np.ndarray) -> np.ndarray:
            flat = np.ravel_multi_index((samples.edge_kinds[at], above, below), shape)
            found = np.bincount(flat, weights=value[child], minlength=data.allowed_pairs.size)
            return found.reshape(shape)

        true = counts(data.labels[samples.forests.parents[at]], data.labels[at])
        transitions = true - counts(self.labels[parent], self.labels[child])
        return data.join(inference.feature_sums(samples, difference), transitions)

    def is_feasible(self, data: LabelledSamples) -> bool:
        """Say whether no dual variable is negative and no labelling forbidden."""
        child, parent, at = self.edges(data.samples)
        kind = data.samples.edge_kinds[at]
        fine = data.allowed_pairs[kind, self.labels[parent], self.labels[child]]
        mask = data.allowed_labels
        may = mask is None or mask[self.nodes(data.samples), self.labels].all()
        return bool((self.values >= 0).all() and fine.all() and may)


@dataclass(frozen=True, eq=False)
class ModelDistributions:
    """Dual variables ``alpha_i = c_i p_i`` of log-linear models, as the sums that a dual value needs.

    Usually ``p_i`` is ``p_w(. | x_i)`` at the weights of a solution.  A solver may also keep a separate
    model for each sample.
    """

    natural_parameter: np.ndarray  # eta, by which observed features exceed expected ones
    expected_losses: np.ndarray  # (n_samples,); zeros where the loss has no part in the problem
    entropy: np.ndarray  # (n_samples,)
    log_losses: np.ndarray  # (n_samples,), -log p_i(y_i)

    def scaled(self, share: float) -> ModelDistributions:
        r"""Return the mixtures ``(1 - t) [y = y_i] + t p_i`` with the truth, ``t`` the share.

        With ``q = p_i(y_i)`` and ``a = 1 - t + t q`` the entropy of such a mixture is exactly
        ``-a log a - t (1 - q) log t + t (H(p_i) + q log q)``.
        """
        q = np.exp(-self.log_losses)
        others = (1.0 - q) * entr(share) + share * (self.entropy - entr(q))
        a = 1.0 - share + share * q
        return ModelDistributions(
            share * self.natural_parameter, share * self.expected_losses, entr(a) + others,
            -np.log(a),
        )  # fmt: skip

    def loss(self, data: LabelledSamples) -> float:
        """Return ``sum alpha_i(y) loss_i(y)``."""
        return math.fsum(data.sample_weight * self.expected_losses)

    def totals(self, data: LabelledSamples) -> np.ndarray:
        """Return ``sum_y alpha_i(y)`` of each sample: its weight."""
        return data.sample_weight

    def eta(self, data: LabelledSamples) -> np.ndarray:
        """Return ``sum alpha_i(y) (f(x_i, y_i) - f(x_i, y))``, shape (n_weights,)."""
        del data
        return self.natural_parameter

    def entropies(self, data: LabelledSamples) -> np.ndarray:
        """Return ``c_i H(p_i)``, shape (n_samples,)."""
        return data.sample_weight * self.entropy

    def is_feasible(self, data: LabelledSamples) -> bool:
        """Return True, because distributions are always feasible."""
        del data
        return True


@dataclass(frozen=True, eq=False)
class LocalPoint:
    """Messages and node beliefs, which certify weights on graphs with cycles.

    Parameters
    ----------
    messages : sequence of ndarray of shape (2 n_edges, n_labels, n_samples)
        Messages from the ends of the edges, one array for each set of samples with the same edges.
    beliefs : sequence of ndarray of shape (n_nodes, n_labels, n_samples)
        Beliefs of the nodes, one array for each such set.
    epsilon : float
        Temperature at which messages and beliefs were computed, not negative.
    """

    messages: Sequence[np.ndarray]
    beliefs: Sequence[np.ndarray]
    epsilon: float
