"""Online exponentiated gradient, a fast solver for CRFs on text.

``online_exponentiated_gradient.md`` explains why it works.
"""

from collections.abc import Iterator

import numpy as np

from medn_edu.checks import check_rng
from medn_edu.kernels.log_linear import (
    FIRST_STEP,
    ON_THE_TRUTH,
    LogLinear,
    mean_squares,
    sum_models,
    visit_samples,
)
from medn_edu.problems import Problem, soft_max
from medn_edu.problems.dual_variables import ModelDistributions
from medn_edu.problems.regularisers import soft_threshold
from medn_edu.results import Iterate
from medn_edu.samples import LabelledSamples
from medn_edu.solvers.quasi_newton import starting_weights
from medn_edu.solvers.training import (
    check_plain_edges,
    public_order,
    rows_of,
    training_blocks,
)

# Chosen on made-up text with one seed, WNUT17 and small chains; others would do nearly as well.
_CURVATURE = 0.1  # of the proximal term at first, times the features of a node
_STEPS = 0.25, 0.75  # where the median step should be; a larger curvature makes steps longer
_RANGE = 2.0**10  # how many times larger or smaller it gets than at first
_INEXACT = 4.0  # the gap to the optimum around the centre, relative to what moving there costs
_LARGE = 2.0  # gaps of samples that are visited again in the same pass, relative to the mean gap,
_AGAIN = 3  # and how often at most
_ROUNDING = 1e-13  # of the objective: what is left of that gap then says nothing

MANY_FEATURES = 500  # with more, L-BFGS cannot start from how features go together
SPARSE = 0.1  # share of the features that nodes have on average
LARGEST = 0.1  # share of the nodes in one sample; steps of one length suit larger ones badly
MOST_BYTES = 2**32  # for the potentials of all samples


def online_exponentiated_gradient(
    problem: Problem, *, rng: np.random.Generator, warm_start: np.ndarray | None = None
) -> Iterator[Iterate]:
    """Minimise a regularised soft-max problem, sample by sample (Collins et al. 2008).

    A pass visits all samples in random order, and then revisits those with much to gain.  A visit moves
    the dual variables of one sample, and with them the weights of the features that occur in it.  The
    passes solve *proximal* problems, which have an additional square around a centre.  The centre
    follows the weights with momentum (Guler 1992, Lin et al. 2015).  So penalties may be small or have
    kinks.

    Parameters
    ----------
    problem : Problem
        A soft-max loss with an `L2Norm`, `L1Norm` or `ElasticNet` that is not 0.  The data must have
        full transition tables and no edge features.
    rng : numpy.random.Generator
        Draws the order of the visits.
    warm_start : ndarray of shape (n_weights,), optional
        Weights to start from; by default zeros.  Weights of forbidden transitions are set to 0.

    Yields
    ------
    Iterate
        ``objective_estimate`` is the dual value at the solver's own dual variables.  ``gap_estimate``
        is the sum of the gaps that the visits found.  Neither costs a sweep.

    Raises
    ------
    TypeError
        If the problem has another loss or regulariser, edge features or Potts tables.
    ValueError
        If the regulariser is 0, or ``warm_start`` has the wrong shape or is not finite.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.problems import L1Norm, Problem, SoftMaxLoss
    >>> from medn_edu.results import run
    >>> problem = Problem.of([np.eye(2)], [[0, 1]], SoftMaxLoss(), L1Norm(0.4))
    >>> iterates = online_exponentiated_gradient(problem, rng=np.random.default_rng(0))
    >>> run(iterates, problem, tol=1e-6, max_iter=200).weights.round(2) + 0.0
    array([0. , 0. , 0. , 0. , 0. , 1.5, 0. , 0. ])
    """
    check_rng(rng)
    check_plain_edges(problem)
    net = problem.elastic_net
    if not (net.l1 > 0 or net.l2 > 0):
        raise ValueError(
            f"the regulariser is {problem.regulariser!r}; online_exponentiated_gradient expects l1 "
            "or l2 above 0; without a penalty use lbfgs."
        )
    ascent, n_sweeps = _Ascent(problem), 0
    if warm_start is not None:
        weights, n_sweeps = starting_weights(problem.data, warm_start), 1
        value, gradient = soft_max.smooth_part(problem, weights)
        yield Iterate(
            weights=weights,
            gap_estimate=soft_max.gap_estimate(problem, weights, value, gradient),
            objective_estimate=value + net.magnitudes(weights),
            n_oracle_calls=problem.n_samples,
        )
        ascent.move_centre(rows_of(weights, problem.weight_shape))
    while True:
        ascent.visit(rng)
        yield ascent.iterate(n_sweeps * problem.n_samples)
        ascent.follow()


def suits_visits(data: LabelledSamples) -> bool:
    """Say whether `online_exponentiated_gradient` is likely to be the fastest solver for some data.

    It is likely to be if features are many and sparse, as in text, and no sample holds much of the data.

    Parameters
    ----------
    data : LabelledSamples
        The training data.

    Returns
    -------
    bool
        True if it is.  False also if the solver could not run on these data: with edge features, with
        Potts tables, or with more than 4 GB of potentials.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu.samples import labelled
    >>> words = np.eye(600)
    >>> suits_visits(labelled([words[i : i + 30] for i in range(0, 600, 30)], [[0, 1] * 15] * 20))
    True
    >>> suits_visits(labelled([np.eye(2)], [[0, 1]]))
    False
    """
    samples = data.samples
    if not samples.has_plain_edges or data.table != "full":
        return False
    n_numbers = data.n_labels * samples.n_nodes + data.allowed.size * samples.n_samples
    return bool(
        samples.n_features > MANY_FEATURES
        and len(samples.data) <= SPARSE * samples.n_nodes * samples.n_features
        and samples.lengths.max() <= LARGEST * samples.n_nodes
        and 4 * n_numbers <= MOST_BYTES
    )


class _Ascent:
    """A log-linear model of each sample, the weights that belong to them, and the proximal term.

    Weights and all that belongs to them are rows, as the kernels have them.  ``tilted`` is ``eta``
    plus the proximal term's ``curvature * scales * centre``.
    """

    def __init__(self, problem: Problem) -> None:
        data, loss = problem.data, problem.soft_max_loss
        self.problem, self.net, self.epsilon = problem, problem.elastic_net, loss.epsilon
        self.blocks, self.models = training_blocks(problem), _on_the_truth(data)
        self.costs = self.blocks.costs if loss.loss_augmented else np.zeros(len(data.labels))
        self.scales, self.curvature = _proximal_term(problem)
        self.first_curvature = self.curvature
        self.n_sums, self.age, self.objective = 0, 0, 0.0
        self.tilted = np.zeros((len(self.scales), data.n_labels))
        # Any centre will do, so single precision does.
        self.centre, self.previous = np.zeros((2, *self.tilted.shape), dtype=np.float32)

    def visit(self, rng: np.random.Generator) -> None:
        """Visit all samples in random order, and those with large gaps more than once."""
        n_samples, gap = self.problem.n_samples, self.models.gap
        times = np.ones(n_samples, dtype=np.int64)
        if 0.0 < gap.sum() < np.inf:
            times += np.minimum(gap / (_LARGE * gap.mean()), _AGAIN).astype(np.int64)
        order = rng.permutation(np.repeat(np.arange(n_samples), times))
        self.n_sums += visit_samples(
            order, self.blocks, self.costs, self.problem.data.allowed, self.epsilon,
            self.net.l1, self._shares().ravel(), self.models, self.tilted,
        )  # fmt: skip

    def follow(self) -> None:
        """Move the centre to the weights and beyond, if they are near the optimum around it."""
        weights = self._weights()
        away = weights - self.centre
        enough = 0.5 * _INEXACT * self.curvature * self._product(away, away)
        gap, rounding = self.models.gap.sum(), _ROUNDING * abs(self.objective)
        if not gap <= enough + rounding:
            return
        movement = weights - self.previous
        # The momentum is lost where it leads away from where the weights want to go.
        self.age = 0 if self._product(away, movement) < 0 else self.age + 1
        self.previous[:] = weights
        movement *= self.age / (self.age + 3)
        movement += weights
        median = float(np.median(self.models.step))
        factor = 2.0 if median < _STEPS[0] else 0.5 if median > _STEPS[1] else 1.0
        # Where rounding leaves steps as they are, the curvature would change for ever.
        change = factor * self.curvature / self.first_curvature
        if gap <= rounding or not 1.0 / _RANGE <= change <= _RANGE:
            factor = 1.0
        self.move_centre(movement, factor)

    def move_centre(self, centre: np.ndarray, factor: float = 1.0) -> None:
        """Change the proximal term; the dual variables stay and the weights follow."""
        self.tilted -= self.curvature * self.scales * self.centre
        self.curvature *= factor
        self.centre[:] = centre
        self.tilted += self.curvature * self.scales * self.centre

    def _product(self, x: np.ndarray, y: np.ndarray) -> float:
        """Return the inner product of rows of weights, in the scales of the proximal term."""
        return float(np.einsum("ka,ka,k->", x, y, self.scales[:, 0]))

    def _shares(self) -> np.ndarray:
        """Return the share of the soft threshold of ``tilted`` that weights are."""
        return 1.0 / (self.net.l2 + self.curvature * self.scales)

    def _weights(self) -> np.ndarray:
        """Return the weights; they are not kept, because memory is short where they are very many."""
        l1 = self.net.l1
        return self._shares() * (soft_threshold(self.tilted, l1) if l1 > 0 else self.tilted)

    def iterate(self, n_calls: int) -> Iterate:
        """Return weights and estimates, which cost no sweep."""
        data, models, weights = self.problem.data, self.models, self._weights().ravel()
        eta = self.curvature * self.scales * self.centre
        eta = np.subtract(self.tilted, eta, out=eta).ravel()
        entropies = np.where(models.entropy == ON_THE_TRUTH, 0.0, models.entropy)
        point = ModelDistributions(eta, models.loss, entropies, -models.log_truth)
        self.objective = self.problem.dual(point)
        # A sample's loss exceeds what its dual variables say of it by the gap that its visit found.
        gap = self.net.value(weights) - float(weights @ eta)
        gap += point.loss(data) + self.epsilon * float(point.entropies(data).sum())
        gap += float(models.gap.sum()) - self.objective
        return Iterate(
            weights=public_order(weights, self.problem.weight_shape),
            gap_estimate=gap,
            objective_estimate=self.objective,
            n_oracle_calls=n_calls + self.n_sums,
            dual=self.dual,
        )

    def dual(self) -> ModelDistributions:
        """Return the dual variables as sums, computed from the potentials alone."""
        shape = self.problem.weight_shape
        eta = np.zeros_like(self.tilted)
        entropies, losses, log_truths = np.zeros((3, self.problem.n_samples))
        sum_models(
            self.blocks, self.costs, self.problem.data.allowed, self.models,
            eta, entropies, losses, log_truths,
        )  # fmt: skip
        return ModelDistributions(public_order(eta.ravel(), shape), losses, entropies, -log_truths)


def _proximal_term(problem: Problem) -> tuple[np.ndarray, float]:
    """Return a scale for each row of weights, as a column, and the curvature at first.

    The scale of a feature is its mean square where it occurs, so that units do not matter.
    """
    data = problem.data
    samples, n_labels = data.samples, data.n_labels
    scales = np.ones(samples.n_features + len(data.allowed) * n_labels)
    mean_squares(*samples.packed.features[:2], scales[: samples.n_features])
    per_node = len(samples.data) / samples.n_nodes
    temperature = problem.soft_max_loss.epsilon / float(data.sample_weight.mean())
    return scales[:, None], max(_CURVATURE * per_node, 1.0) / temperature


def _on_the_truth(data: LabelledSamples) -> LogLinear:
    """Return models whose potentials do not count yet: all samples are on their true labellings."""
    samples, n_samples = data.samples, data.samples.n_samples
    return LogLinear(
        node=np.zeros((samples.n_nodes, data.n_labels), dtype=np.float32),
        edge=np.zeros((n_samples, *data.allowed.shape), dtype=np.float32),
        entropy=np.full(n_samples, ON_THE_TRUTH),
        loss=np.zeros(n_samples),
        log_truth=np.zeros(n_samples),
        step=np.full(n_samples, FIRST_STEP),
        gap=np.full(n_samples, np.inf),
    )
