"""Estimators: structured models with scikit-learn's manners.

Every model of the family scores a labelling ``y`` of a sample ``x`` by ``F(x, y; w) = w . f(x, y)``,
where the joint feature vector ``f`` sums the features of the nodes, per label, and counts the
transitions along the edges.  All models predict by ``argmax_y F``; they differ in how they choose ``w``:

============  ===========================================================================
`M3N`         maximum margin Markov network: ``|w|^2 / 2 + C sum_i xi_i``, with the largest
              violation ``xi_i = max_y [loss_i(y) - w . (f(x_i, y_i) - f(x_i, y))]``
`CRF`         conditional random field: ``-sum_i log p(y_i | x_i; w)``, plus ``lam |w|^2 / 2``
============  ===========================================================================

Samples are arrays, one row per node, for chains, or `Forest` objects.  An estimator works in
`sklearn.base.clone`, `GridSearchCV` and `cross_val_score`; it is no `ClassifierMixin`, whose checks
expect one label per sample.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from medn_edu import inference, saving
from medn_edu.checks import check_count, check_positive
from medn_edu.packing import (
    check_sample_weight,
    class_array,
    encode_labels,
    forbidden_to_allowed,
    label_samples,
    pack,
)
from medn_edu.priors import GaussianPrior
from medn_edu.problems import MaxMarginProblem, SoftMaxProblem
from medn_edu.progress import GapProgress, warn_unless_converged
from medn_edu.results import Iterate, Problem, SolveResult, run
from medn_edu.slacks import LinearSlack
from medn_edu.solvers import block_frank_wolfe, lbfgs
from medn_edu.structures import LabelledSamples, Samples, WeightShape

__all__ = ["CRF", "M3N", "MarkovNetwork", "load_model"]


class MarkovNetwork(BaseEstimator):
    """What all models share: everything but the choice of the weights.

    A subclass says how its weights are found (``_problem`` and ``_iterates``).

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels seen in training.
    coef_ : ndarray of shape (n_labels, n_features)
        Weights of the node features, a view of ``weights_``.
    transitions_ : ndarray of shape (n_edge_types, n_labels, n_labels)
        Weights of the transitions, ``[type, parent's label, child's label]``, a view of ``weights_``.
    weights_ : ndarray of shape (n_weights,)
        ``concatenate([coef_.ravel(), transitions_.ravel()])``.
    eta_ : ndarray of shape (n_weights,)
        ``sum_i,y alpha_i(y) (f(x_i, y_i) - f(x_i, y))`` of the dual solution, in the same order.
    n_features_in_ : int
        Width of the node features.
    result_ : SolveResult
        The solution with its certificate and history.
    """

    forbidden: Any
    tol: float
    max_iter: int
    warm_start: bool
    n_jobs: int
    verbose: int

    # -- training ---------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the model.

        Parameters
        ----------
        X : sequence of samples, or Samples
            Each an array or sparse matrix of shape (n_nodes, n_features), which is a chain, or a
            `Forest`.
        y : sequence of label sequences
            One label per node; any hashable values.
        sample_weight : array_like of shape (n_samples,), optional
            How often each sample counts; positive.

        Returns
        -------
        self
            The trained estimator.

        Raises
        ------
        ValueError, TypeError
            If the arguments are not as described; the message names the argument and the sample.

        Warns
        -----
        ConvergenceWarning
            If ``max_iter`` passes did not reach ``tol``; the message says which gap they reached.
        """
        n_jobs = check_count("n_jobs", self.n_jobs)
        check_positive("tol", self.tol)
        check_count("max_iter", self.max_iter)
        samples = pack(X)
        codes, classes = encode_labels(y, samples)
        allowed = forbidden_to_allowed(self.forbidden, classes, samples.n_edge_types)
        data = label_samples(samples, codes, allowed, sample_weight)
        problem = self._problem(data, n_jobs)
        start = self._start(data, classes)
        with GapProgress(type(self).__name__, self.tol, shown=bool(self.verbose)) as progress:
            result = run(
                self._iterates(problem, start),
                problem,
                tol=self.tol,
                max_iter=self.max_iter,
                callback=progress,
            )
        self._learn(result, data, classes)
        warn_unless_converged(result, type(self).__name__, self.tol, self.max_iter)
        return self

    def _problem(self, data: LabelledSamples, n_jobs: int) -> Problem:
        """Return the problem whose solution are the weights."""
        raise TypeError(f"{type(self).__name__} cannot be trained; use M3N or CRF.")

    def _iterates(self, problem: Any, start: SolveResult | None) -> Iterator[Iterate]:
        """Return the solver at work."""
        raise TypeError(f"{type(self).__name__} cannot be trained; use M3N or CRF.")

    def _start(self, data: LabelledSamples, classes: np.ndarray) -> SolveResult | None:
        """Return the last solution if training is to go on from it and it fits these data."""
        if not (self.warm_start and hasattr(self, "result_")):
            return None
        fits = (
            self._weight_shape == data.weight_shape
            and np.array_equal(self.classes_, classes)
            and np.array_equal(self._offsets, data.samples.offsets)
        )
        if not fits:
            raise ValueError(
                "warm_start continues from the last fit, but these samples have other labels, "
                "features or lengths; expected the same samples, or warm_start=False."
            )
        return self.result_

    def _learn(self, result: SolveResult, data: LabelledSamples, classes: np.ndarray) -> None:
        """Store what was learned."""
        self.result_ = result
        self.classes_ = classes
        self._allowed = data.allowed
        self._offsets = data.samples.offsets
        self._set_weights(result.weights, result.eta, data.samples.n_features)

    def _set_weights(self, weights: np.ndarray, eta: np.ndarray | None, n_features: int) -> None:
        n_edge_types, n_labels, _ = self._allowed.shape
        self.n_features_in_ = n_features
        self.weights_ = weights.copy()
        self.eta_ = weights.copy() if eta is None else eta
        self._weight_shape = WeightShape(n_labels, n_features, n_edge_types)
        self.coef_, self.transitions_ = self._weight_shape.split(self.weights_)

    # -- prediction -------------------------------------------------------------------------

    def predict(self, X: Any) -> np.ndarray:
        """Return the best labelling of each sample, ``argmax_y F(x, y; w)`` (MEDN Eq. 2).

        Parameters
        ----------
        X : sequence of samples, or Samples
            Samples with the feature width of training.

        Returns
        -------
        ndarray of object, shape (n_samples,)
            One array of labels per sample.
        """
        samples, node, edge = self._potentials(X)
        codes, _ = inference.best_labelling(samples, node, edge, n_jobs=self.n_jobs)
        return _object_array(samples.split(self.classes_[codes]))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of nodes that are labelled correctly.

        Parameters
        ----------
        X : sequence of samples, or Samples
            Samples.
        y : sequence of label sequences
            Their true labels, all of them seen in training.
        sample_weight : array_like of shape (n_samples,), optional
            How often each sample counts.

        Returns
        -------
        float
            Between 0 and 1.
        """
        samples, node, edge = self._potentials(X)
        true, _ = encode_labels(y, samples, self._class_list())
        codes, _ = inference.best_labelling(samples, node, edge, n_jobs=self.n_jobs)
        weight = check_sample_weight(sample_weight, samples.n_samples)[samples.sample_of_node]
        return float(np.average(codes == true, weights=weight))

    def decision_scores(self, X: Any, y: Any = None) -> np.ndarray:
        """Return the scores ``F(x, y; w)`` of labellings.

        Parameters
        ----------
        X : sequence of samples, or Samples
            Samples.
        y : sequence of label sequences, optional
            The labellings to score; by default the best ones.

        Returns
        -------
        ndarray of shape (n_samples,)
            Scores; minus infinity for a labelling with a forbidden transition.
        """
        samples, node, edge = self._potentials(X)
        if y is None:
            return inference.best_labelling(samples, node, edge, n_jobs=self.n_jobs)[1]
        codes, _ = encode_labels(y, samples, self._class_list())
        return inference.labelling_scores(samples, node, edge, codes)

    def predict_marginals(self, X: Any, temperature: float = 1.0) -> list[np.ndarray]:
        """Return the probability of each label at each node, under ``p(y) ~ exp(F / temperature)``.

        Parameters
        ----------
        X : sequence of samples, or Samples
            Samples.
        temperature : float, default=1.0
            Positive; small values concentrate on the best labelling.

        Returns
        -------
        list of ndarray of shape (n_nodes, n_labels)
            Marginals, rows sum to 1; columns in the order of ``classes_``.
        """
        check_positive("temperature", temperature)
        samples, node, edge = self._potentials(X)
        found = inference.marginals(samples, node, edge, temperature, n_jobs=self.n_jobs)
        return samples.split(found.node)

    def decode(self, X: Any, k: int = 1) -> list[list[tuple[np.ndarray, float]]]:
        """Return the ``k`` best labellings of each sample.

        Parameters
        ----------
        X : sequence of samples, or Samples
            Samples.
        k : int, default=1
            How many; where fewer labellings are allowed, fewer are returned.

        Returns
        -------
        list of list of (labels, score)
            Per sample, best first.
        """
        check_count("k", k)
        samples, node, edge = self._potentials(X)
        return [
            [(self.classes_[codes], float(score)) for codes, score in zip(*best, strict=True)]
            for best in inference.k_best(samples, node, edge, k)
        ]

    def margins(self, X: Any, y: Any) -> np.ndarray:
        """Return by how much the true labelling beats the best other one (negative if it loses).

        Parameters
        ----------
        X : sequence of samples, or Samples
            Samples.
        y : sequence of label sequences
            Their true labels.

        Returns
        -------
        ndarray of shape (n_samples,)
            ``F(x, y) - max_{y' != y} F(x, y')``; infinite where no other labelling is allowed.
        """
        samples, node, edge = self._potentials(X)
        true, _ = encode_labels(y, samples, self._class_list())
        true_scores = inference.labelling_scores(samples, node, edge, true)
        runner_up = np.full(samples.n_samples, -np.inf)
        best = inference.k_best(samples, node, edge, 2)
        for i, (labels, (found, scores)) in enumerate(zip(samples.split(true), best, strict=True)):
            others = scores[(found != labels).any(axis=1)]
            if len(others):
                runner_up[i] = others[0]
        return true_scores - runner_up

    def joint_feature(self, X: Any, y: Any) -> sp.csr_matrix:
        """Return the joint feature vectors ``f(x, y)``, so that ``F = joint_feature @ weights_``.

        Parameters
        ----------
        X : sequence of samples, or Samples
            Samples.
        y : sequence of label sequences
            Their labels.

        Returns
        -------
        scipy.sparse.csr_matrix of shape (n_samples, n_weights)
            One row per sample, columns in the order of ``weights_``.
        """
        samples = self._pack(X)
        codes, _ = encode_labels(y, samples, self._class_list())
        return inference.joint_features(samples, codes, self._weight_shape)

    # -- saving -----------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the trained model to one file (npz with a JSON header, no pickle).

        Parameters
        ----------
        path : str or Path
            File to write; replaced in one step if it exists.

        Raises
        ------
        OSError
            If the file cannot be written.
        TypeError
            If labels or parameters are of types that JSON cannot hold.

        See Also
        --------
        medn_edu.load_model : Reads it again.
        """
        check_is_fitted(self, "weights_")
        saving.save_model(self, path)

    # -- shared pieces ----------------------------------------------------------------------

    def _pack(self, X: Any) -> Samples:
        check_is_fitted(self, "weights_")
        samples = pack(X, n_features=self.n_features_in_)
        n_edge_types = self.transitions_.shape[0]
        if samples.n_edge_types > n_edge_types:
            bad = samples.sample_of_node[np.argmax(samples.edge_types >= n_edge_types)]
            raise ValueError(
                f"sample {bad} of X has an edge type that was not seen in training; "
                f"expected edge types below {n_edge_types}."
            )
        return samples

    def _potentials(self, X: Any) -> tuple[Samples, np.ndarray, np.ndarray]:
        samples = self._pack(X)
        node = inference.node_potentials(samples, self.coef_, n_jobs=self.n_jobs)
        return samples, node, inference.edge_potentials(self.transitions_, self._allowed)

    def _class_list(self) -> list[Hashable]:
        return self.classes_.tolist()


class M3N(MarkovNetwork):
    """Maximum margin Markov network (Taskar et al. 2003; MEDN P0).

    Minimises ``|w|^2 / 2 + C sum_i xi_i``, where ``xi_i`` is the largest violation of the margins
    ``w . (f(x_i, y_i) - f(x_i, y)) >= loss_i(y)``, by block-coordinate Frank-Wolfe on the dual.  The
    same weights are the mean of the MEDN posterior under a standard normal prior (Theorem 3).

    Parameters
    ----------
    C : float, default=1.0
        Price of margin violations; positive.  Larger values fit the training data harder.
    forbidden : iterable of pairs, or dict from edge type to pairs, optional
        Transitions ``(parent's label, child's label)`` that never occur.
    tol : float, default=0.01
        Relative duality gap at which to stop.
    max_iter : int, default=1000
        Largest number of passes over the samples.
    warm_start : bool, default=False
        Go on from the last solution when fitted again to the same samples.
    random_state : int, numpy.random.Generator or None, default=0
        Order in which samples are visited.
    n_jobs : int, default=1
        Threads for sweeps over all samples; results do not depend on it.
    verbose : int, default=1
        Whether to show progress when training takes over two seconds.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu import M3N
    >>> X = [np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[0.0, 1.0]])]
    >>> y = [["noun", "verb"], ["verb"]]
    >>> model = M3N(C=1.0).fit(X, y)
    >>> model.predict(X)[0]
    array(['noun', 'verb'], dtype='<U4')
    >>> model.result_.relative_gap <= 0.01
    True
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        forbidden: Any = None,
        tol: float = 1e-2,
        max_iter: int = 1000,
        warm_start: bool = False,
        random_state: Any = 0,
        n_jobs: int = 1,
        verbose: int = 1,
    ) -> None:
        self.C = C
        self.forbidden = forbidden
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _problem(self, data: LabelledSamples, n_jobs: int) -> MaxMarginProblem:
        return MaxMarginProblem(data, GaussianPrior(), LinearSlack(self.C), n_jobs)

    def _iterates(self, problem: MaxMarginProblem, start: SolveResult | None) -> Iterator[Iterate]:
        rng = np.random.default_rng(self.random_state)
        return block_frank_wolfe(problem, rng=rng, warm_start=start.alpha if start else None)


class CRF(MarkovNetwork):
    """Conditional random field (Lafferty et al. 2001), plain or with an L2 penalty.

    Minimises ``-sum_i log p(y_i | x_i; w) + lam |w|^2 / 2``, ``p(y | x; w) ~ exp(w . f(x, y))``.  The
    plain CRF may have no optimum (weights grow without bound when the samples are separable), so it
    stops when the likelihood hardly changes and is reported as stopped, not as converged.

    Parameters
    ----------
    penalty : {"l2", None}, default="l2"
        Penalty on the weights.
    lam : float, default=1.0
        Strength of the penalty, positive; ignored without a penalty.
    forbidden : iterable of pairs, or dict from edge type to pairs, optional
        Transitions ``(parent's label, child's label)`` that never occur.
    tol : float, default=1e-4
        Relative duality gap at which to stop; without a penalty the relative change of the
        likelihood per pass.
    max_iter : int, default=1000
        Largest number of passes over the samples.
    warm_start : bool, default=False
        Go on from the last solution when fitted again to the same samples.
    n_jobs : int, default=1
        Threads for sweeps over all samples; results do not depend on it.
    verbose : int, default=1
        Whether to show progress when training takes over two seconds.

    Examples
    --------
    >>> import numpy as np
    >>> from medn_edu import CRF
    >>> X = [np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[0.0, 1.0]])]
    >>> y = [[True, False], [False]]
    >>> model = CRF(lam=0.1, tol=1e-6).fit(X, y)
    >>> model.predict_marginals(X)[1].round(2)
    array([[0.92, 0.08]])
    """

    def __init__(
        self,
        penalty: str | None = "l2",
        lam: float = 1.0,
        *,
        forbidden: Any = None,
        tol: float = 1e-4,
        max_iter: int = 1000,
        warm_start: bool = False,
        n_jobs: int = 1,
        verbose: int = 1,
    ) -> None:
        self.penalty = penalty
        self.lam = lam
        self.forbidden = forbidden
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _problem(self, data: LabelledSamples, n_jobs: int) -> SoftMaxProblem:
        if self.penalty not in (None, "l2"):
            raise ValueError(f"penalty is {self.penalty!r}; expected None or 'l2'.")
        lam = check_positive("lam", self.lam) if self.penalty == "l2" else 0.0
        return SoftMaxProblem(data, lam, n_jobs)

    def _iterates(self, problem: SoftMaxProblem, start: SolveResult | None) -> Iterator[Iterate]:
        return lbfgs(problem, warm_start=start.weights if start else None, change_tol=self.tol)


def load_model(path: str | Path) -> MarkovNetwork:
    """Read a model that was written by `MarkovNetwork.save`.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    MarkovNetwork
        The trained estimator, with its certificate and history.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is not a readable model.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from medn_edu import CRF, load_model
    >>> path = Path(tempfile.mkdtemp()) / "model.npz"
    >>> CRF().fit([np.eye(2)], ["ab"]).save(path)
    >>> load_model(path).predict([np.eye(2)])[0]
    array(['a', 'b'], dtype='<U1')
    """
    state = saving.load_state(path)
    estimators = {"M3N": M3N, "CRF": CRF}
    if state["estimator"] not in estimators:
        raise ValueError(
            f"{path} holds a model of the kind {state['estimator']!r}; this version of medn_edu knows "
            f"{', '.join(estimators)}."
        )
    try:
        model = estimators[state["estimator"]](**state["parameters"])
    except TypeError as error:
        raise ValueError(f"{path} holds parameters that do not fit: {error}.") from None
    model.classes_ = class_array(state["classes"])
    model._allowed = state["allowed"]
    model._offsets = state["offsets"]
    model.result_ = state["result"]
    model._set_weights(model.result_.weights, model.result_.eta, state["n_features"])
    return model


def _object_array(items: Iterable[Any]) -> np.ndarray:
    """Return items as a 1-D object array (numpy would stack those of equal length)."""
    items = list(items)
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array
