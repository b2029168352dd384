"""Models of binary images, as the studies ``epsilon`` and ``denoising`` train them.

Their samples are images, of which each model makes the grid that it wants, and their labels are those of
all pixels, row by row.  Labels are coded -1 and +1: a pixel has the score ``y w x``, an edge ``y y' w``.
``C`` is the paper's, which multiplies the squared norm of the weights, not the losses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from scipy.optimize import minimize
from sklearn.base import BaseEstimator

from medn_edu.inference import Potentials, feature_sums, loopy
from medn_edu.problems import LocalProblem, PowerNorm
from medn_edu.results import Iterate, run
from medn_edu.samples import LabelledSamples, SampleSet, grid, label_samples, pack
from medn_edu.solvers import (
    epsilon_continuation,
    nested_lbfgs,
    norm_product_learning,
    swept_lbfgs,
)
from medn_edu.studies.kit import shared_parameters as shared

_AGREEMENT = 1e-3  # of beliefs, with which predictions are content
_N_SWEEPS = 300

Images = Sequence[np.ndarray]
Labels = Iterable[np.ndarray]


class ImageModel(BaseEstimator):
    """What the models share: how images become grids, and beliefs labels."""

    weights_: np.ndarray
    C = 1.0
    share = True
    differences = False

    def grids(self, images: Images) -> SampleSet:
        """Return images as the grids of this model."""
        if self.share:
            return shared.shared_grids(np.asarray(images), differences=self.differences)
        return pack([grid(image, share=False) for image in images])

    def labelled(self, images: Images, labels: Labels) -> LabelledSamples:
        """Return images with their labels, ready for training."""
        samples = self.grids(images)
        allowed = np.ones((samples.n_edge_types, 2, 2), dtype=bool)
        return label_samples(samples, np.concatenate(list(labels)), allowed, table="ising")

    def potentials(self, images: Images) -> Potentials:
        """Return the potentials of images under the weights learned."""
        samples = self.grids(images)
        return Potentials.of_weights(samples, *self.shape_.split(self.weights_))

    def predict(self, images: Images, **how: Any) -> list[np.ndarray]:
        """Return the labels of all pixels, an array for each image."""
        potentials = self.potentials(images)
        return np.split(self.decide(potentials, **how), potentials.samples.offsets[1:-1])

    def decide(self, potentials: Potentials) -> np.ndarray:
        """Return the best label of each pixel."""
        return potentials.node.argmax(axis=1)


# -- ours -----------------------------------------------------------------------------------------


def _ours(problem: LocalProblem) -> Iterator[Iterate]:
    if problem.epsilon == 0:
        return epsilon_continuation(problem)
    return swept_lbfgs(problem) if problem.is_plain else nested_lbfgs(problem)


_SOLVERS: dict[str, Callable[[LocalProblem], Iterator[Iterate]]] = {
    "ours": _ours,
    "Fig. 1": norm_product_learning,  # all weights at once
    "in turn": partial(norm_product_learning, in_turn=True),  # the figure's step (b)
}


class GridNetwork(ImageModel):
    """The paper's program, with weights of each pixel and each edge, or with shared ones.

    ``result_`` has the certificate.  If ``traced``, every pass is certified, which takes time.
    """

    def __init__(
        self,
        C: float = 1.0,
        epsilon: float = 1.0,
        share: bool = False,
        differences: bool = False,
        counting_numbers: str = "ones",
        solver: str = "ours",
        tol: float = 1e-5,
        max_iter: int = 1000,
        traced: bool = False,
    ) -> None:
        self.C = C
        self.epsilon = epsilon
        self.share = share
        self.differences = differences
        self.counting_numbers = counting_numbers
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.traced = traced

    def fit(self, images: Images, labels: Labels) -> Self:
        """Train it."""
        data = self.labelled(images, labels)
        problem = LocalProblem(data, self.epsilon, PowerNorm(self.C), self.counting_numbers)
        self.certificates_: list[Any] = []

        def record(_: int, iterate: Iterate) -> None:
            if self.traced:
                self.certificates_.append(iterate.certify(problem))

        iterates = _SOLVERS[self.solver](problem)
        self.result_ = run(iterates, problem, tol=self.tol, max_iter=self.max_iter, record=record)
        self.weights_, self.shape_ = self.result_.weights, data.weight_shape
        return self

    def decide(self, potentials: Potentials, epsilon: float | None = None) -> np.ndarray:
        """Return the best labels given the messages at some temperature, by default that of training."""
        epsilon = self.epsilon if epsilon is None else epsilon
        return loopy.norm_product(
            potentials, self.counting_numbers, epsilon, tol=_AGREEMENT, max_sweeps=_N_SWEEPS
        ).labels


class ExactNetwork(ImageModel):
    """The same with the soft-max of all labellings itself, by a transfer matrix: nothing is local."""

    share = False

    def __init__(self, C: float = 1.0, epsilon: float = 1.0, max_iter: int = 300) -> None:
        self.C = C
        self.epsilon = epsilon
        self.max_iter = max_iter

    def fit(self, images: Images, labels: Labels) -> Self:
        """Train it by L-BFGS."""
        data = self.labelled(images, labels)
        problem = LocalProblem(data, self.epsilon, PowerNorm(self.C))

        def objective(weights: np.ndarray) -> tuple[float, np.ndarray]:
            found = loopy.transfer_matrix(problem.augmented(weights), self.epsilon)
            pairs = np.zeros((len(data.allowed_pairs), 2, 2))
            np.add.at(pairs, data.samples.edge_kinds, found.beliefs.edge)
            expected = data.join(feature_sums(data.samples, found.beliefs.node), pairs)
            slope = expected - problem.observed
            value = float(found.value.sum() - problem.observed @ weights)
            norm = problem.power_norm
            return value + norm.value(weights), slope + norm.gradient(weights)

        self.shape_ = data.weight_shape
        found = minimize(
            objective, np.zeros(self.shape_.size), jac=True, method="L-BFGS-B",
            options={"maxiter": self.max_iter, "ftol": 1e-9},
        )  # fmt: skip
        self.weights_, self.objective_ = found.x, float(found.fun)
        return self

    def decide(self, potentials: Potentials) -> np.ndarray:
        """Return the labels with the largest exact marginals."""
        return exact_labels(potentials, self.epsilon)


def exact_labels(potentials: Potentials, epsilon: float) -> np.ndarray:
    """Return the labels with the largest exact marginals at some temperature."""
    return loopy.transfer_matrix(potentials, epsilon).beliefs.node.argmax(axis=1)


# -- rivals ---------------------------------------------------------------------------------------


def loopy_moments(potentials: Potentials, start: Any = None) -> loopy.LocalSolution:
    """Return moments of loopy belief propagation."""
    return loopy.loopy_bp(potentials, tol=1e-3, max_sweeps=50, start=start)


def mean_field_moments(potentials: Potentials, start: Any = None) -> loopy.LocalSolution:
    """Return moments of mean field."""
    return loopy.mean_field(potentials, tol=1e-4, max_sweeps=50, start=start)


_MOMENTS: dict[str, Callable[..., Any]] = {"LBP": loopy_moments, "MF": mean_field_moments}
_LEARNERS: dict[str, Callable[..., shared.Learned]] = {
    "BFGS": partial(shared.bfgs, max_iter=50),
    "SGD": partial(shared.sgd, step=0.5, n_passes=5),
    "SMD": partial(shared.smd, step=0.5, meta_step=0.1, n_passes=5),
}


class SharedNetwork(ImageModel):
    """Few weights, shared by all pixels and by all edges, as the rivals learn them.

    ``method`` is what approximates the likelihood, "LBP" or "MF", or "PL" for the pseudo-likelihood,
    and what minimises, "BFGS", "SGD" or "SMD", with a hyphen between; "pixels" has no edges.
    """

    def __init__(self, method: str = "LBP-BFGS", C: float = 1.0, differences: bool = False) -> None:
        self.method = method
        self.C = C
        self.differences = differences

    def fit(self, images: Images, labels: Labels) -> Self:
        """Train it, from the best weights without edges on."""
        data = self.labelled(images, labels)
        approximation, _, learner = self.method.partition("-")
        moments = _MOMENTS.get(approximation)
        loss = shared.likelihood(moments) if moments else shared.pseudo_likelihood
        objective = shared.Objective(data.samples, data.labels, data.weight_shape, loss, self.C)
        start = shared.independent_pixels(objective)
        self.shape_, self.weights_, self.learned_ = data.weight_shape, start, None
        if learner:
            self.learned_ = _LEARNERS[learner](objective, start)
            self.weights_ = self.learned_.weights
        return self

    def decide(self, potentials: Potentials) -> np.ndarray:
        """Return the labels with the largest beliefs, of loopy propagation for pseudo-likelihood."""
        if self.method == "pixels":
            return super().decide(potentials)
        moments = _MOMENTS.get(self.method.partition("-")[0], loopy_moments)
        return moments(potentials).beliefs.node.argmax(axis=1)


class MinimumCut(ImageModel):
    """Independent pixels, joined by a minimum cut whose edges are chosen on validation images.

    An edge has the weight ``max(0, a - b |x_u - x_v|)``; the last quarter of the training images
    chooses ``a`` and ``b``.
    """

    differences = True

    def __init__(self, C: float = 1.0) -> None:
        self.C = C

    def fit(self, images: Images, labels: Labels) -> Self:
        """Learn the pixels' weights, then choose those of the edges."""
        labels = list(labels)
        n = len(labels) - max(1, len(labels) // 4)
        pixels = SharedNetwork("pixels", self.C, differences=True).fit(images[:n], labels[:n])
        self.shape_, node = pixels.shape_, pixels.weights_[:2]
        truth, self.weights_ = np.concatenate(labels[n:]), pixels.weights_
        best = np.inf
        for a in (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0):
            for b in (0.0, a / 2, a) if a else (0.0,):
                before, self.weights_ = self.weights_, np.concatenate([node, [a, -b]])
                wrong = int(np.sum(self.decide(self.potentials(images[n:])) != truth))
                if wrong < best:
                    best = wrong
                else:
                    self.weights_ = before
        return self

    def decide(self, potentials: Potentials) -> np.ndarray:
        """Return the best labelling; edges that repel are left out."""
        attract = np.maximum(potentials.edge[:, 1, 1], 0.0)[:, None, None]
        return loopy.min_cut(replace(potentials, edge=attract * _ISING)).labels


_ISING = np.array([[1.0, -1.0], [-1.0, 1.0]])


class Threshold(ImageModel):
    """The threshold of pixel values that errs least on the training images, blind to neighbours."""

    def fit(self, images: Images, labels: Labels) -> Self:
        """Try every threshold."""
        pixels, truth = np.ravel(images), np.concatenate(list(labels))
        order = np.argsort(pixels, kind="stable")
        # With the k smallest pixels below the threshold, their ones are wrong and the others' zeros.
        ones = np.concatenate([[0], np.cumsum(truth[order])])
        wrong = ones + (len(truth) - np.arange(len(ones))) - (ones[-1] - ones)
        k = min(int(np.argmin(wrong)), len(pixels) - 1)
        self.weights_ = pixels[order[k : k + 1]]
        return self

    def predict(self, images: Images, **how: Any) -> list[np.ndarray]:
        """Return which pixels reach the threshold."""
        return [(image.ravel() >= self.weights_[0]).astype(np.int64) for image in images]


class Vote(ImageModel):
    """What most training labels of a pixel are, without a look at the image."""

    def fit(self, images: Images, labels: Labels) -> Self:
        """Count the labels."""
        del images
        votes = np.mean(list(labels), axis=0)
        self.weights_, self.labels_ = votes, (votes > 0.5).astype(np.int64)
        return self

    def predict(self, images: Images, **how: Any) -> list[np.ndarray]:
        """Return the same labels for every image."""
        return [self.labels_] * len(images)


# -- pictures in tables ---------------------------------------------------------------------------


def picture_text(labels: np.ndarray) -> str:
    """Write the labels of an image into one cell of a table; no number looks like that.

    >>> picture_text(np.array([[0, 1], [1, 1]]))
    'x70'
    """
    return f"x{np.packbits(labels.ravel().astype(bool)).tobytes().hex()}"


def picture_of(text: str, shape: tuple[int, int]) -> np.ndarray:
    """Read what `picture_text` wrote.

    >>> picture_of("x70", (2, 2)).tolist()
    [[0, 1], [1, 1]]
    """
    bits = np.unpackbits(np.frombuffer(bytes.fromhex(text[1:]), dtype=np.uint8))
    return bits[: shape[0] * shape[1]].reshape(shape)
