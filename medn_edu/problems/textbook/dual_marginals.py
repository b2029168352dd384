"""Dual variables summed by node and edge, for solvers that change very many at once."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from medn_edu import inference
from medn_edu.samples import LabelledSamples, SampleSet

_ROUNDING = 1e-9  # how far marginals may be from consistent, relative to their sum


@dataclass(frozen=True, eq=False)
class DualMarginals:
    """Factored dual variables: their sums per label at each node and per transition at each edge.

    The dual of a margin problem depends on ``alpha_i(y)`` only through these sums (Taskar et al.
    2003).  So a solver that changes very many labellings at once can keep the sums instead.

    Parameters
    ----------
    node : ndarray of float64, shape (n_nodes, n_labels)
        Sum over the labellings that give each node each label.
    edge : ndarray of float64, shape (n_nodes, n_labels, n_labels)
        At node ``t`` the sum over the labellings with ``[parent's label, child's label]`` on the edge
        to it; zeros at roots.
    """

    node: np.ndarray
    edge: np.ndarray

    @classmethod
    def on(cls, data: LabelledSamples, labels: np.ndarray, values: np.ndarray) -> DualMarginals:
        """Return the marginals of dual variables on one labelling per sample.

        Parameters
        ----------
        data : LabelledSamples
            The samples.
        labels, values : ndarray
            As for `DualVariables.on`.
        """
        n_nodes, n_labels = data.samples.n_nodes, data.n_labels
        zeros = cls(np.zeros((n_nodes, n_labels)), np.zeros((n_nodes, n_labels, n_labels)))
        zeros.add(data.samples, labels, values)
        return zeros

    def add(self, samples: SampleSet, labels: np.ndarray, values: np.ndarray) -> None:
        """Add dual variables on one labelling per sample, in place.

        Parameters
        ----------
        samples, labels, values : Samples and two ndarrays
            As for `DualVariables.on`.
        """
        value = values[samples.sample_of_node]
        parents = samples.forests.parents
        child = np.flatnonzero(parents >= 0)
        self.node[np.arange(len(labels)), labels] += value
        self.edge[child, labels[parents[child]], labels[child]] += value[child]

    def scaled(self, share: float | np.ndarray) -> DualMarginals:
        """Return these dual variables times a number, or times one number per node."""
        factor = np.asarray(share)
        return DualMarginals(factor[..., None] * self.node, factor[..., None, None] * self.edge)

    def loss(self, data: LabelledSamples) -> float:
        """Return ``sum alpha_i(y) loss_i(y)``."""
        true = self.node[np.arange(len(self.node)), data.labels]
        return math.fsum(data.loss_scale * (self.node.sum(axis=1) - true))

    def totals(self, data: LabelledSamples) -> np.ndarray:
        """Return ``sum_y alpha_i(y)`` of each sample."""
        return self.node[data.samples.offsets[:-1]].sum(axis=1)

    def eta(self, data: LabelledSamples) -> np.ndarray:
        """Return ``sum alpha_i(y) (f(x_i, y_i) - f(x_i, y))``, shape (n_weights,)."""
        samples, totals = data.samples.forests, self.totals(data)
        difference = -self.node
        difference[np.arange(samples.n_nodes), data.labels] += totals[samples.sample_of_node]
        transitions = inference.edge_counts(
            samples, data.labels, data.n_labels, totals, n_edge_types=len(data.allowed)
        )
        child = np.flatnonzero(samples.parents >= 0)
        # As a product this is several times as fast as `np.subtract.at`.
        where = (np.ones(len(child)), (samples.edge_kinds[child], child))
        by_kind = sp.csr_array(where, shape=(len(transitions), samples.n_nodes))
        transitions -= (by_kind @ self.edge.reshape(samples.n_nodes, -1)).reshape(transitions.shape)
        return data.join(inference.feature_sums(samples, difference), transitions)

    def is_feasible(self, data: LabelledSamples) -> bool:
        """Say whether the sums are those of some non-negative dual variables, up to rounding.

        On forests they are if they agree along every edge.
        """
        samples, totals = data.samples.forests, self.totals(data)
        child = np.flatnonzero(samples.parents >= 0)
        off = np.abs(self.node.sum(axis=1) - totals[samples.sample_of_node])
        off = np.maximum(off, -self.node.min(axis=1))
        off = np.maximum(off, -self.edge.reshape(samples.n_nodes, -1).min(axis=1))
        if data.allowed_labels is not None:
            off += np.where(data.allowed_labels, 0.0, np.abs(self.node)).sum(axis=1)
        if not data.allowed.all():
            edge, forbidden = self.edge[child], ~data.allowed_pairs[samples.edge_kinds[child]]
            off[child] += np.where(forbidden, np.abs(edge), 0.0).sum(axis=(1, 2))
        ones = np.ones(data.n_labels)  # products are faster than sums along an axis
        for sums, nodes in (
            ((ones @ self.edge)[child], child),
            ((self.edge @ ones)[child], samples.parents[child]),
        ):
            apart = np.abs(sums - self.node[nodes]).max(axis=1, initial=0.0)
            off[child] = np.maximum(off[child], apart)
        return bool(np.all(off <= _ROUNDING * totals[samples.sample_of_node]))
