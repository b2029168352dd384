"""What training begins with, as its kernels want it: samples, weights, scratch space, dual variables.

Users see the weights label by label; kernels update all labels of a feature at once and want them side
by side.
"""

from dataclasses import replace
from typing import NoReturn

import numpy as np

from medn_edu.checks import shown
from medn_edu.kernels.atoms import fill_gram
from medn_edu.kernels.bundles import Blocks, Edges, Parts, TiltedPrior, Workspace
from medn_edu.priors import GaussianPrior
from medn_edu.problems import DualVariables, Problem
from medn_edu.samples import LabelledSamples, WeightShape
from medn_edu.slacks import LinearSlack

_MOST_PARTS = 64  # parts with the same label whose products are kept: memory grows with the square


def training_blocks(problem: Problem, gram_budget: int = 0) -> Blocks:
    """Collect what kernels read, and compute the Gram matrices that pay and fit into so many bytes.

    Kernels know forests, and a weight for each label and feature: cycles and Ising tables are refused.
    """
    data, samples = problem.data, problem.data.samples.forests
    _check_no_ising(problem)
    packed, edges = samples.packed, _edges(problem)
    if not edges.is_plain:
        gram_budget = 0
    is_root = samples.parents < 0
    n_nonzero = np.diff(samples.indptr[samples.offsets])
    size = np.where(samples.lengths**2 <= n_nonzero, samples.lengths**2, 0)
    size[8 * np.cumsum(size) > gram_budget] = 0
    gram_start = np.where(size > 0, np.cumsum(size) - size, -1)
    gram = np.zeros(int(size.sum()))
    row = np.zeros(samples.n_features)
    fill_gram(*packed.features, packed.offsets, gram_start, row, gram)
    return Blocks(
        *packed.features,
        offsets=packed.offsets,
        parents=np.where(is_root, -1, samples.parents - samples.offsets[samples.sample_of_node]),
        edge_kinds=packed.edge_kinds,
        edges=edges,
        labels=np.require(data.labels, requirements=["C", "W"]),
        costs=np.array(np.broadcast_to(data.loss_scale, samples.n_nodes), dtype=float),
        mask=np.require(
            np.ones((0, data.n_labels), bool)
            if data.allowed_labels is None
            else data.allowed_labels,
            requirements=["C", "W"],
        ),
        C=np.require(problem.C, np.float64, requirements=["C", "W"]),
        gram=gram,
        gram_start=gram_start,
    )


def _edges(problem: Problem) -> Edges:
    """Return which weights of transitions count at each kind of edge."""
    data, shape, samples = problem.data, problem.weight_shape, problem.data.samples.forests
    rows = samples.kind_rows(shape.n_tables)
    n_labels = data.n_labels
    pairs = np.arange(n_labels**2, dtype=np.int64).reshape(n_labels, n_labels)
    if data.table == "potts":
        pairs = np.eye(n_labels, dtype=np.int64) - 1
    n_cells = pairs.max() + 1
    return Edges(
        starts=rows.indptr.astype(np.int64),
        tables=shape.n_coef + n_cells * rows.indices.astype(np.int64),
        factors=rows.data.astype(np.float64),
        pairs=np.stack([pairs, pairs.T]),
        turned=samples.is_turned_kind().astype(np.int64),
        is_plain=samples.has_plain_edges and data.table == "full",
    )


def workspace(blocks: Blocks, shape: WeightShape) -> Workspace:
    """Return scratch space that is large enough for every sample."""
    longest = int(np.diff(blocks.offsets).max())
    return Workspace(
        scores=np.empty((longest, shape.n_labels)),
        augmented=np.empty((longest, shape.n_labels)),
        message=np.empty(shape.n_labels),
        labelling=np.empty(longest, dtype=np.int64),
        differs=np.zeros(longest, dtype=bool),
        parts=Parts(
            nodes=np.zeros((shape.n_labels, _MOST_PARTS), dtype=np.int64),
            count=np.zeros(shape.n_labels, dtype=np.int64),
            gram=np.zeros((_MOST_PARTS, _MOST_PARTS)),
            along=np.zeros(_MOST_PARTS),
        ),
        delta=np.zeros(shape.size),
        cells=np.zeros(shape.size, dtype=np.int64),
        seen=np.zeros(shape.size, dtype=bool),
    )


def tilted_prior(
    problem: Problem, eta: np.ndarray, order: np.ndarray, *, is_unit: bool = False
) -> TiltedPrior:
    """Tilt the prior by ``eta``, in the kernels' ``order``: means, variances, tables of transitions.

    With ``is_unit`` the prior is the standard normal one, whose means are ``eta`` itself.
    """
    prior, shape, allowed = problem.prior, problem.weight_shape, problem.data.allowed_pairs
    mean = eta if is_unit else _vector(prior.mean(eta, order), eta)
    _, transitions = shape.split(mean)
    edge = np.where(allowed, problem.data.samples.edge_tables(transitions), -np.inf)
    return TiltedPrior(
        coef=mean[: shape.n_coef].reshape(shape.n_features, shape.n_labels),
        edge=edge,
        edge_by_child=edge.transpose(0, 2, 1).copy(),
        eta=eta,
        mean=mean,
        variance=_vector(prior.variance(eta, order), eta),
    )


def kernel_order(shape: WeightShape) -> np.ndarray:
    """Return where each weight of the kernels stands in the public order."""
    coef, _ = shape.split(np.arange(shape.size))
    return np.concatenate([coef.T.ravel(), np.arange(shape.n_coef, shape.size)])


def rows_of(weights: np.ndarray, shape: WeightShape) -> np.ndarray:
    """Return weights in the kernels' order, a row for each feature and for each row of a table."""
    coef, transitions = shape.split(weights)
    return np.concatenate([coef.T, transitions.reshape(-1, shape.n_labels)])


def public_order(cells: np.ndarray, shape: WeightShape) -> np.ndarray:
    """Return a vector of the kernels in the public order, a copy."""
    coef = cells[: shape.n_coef].reshape(shape.n_features, shape.n_labels)
    return np.concatenate([coef.T.ravel(), cells[shape.n_coef :]])


def _vector(values: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Return what a prior answered as a vector that kernels may write to."""
    return np.array(np.broadcast_to(values, like.shape), dtype=np.float64)


def starting_point(
    warm_start: DualVariables | None, data: LabelledSamples, C: np.ndarray, *, is_fixed: bool
) -> DualVariables:
    """Return the dual variables to start from: those of the true labellings, then the others.

    ``is_fixed`` says whether those of sample ``i`` must sum to ``C_i``.  Then all are multiplied by one
    factor, until the first sample's sum reaches ``C_i``; this is needed when ``C`` has grown.  Sums
    above ``C_i`` are scaled down, and what is missing goes to the true labelling.  Otherwise the dual
    variable of the true labelling means nothing.
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


def scaled_to_fit(values: np.ndarray, sample: np.ndarray, C: np.ndarray) -> np.ndarray:
    """Return dual variables, scaled down where those of a sample exceed ``C_i`` together."""
    total = np.bincount(sample, values, len(C))
    return values * np.minimum(1.0, C / np.maximum(total, 1e-300))[sample]


def normal_variances(problem: Problem) -> np.ndarray:
    """Return the prior variances of M3N's weights: ``w = v * eta``, a normal prior, a linear slack."""
    prior = problem.regulariser
    if not isinstance(prior, GaussianPrior):
        raise TypeError(f"the prior is {prior!r}; this solver expects a GaussianPrior.")
    check_linear_slack(problem)
    return np.broadcast_to(prior.prior_variance, problem.weight_shape.size)


def check_plain(problem: Problem) -> None:
    """Refuse what only some solvers take: special edges and tables, label sets and costs."""
    check_plain_edges(problem)
    for what in ("allowed_labels", "costs"):
        if getattr(problem.data, what) is not None:
            _refuse({"costs": "label_costs"}.get(what, what))


def check_plain_edges(problem: Problem) -> None:
    """Refuse edge features, edges of graphs that had to be turned round, Potts and Ising tables."""
    samples = problem.data.samples.forests
    if samples.edge_features is not None:
        _refuse("edge features")
    _check_no_ising(problem)
    if problem.data.table == "potts":
        _refuse("Potts tables")
    if not samples.has_plain_edges:
        _refuse("graphs with edges that do not run from parent to child")


def _check_no_ising(problem: Problem) -> None:
    if problem.data.table == "ising":
        raise TypeError(
            "this solver takes no Ising tables; expected edge_table='potts', which can express "
            "the same models, or a CRF."
        )


def _refuse(what: str) -> NoReturn:
    raise TypeError(
        f"this solver takes no {what}; expected none, or the default solver, which takes them."
    )


def check_linear_slack(problem: Problem) -> None:
    """Refuse another loss than the margin loss with a linear slack."""
    slack = getattr(problem.loss, "slack", problem.loss)
    if not isinstance(slack, LinearSlack):
        raise TypeError(f"the slack is {slack!r}; this solver expects a LinearSlack.")


def check_warm_start(alpha: DualVariables, data: LabelledSamples) -> None:
    """Refuse dual variables that do not belong to these samples."""
    if not isinstance(alpha, DualVariables):
        raise TypeError(
            f"warm_start is {shown(alpha)}; expected DualVariables, such as the `alpha` of a result."
        )
    alpha.check(data, "warm_start")
    if not (np.isfinite(alpha.values) & (alpha.values >= 0)).all():
        raise ValueError(
            "warm_start holds a dual variable that is negative or not finite; expected finite numbers "
            "of at least 0."
        )
    if not alpha.is_feasible(data):
        raise ValueError(
            "warm_start holds a labelling with a label or transition that is forbidden now; expected "
            "the `forbidden` of the last fit and its allowed_labels, or warm_start=False."
        )
