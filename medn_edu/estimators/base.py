"""What all models share: training, prediction and saving.

`MarkovNetwork.fit` takes the same six steps for every model:

1. check        the parameters that all models share;
2. pack         samples into flat arrays, and labels into codes (`medn_edu.samples`);
3. problem      join data, loss and regulariser (``_problem``, `medn_edu.problems`);
4. solver       choose a generator of iterates (``_iterates``, `medn_edu.solvers`);
5. run          step the solver until its duality gap is small enough (`medn_edu.results`);
6. certificate  keep the solution and its gap in ``result_``, and warn if training ended early.

A model says what its problem and its solver are.  Everything else is here.
"""

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from medn_edu import inference
from medn_edu.checks import (
    check_choice,
    check_count,
    check_flag,
    check_jobs,
    check_positive,
    warn_user,
)
from medn_edu.estimators import saving
from medn_edu.estimators.progress import GapProgress, StepProgress
from medn_edu.estimators.threads import one_blas_thread
from medn_edu.problems import ElasticNet, Problem
from medn_edu.results import STUCK, Iterate, SolveResult, run
from medn_edu.samples import (
    TABLES,
    GraphSamples,
    LabelledSamples,
    SampleSet,
    WeightShape,
    check_sample_weight,
    encode_labels,
    encode_seen_labels,
    forbidden_to_allowed,
    label_mask,
    label_samples,
    node_costs,
    pack,
)
from medn_edu.solvers import critical_constant

_CRITICAL_TOL = 1e-6  # to which a critical constant is exact
_TINY_TOL = 1e-300  # so small that a run makes all its steps, unless the gap is exactly 0


@dataclass(eq=False, repr=False)
class MarkovNetwork(BaseEstimator):
    """Base class of all models, with everything except the choice of the weights.

    Models are dataclasses: their constructors store the parameters untouched, as scikit-learn requires.
    `M3N` describes the parameters that all models share.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels seen in training.
    coef_ : ndarray of shape (n_labels, n_features)
        Weights of the node features.
    transitions_ : ndarray of shape (n_edge_types, n_labels, n_labels)
        Weights of the transitions, ``[type, parent's label, child's label]``.  With edge features, each
        type has one table per feature, one after the other.
    eta_ : ndarray of shape (n_weights,)
        ``sum_i,y alpha_i(y) (f(x_i, y_i) - f(x_i, y))`` at the dual solution, in the order of
        ``weights_``.
    n_features_in_ : int
        Number of node features.
    n_edge_features_in_ : int
        Number of edge features, 0 if there are none.
    result_ : SolveResult
        The solution with its certificate and history.
    """

    _: KW_ONLY
    forbidden: Any = None
    label_costs: Any = None
    edge_table: str = "full"
    tol: float = 1e-2
    max_iter: int = 1000
    warm_start: bool = False
    n_jobs: int = 1
    verbose: int = 1

    # -- training ---------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the model.

        Parameters
        ----------
        X : sequence of samples, or Samples
            Each sample is an array or sparse matrix of shape (n_nodes, n_features), which stands for a
            chain, or a `Forest` or `Graph`.  These can also give edges types and features, and restrict
            the labels that a node may have.
        y : sequence of label sequences
            One label per node.  Any hashable values can be labels.
        sample_weight : array_like of shape (n_samples,), optional
            How often each sample counts: positive numbers, by default 1.

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
            If training ended before it reached ``tol``; the message says which gap it reached instead.
        """
        n_jobs = check_jobs(self.n_jobs)
        with one_blas_thread():
            data, classes = self._labelled(X, y, sample_weight)
            if not self._is_local(data.samples):
                self._require_forests(data.samples)
            problem = self._problem(data, n_jobs)
            result = self._solve(problem, self._start(data, classes))
        samples = data.samples
        self._learn(
            result, data.weight_shape, classes, samples.n_edge_features, data.allowed,
            samples.offsets, data.labels,
        )  # fmt: skip
        self._warn(result, problem)
        return self

    def critical_constant(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the constant at which the first weight leaves zero, where a path of models can start.

        Only models with an L1 term have such a constant.  For `CRF` it is the smallest ``lam`` at which
        all weights are 0.  It equals the largest magnitude in the gradient at zero weights, divided by
        ``l1_ratio`` for an elastic net.  For `L1M3N`, and for `M3N` with ``l1_ratio > 0``, it is the
        largest ``C`` at which zero weights are optimal.  A small linear program finds it
        (`medn_edu.solvers.critical_constant`).  At the constant returned, zero weights are proved
        optimal, and the constant is exact to a relative ``1e-6``.

        The model itself does not change: nothing is learned, and its own ``lam`` or ``C`` plays no role.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        float
            The constant.  If no weight ever leaves zero, it is infinite for max-margin models and 0 for
            a `CRF`.

        Raises
        ------
        AttributeError
            If the model has no L1 term.
        ValueError, TypeError
            If the arguments are not as `fit` expects them.

        Examples
        --------
        >>> import numpy as np
        >>> from medn_edu import CRF, L1M3N
        >>> X = [np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[0.0, 1.0]])]
        >>> y = [["noun", "verb"], ["verb"]]
        >>> lam = CRF(penalty="l1").critical_constant(X, y)
        >>> lam, [bool(CRF(penalty="l1", lam=s * lam).fit(X, y).weights_.any()) for s in (0.9, 1.1)]
        (1.0, [True, False])
        >>> C = L1M3N().critical_constant(X, y)
        >>> C, [bool(L1M3N(C=s * C).fit(X, y).weights_.any()) for s in (0.9, 1.1)]
        (0.25, [False, True])
        """
        n_jobs = check_jobs(self.n_jobs)
        data, _ = self._labelled(X, y, sample_weight)
        problem = self._penalised(data, n_jobs)
        net = problem.regulariser
        if not (isinstance(net, ElasticNet) and net.l1 > 0):
            raise AttributeError(
                f"this {type(self).__name__} has no critical_constant, because it has no L1 term; "
                "expected L1M3N, M3N with l1_ratio > 0, CRF with penalty='l1', or CRF with "
                "penalty='elasticnet' and l1_ratio > 0."
            )
        name = f"{type(self).__name__} at its critical constant"
        progress = GapProgress(name, _CRITICAL_TOL, shown=bool(self.verbose))
        self._require_forests(data.samples)
        with one_blas_thread(), progress:
            return critical_constant(problem, tol=_CRITICAL_TOL, callback=progress.show)

    def _labelled(self, X: Any, y: Any, sample_weight: Any) -> tuple[LabelledSamples, np.ndarray]:
        """Check the parameters that all models share, and pack training data; return the classes too."""
        check_positive("tol", self.tol)
        check_count("max_iter", self.max_iter)
        check_flag("warm_start", self.warm_start)
        if not isinstance(self.verbose, bool | np.bool_):
            check_count("verbose", self.verbose, least=0)
        check_choice("edge_table", self.edge_table, TABLES)
        samples = pack(X)
        codes, classes = encode_labels(y, samples)
        data = label_samples(
            samples, codes,
            forbidden_to_allowed(
                self.forbidden, classes, samples.n_edge_types, samples.n_edge_features
            ),
            sample_weight,
            mask=label_mask(samples, classes),
            costs=node_costs(self.label_costs, classes, codes),
            table=self.edge_table,
        )  # fmt: skip
        return data, classes

    def _is_local(self, samples: SampleSet) -> bool:
        """Whether the model approximates, as some do on graphs with cycles."""
        return False

    def _require_forests(self, samples: SampleSet) -> None:
        if isinstance(samples, GraphSamples):
            raise ValueError(
                f"sample {samples.first_with_cycle} of X is a graph with cycles, on which "
                f"{type(self).__name__} cannot be trained; expected graphs without cycles, or use "
                "EpsilonMarkovNetwork, CRF or M3N, which solve an approximation."
            )

    def _problem(self, data: LabelledSamples, n_jobs: int) -> Problem:
        """Return the problem whose solution gives the weights."""
        raise TypeError(f"{type(self).__name__} cannot be trained; use M3N or CRF.")

    def _penalised(self, data: LabelledSamples, n_jobs: int) -> Problem:
        """Return the problem whose constant `critical_constant` is."""
        return self._problem(data, n_jobs)

    def _iterates(self, problem: Problem, start: SolveResult | None) -> Iterator[Iterate]:
        """Return the solver, ready to be run."""
        raise TypeError(f"{type(self).__name__} cannot be trained; use M3N or CRF.")

    def _n_steps(self) -> int | None:
        """Return the number of steps if it is fixed, or None if the solver stops at a gap."""
        return None

    def _start(self, data: LabelledSamples, classes: np.ndarray) -> SolveResult | None:
        """Return the last solution if training is to go on from it and it fits these data."""
        if not (self.warm_start and hasattr(self, "result_")):
            return None
        fits = (
            self._weight_shape == data.weight_shape
            and np.array_equal(self.classes_, classes)
            and self.n_edge_features_in_ == data.samples.n_edge_features
            and np.array_equal(self._offsets, data.samples.offsets)
        )
        if not fits:
            raise ValueError(
                "warm_start continues from the last fit, but these samples differ from it in their "
                "labels, number of features, edges, edge_table or lengths; expected the same as "
                "before, or warm_start=False to start from scratch."
            )
        return self.result_

    def _solve(self, problem: Problem, start: SolveResult | None) -> SolveResult:
        """Run the solver that belongs to the problem."""
        return self._run(self._iterates(problem, start), problem)

    def _run(self, iterates: Iterator[Iterate], problem: Problem) -> SolveResult:
        """Run a solver until its gap is small enough, or for a fixed number of steps."""
        name, shown, n_steps = type(self).__name__, bool(self.verbose), self._n_steps()
        if n_steps is not None:
            with StepProgress(name, n_steps, shown=shown) as progress:
                return run(iterates, problem, tol=_TINY_TOL, max_iter=n_steps, callback=progress)
        with GapProgress(name, self.tol, shown=shown) as progress:
            return run(iterates, problem, tol=self.tol, max_iter=self.max_iter, callback=progress)

    def _learn(
        self,
        result: SolveResult,
        shape: WeightShape,
        classes: np.ndarray,
        n_edge_features: int,
        allowed: np.ndarray,
        offsets: np.ndarray,
        labels: np.ndarray,
    ) -> None:
        """Store a solution, and what is needed to predict with it or to go on from it."""
        self.result_, self.eta_ = result, result.eta
        self.classes_ = classes
        self.n_features_in_, self.n_edge_features_in_ = shape.n_features, n_edge_features
        self._allowed, self._offsets, self._labels = allowed, offsets, labels
        self._weight_shape = shape
        coef, transitions = self._weight_shape.split(result.weights)
        self.coef_, self.transitions_ = coef.copy(), transitions.copy()
        # What was learned must not change when parameters are set for another fit.
        self._trained = self.get_params(deep=False)

    def _warn(self, result: SolveResult, problem: Problem) -> None:
        """Warn if the gap missed ``tol``, or, without a dual, the log-likelihood did not settle."""
        name = type(self).__name__
        if result.converged or self._n_steps() is not None:
            return
        if problem.has_dual:
            warn_user(
                f"{name} reached a relative gap of {result.relative_gap:.2g} instead of "
                f"{float(self.tol):.2g} ({result.status}); raise max_iter or tol, regularise "
                "more, or scale the features to about 1."
            )
        elif result.n_passes >= self.max_iter:
            warn_user(
                f"{name} used all {self.max_iter} passes before its log-likelihood settled; raise "
                "max_iter."
            )
        elif result.status == STUCK:
            warn_user(
                f"{name} stopped before its log-likelihood settled ({result.status}); scale or "
                "centre the features, to about 1."
            )

    @property
    def weights_(self) -> np.ndarray:
        """A copy of all weights, in one vector: ``concatenate([coef_.ravel(), transitions_.ravel()])``.

        A Potts table has only one weight in this vector, that of its diagonal, and so has an Ising
        table.  With Ising tables, the node weights in the vector are those of the second label.  The
        first label has their negatives.
        """
        check_is_fitted(self, "coef_")
        return self._weight_shape.weights(self.coef_, self.transitions_)

    # -- prediction -------------------------------------------------------------------------

    def predict(self, X: Any) -> np.ndarray:
        """Return the best labelling of each sample, ``argmax_y F(x, y; w)`` (MEDN Eq. 2).

        Parameters
        ----------
        X : sequence of samples, or Samples
            Samples with as many features as in training.

        Returns
        -------
        ndarray of object, shape (n_samples,)
            One array of labels per sample.
        """
        potentials = self._potentials(X)
        codes, _ = self._best(potentials)
        labellings = np.empty(potentials.samples.n_samples, dtype=object)
        labellings[:] = potentials.samples.split(self.classes_[codes])
        return labellings

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of nodes that are labelled correctly.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.  A label that training did not see counts as wrong.  This can happen when
            cross-validation leaves out whole groups.

        Returns
        -------
        float
            Between 0 and 1.

        Warns
        -----
        UserWarning
            If ``y`` has labels that training did not see; the message names them.
        """
        potentials = self._potentials(X)
        samples = potentials.samples
        true, unseen = encode_seen_labels(y, samples, self.classes_.tolist())
        if unseen:
            warn_user(
                f"y has, at {(true < 0).sum()} of {len(true)} nodes, labels that training did not see, "
                f"so these nodes count as wrong: {unseen}.",
                UserWarning,
            )
        codes, _ = self._best(potentials)
        weight = check_sample_weight(sample_weight, samples.n_samples)[samples.sample_of_node]
        return float(np.average(codes == true, weights=weight))

    def decision_scores(self, X: Any, y: Any = None) -> np.ndarray:
        """Return the scores ``F(x, y; w)`` of labellings.

        Parameters
        ----------
        X : sequence of samples, or Samples
            Samples with as many features as in training.
        y : sequence of label sequences, optional
            The labellings to score.  By default, each sample's best labelling.

        Returns
        -------
        ndarray of shape (n_samples,)
            Scores.  A labelling with a forbidden transition, or with a label that its node may not
            have, scores minus infinity.
        """
        potentials = self._potentials(X)
        if y is None:
            return self._best(potentials)[1]
        return inference.labelling_scores(potentials, self._codes(y, potentials.samples))

    def predict_marginals(self, X: Any, temperature: float = 1.0) -> list[np.ndarray]:
        """Return the probability of each label at each node, under ``p(y) ~ exp(F / temperature)``.

        Parameters
        ----------
        X : sequence of samples, or Samples
            Samples with as many features as in training.
        temperature : float, default=1.0
            Positive.  Small values concentrate the probability on the best labelling.

        Returns
        -------
        list of ndarray of shape (n_nodes, n_labels)
            Marginals.  Each row sums to 1, and columns are in the order of ``classes_``.
        """
        check_positive("temperature", temperature)
        potentials = self._potentials(X)
        return potentials.samples.split(self._marginals(potentials, temperature))

    def predict_edge_marginals(self, X: Any, temperature: float = 1.0) -> list[np.ndarray]:
        """Return the probability of each pair of labels at each edge.

        This is `predict_marginals` for edges instead of nodes.  Each edge is listed at its child.

        Parameters
        ----------
        X : sequence of samples, or Samples
            Samples with as many features as in training.
        temperature : float, default=1.0
            Positive.  Small values concentrate the probability on the best labelling.

        Returns
        -------
        list of ndarray of shape (n_nodes, n_labels, n_labels)
            For each node, the marginals of the edge from its parent, indexed ``[parent's label, child's
            label]`` in the order of ``classes_``.  Each table sums to 1.  Roots have no parent, so their
            tables are zeros.  A `Graph` has a table for each of its ``edges`` instead, indexed ``[first
            node's label, second node's label]``.

        Examples
        --------
        How probable is it that a verb follows a noun?

        >>> import numpy as np
        >>> from medn_edu import CRF
        >>> X = [np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[0.0, 1.0]])]
        >>> y = [["noun", "verb"], ["verb"]]
        >>> model = CRF(lam=0.1, tol=1e-6).fit(X, y)
        >>> sentence = model.predict_edge_marginals(X)[0]
        >>> sentence[1].round(2)  # [noun or verb before, noun or verb here]
        array([[0.03, 0.91],
               [0.01, 0.06]])
        >>> sentence[0].any()  # nothing comes before the first word
        np.False_
        """
        check_positive("temperature", temperature)
        potentials = self._potentials(X)
        return potentials.samples.split_edges(self._edge_marginals(potentials, temperature))

    def decode(self, X: Any, k: int = 1) -> list[list[tuple[np.ndarray, float]]]:
        """Return the ``k`` best labellings of each sample.

        Parameters
        ----------
        X : sequence of samples, or Samples
            Samples with as many features as in training.
        k : int, default=1
            Number of labellings per sample.  If fewer are allowed, fewer are returned.

        Returns
        -------
        list of list of (labels, score)
            For each sample, its labellings with their scores, the best one first.

        Examples
        --------
        The three best labellings of a short sentence, with their scores:

        >>> import numpy as np
        >>> from medn_edu import M3N
        >>> X = [np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[0.0, 1.0]])]
        >>> y = [["noun", "verb"], ["verb"]]
        >>> model = M3N(C=1.0, tol=1e-6).fit(X, y)
        >>> for labels, score in model.decode(X, k=3)[0]:
        ...     print(" ".join(labels), round(score, 2))
        noun verb 1.07
        verb verb 0.07
        noun noun -0.21
        """
        check_count("k", k)
        potentials = self._potentials(X)
        found = inference.k_best(potentials, k, n_jobs=self.n_jobs)
        samples = potentials.samples
        places = samples.split(np.arange(samples.n_nodes) - samples.offsets[samples.sample_of_node])
        return [
            [
                (self.classes_[codes[place]], float(s))
                for codes, s in zip(labels, scores, strict=True)
            ]
            for place, (labels, scores) in zip(places, found, strict=True)
        ]

    def margins(self, X: Any, y: Any) -> np.ndarray:
        """Return by how much each true labelling beats the best other one (negative if it loses).

        Parameters
        ----------
        X, y
            Samples and their true labels, as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            ``F(x, y) - max_{y' != y} F(x, y')``; infinite where no other labelling is allowed.
        """
        potentials = self._potentials(X)
        samples = potentials.samples
        true = self._codes(y, samples)
        runner_up = np.full(samples.n_samples, -np.inf)
        best = inference.k_best(potentials, 2, n_jobs=self.n_jobs)
        for i, (labels, (found, scores)) in enumerate(zip(samples.cut(true), best, strict=True)):
            others = scores[(found != labels).any(axis=1)]
            if len(others):
                runner_up[i] = others[0]
        return inference.labelling_scores(potentials, true) - runner_up

    def joint_feature(self, X: Any, y: Any) -> sp.csr_matrix:
        """Return the joint feature vectors ``f(x, y)``, so that ``F = joint_feature @ weights_``.

        Parameters
        ----------
        X, y
            Samples and their labels, as in `fit`.

        Returns
        -------
        scipy.sparse.csr_matrix of shape (n_samples, n_weights)
            One row per sample, columns in the order of ``weights_``.
        """
        samples = self._pack(X)
        return inference.joint_features(samples, self._codes(y, samples), self._weight_shape)

    # -- saving -----------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the trained model to one file (npz with a JSON header, no pickle).

        Parameters
        ----------
        path : str or Path
            File to write.  An existing file is replaced in one step.  `medn_edu.load_model` reads it.

        Raises
        ------
        OSError
            If the file cannot be written.
        TypeError
            If labels or parameters are of types that JSON cannot hold.
        """
        check_is_fitted(self, "coef_")
        saving.save_model(self, path)

    # -- shared pieces ----------------------------------------------------------------------

    def _pack(self, X: Any) -> SampleSet:
        check_is_fitted(self, "coef_")
        samples = pack(X, n_features=self.n_features_in_)
        n_edge_types = len(self._allowed)
        if samples.n_edge_features != self.n_edge_features_in_:
            raise ValueError(
                f"X has {samples.n_edge_features} edge features; expected "
                f"{self.n_edge_features_in_}, as in training."
            )
        if samples.n_edge_types > n_edge_types:
            edges, first, _ = samples.ends
            bad = samples.sample_of_node[
                first[np.argmax(samples.edge_types[edges] >= n_edge_types)]
            ]
            raise ValueError(
                f"sample {bad} of X has an edge type that was not seen in training; "
                f"expected edge types below {n_edge_types}."
            )
        return samples

    def _potentials(self, X: Any) -> inference.Potentials:
        samples = self._pack(X)
        with one_blas_thread():  # the rest of prediction has no use for BLAS
            return inference.Potentials.of_weights(
                samples, self.coef_, self.transitions_, self._allowed,
                mask=label_mask(samples, self.classes_), n_jobs=self.n_jobs,
            )  # fmt: skip

    def _best(self, potentials: inference.Potentials) -> tuple[np.ndarray, np.ndarray]:
        """Return the label codes of all nodes, and the score of each sample's labelling."""
        return inference.best_labelling(potentials, n_jobs=self.n_jobs)

    def _marginals(self, potentials: inference.Potentials, temperature: float) -> np.ndarray:
        return inference.marginals(potentials, temperature, n_jobs=self.n_jobs).node

    def _edge_marginals(self, potentials: inference.Potentials, temperature: float) -> np.ndarray:
        return inference.edge_marginals(potentials, temperature, n_jobs=self.n_jobs)

    def _codes(self, y: Any, samples: SampleSet) -> np.ndarray:
        return encode_labels(y, samples, self.classes_.tolist())[0]
