"""The family between CRF and M3N as an estimator."""

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

from medn_edu.checks import check_choice, check_nonnegative, check_positive, random_generator
from medn_edu.estimators.graphs import GraphNetwork
from medn_edu.priors import GaussianPrior
from medn_edu.problems import L2Norm, LocalProblem, MarginLoss, Problem, SoftMaxLoss
from medn_edu.results import Iterate, SolveResult
from medn_edu.samples import LabelledSamples
from medn_edu.slacks import LinearSlack
from medn_edu.solvers import (
    block_frank_wolfe,
    lbfgs,
    online_exponentiated_gradient,
    softening,
    suits_visits,
)

_WARM = 0.1  # the lowest temperature at which visits beat softening


@dataclass(eq=False, repr=False)
class EpsilonMarkovNetwork(GraphNetwork):
    """Markov network with a temperature, which leads from M3N to CRF (Hazan and Urtasun 2010).

    Minimises ``|w|^2 / 2 + C sum_i [epsilon log sum_y exp((loss_i(y) + F(x_i, y)) / epsilon) -
    F(x_i, y_i)]``, with ``F(x, y) = w . f(x, y)``.  With ``epsilon = 0`` the soft-max becomes the
    maximum, and this is `M3N`.  With ``epsilon = 1`` and without the loss, it is the `CRF` with ``lam =
    1 / C``.  With the loss, the optimum is never below that of M3N, and exceeds it by at most ``C
    epsilon sum_i log |Y_i|``, where ``|Y_i|`` is the number of labellings of sample ``i``.  The solution
    comes with its duality gap at every temperature.

    If features are many and sparse, like those of text, and ``epsilon`` is at least 0.1, training visits
    samples one by one, like `CRF`.  Otherwise it solves M3N first and then continues with L-BFGS,
    because at low temperatures the two problems are nearly the same.

    On graphs with cycles, local entropies replace the entropy.  This is *approximated structured
    prediction*, and its gap is certified too (``solved_`` says what was solved).  There `predict`
    returns each node's most probable label under the beliefs at the model's own ``epsilon``.  On other
    samples it returns the best labelling, whatever ``epsilon`` is.

    Parameters
    ----------
    C : float, default=1.0
        Price of the losses; positive.  Larger values fit the training data more closely.
    epsilon : float, default=1.0
        Temperature, not negative.
    loss : {"hamming", None}, default="hamming"
        What is added to the scores of wrong labellings: the number of wrong nodes, or nothing.
    counting_numbers : str, pair of floats or None, default=None
        For graphs with cycles, where the soft-max is approximated: how much the entropies of nodes and
        edges count (`medn_edu.inference.loopy.norm_product`).  By default, each counts once on graphs
        with cycles.  Graphs without cycles use the Bethe numbers by default, because they are exact
        there.  If you give numbers, they are used on all graphs.
    max_iter : int, default=1000
        Largest number of passes over the samples or, once L-BFGS has taken over, of iterations.
    forbidden, label_costs, edge_table, tol, warm_start, random_state, n_jobs, verbose
        As for `M3N`; costs weight the Hamming loss.

    Examples
    --------
    The lower the temperature, the closer the optimum is to that of M3N:

    >>> import numpy as np
    >>> from medn_edu import M3N, EpsilonMarkovNetwork
    >>> X = [np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[0.0, 1.0]])]
    >>> y = [["noun", "verb"], ["verb"]]
    >>> for epsilon in (1.0, 0.1, 0.01, 0.0):
    ...     model = EpsilonMarkovNetwork(epsilon=epsilon, tol=1e-6).fit(X, y)
    ...     print(round(model.result_.primal, 3))
    2.195
    0.543
    0.407
    0.393
    >>> round(M3N(tol=1e-6).fit(X, y).result_.primal, 3)
    0.393
    """

    C: float = 1.0
    epsilon: float = 1.0
    _: KW_ONLY
    loss: str | None = "hamming"
    random_state: Any = 0

    def _problem(self, data: LabelledSamples, n_jobs: int) -> Problem:
        C = check_positive("C", self.C)
        epsilon = check_nonnegative("epsilon", self.epsilon)
        check_choice("loss", self.loss, (None, "hamming"))
        if self.loss is None and self.label_costs is not None:
            raise ValueError(
                "loss is None, so label_costs have no loss to weight; expected loss='hamming', or "
                "label_costs=None."
            )
        if epsilon == 0 and self.loss is None:
            raise ValueError(
                "epsilon is 0 and loss is None, a problem that is solved by setting all weights to 0; "
                "expected a positive epsilon, or loss='hamming'."
            )
        if self._is_local(data.samples):
            augmented = self.loss is not None
            return self._local_problem(data, n_jobs, epsilon=epsilon, C=C, loss_augmented=augmented)
        if epsilon == 0:
            return Problem(data, MarginLoss(LinearSlack(C)), GaussianPrior(), n_jobs)
        # With C in the weights of the samples, both sides of the certificate are of the objective
        # as it is stated.
        priced = replace(data, sample_weight=C * data.sample_weight)
        loss = SoftMaxLoss(epsilon, loss_augmented=self.loss is not None)
        return Problem(priced, loss, L2Norm(1.0), n_jobs)

    def _iterates(self, problem: Problem, start: SolveResult | None) -> Iterator[Iterate]:
        if isinstance(problem, LocalProblem):
            return self._local_iterates(problem, start)
        rng = random_generator(self.random_state)
        alpha = start.alpha if start else None
        if isinstance(problem.loss, MarginLoss):
            return block_frank_wolfe(problem, rng=rng, warm_start=alpha)
        weights = start.weights if start else None
        if problem.loss.epsilon >= _WARM and suits_visits(problem.data):
            return online_exponentiated_gradient(problem, rng=rng, warm_start=weights)
        if not problem.loss.loss_augmented:
            return lbfgs(problem, warm_start=weights)
        return softening(problem, rng=rng, warm_start=weights if alpha is None else alpha)

    def _temperature(self) -> float:
        return float(self._trained["epsilon"])
