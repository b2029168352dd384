"""Two bounds on the local program: one from any messages, one from any beliefs of the nodes.

The local program (Hazan and Urtasun 2010, Eq. 8) maximises mean potentials and local entropies over
beliefs that agree.  Messages bound its optimum from above, as dual variables do.  Beliefs that agree
bound it from below.  Before the messages have settled, beliefs don't agree.  So each edge is given the
best table that has the beliefs of its two nodes as its marginals.  Both bounds hold at any time.
"""

from __future__ import annotations

import numpy as np

from medn_edu.inference.loopy.counting import ConcaveForm, CountingNumbers
from medn_edu.inference.loopy.graphs import GraphPotentials
from medn_edu.kernels import norm_product as kernels

_NOTHING = 1e-300  # smaller gaps in a table are ignored, because their inverse would overflow
_ROUNDING = 1e-12  # beliefs in forbidden labels up to this size are rounding errors
_N_SINKHORN = 200  # steps towards given marginals, for more than two labels
_COLD = 1e-3  # temperature of a transport problem relative to its potentials, where epsilon is 0


def entropies(b: np.ndarray, axes: int | tuple[int, ...]) -> np.ndarray:
    """Return ``-sum b log b`` over some axes."""
    return -np.sum(b * np.log(np.maximum(b, 1e-300)), axis=axes)


def mean_potential(phi: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return ``b * phi``; minus infinity if a forbidden label has a belief larger than rounding."""
    allowed = phi > -np.inf
    forbidden = np.where(b > _ROUNDING, -np.inf, 0.0)
    return np.where(allowed, np.where(allowed, phi, 0.0) * b, forbidden)


def local_value(
    potentials: GraphPotentials,
    node: np.ndarray,
    edge: np.ndarray,
    numbers: CountingNumbers,
    epsilon: float,
) -> np.ndarray:
    """Return the value of the local program at some beliefs, for each sample."""
    value = mean_potential(potentials.node, node).sum(axis=(0, 1))
    value += mean_potential(potentials.edge, edge).sum(axis=(0, 1, 2))
    if epsilon > 0:
        value += epsilon * (numbers.node @ entropies(node, 1))
        value += epsilon * (numbers.edge @ entropies(edge, (1, 2)))
    return value


def upper_bound(
    potentials: GraphPotentials, messages: np.ndarray, form: ConcaveForm, epsilon: float
) -> np.ndarray:
    r"""Return a bound from above at some messages :math:`\lambda`, for each sample.

    Without conditional entropies this is Theorem 2 at given weights.  With conditional entropies, an
    edge's term counts only in part.  A node's term then also contains the messages :math:`\mu` *to* the
    node, which carry what is known at the other ends of its edges:

    .. math:: \sum_\alpha \frac{c'_\alpha}{c_\alpha} \epsilon c_\alpha \ln \sum e^{(\phi_\alpha +
              \lambda_{u \to \alpha} + \lambda_{v \to \alpha}) / \epsilon c_\alpha}
              + \sum_v \epsilon c'_v \ln \sum e^{(\phi_v + \sum_\alpha \{ s \mu_{\alpha \to v}
              - (1 - s) \lambda_{v \to \alpha} \}) / \epsilon c'_v},
              \qquad s = c_{v \alpha} / c_\alpha .
    """
    graphs = potentials.graphs
    edge_c = form.edge + form.parts.reshape(-1, 2).sum(axis=1)
    values = np.zeros((2, len(graphs.samples)))
    counts = np.divide(form.edge, edge_c, out=np.ones_like(edge_c), where=edge_c > 0)
    if form.is_plain:
        potentials.tempered(epsilon * edge_c).beliefs(messages, values[0])
        sent = messages
    else:
        given = potentials.edge + messages[0::2, :, None] + messages[1::2, None]
        values[0] = counts @ soft_max(given, epsilon * edge_c, (1, 2))
        share = (form.parts / np.repeat(edge_c, 2))[:, None, None]
        to_first = soft_max(potentials.edge + messages[1::2, None], epsilon * edge_c, 2)
        to_second = soft_max(potentials.edge + messages[0::2, :, None], epsilon * edge_c, 1)
        mu = np.stack([to_first, to_second], axis=1).reshape(messages.shape)
        with np.errstate(invalid="ignore"):
            sent = np.where(messages > -np.inf, (1.0 - share) * messages - share * mu, -np.inf)
    node_beliefs = np.empty_like(potentials.node)
    kernels.node_terms(
        *graphs.slots, potentials.node, np.ascontiguousarray(sent), epsilon * form.node,
        node_beliefs, values[1],
    )  # fmt: skip
    return values.sum(axis=0)


def soft_max(
    values: np.ndarray, temperatures: np.ndarray, axes: int | tuple[int, ...]
) -> np.ndarray:
    """Return ``t log sum exp(values / t)`` over axes, with a temperature for each first index."""
    t = temperatures.reshape(-1, *[1] * (values.ndim - 1))
    peak = values.max(axis=axes, keepdims=True)
    safe = np.where(peak > -np.inf, peak, 0.0)
    with np.errstate(divide="ignore"):
        total = np.exp((values - safe) / np.where(t > 0, t, np.inf)).sum(axis=axes, keepdims=True)
        soft = safe + np.where(t > 0, t * np.log(total), 0.0)
    return np.squeeze(np.where(peak > -np.inf, soft, -np.inf), axis=axes)


def best_edges(
    potentials: GraphPotentials,
    messages: np.ndarray,
    node: np.ndarray,
    edge_c: np.ndarray,
    epsilon: float,
) -> np.ndarray:
    """Return each edge's best table with the beliefs of its nodes as marginals.

    The best table maximises the mean potential plus ``epsilon c_a`` times the entropy.  Messages to an
    edge scale the rows and columns of its table, so they don't change which table is best.  They are
    also a good start: if they have nearly settled, the table they give nearly has these marginals.
    Then only a few steps are left, however low the temperature is.
    """
    first, second = (node[potentials.graphs.ends[:, k]] for k in (0, 1))
    t = (epsilon * edge_c)[:, None]
    if potentials.n_labels == 2:
        table = _pairs_of_two(potentials.edge, first[:, 1], second[:, 1], t)
    else:
        finite = np.where(potentials.edge > -np.inf, potentials.edge, 0.0)
        cold = _COLD * np.maximum(np.ptp(finite, axis=(1, 2)).max(axis=-1), 1e-12)[:, None]
        given = potentials.edge + messages[0::2, :, None] + messages[1::2, None]
        given /= np.where(t > 0, t, cold)[:, None, None]
        table = _rounded(_sinkhorn(given, first, second), first, second)
    allowed = np.broadcast_to(potentials.edge > -np.inf, table.shape)
    if not allowed.all():
        _reroute(table, allowed)
        table[~allowed & (table <= _ROUNDING)] = 0.0
    return table


def _reroute(table: np.ndarray, allowed: np.ndarray) -> None:
    """Take beliefs out of forbidden pairs, by swaps of labels that keep all marginals."""
    for a, b in np.ndindex(table.shape[1:3]):
        forbidden = ~allowed[:, a, b]
        if not table[:, a, b][forbidden].any():
            continue
        for c, d in np.ndindex(table.shape[1:3]):
            if c != a and d != b:
                fine = forbidden & allowed[:, a, d] & allowed[:, c, b]
                moved = np.where(fine, np.minimum(table[:, a, b], table[:, c, d]), 0.0)
                table[:, a, b] -= moved
                table[:, c, d] -= moved
                table[:, a, d] += moved
                table[:, c, b] += moved


def _pairs_of_two(phi: np.ndarray, p: np.ndarray, q: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Return tables with two labels: a quadratic equation for the probability of both being 1."""
    lowest, highest = np.maximum(p + q - 1.0, 0.0), np.minimum(p, q)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        equal, unequal = phi[:, 1, 1] + phi[:, 0, 0], phi[:, 0, 1] + phi[:, 1, 0]
        gain = np.where(equal == unequal, 0.0, equal - unequal)  # both may be minus infinity
        power = np.exp(-np.abs(gain) / t)  # at most 1, so that nothing overflows
        attracts = gain >= 0
        # x (1 - p - r + x) = (p - x)(r - x) / power, where both labels attract if r = q
        r = np.where(attracts, q, 1.0 - q)
        rest = 1.0 - power
        # the discriminant without differences of nearly equal numbers
        square = (rest * (p - r)) ** 2 + power * (
            power + 2.0 * rest * (p * (1.0 - r) + r * (1.0 - p))
        )
        x = 2.0 * p * r / (np.sqrt(square) + rest * (p + r) + power)
        x = np.where(np.isfinite(x), x, p * r)
    both = np.clip(np.where(attracts, x, p - x), lowest, highest)
    table = np.empty((len(p), 2, 2, p.shape[-1]))
    table[:, 1, 1], table[:, 1, 0] = both, p - both
    table[:, 0, 1], table[:, 0, 0] = q - both, np.maximum(1.0 - p - q + both, 0.0)
    return table


def _sinkhorn(log_table: np.ndarray, p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Scale rows and columns of tables towards marginals ``p`` and ``q``, in logarithms."""
    with np.errstate(divide="ignore", invalid="ignore"):
        log_p, log_q = np.log(p)[:, :, None], np.log(q)[:, None]
        for _ in range(_N_SINKHORN):
            for goal, axis in ((log_p, 2), (log_q, 1)):
                now = np.logaddexp.reduce(log_table, axis=axis, keepdims=True)
                log_table = np.where(now > -np.inf, log_table + goal - now, -np.inf)
            off = np.abs(np.exp(np.logaddexp.reduce(log_table, axis=2)) - p).max(initial=0.0)
            if off < 1e-12:
                break
    return np.exp(log_table)


def _rounded(table: np.ndarray, p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Give tables exactly the marginals ``p`` and ``q``: shrink them, then fill them up.

    This is the rounding of Altschuler et al. (2017).
    """
    for goal, axis in ((p, 2), (q, 1)):
        now = table.sum(axis=axis)
        factor = np.minimum(np.divide(goal, now, out=np.ones_like(now), where=now > 0), 1.0)
        table = table * np.expand_dims(factor, axis)
    short_p, short_q = p - table.sum(axis=2), q - table.sum(axis=1)
    total = short_p.sum(axis=1)
    scale = np.divide(1.0, total, out=np.zeros_like(total), where=total > _NOTHING)
    return np.maximum(table + short_p[:, :, None] * short_q[:, None] * scale[:, None, None], 0.0)


def averaged_nodes(
    potentials: GraphPotentials, node: np.ndarray, edge: np.ndarray, numbers: CountingNumbers
) -> np.ndarray:
    """Average what a node and its edges believe about the node, weighted by counting numbers."""
    marginals = np.stack([edge.sum(axis=2), edge.sum(axis=1)], axis=1).reshape(-1, *node.shape[1:])
    weight = np.repeat(numbers.edge, 2)[:, None, None]
    counts = (numbers.node > 0) | (potentials.graphs.degrees == 0)
    own = np.where(counts, np.maximum(numbers.node, 1e-300), 0.0)[:, None, None]
    total = own * node + potentials.graphs.onto_ends(weight * marginals)
    return total / total.sum(axis=1, keepdims=True)
