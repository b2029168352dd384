"""What quasi-Newton solvers need from a soft-max problem: gradient, gap and curvature.

With an elastic net the objective is ``P(w) = S(w) + l1 |w|_1``.  The *smooth part* ``S`` consists of the
losses and the squares.  Its gradient is

    l2 w + sum_i c_i (E_p f(x_i, y) - f(x_i, y_i)),    p = p_w(. | x_i),

so one sweep over the samples gives the value and the gradient, and these two give the gap.  Each
function takes a `Problem` with a `SoftMaxLoss` and an `ElasticNet`.  Functions that need the regulariser
raise a TypeError for any other.
"""

import math
from dataclasses import dataclass

import numpy as np

from medn_edu import inference
from medn_edu.priors import GaussianPrior
from medn_edu.problems.dual_variables import ModelDistributions
from medn_edu.problems.losses import MarginLoss
from medn_edu.problems.problem import Problem
from medn_edu.slacks import LinearSlack


def smooth_part(problem: Problem, weights: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the smooth part ``S(w)`` and its gradient.

    The gradient is 0 at forbidden transitions whose weight is 0.
    """
    l2 = problem.elastic_net.l2
    found = problem.soft_max_loss._expected(problem, weights)
    log_partition = math.fsum(problem.data.sample_weight * found.log_partition)
    features = problem.data.join(found.feature_sums, found.edge_counts)
    # w . observed is the weighted sum of the scores of the true labellings.
    loss = log_partition - float(weights @ problem.observed)
    squares = 0.5 * l2 * float(weights @ weights)
    return loss + squares, l2 * weights - problem.observed + features


def gap_estimate(
    problem: Problem, weights: np.ndarray, value: float, gradient: np.ndarray
) -> float:
    """Estimate the duality gap from what `smooth_part` returns, without another sweep.

    With squares the estimate is exact up to rounding.  Without them the sum of the entropies is
    ``S(w) + w . eta``, because ``H(p_w) = log Z - E F``.  The dual variables are then scaled, and the
    entropy of the scaled ones is approximated as if the true labellings of all samples were equally
    likely.
    """
    net = problem.elastic_net
    if net.l1 == 0:
        return float(gradient @ gradient) / (2 * net.l2) if net.l2 > 0 else math.inf
    if net.l2 > 0:
        return net._gap(weights, net.l2 * weights - gradient)
    total = float(problem.data.sample_weight.sum())
    entropy = value - float(weights @ gradient)
    mean_loss = np.array([max(value / total, 0.0)])
    mean = ModelDistributions(gradient, np.zeros(1), np.array([entropy / total]), mean_loss)
    mixture = float(mean.scaled(net.dual_scaling(0.0, gradient)).entropy[0])
    return max(value + net.magnitudes(weights) - total * mixture, 0.0)


@dataclass(frozen=True, eq=False)
class Curvature:
    """The parts of an approximate Hessian of the soft-max loss.

    Here ``p_t`` are the marginals of node ``t``, ``c_t`` is the weight of its sample, and ``n_ab`` is
    the expected number of transitions.
    """

    # sum_t c_t (diag(p_t) - p_t p_t^T) / epsilon: label covariances, summed; of -1 and +1 a variance
    labels: np.ndarray
    trace: np.ndarray  # (n_nodes,): trace of each node's label covariance, c_t (1 - |p_t|^2)
    transitions: np.ndarray  # (n_weights - n_coef,): n_ab (1 - n_ab / n_a) / epsilon, a diagonal


def curvature(problem: Problem, weights: np.ndarray) -> Curvature:
    """Return the parts of an approximate Hessian of the loss, at the cost of one more sweep."""
    data, loss = problem.data, problem.soft_max_loss
    marginals = inference.marginals(
        loss._potentials(problem, weights), loss.epsilon,
        sample_weight=data.sample_weight, n_jobs=problem.n_jobs,
    )  # fmt: skip
    p, c = marginals.node, data.sample_weight[data.samples.sample_of_node]
    weighted, counts = p * c[:, None], marginals.edge_counts
    from_parent = np.maximum(counts.sum(axis=2, keepdims=True), np.finfo(float).tiny)
    tables = np.maximum(counts * (1.0 - counts / from_parent), 0.0) / loss.epsilon
    shape = problem.weight_shape
    tables = data.samples.table_sums(tables, shape.n_tables, squared=True)
    labels = (np.diag(weighted.sum(axis=0)) - weighted.T @ p) / loss.epsilon
    if shape.table == "ising":  # -1 and +1 vary by four times as much as 0 and 1
        labels, transitions = 4 * labels[1:, 1:], 2 * tables.sum(axis=(1, 2))
    else:
        transitions = shape.join(np.empty(0), tables)
    return Curvature(labels, c - np.einsum("ta,ta->t", weighted, p), transitions)


def softness(problem: Problem) -> float:
    """Return the most by which soft-max and max can differ, ``epsilon sum_i c_i log |Y_i|``."""
    even = problem.potentials(np.zeros(problem.weight_shape.size))
    log_numbers = inference.log_partition(even, n_jobs=problem.n_jobs)
    return problem.soft_max_loss.epsilon * math.fsum(problem.data.sample_weight * log_numbers)


def hard_problem(problem: Problem) -> Problem:
    """Return the loss-augmented problem at temperature 0, divided by ``l2``: M3N.

    Raises a ValueError if there are no squares, because there is nothing to divide by, or if the
    problem is not loss-augmented, because weights of 0 are then optimal.
    """
    if problem.elastic_net.l1 > 0:
        raise TypeError(
            f"the regulariser is {problem.regulariser!r}, but M3N has no L1 norm; expected an L2Norm."
        )
    l2, loss_augmented = problem.elastic_net.l2, problem.soft_max_loss.loss_augmented
    if not (l2 > 0 and loss_augmented):
        raise ValueError(
            f"the problem has l2={l2:g} and loss_augmented={loss_augmented}; the hard problem needs "
            "l2 > 0 and loss_augmented=True."
        )
    loss = MarginLoss(LinearSlack(1.0 / l2))
    return Problem(problem.data, loss, GaussianPrior(), problem.n_jobs)
