r"""Inference on forests in a few plain lines each: a readable version of what the compiled code does.

A sample gives every node ``t`` a potential ``node[t, b]`` for each label ``b``, and every edge a table
``edge[type, a, b]`` for the labels of parent and child.  A *labelling* ``y`` has the score

.. math:: F(y) = \sum_t node[t, y_t] + \sum_{s \to t} edge[type_t, y_s, y_t]

and at temperature :math:`\epsilon` the probability :math:`p(y) \propto \exp(F(y) / \epsilon)`.

**Everything by enumeration.**  `labellings` lists all labellings, and `all_scores` their scores.  Every
question is then answered by its definition.  The best labelling is an ``argmax``, the log-partition is a
sum, and a marginal is the total probability of the labellings in question.  This is certainly right, but
hopeless beyond a dozen nodes: a word of 9 letters has :math:`26^9 \approx 5 \cdot 10^{12}` labellings.

**The same by recursion.**  Let :math:`B_t(b)` be the best score of the subtree of node ``t`` (the node
and everything below it) when ``t`` has label ``b``.  Given ``b``, the choices below one child do not
affect those below another, so

.. math:: B_t(b) = node[t, b] + \sum_{c \text{ child of } t} \max_{b'} \{edge[b, b'] + B_c(b')\} .

The recursion uses only that addition distributes over ``max``: ``x + max(y, z) = max(x + y, x + z)``.
Multiplication distributes over sums in the same way.  So with ``logsumexp`` in place of ``max``, the
same recursion gives the log-partition.  With sorted lists in place of numbers, it gives the ``k`` best.
One recursion with three meanings of "sum" gives three algorithms (Aji and McEliece 2000).

**Marginals from above and below.**  A node's label depends on more than the subtree below it.  The rest
of the tree acts through the node's parent.  So a second sweep goes down and multiplies
:math:`p(y_c = b', y_t = b) = p(y_t = b)\, p(y_c = b' \mid y_t = b)`.  The second factor depends only on
the edge to ``c`` and on its subtree.  Drawing labels instead of multiplying probabilities gives an exact
random labelling.

The functions take a `Tree`, one sample at a time, and make no attempt at speed.

Every compiled kernel has a plain twin of this kind; ``twins.toml`` lists them.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from scipy.special import entr, logsumexp, softmax

from medn_edu.samples import Samples


@dataclass(frozen=True, eq=False)
class Tree:
    """One sample and its potentials: a forest whose nodes are numbered parents first."""

    node: np.ndarray  # node potentials
    edge: np.ndarray  # edge potentials, ``[type, parent's label, child's label]``
    parents: np.ndarray  # parent of each node, -1 at roots
    edge_types: np.ndarray  # type of the edge from the parent

    @classmethod
    def of(cls, samples: Samples, node: np.ndarray, edge: np.ndarray, i: int) -> Tree:
        """Return sample ``i`` of packed samples."""
        nodes = slice(samples.offsets[i], samples.offsets[i + 1])
        parents = samples.parents[nodes]
        local = np.where(parents < 0, -1, parents - samples.offsets[i])
        return cls(node[nodes], edge, local, samples.edge_kinds[nodes])

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return self.node.shape[0]

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return self.node.shape[1]

    def roots(self) -> list[int]:
        """Nodes without a parent."""
        return np.flatnonzero(self.parents < 0).tolist()

    def children(self, t: int) -> list[int]:
        """Nodes whose parent is ``t``."""
        return np.flatnonzero(self.parents == t).tolist()

    def table(self, t: int) -> np.ndarray:
        """Potentials of the edge above node ``t``, [parent's label, label]."""
        return self.edge[self.edge_types[t]]


# -- by enumeration -----------------------------------------------------------------------------


def labellings(tree: Tree) -> np.ndarray:
    """Return all ``n_labels ** n_nodes`` labellings, one per row, in lexicographic order."""
    return np.array(list(itertools.product(range(tree.n_labels), repeat=tree.n_nodes)))


def score(tree: Tree, y: np.ndarray) -> float:
    """Return the score ``F(y)`` of one labelling."""
    total = sum(tree.node[t, y[t]] for t in range(tree.n_nodes))
    for t in range(tree.n_nodes):
        if tree.parents[t] >= 0:
            total += tree.table(t)[y[tree.parents[t]], y[t]]
    return float(total)


def all_scores(tree: Tree) -> np.ndarray:
    """Return the scores of all labellings."""
    return np.array([score(tree, y) for y in labellings(tree)])


def enumerated_best(tree: Tree) -> tuple[np.ndarray, float]:
    """Return the best labelling (the first one if several tie) and its score."""
    scores = all_scores(tree)
    return labellings(tree)[np.argmax(scores)], float(scores.max())


def enumerated_k_best(tree: Tree, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the ``k`` best allowed labellings and their scores, best first."""
    scores = all_scores(tree)
    order = np.argsort(-scores, kind="stable")[:k]
    order = order[scores[order] > -np.inf]
    return labellings(tree)[order], scores[order]


def enumerated_log_partition(tree: Tree, epsilon: float = 1.0) -> float:
    """Return ``epsilon log sum_y exp(F(y) / epsilon)``; the maximum at ``epsilon = 0``."""
    scores = all_scores(tree)
    if epsilon == 0.0:
        return float(scores.max())
    return float(epsilon * logsumexp(scores / epsilon))


def enumerated_probabilities(tree: Tree, epsilon: float = 1.0) -> np.ndarray:
    """Return the probability of each labelling."""
    return softmax(all_scores(tree) / epsilon)


def enumerated_marginals(tree: Tree, epsilon: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Return node marginals (n_nodes, n_labels) and edge marginals (n_nodes, n_labels, n_labels).

    The edge marginals at node ``t`` are those of the edge from its parent; they are zero at roots.
    """
    node, edge = np.zeros_like(tree.node), np.zeros((tree.n_nodes, tree.n_labels, tree.n_labels))
    for y, p in zip(labellings(tree), enumerated_probabilities(tree, epsilon), strict=True):
        for t in range(tree.n_nodes):
            node[t, y[t]] += p
            if tree.parents[t] >= 0:
                edge[t, y[tree.parents[t]], y[t]] += p
    return node, edge


def enumerated_entropy(tree: Tree, epsilon: float = 1.0) -> float:
    """Return the entropy ``-sum_y p(y) log p(y)``."""
    return float(entr(enumerated_probabilities(tree, epsilon)).sum())


def gibbs_transition(tree: Tree, epsilon: float = 1.0) -> np.ndarray:
    """Return the transition matrix between labellings of one sweep of Gibbs sampling.

    Redrawing node ``t`` moves from ``y`` to itself or to a labelling that differs only at ``t``, in
    proportion to the labellings' probabilities.  A sweep is the product of these moves over all nodes.
    No sampler starts from a forbidden labelling, so its row may be that of the identity.
    """
    every, p = labellings(tree), enumerated_probabilities(tree, epsilon)
    sweep = np.eye(len(every))
    for t in range(tree.n_nodes):
        others = np.delete(every, t, axis=1)
        move = np.where((others[:, None] == others[None]).all(axis=2), p, 0.0)
        total = move.sum(axis=1, keepdims=True)
        sweep = sweep @ np.where(total > 0, move / np.where(total > 0, total, 1.0), np.eye(len(p)))
    return sweep


# -- scores and features of packed samples --------------------------------------------------------


def node_scores(samples: Samples, coef: np.ndarray) -> np.ndarray:
    """Return the scores ``coef[a] . x_t`` of all labels ``a`` at all nodes ``t``."""
    return samples.features.toarray() @ coef.T


def feature_sums(samples: Samples, values: np.ndarray) -> np.ndarray:
    """Return ``sum_t values[t, a] x_t`` per label ``a``; one-hot values give the features by label."""
    return values.T @ samples.features.toarray()


def edge_counts(
    samples: Samples, labels: np.ndarray, weight: np.ndarray, shape: tuple
) -> np.ndarray:
    """Return how often each ``[type, parent's label, label]`` occurs, each sample times its weight."""
    counts, weights = np.zeros(shape), np.repeat(weight, samples.lengths)
    for t, (kind, parent) in enumerate(zip(samples.edge_types, samples.parents, strict=True)):
        if parent >= 0:
            counts[kind, labels[parent], labels[t]] += weights[t]
    return counts


def mean_squares(samples: Samples) -> np.ndarray:
    """Return the mean square of each feature over the nodes that have it; 1 if none has."""
    dense = samples.features.toarray()
    n_nodes = np.count_nonzero(dense, axis=0)
    return np.where(n_nodes > 0, (dense**2).sum(axis=0) / np.maximum(n_nodes, 1), 1.0)


def compressed(dense: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the values that are not 0, their columns, and where each row ends among them."""
    rows, columns = np.nonzero(dense)
    ends = np.cumsum(np.bincount(rows, minlength=len(dense)))
    return dense[rows, columns], columns, ends


# -- by recursion -------------------------------------------------------------------------------


def best_labelling(tree: Tree) -> tuple[np.ndarray, float]:
    """Return the best labelling and its score by max-product (Viterbi 1967).

    >>> tree = Tree(np.array([[0.0, 3.0], [1.0, 0.0]]), np.array([[[2.0, 0.0], [0.0, 2.0]]]),
    ...             parents=np.array([-1, 0]), edge_types=np.array([0, 0]))
    >>> best_labelling(tree)
    (array([1, 1]), 5.0)
    """
    up, down = max_product(tree)
    return down.argmax(axis=1), float(sum(up[t].max() for t in tree.roots()))


def max_product(tree: Tree) -> tuple[np.ndarray, np.ndarray]:
    """Return the best scores of each node's subtree (up), and with the parent's best label added (down).

    ``up[t, b]`` is the best score of the subtree of node ``t`` when ``t`` has label ``b``.
    ``down[t, b]`` adds the edge from the parent, which has its best label by then.
    """
    up = tree.node.copy()
    for t in reversed(range(tree.n_nodes)):  # children come after their parents
        if tree.parents[t] >= 0:
            up[tree.parents[t]] += (tree.table(t) + up[t]).max(axis=1)
    down = up.copy()
    for t in range(tree.n_nodes):
        if tree.parents[t] >= 0:
            down[t] += tree.table(t)[down[tree.parents[t]].argmax()]
    return up, down


def k_best(tree: Tree, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the ``k`` best allowed labellings and their scores: the recursion over sorted lists.

    ``below(t, b)`` lists the best labellings of the subtree of ``t`` given its label ``b``, each as
    a score and a dict from node to label.
    """

    def shorten(options: list) -> list:
        return sorted((o for o in options if o[0] > -np.inf), key=lambda o: -o[0])[:k]

    def join(first: list, second: list) -> list:
        return shorten([(x + y, u | v) for x, u in first for y, v in second])

    def below(t: int, b: int) -> list:
        found = shorten([(tree.node[t, b], {t: b})])
        for c in tree.children(t):
            found = join(found, choices(c, tree.table(c)[b]))
        return found

    def choices(t: int, step: np.ndarray) -> list:
        return shorten([(x + step[b], y) for b in range(tree.n_labels) for x, y in below(t, b)])

    found: list = [(0.0, {})]
    for root in tree.roots():
        found = join(found, choices(root, np.zeros(tree.n_labels)))
    labels = [[y[t] for t in range(tree.n_nodes)] for _, y in found]
    shape = (len(found), tree.n_nodes)
    return np.array(labels, dtype=int).reshape(shape), np.array([x for x, _ in found])


def log_partition(tree: Tree, epsilon: float = 1.0) -> float:
    """Return the log-partition by one upward sweep in the log domain."""
    below, _ = _upward(tree, epsilon)
    return float(epsilon * sum(logsumexp(below[t]) for t in tree.roots()))


def marginals(tree: Tree, epsilon: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Return node and edge marginals by an upward and a downward sweep in the log domain."""
    below, message = _upward(tree, epsilon)
    node = np.zeros_like(tree.node)
    edge = np.zeros((tree.n_nodes, tree.n_labels, tree.n_labels))
    for t in range(tree.n_nodes):
        parent = tree.parents[t]
        if parent < 0:
            node[t] = softmax(below[t])
            continue
        possible = message[t] > -np.inf  # other labels of the parent have probability 0
        log_given = tree.table(t)[possible] / epsilon + below[t] - message[t][possible, None]
        edge[t, possible] = node[parent][possible, None] * np.exp(log_given)
        node[t] = edge[t].sum(axis=0)
    return node, edge


def draw_labelling(tree: Tree, rng: np.random.Generator, epsilon: float = 1.0) -> np.ndarray:
    """Return a random labelling: each root from its marginals, each child given its parent."""
    below, _ = _upward(tree, epsilon)
    y = np.zeros(tree.n_nodes, dtype=int)
    for t in range(tree.n_nodes):
        parent = tree.parents[t]
        step = 0.0 if parent < 0 else tree.table(t)[y[parent]] / epsilon
        y[t] = rng.choice(tree.n_labels, p=softmax(below[t] + step))
    return y


def _upward(tree: Tree, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """Return, over ``epsilon``, log-sums of subtrees per label and messages per parent's label."""
    below = tree.node / epsilon
    message = np.zeros((tree.n_nodes, tree.n_labels))
    for t in reversed(range(tree.n_nodes)):
        if tree.parents[t] >= 0:
            message[t] = logsumexp(tree.table(t) / epsilon + below[t], axis=1)
            below[tree.parents[t]] += message[t]
    return below, message
