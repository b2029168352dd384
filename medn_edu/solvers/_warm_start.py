"""Where to start: on the true labellings, or from dual variables of an earlier solution."""

from __future__ import annotations

import numpy as np

from medn_edu.results import DualVariables
from medn_edu.samples import LabelledSamples

__all__ = ["check_warm_start", "starting_masses"]


def starting_masses(
    warm_start: DualVariables | None, data: LabelledSamples, mass: np.ndarray, *, fixed: bool
) -> DualVariables:
    """Return masses to start from: those of the true labellings, then the others.

    Parameters
    ----------
    warm_start : DualVariables or None
        Masses of an earlier solution of a problem of the same samples.
    data : LabelledSamples
        The samples.
    mass : ndarray of shape (n_samples,)
        Mass of each sample, if it is fixed.
    fixed : bool
        Whether it is.  Then all masses grow together until the first sample is full, as they must
        when ``C`` has grown; samples with too much are scaled down, and what is missing goes to the
        true labelling.  Otherwise what the true labelling carries means nothing.

    Returns
    -------
    DualVariables
        Labellings and masses, perhaps with repetitions; the true labellings of all samples come first.

    Raises
    ------
    ValueError
        If ``warm_start`` does not belong to these samples.
    """
    samples, n_samples = data.samples, data.samples.n_samples
    if warm_start is None:
        return DualVariables(np.arange(n_samples), samples.offsets, data.labels, mass)
    check_warm_start(warm_start, data)
    scale, missing = np.ones(n_samples), mass
    if fixed:
        total = np.bincount(warm_start.sample, weights=warm_start.values, minlength=n_samples)
        room = mass / np.maximum(total, 1e-300)
        growth = np.min(room[total > 0], initial=np.inf)
        scale = np.where(total > 0, np.minimum(room, max(growth, 1.0)), 1.0)
        missing = np.maximum(mass - scale * total, 0.0)
    kept = np.flatnonzero(warm_start.values)
    lengths = np.diff(warm_start.offsets)
    labels = warm_start.labels[np.repeat(warm_start.values != 0, lengths)]
    return DualVariables(
        sample=np.concatenate([np.arange(n_samples), warm_start.sample[kept]]),
        offsets=np.concatenate([samples.offsets, samples.offsets[-1] + np.cumsum(lengths[kept])]),
        labels=np.concatenate([data.labels, labels]),
        values=np.concatenate([missing, (scale[warm_start.sample] * warm_start.values)[kept]]),
    )


def check_warm_start(alpha: DualVariables, data: LabelledSamples) -> None:
    """Refuse masses that do not belong to these samples."""
    samples = data.samples
    if len(alpha) and not (alpha.sample.min() >= 0 and alpha.sample.max() < samples.n_samples):
        raise ValueError(
            f"warm_start names a sample beyond the {samples.n_samples} of the problem."
        )
    lengths = np.diff(alpha.offsets)
    wrong = np.flatnonzero(lengths != samples.lengths[alpha.sample])
    if len(wrong):
        i = alpha.sample[wrong[0]]
        raise ValueError(
            f"warm_start has a labelling of {lengths[wrong[0]]} nodes for sample {i}; "
            f"expected {samples.lengths[i]}."
        )
    if not (np.isfinite(alpha.values) & (alpha.values >= 0)).all():
        raise ValueError("warm_start holds a mass that is negative or not finite.")
    if len(alpha.labels) and not (alpha.labels.min() >= 0 and alpha.labels.max() < data.n_labels):
        raise ValueError(f"warm_start holds a label code beyond the {data.n_labels} labels.")
    position = np.arange(len(alpha.labels))
    node = position + np.repeat(samples.offsets[alpha.sample] - alpha.offsets[:-1], lengths)
    child = np.flatnonzero(samples.parents[node] >= 0)
    above = child - (node[child] - samples.parents[node[child]])
    edge_type = samples.edge_types[node[child]]
    if not data.allowed[edge_type, alpha.labels[above], alpha.labels[child]].all():
        raise ValueError("warm_start holds a labelling that uses a forbidden transition.")
