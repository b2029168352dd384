"""One problem: data, a loss and a regulariser joined into a primal, a dual and a certificate.

``problem.md`` derives the dual and explains why the gap certifies a solution.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np

from medn_edu import inference
from medn_edu.checks import shown
from medn_edu.priors import GaussianPrior, Prior
from medn_edu.problems.dual_variables import Dual, DualVariables, LocalPoint, ModelDistributions
from medn_edu.problems.losses import Evaluation, MarginLoss, SoftMaxLoss
from medn_edu.problems.regularisers import (
    ElasticNet,
    Regulariser,
    dual_scaling,
    minimum_norm_subgradient,
)
from medn_edu.samples import LabelledSamples, WeightShape, labelled
from medn_edu.slacks import LinearSlack


@dataclass(frozen=True, eq=False)
class Certificate:
    """Primal and dual value at one point, each computed on its own.

    Parameters
    ----------
    primal : float
        Upper bound on the optimum.
    dual : float
        Lower bound on the optimum; minus infinity where the problem has no dual.
    alpha : Dual, LocalPoint or None
        The dual variables behind ``dual``, if the solver keeps any; on graphs with cycles, messages and
        beliefs.
    eta : ndarray or None
        ``sum alpha_i(y) (f(x_i, y_i) - f(x_i, y))``, the natural parameter of the posterior.
    subgradient_norm : float or None
        Magnitude of the largest entry of the minimum-norm subgradient, for a regulariser with kinks
        and a smooth loss.
    rounding : float or None
        How far rounding may have moved the two values, if known.
    rounding_counts : bool
        Whether `relative_gap` adds ``rounding`` to the gap.
    """

    primal: float
    dual: float
    alpha: Dual | LocalPoint | None = None
    eta: np.ndarray | None = None
    subgradient_norm: float | None = None
    rounding: float | None = None
    rounding_counts: bool = False

    @property
    def gap(self) -> float:
        """Duality gap, primal minus dual."""
        return self.primal - self.dual

    @property
    def relative_gap(self) -> float:
        """Duality gap relative to the primal value; 0 where it vanishes up to rounding.

        In exact arithmetic no dual value exceeds a primal one.  If the computed one does, by more than
        rounding explains, the values cannot be trusted and the gap is infinite.  Where scores are so
        large that their rounding matters, the bound on the rounding error is added to the gap.
        """
        believed = 1e-9 * max(abs(self.primal), abs(self.dual))
        rounding = 1e-12 if self.rounding is None else self.rounding
        if self.gap < -believed - rounding:
            return float("inf")
        gap = max(self.gap, 0.0) + (rounding if self.rounding_counts else 0.0)
        if gap == 0:
            return 0.0
        return gap / abs(self.primal) if self.primal != 0 else float("inf")


class Problem:
    """Data, loss and regulariser joined into a primal, a dual and a certificate.

    Parameters
    ----------
    data : LabelledSamples
        Training samples with their labels.
    loss : MarginLoss or SoftMaxLoss
        What wrong labellings cost.  Each sample's loss is multiplied by the sample's weight.
    regulariser : Regulariser
        What weights cost: a prior, or one of `medn_edu.problems.regularisers`.
    n_jobs : int, default=1
        Number of threads for sweeps over all samples; results do not depend on it.

    Examples
    --------
    P1 of MEDN, with a Laplace prior:

    >>> import numpy as np
    >>> from medn_edu.priors import LaplacePrior
    >>> problem = Problem.of([np.eye(2)], [[0, 1]], regulariser=LaplacePrior(lam=4.0))
    >>> problem.primal(np.zeros(8))
    2.0
    >>> alpha = DualVariables.on(problem.data.samples, np.array([1, 0]), np.array([1.0]))
    >>> round(problem.dual(alpha), 3)
    0.274
    """

    def __init__(
        self,
        data: LabelledSamples,
        loss: MarginLoss | SoftMaxLoss,
        regulariser: Regulariser,
        n_jobs: int = 1,
    ) -> None:
        if not isinstance(data, LabelledSamples):
            raise TypeError(
                f"data is {shown(data)}; expected LabelledSamples, as label_samples returns them."
            )
        if not isinstance(loss, MarginLoss | SoftMaxLoss):
            raise TypeError(f"loss is {shown(loss)}; expected a MarginLoss or SoftMaxLoss.")
        if isinstance(regulariser, type) or not isinstance(regulariser, Regulariser):
            raise TypeError(
                f"regulariser is {shown(regulariser)}; expected a prior or another object with "
                "`value` and `conjugate`, such as L2Norm()."
            )
        self.data = data
        self.loss = loss
        self.regulariser = regulariser
        self.n_jobs = n_jobs

    @staticmethod
    def of(
        X: Iterable[Any],
        y: Iterable[Any],
        loss: MarginLoss | SoftMaxLoss | None = None,
        regulariser: Regulariser | None = None,
    ) -> Problem:
        """Build a problem from samples and labels, in the form that models take.

        Parameters
        ----------
        X, y : iterables
            Samples and their label sequences, as for the ``fit`` of models.
        loss : MarginLoss or SoftMaxLoss, optional
            By default the margin loss with a linear slack and ``C = 1``.
        regulariser : Regulariser, optional
            By default the standard normal prior.  Together with the default loss this is M3N.

        Returns
        -------
        Problem
            The problem, in which every sample has the weight 1.
        """
        loss = MarginLoss(LinearSlack(C=1.0)) if loss is None else loss
        return Problem(
            labelled(X, y), loss, GaussianPrior() if regulariser is None else regulariser
        )

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return self.data.samples.n_samples

    @property
    def weight_shape(self) -> WeightShape:
        """Shape of the weights."""
        return self.data.weight_shape

    @property
    def C(self) -> np.ndarray:  # noqa: N802
        """Constant of the loss times each sample's weight, ``C_i``, shape (n_samples,)."""
        return self.loss._constants(self.data)

    @property
    def margin_loss(self) -> MarginLoss:
        """The loss, if it is a `MarginLoss`; raises a TypeError otherwise."""
        if not isinstance(self.loss, MarginLoss):
            raise TypeError(f"the loss is {self.loss!r}; expected a MarginLoss.")
        return self.loss

    @property
    def soft_max_loss(self) -> SoftMaxLoss:
        """The loss, if it is a `SoftMaxLoss`; raises a TypeError otherwise."""
        if not isinstance(self.loss, SoftMaxLoss):
            raise TypeError(f"the loss is {self.loss!r}; expected a SoftMaxLoss.")
        return self.loss

    @property
    def prior(self) -> Prior | ElasticNet:
        """The regulariser, if its conjugate is smooth like a prior's; raises a TypeError otherwise."""
        regulariser = self.regulariser
        has_kinks = isinstance(regulariser, ElasticNet) and regulariser.l2 == 0
        if has_kinks or not hasattr(regulariser, "log_mgf"):
            why = "and its conjugate has kinks" if has_kinks else "which has no log_mgf"
            raise TypeError(
                f"the regulariser is {regulariser!r}, {why}; expected a prior, an L2Norm, or an "
                "ElasticNet with l2 > 0."
            )
        return cast("Prior | ElasticNet", regulariser)

    @property
    def elastic_net(self) -> ElasticNet:
        """The regulariser, if quasi-Newton solvers fit it and the loss; otherwise raises a TypeError."""
        if not (isinstance(self.regulariser, ElasticNet) and isinstance(self.loss, SoftMaxLoss)):
            raise TypeError(
                f"the loss is {self.loss!r} and the regulariser is {self.regulariser!r}; expected a "
                "SoftMaxLoss with an L2Norm, L1Norm or ElasticNet."
            )
        return self.regulariser

    @property
    def has_dual(self) -> bool:
        """Whether there is a dual, and therefore a gap.  There is one whenever weights cost anything."""
        net = self.regulariser
        return not (isinstance(net, ElasticNet) and net.l1 == net.l2 == 0)

    @cached_property
    def observed(self) -> np.ndarray:
        """Observed features ``sum_i c_i f(x_i, y_i)``, shape (n_weights,)."""
        data, samples, weight = self.data, self.data.samples, self.data.sample_weight
        truth = np.zeros((samples.n_nodes, data.n_labels))
        truth[np.arange(samples.n_nodes), data.labels] = weight[samples.sample_of_node]
        counts = inference.edge_counts(
            samples, data.labels, data.n_labels, weight, n_edge_types=len(data.allowed)
        )
        return data.join(inference.feature_sums(samples, truth), counts)

    def potentials(self, weights: np.ndarray) -> inference.Potentials:
        """Return the training samples' potentials under these weights."""
        data = self.data
        coef, transitions = self.weight_shape.split(weights)
        return inference.Potentials.of_weights(
            data.samples, coef, transitions, data.allowed,
            mask=data.allowed_labels, n_jobs=self.n_jobs,
        )  # fmt: skip

    def augmented(self, weights: np.ndarray, scale: float = 1.0) -> inference.Potentials:
        """Return `potentials` with the losses of wrong labels added.

        Parameters
        ----------
        weights : ndarray of shape (n_weights,)
            The weights.
        scale : float, default=1.0
            Factor on the losses.
        """
        data = self.data
        return self.potentials(weights).with_loss(data.labels, scale * data.loss_scale)

    # -- the primal -----------------------------------------------------------------------------

    def primal(self, weights: np.ndarray) -> float:
        """Primal value ``P(w)``: at any weights, an upper bound on the optimum."""
        return self.regulariser.value(weights) + self.total_loss(weights)

    def total_loss(self, weights: np.ndarray) -> float:
        """Return ``sum_i c_i l_i(w)``; for the margin loss this is ``sum_i c_i U(xi_i)``."""
        return self._sum(self.loss._evaluate(self, weights))

    def _sum(self, found: Evaluation) -> float:
        return math.fsum(self.data.sample_weight * found.losses)

    def violated(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Find each sample's most violated margin by loss-augmented decoding.

        Returns the labellings of all samples, one after the other, and ``max_y H_i(y)`` of each sample.
        """
        return self.margin_loss._violated(self, weights)

    def xi(self, weights: np.ndarray) -> np.ndarray:
        """Return the slack that each sample needs: its largest violation, or the least slack."""
        return np.maximum(self.violated(weights)[1], self.margin_loss.slack.least)

    # -- the dual -------------------------------------------------------------------------------

    def dual(self, alpha: Dual) -> float:
        """Dual value ``D(alpha)``; minus infinity if ``alpha`` is not feasible.

        Before, ``alpha`` is scaled, if the regulariser has a method ``dual_scaling``.
        """
        return self._dual(alpha)[0]

    def _dual(self, alpha: Dual) -> tuple[float, Dual, np.ndarray]:
        """Return the dual value of scaled dual variables, and these with their ``eta``."""
        data = self.data
        if isinstance(alpha, DualVariables):
            alpha.check(data)
        loss, eta = alpha.loss(data) if self.loss.loss_augmented else 0.0, alpha.eta(data)
        share = dual_scaling(self.regulariser, loss, eta)
        if share != 1.0:
            alpha, eta, loss = self.loss._scaled(data, alpha, share), share * eta, share * loss
        value = loss - self.regulariser.conjugate(eta) - self.loss._conjugate(self.data, alpha)
        return value, alpha, eta

    def certify(self, weights: np.ndarray, alpha: Dual | None = None) -> Certificate:
        """Compute the primal and the dual value from scratch, and with them the gap.

        Parameters
        ----------
        weights : ndarray of shape (n_weights,)
            The weights.
        alpha : Dual, optional
            The dual variables that a solver keeps, usually `DualVariables`.  A margin loss needs
            them.  Without them a soft-max loss is certified by ``c_i p_w(. | x_i)``.

        Returns
        -------
        Certificate
            Both values, with the dual variables and ``eta`` at the best scale.

        Raises
        ------
        TypeError
            If the loss is a margin loss and there are no dual variables, or if it is a soft-max loss
            and the dual variables have no entropies.
        """
        found = self.loss._evaluate(self, weights)
        primal = self.regulariser.value(weights) + self._sum(found)
        net, point, subgradient_norm = self.regulariser, alpha, None
        has_kinks = isinstance(net, ElasticNet) and net.l1 > 0
        if isinstance(self.loss, SoftMaxLoss) and (alpha is None or has_kinks):
            model = self.loss._distributions(self, weights, found.losses)
            point = model if alpha is None else alpha
            if isinstance(net, ElasticNet) and has_kinks:
                gradient = net.l2 * weights - model.eta(self.data)
                steepest = minimum_norm_subgradient(weights, gradient, net.l1)
                subgradient_norm = float(np.abs(steepest).max())
        if point is None:
            raise TypeError(
                "a margin loss is certified by dual variables; expected alpha, got None."
            )
        if self.has_dual:
            dual, point, eta = self._dual(point)
        else:
            dual, eta = -math.inf, point.eta(self.data)
        return Certificate(
            primal=primal,
            dual=dual,
            alpha=None if isinstance(point, ModelDistributions) else point,
            eta=eta,
            subgradient_norm=subgradient_norm,
            rounding=found.rounding,
            rounding_counts=found.rounding_counts,
        )
