"""Learning on factor graphs: structured prediction (3), its approximation, and a solver.

``learning.md`` explains the theory, with its formulas typeset.
"""

from dataclasses import dataclass

import numpy as np

from medn_edu.theory.factor_graphs.entropies import CountingNumbers, local_entropy
from medn_edu.theory.factor_graphs.graph import (
    Beliefs,
    FactorGraph,
    Messages,
    log_partition,
    probabilities,
    scores,
)
from medn_edu.theory.factor_graphs.messages import (
    Update,
    beliefs,
    decomposed_soft_max,
    messages_from_node,
    sweep,
    zero_messages,
)


@dataclass(frozen=True, eq=False)
class Example:
    """One training pair on a factor graph."""

    loss: tuple[np.ndarray, ...]  # ``e_{y,v}``, 0 at the true label
    node_features: tuple[np.ndarray, ...]  # ``phi_{r,v}``
    scopes: tuple[tuple[int, ...], ...]  # nodes of each factor
    factor_features: tuple[np.ndarray, ...]  # ``phi_{r,alpha}``
    truth: tuple[int, ...]  # the true labelling ``y``

    def graph(self, theta: np.ndarray) -> FactorGraph:
        """Potentials under weights ``theta``; the node potentials include the loss."""
        pairs = zip(self.loss, self.node_features, strict=True)
        nodes = tuple(e + phi @ theta for e, phi in pairs)
        return FactorGraph(nodes, self.scopes, tuple(phi @ theta for phi in self.factor_features))

    @property
    def losses(self) -> np.ndarray:
        """``e_y`` of all labellings."""
        return scores(self.graph(np.zeros(self.node_features[0].shape[1])))

    @property
    def features(self) -> np.ndarray:
        """``Phi(x, .)`` of all labellings, of shape (n_labellings, n_features)."""
        unit = np.eye(self.node_features[0].shape[1])
        return np.stack([scores(self.graph(r)) - self.losses for r in unit], axis=1)

    @property
    def true_features(self) -> np.ndarray:
        """``Phi(x, y)``."""
        y = self.truth
        nodes = sum(phi[y[v]] for v, phi in enumerate(self.node_features))
        pairs = zip(self.scopes, self.factor_features, strict=True)
        return np.asarray(nodes + sum(phi[tuple(y[v] for v in scope)] for scope, phi in pairs))

    def mean_features(self, b: Beliefs) -> np.ndarray:
        """Features averaged under beliefs."""
        pairs = [*zip(b.node, self.node_features, strict=True)]
        pairs += zip(b.factor, self.factor_features, strict=True)
        return np.asarray(sum(np.tensordot(q, phi, axes=q.ndim) for q, phi in pairs))

    def mean_loss(self, b: Beliefs) -> float:
        """Loss averaged under beliefs."""
        return float(sum(q @ e for q, e in zip(b.node, self.loss, strict=True)))


@dataclass(frozen=True, eq=False)
class Program:
    """Structured prediction, exact and approximated, with its data and constants."""

    examples: tuple[Example, ...]  # the training pairs, all on the same factor graph
    C: float  # weight of the regulariser
    p: float  # its exponent, above 1
    epsilon: float  # temperature
    c: CountingNumbers  # counting numbers of the approximation

    @property
    def q(self) -> float:
        """Exponent of the dual norm, ``1/p + 1/q = 1``."""
        return self.p / (self.p - 1)

    @property
    def d(self) -> np.ndarray:
        """Sum of the features of the true labellings."""
        return np.asarray(sum(example.true_features for example in self.examples))

    def regulariser(self, theta: np.ndarray) -> float:
        """``C/p |theta|_p^p``."""
        return float(self.C / self.p * np.sum(np.abs(theta) ** self.p))

    def regulariser_slope(self, theta: np.ndarray) -> np.ndarray:
        """``C |theta|^(p-1) sign(theta)``."""
        return self.C * np.abs(theta) ** (self.p - 1) * np.sign(theta)

    def mismatch_price(self, z: np.ndarray) -> float:
        """``C^(1-q)/q |z|_q^q``, the conjugate of the regulariser."""
        return float(self.C ** (1 - self.q) / self.q * np.sum(np.abs(z) ** self.q))

    # -- exact ------------------------------------------------------------------------------------

    def exact_value(self, theta: np.ndarray) -> float:
        """Structured prediction, Eq. (3)."""
        parts = [log_partition(example.graph(theta), self.epsilon) for example in self.examples]
        return sum(parts) - float(self.d @ theta) + self.regulariser(theta)

    def exact_gradient(self, theta: np.ndarray) -> np.ndarray:
        """Gradient of Eq. (3): Eq. (4), with the factor ``C``."""
        parts = [
            probabilities(example.graph(theta), self.epsilon) @ example.features
            for example in self.examples
        ]
        return np.asarray(sum(parts) - self.d + self.regulariser_slope(theta))

    # -- approximated -----------------------------------------------------------------------------

    def value(self, theta: np.ndarray, lam: tuple[Messages, ...]) -> float:
        """Return approximated structured prediction: Theorem 2 with the regulariser added."""
        parts = [
            decomposed_soft_max(example.graph(theta), messages, self.c, self.epsilon)
            for example, messages in zip(self.examples, lam, strict=True)
        ]
        return sum(parts) - float(self.d @ theta) + self.regulariser(theta)

    def beliefs(self, theta: np.ndarray, lam: tuple[Messages, ...]) -> tuple[Beliefs, ...]:
        """Return the beliefs of every example, as in Lemma 4."""
        pairs = zip(self.examples, lam, strict=True)
        return tuple(
            beliefs(e.graph(theta), messages, self.c, self.epsilon) for e, messages in pairs
        )

    def mismatch(self, b: tuple[Beliefs, ...]) -> np.ndarray:
        """Features averaged under the beliefs, minus the features of the truth."""
        pairs = zip(self.examples, b, strict=True)
        return np.asarray(sum(example.mean_features(each) for example, each in pairs) - self.d)

    def gradient(self, theta: np.ndarray, lam: tuple[Messages, ...]) -> np.ndarray:
        """Return the gradient with respect to ``theta``, Lemma 4."""
        return self.mismatch(self.beliefs(theta, lam)) + self.regulariser_slope(theta)

    def dual_value(self, b: tuple[Beliefs, ...]) -> float:
        """The approximated dual, Eq. (9), for beliefs that agree."""
        parts = [
            self.epsilon * local_entropy(each, self.c) + example.mean_loss(each)
            for example, each in zip(self.examples, b, strict=True)
        ]
        return sum(parts) - self.mismatch_price(self.mismatch(b))

    def zero_messages(self) -> tuple[Messages, ...]:
        """Messages of every example, all of them zero."""
        nothing = np.zeros(len(self.d))
        return tuple(zero_messages(example.graph(nothing)) for example in self.examples)


@dataclass(frozen=True, eq=False)
class Descent:
    """The result of coordinate descent."""

    theta: np.ndarray  # weights
    lam: tuple[Messages, ...]  # messages of every example
    values: list[float]  # value at the start and after every block of updates


def coordinate_descent(
    program: Program,
    *,
    n_rounds: int = 100,
    step: float = 1.0,
    update: Update = messages_from_node,
    in_turn: bool = False,
) -> Descent:
    """Minimise the approximated program as in Figure 1: messages, weights, messages, ...

    The step of the weights is halved until the value decreases by at least half of what the gradient
    promises (Armijo's rule).  The next step starts twice as long.  With ``in_turn`` the weights move one
    after another, as in the figure.  Then each weight has its own step, which only has to lower the
    value.

    >>> rng = np.random.default_rng(0)
    >>> examples = random_examples(rng, ((0, 1), (1, 2), (2, 0)), (2, 2, 2))
    >>> c = CountingNumbers.ones(examples[0].graph(np.zeros(3)))
    >>> found = coordinate_descent(Program(examples, C=1.0, p=2.0, epsilon=1.0, c=c))
    >>> bool(np.all(np.diff(found.values) <= 1e-12))
    True
    """
    theta, lam = np.zeros(len(program.d)), program.zero_messages()
    values = [program.value(theta, lam)]
    together = np.eye(len(theta)) if in_turn else np.ones((1, len(theta)))
    steps = np.full(len(together), step)
    for _ in range(n_rounds):
        pairs = zip(program.examples, lam, strict=True)
        lam = tuple(
            sweep(e.graph(theta), each, program.c, program.epsilon, update) for e, each in pairs
        )
        values.append(program.value(theta, lam))
        for k, moving in enumerate(together):
            slope = moving * program.gradient(theta, lam)
            enough = 0.0 if in_turn else float(slope @ slope) / 2
            trial = 2 * steps[k]
            while trial > 1e-12:
                new = program.value(theta - trial * slope, lam)
                if new < values[-1] - trial * enough:
                    theta, steps[k] = theta - trial * slope, trial
                    values.append(new)
                    break
                trial /= 2
    return Descent(theta, lam, values)


def random_examples(
    rng: np.random.Generator,
    scopes: tuple[tuple[int, ...], ...],
    n_labels: tuple[int, ...],
    *,
    n_features: int = 3,
    n_examples: int = 2,
) -> tuple[Example, ...]:
    """Draw training pairs with normal features and random losses."""

    def draw() -> Example:
        truth = tuple(int(rng.integers(n)) for n in n_labels)
        wrong = [np.arange(n) != y for n, y in zip(n_labels, truth, strict=True)]
        shapes = [tuple(n_labels[v] for v in scope) for scope in scopes]
        return Example(
            tuple(rng.uniform(0.5, 1.5, len(w)) * w for w in wrong),
            tuple(rng.normal(size=(n, n_features)) for n in n_labels),
            scopes,
            tuple(rng.normal(size=(*shape, n_features)) for shape in shapes),
            truth,
        )

    return tuple(draw() for _ in range(n_examples))
