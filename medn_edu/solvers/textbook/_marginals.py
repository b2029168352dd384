"""Marginals of dual masses that rest on one labelling per sample, where solvers on marginals start."""

from __future__ import annotations

import numpy as np

from medn_edu.problems.margins import MarginProblem
from medn_edu.results import DualMarginals

__all__ = ["add_labellings", "marginals_of"]


def marginals_of(problem: MarginProblem, labels: np.ndarray) -> DualMarginals:
    """Return the marginals of all mass on one labelling per sample.

    Parameters
    ----------
    problem : MarginProblem
        A problem with a linear slack.
    labels : ndarray of int, shape (n_nodes,)
        The labellings, all samples one after the other.
    """
    n_nodes, n_labels = problem.data.samples.n_nodes, problem.data.n_labels
    masses = DualMarginals(np.zeros((n_nodes, n_labels)), np.zeros((n_nodes, n_labels, n_labels)))
    add_labellings(problem, masses, labels, 1.0)
    return masses


def add_labellings(
    problem: MarginProblem, masses: DualMarginals, labels: np.ndarray, factor: float
) -> None:
    """Add ``factor`` times each sample's mass, on one labelling per sample, in place."""
    samples = problem.data.samples
    mass = factor * problem.mass[samples.sample_of_node]
    child = np.flatnonzero(samples.parents >= 0)
    masses.node[np.arange(len(labels)), labels] += mass
    masses.edge[child, labels[samples.parents[child]], labels[child]] += mass[child]
