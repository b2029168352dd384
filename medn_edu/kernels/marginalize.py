"""The sum over all labellings of a forest, and marginals: scaled, and in the log domain.

Both ways are the two sweeps of the maximisation with ``max`` replaced by a sum.  The *scaled* way works
on exponentials.  With ``v[b]`` the exponentiated potentials of child ``t`` times the messages of its
own children, the message to the parent is the matrix product ``u[a] = sum_b exp(edge[a, b]) v[b]``.
The parent's ``v`` is multiplied by it and scaled to sum to one.  The logarithms of the scales add up to
the log-partition.  Going down, with ``mu`` the marginals of the parent and ``q[a] = mu[a] / u[a]``, the
marginals of the edge are ``q[a] exp(edge[a, b]) v[b]``, and their sum over ``a`` gives those of the
child: one more matrix product.  No logarithm or exponential is taken inside, which makes this several
times faster than the log domain.  It is as exact, unless a number becomes too small to be told from 0.

That is watched for.  While every factor is either truly zero (forbidden) or at least ``TINY`` = 1e-100
relative to its row's scale, every product of three is at least 1e-300, so nothing is ever lost.  A
sample in which a smaller number turns up, as at low temperatures, is looked at more closely.  As all
factors are at most 1, a labelling that goes through a number below ``LEAST`` = 1e-290 has less than
that, and even all of them together less than ``n_labels ** n_nodes`` times as much.  If that is below
1e-17 of the sum over all labellings, it does not matter.  Otherwise the sample is ``lost`` and is done
again in the *log domain*, where only differences are exponentiated, and of these only those that are
not below the rounding of the largest.

Entropies come with the downward sweep.  On a forest ``H = sum_roots H(root) + sum_edges H(child |
parent)``, and from the edge marginals above, whose logarithm is a sum,

    H(child | parent) = sum_a mu[a] log u[a] - sum_b nu[b] log v[b] - sum_ab q[a] r[a, b] v[b],

``nu`` being the marginals of the child and ``r = edge exp(edge)``: one more matrix product, and
logarithms of ``n_labels`` numbers instead of ``n_labels ** 2``.
"""

import math

import numpy as np

from medn_edu.kernels.compile import inner_kernel, kernel

TINY = 1e-100
LOG_TINY = math.log(TINY)
LEAST = 1e-290
LOG_LEAST = math.log(LEAST)
ROUNDING = 1e-17
LOG_ROUNDING = math.log(ROUNDING)
NOTHING = -40.0  # the exponential of less is below the rounding of 1


@kernel
def centre(
    node,
    offset,
    inverse_temperature,
    edge_shift,
    parents,
    edge_types,
    offsets,
    first,
    last,
    wanted,
    centred,
    shift,
    low,
):
    """Write ``(node - row maximum) / temperature`` of the samples ``first <= i < last`` wanted.

    Node ``t`` is row ``t - offset`` of ``node`` and row ``t - offsets[first]`` of ``centred``.  What
    was taken away from the columns of edge potentials, ``edge_shift``, is given to the nodes.
    ``shift[i - first]`` becomes the sum of the maxima; ``low[i - first]`` whether a finite potential
    is below ``LOG_TINY``.
    """
    n_labels = node.shape[1]
    base = offsets[first]
    for i in range(first, last):
        if not wanted[i - first]:
            continue
        total = 0.0
        n_low = 0
        for t in range(offsets[i], offsets[i + 1]):
            row, out = node[t - offset], centred[t - base]
            for a in range(n_labels):
                out[a] = row[a]
            if parents[t] >= 0:
                given = edge_shift[edge_types[t]]
                for a in range(n_labels):
                    out[a] += given[a]
            largest = _maximum(out)
            if largest == -np.inf:
                largest = 0.0  # no label is possible here; the sum will say so
            for a in range(n_labels):
                x = (out[a] - largest) * inverse_temperature
                n_low += 1 if (x < LOG_TINY) & (x > -np.inf) else 0
                out[a] = x
            total += largest
        shift[i - first] = total
        low[i - first] = n_low > 0


@kernel
def scaled_up(
    belief, message, edge_exp_t, parents, edge_types, offsets, first, last, log_norm, lost
):
    """Scaled upward sweep over samples ``first <= i < last``.

    ``belief`` holds exponentiated node potentials, row ``t - offsets[first]`` for node ``t``, and
    becomes ``v``: at roots the marginals.  ``message`` becomes ``u``, the message to the parent.
    ``log_norm[i - first]`` becomes the logarithm of the sum over all labellings.  ``lost[i - first]``
    says at first whether the sample has factors below ``TINY``, and then whether it is lost.
    """
    n_labels = belief.shape[1]
    base = offsets[first]
    for i in range(first, last):
        is_low = lost[i - first]
        lost[i - first] = False
        log_total = 0.0
        scale = 1.0  # product of the norms, so that one logarithm serves many nodes
        for t in range(offsets[i + 1] - 1, offsets[i] - 1, -1):
            p = parents[t]
            if p < 0:
                row = belief[t - base]
            else:
                row, u = belief[p - base], message[t - base]
                _product(belief[t - base], edge_exp_t[edge_types[t]], u)
                for a in range(n_labels):
                    u[a] = u[a] if u[a] > LEAST else 0.0
                    row[a] *= u[a]
            norm = _total(row)
            if not norm > LEAST:  # also true of NaN
                lost[i - first] = True
                break
            n_low = 0
            for a in range(n_labels):
                x = row[a] / norm
                n_low += 1 if (x < TINY) & (x > 0.0) else 0
                row[a] = x if x > LEAST else 0.0
            is_low = is_low or n_low > 0
            if norm < TINY:
                log_total += math.log(norm)
                continue
            scale *= norm
            if scale < TINY or scale > 1.0 / TINY:
                log_total += math.log(scale)
                scale = 1.0
        log_norm[i - first] = log_total + math.log(scale)
        if is_low:
            n_nodes = offsets[i + 1] - offsets[i]
            most = LOG_LEAST + (n_nodes + 1) * math.log(n_labels) + math.log(n_nodes)
            if not most < log_norm[i - first] + LOG_ROUNDING:
                lost[i - first] = True


@kernel
def scaled_down(
    belief, message, edge_exp, parents, edge_types, offsets, first, last, lost, marginal
):
    """Scaled downward sweep: fill ``marginal`` and turn messages ``u`` into quotients ``q``.

    Roots have no edge: their ``q`` is 0.  Lost samples are left as they are.
    """
    n_labels = belief.shape[1]
    base = offsets[first]
    for i in range(first, last):
        if lost[i - first]:
            continue
        for t in range(offsets[i], offsets[i + 1]):
            v, q, mu = belief[t - base], message[t - base], marginal[t - base]
            if parents[t] < 0:
                for a in range(n_labels):
                    q[a] = 0.0
                    mu[a] = v[a]
                continue
            above = marginal[parents[t] - base]
            for a in range(n_labels):
                q[a] = above[a] / q[a] if q[a] > 0.0 else 0.0
            _product(q, edge_exp[edge_types[t]], mu)
            for b in range(n_labels):
                mu[b] *= v[b]


@kernel
def scaled_entropies(
    belief, quotient, marginal, r, parents, edge_types, offsets, first, last, lost, entropy
):
    """Entropies of samples ``first <= i < last`` after `scaled_down`; lost samples are left out.

    ``r`` is ``edge exp(edge)`` of each edge type, 0 where the transition is forbidden.
    """
    base = offsets[first]
    row = np.empty(belief.shape[1])
    for i in range(first, last):
        if lost[i - first]:
            continue
        total = 0.0
        for t in range(offsets[i], offsets[i + 1]):
            v, q, nu = belief[t - base], quotient[t - base], marginal[t - base]
            if parents[t] < 0:
                for b in range(row.size):
                    if nu[b] > 0.0:
                        total -= nu[b] * math.log(nu[b])
                continue
            mu = marginal[parents[t] - base]
            _product(q, r[edge_types[t]], row)
            for b in range(row.size):
                total -= row[b] * v[b]
                if nu[b] > 0.0:
                    total -= nu[b] * math.log(v[b])
                if q[b] > 0.0:
                    total += mu[b] * math.log(mu[b] / q[b])
        entropy[i - first] = max(total, 0.0)  # it is below only by rounding


@kernel
def log_up(belief, edge, parents, edge_types, offsets, first, last, lost, log_norm):
    """Upward sweep in the log domain over the lost ones of samples ``first <= i < last``.

    ``belief`` holds their node potentials and becomes ``log v``; it is ``-inf`` where no completion
    is possible.  ``log_norm[i - first]`` becomes the log of the sum.
    """
    n_labels = belief.shape[1]
    base = offsets[first]
    terms = np.empty(n_labels)
    for i in range(first, last):
        if not lost[i - first]:
            continue
        total = 0.0
        for t in range(offsets[i + 1] - 1, offsets[i] - 1, -1):
            row = belief[t - base]
            if parents[t] < 0:
                total += _log_sum(row)
                continue
            step, above = edge[edge_types[t]], belief[parents[t] - base]
            for a in range(n_labels):
                for b in range(n_labels):
                    terms[b] = row[b] + step[a, b]
                above[a] += _log_sum(terms)
        log_norm[i - first] = total


@kernel
def log_down(
    belief,
    edge,
    parents,
    edge_types,
    offsets,
    first,
    last,
    lost,
    weight,
    marginal,
    counts,
    pairs,
    want_pairs,
    entropy,
):
    """Downward sweep over the lost ones of samples ``first <= i < last`` after `log_up`.

    An edge's marginal is the parent's times the probability of the child's label given the parent's.
    The latter is normalised once more from the terms of the message: where these are as large as 1e16,
    their rounding alone would spoil a difference of logarithms.  Edge marginals times ``weight`` are
    added to ``counts`` and, if wanted, written into ``pairs``.
    """
    n_labels = belief.shape[1]
    base = offsets[first]
    given = np.empty(n_labels)
    for i in range(first, last):
        if not lost[i - first]:
            continue
        total = 0.0
        for t in range(offsets[i], offsets[i + 1]):
            v, mu = belief[t - base], marginal[t - base]
            if parents[t] < 0:
                total += _normalise(v, mu)
                continue
            above, step = marginal[parents[t] - base], edge[edge_types[t]]
            count = counts[edge_types[t]]
            for b in range(n_labels):
                mu[b] = 0.0
            for a in range(n_labels):
                if above[a] > ROUNDING:
                    for b in range(n_labels):
                        given[b] = step[a, b] + v[b]
                    total += above[a] * _normalise(given, given)
                    for b in range(n_labels):
                        p = above[a] * given[b]
                        mu[b] += p
                        count[a, b] += weight[i] * p
                        if want_pairs:
                            pairs[t - base, a, b] = p
        entropy[i - first] = total


@inner_kernel
def _normalise(x, p):
    """Write ``p = exp(x) / sum(exp(x))``, which may be ``x``; return its entropy."""
    largest = _maximum(x)
    total = 0.0
    spread = 0.0
    for a in range(x.size):
        below = largest - x[a]
        if below > -NOTHING:
            p[a] = 0.0
        else:
            p[a] = math.exp(-below)
            total += p[a]
            spread += p[a] * below
    for a in range(x.size):
        p[a] /= total
    return math.log(total) + spread / total


@inner_kernel
def _product(x, rows, out):
    """Write ``out[a] = sum_b x[b] rows[b, a]``, four rows at a time."""
    n_labels = x.size
    for a in range(n_labels):
        out[a] = 0.0
    b = 0
    while b + 4 <= n_labels:
        x0, x1, x2, x3 = x[b], x[b + 1], x[b + 2], x[b + 3]
        if x0 == 0.0 and x1 == 0.0 and x2 == 0.0 and x3 == 0.0:
            b += 4  # as of labels that the node may not have
            continue
        r0, r1, r2, r3 = rows[b], rows[b + 1], rows[b + 2], rows[b + 3]
        for a in range(n_labels):
            out[a] += (x0 * r0[a] + x1 * r1[a]) + (x2 * r2[a] + x3 * r3[a])
        b += 4
    while b < n_labels:
        x0, r0 = x[b], rows[b]
        for a in range(n_labels):
            out[a] += x0 * r0[a]
        b += 1


@inner_kernel
def _total(x):
    """Sum in four strands: a single one would wait for each addition."""
    s0 = s1 = s2 = s3 = 0.0
    a = 0
    while a + 4 <= x.size:
        s0 += x[a]
        s1 += x[a + 1]
        s2 += x[a + 2]
        s3 += x[a + 3]
        a += 4
    while a < x.size:
        s0 += x[a]
        a += 1
    return (s0 + s1) + (s2 + s3)


@inner_kernel
def _maximum(x):
    """Maximum in four strands."""
    m0 = m1 = m2 = m3 = -np.inf
    a = 0
    while a + 4 <= x.size:
        m0 = x[a] if x[a] > m0 else m0
        m1 = x[a + 1] if x[a + 1] > m1 else m1
        m2 = x[a + 2] if x[a + 2] > m2 else m2
        m3 = x[a + 3] if x[a + 3] > m3 else m3
        a += 4
    while a < x.size:
        m0 = x[a] if x[a] > m0 else m0
        a += 1
    return max(max(m0, m1), max(m2, m3))


@inner_kernel
def _log_sum(x):
    """Return ``log(sum(exp(x)))``; -inf where all of ``x`` is."""
    largest = _maximum(x)
    if largest == -np.inf:
        return -np.inf
    total = 0.0
    for a in range(x.size):
        if not x[a] - largest < NOTHING:
            total += math.exp(x[a] - largest)
    return largest + math.log(total)
