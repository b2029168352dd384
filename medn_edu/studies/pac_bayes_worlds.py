r"""Two worlds in which everything is known: every input, every labelling, and how probable each is.

A bound on the error to come can be judged only where the error to come is known.  So inputs come from
a short list here, and a *world* is a table of all pairs of an input and a labelling with their
probabilities.  A sample of N pairs is then one multinomial draw of counts, whatever N is, and both
errors of a model are sums over the table,

.. math:: \Pr_Q[M \le 0] = \sum_{x, y} Q(x, y) \, [M(x, y) \le 0], \qquad
          \Pr_D[M \le 0] = \frac{1}{N} \sum_{x, y} n_{x, y} \, [M(x, y) \le 0] .

**Words.**  Three letters, each one of two; two neighbours are equal with probability 0.95.  A letter
is seen as :math:`x = \pm 1`, and in one case out of fifty as the other one.  In three words out of
ten the letter in the middle cannot be seen at all, :math:`x = 0`, and only its neighbours tell what it
is: a model must learn both what letters look like and that neighbours are equal.

**Noise.**  One letter, seen without error; there are 400 kinds, and a fair coin says which of two
labels it gets.  Nothing can be learned, and every model errs on half of all letters to come.  But each
kind can be learned by heart.
"""

import itertools
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from medn_edu.priors import GaussianPrior, Prior
from medn_edu.problems import MarginLoss, Problem
from medn_edu.results import SolveResult, run
from medn_edu.samples import LabelledSamples, label_samples, pack
from medn_edu.slacks import LinearSlack
from medn_edu.solvers import block_frank_wolfe
from medn_edu.theory.bounds import log_n_labellings, score_bound
from medn_edu.theory.medn import enumerate_problem

_EQUAL, _MISREAD, _UNSEEN = 0.95, 0.02, 0.3  # of the words: see above
_N_KINDS = 400  # of letters without any pattern
_TOL, _N_PASSES = 1e-3, 1000  # relative gap of MEDN


@dataclass(frozen=True, eq=False)
class World:
    """Every pair of an input and a labelling, and how probable it is."""

    inputs: list[np.ndarray]  # input of each pair, all labellings of one input after each other
    labels: np.ndarray  # labelling of each pair
    probability: np.ndarray  # their probabilities; they sum to 1

    @cached_property
    def data(self) -> LabelledSamples:
        """A sample for each pair."""
        return self._pack(np.arange(len(self.labels)))

    @cached_property
    def log_n_labellings(self) -> float:
        """``ln |Y|``."""
        return log_n_labellings(self.data)

    def score_bound(self, largest_weight: float) -> float:
        """Return the bound on all scores, over all inputs there are."""
        return score_bound(self.data, largest_weight)

    def draw(self, n_samples: int, rng: np.random.Generator) -> np.ndarray:
        """Draw a sample."""
        return rng.multinomial(n_samples, self.probability)

    def observed(self, counts: np.ndarray) -> LabelledSamples:
        """Return a sample as training data."""
        seen = np.flatnonzero(counts)
        return self._pack(seen, counts[seen].astype(float))

    def margins(self, weights: np.ndarray) -> np.ndarray:
        """Return the margin of every pair under every model, by enumeration."""
        leads = (self._differences @ np.asarray(weights, dtype=float).T).T
        return leads.reshape(len(leads), len(self.labels), -1).min(axis=2)

    def errors(self, margins: np.ndarray) -> np.ndarray:
        """Return the error to come, ``Pr_Q[M <= 0]``."""
        return (margins <= 0) @ self.probability

    @cached_property
    def _differences(self) -> sparse.csr_array:
        """``f(x, y) - f(x, y')``, a row for each pair and rival ``y'``."""
        problem = enumerate_problem(self.data, GaussianPrior(), LinearSlack())  # or any others
        return sparse.csr_array(problem.differences[problem.losses > 0])

    def _pack(self, pairs: np.ndarray, weight: np.ndarray | None = None) -> LabelledSamples:
        samples = pack([self.inputs[i] for i in pairs])
        transitions = np.ones((1, 2, 2), dtype=bool)
        return label_samples(samples, self.labels[pairs].ravel(), transitions, sample_weight=weight)


def words() -> World:
    """Return the world of three-letter words."""
    inputs, labels, probability = [], [], []
    for x in itertools.product((-1, 1), (-1, 0, 1), (-1, 1)):
        for y in itertools.product((0, 1), repeat=3):
            inputs.append(np.array(x, dtype=float)[:, None])
            labels.append(y)
            probability.append(_chance_of_labels(y) * _chance_of_letters(x, y))
    return World(inputs, np.array(labels), np.array(probability))


def _chance_of_labels(y: tuple[int, ...]) -> float:
    pairs = itertools.pairwise(y)
    return 0.5 * float(np.prod([_EQUAL if a == b else 1 - _EQUAL for a, b in pairs]))


def _chance_of_letters(x: tuple[int, ...], y: tuple[int, ...]) -> float:
    seen = [t for t in range(3) if x[t] != 0]
    middle = 1 - _UNSEEN if 1 in seen else _UNSEEN
    right = [1 - _MISREAD if x[t] == 2 * y[t] - 1 else _MISREAD for t in seen]
    return middle * float(np.prod(right))


def noise() -> World:
    """Return the world of letters whose labels are coin flips."""
    kinds = np.repeat(np.eye(_N_KINDS), 2, axis=0)[:, None, :]
    labels = np.tile([[0], [1]], (_N_KINDS, 1))
    return World(list(kinds), labels, np.full(2 * _N_KINDS, 0.5 / _N_KINDS))


def fit_medn(world: World, counts: np.ndarray, prior: Prior, price: float) -> SolveResult:
    """Train MEDN on a sample, with ``C = price / N``."""
    problem = Problem(world.observed(counts), MarginLoss(LinearSlack(price / counts.sum())), prior)
    passes = block_frank_wolfe(problem, rng=np.random.default_rng(0))
    return run(passes, problem, tol=_TOL, max_iter=_N_PASSES)


def learn_by_heart(world: World, counts: np.ndarray) -> np.ndarray:
    r"""Return the eta that gives each kind of letter the label seen most often with it.

    All entries are equally small, ``1 / sqrt(n_kinds)``: under the prior of two points
    :math:`\pm 1` they make a divergence of 1, whatever the labels.
    """
    n_kinds = len(world.labels) // 2
    signs = np.where(counts[0::2] >= counts[1::2], 1.0, -1.0) / np.sqrt(n_kinds)
    transitions = world.data.weight_shape.size - 2 * n_kinds
    return np.concatenate([signs, -signs, np.zeros(transitions)])
