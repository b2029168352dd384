"""Where to start: on the true labellings, or from dual variables of an earlier solution."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from medn_edu.problems import DualVariables
from medn_edu.samples import LabelledSamples

__all__ = ["check_warm_start", "starting_point"]


def starting_point(
    warm_start: DualVariables | None, data: LabelledSamples, C: np.ndarray, *, is_fixed: bool
) -> DualVariables:
    """Return the dual variables to start from: those of the true labellings, then the others.

    ``is_fixed`` says whether those of sample ``i`` must sum to ``C_i``.  Then all of them grow together
    until the first sample is full, as they must when ``C`` has grown; samples with too much are scaled
    down, and what is missing goes to the true labelling.  Otherwise the dual variable of the true
    labelling means nothing.  Labellings may be repeated.  A ``warm_start`` that does not belong to these
    samples is a ValueError.
    """
    samples, n_samples = data.samples, data.samples.n_samples
    if warm_start is None:
        return DualVariables.on(samples, data.labels, C)
    check_warm_start(warm_start, data)
    scale, missing = np.ones(n_samples), C
    if is_fixed:
        total = np.bincount(warm_start.sample, weights=warm_start.values, minlength=n_samples)
        most = C / np.maximum(total, 1e-300)
        growth = np.min(most[total > 0], initial=np.inf)
        scale = np.where(total > 0, np.minimum(most, max(growth, 1.0)), 1.0)
        missing = np.maximum(C - scale * total, 0.0)
    others = replace(warm_start, values=scale[warm_start.sample] * warm_start.values)
    truth = DualVariables.on(samples, data.labels, missing)
    return truth.concat(others.take(warm_start.values != 0))


def check_warm_start(alpha: DualVariables, data: LabelledSamples) -> None:
    """Refuse dual variables that do not belong to these samples."""
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
        raise ValueError("warm_start holds a dual variable that is negative or not finite.")
    if len(alpha.labels) and not (alpha.labels.min() >= 0 and alpha.labels.max() < data.n_labels):
        raise ValueError(f"warm_start holds a label code beyond the {data.n_labels} labels.")
    child, parent, at = alpha.edges(samples)
    if not data.allowed[samples.edge_types[at], alpha.labels[parent], alpha.labels[child]].all():
        raise ValueError("warm_start holds a labelling that uses a forbidden transition.")
