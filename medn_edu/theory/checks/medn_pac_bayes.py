r"""The steps of Theorem 8's proof (MEDN appendix B.5), each with all chances added up exactly.

The proof turns the averaging predictor ``h`` into a random committee: ``f`` is the average of ``m``
votes :math:`g_i(x, y) = \pm c`, positive if a number :math:`\mu_i`, drawn uniformly from
:math:`[-c, c]`, is below :math:`F(x, y; w_i)`, where ``w_i`` is drawn from the posterior.

Here every weight is ``a`` or ``-a``, so there are :math:`2^K` functions ``F`` to draw from.  Given one
of them, the votes on all labellings depend on where :math:`\mu_i` falls among their scores.  So the
votes on three labellings make one of eight patterns, with chances that are sums, and the law of ``m``
such patterns added up is an ``m``-fold convolution: nothing is simulated, nothing approximated.

**Theorem 8 and Eq. (17)** are statements about frequencies, and these are added up, too.  A bound is
allowed to fail on a share :math:`\delta` of all samples, and must hold on the others for
all posteriors at once.  To try this without simulation the world is as small as can be: one input,
whose label is turned with probability ``q``; one weight, ``1`` or ``-1``, that says which label
wins.  Then all that a sample of size ``N`` tells is how many labels were turned, a binomial number,
and the chance of being misled is a sum of ``N + 1`` terms.  Posteriors are tilted fair coins, from
one sign to the other; the learner may take the one that looks best on the sample.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

from medn_edu.priors import TwoPointPrior
from medn_edu.theory.bounds import Terms
from medn_edu.theory.checks.check import apart, discrepancy_of, excess

_LABELS = 3  # of a sample; the first is the right one
DELTA = 0.05
MEANS = np.tanh(np.linspace(-4, 4, 25))  # of the weight, under the posteriors


@dataclass(frozen=True, eq=False)
class _Committee:
    """A posterior over functions F, what they say of one sample, and its committees."""

    p: np.ndarray  # probability of each function
    F: np.ndarray  # its scores of the labellings
    c: float  # what bounds them

    @property
    def h(self) -> np.ndarray:
        """Scores of the averaging predictor."""
        return self.p @ self.F

    def patterns(self) -> dict[tuple[int, ...], float]:
        """Return the chance of each pattern of votes, 1 where a labelling has a positive one."""
        chance = dict.fromkeys(itertools.product((0, 1), repeat=_LABELS), 0.0)
        for p, scores in zip(self.p, self.F, strict=True):
            ends = np.sort(np.concatenate([[-self.c, self.c], scores]))
            for low, high in itertools.pairwise(ends):
                votes = tuple((scores > (low + high) / 2).astype(int).tolist())
                chance[votes] += p * (high - low) / (2 * self.c)
        return chance

    def law(self, m: int) -> tuple[np.ndarray, np.ndarray]:
        """Return all that ``f`` can say of the labellings, row by row, and how probable that is."""
        patterns, axes = self.patterns(), tuple(range(_LABELS))
        count = np.zeros((m + 1,) * _LABELS)
        count[0, 0, 0] = 1.0
        for _ in range(m):
            rolled = [chance * np.roll(count, y, axes) for y, chance in patterns.items()]
            count = np.sum(rolled, axis=0)
        positive = np.indices(count.shape).reshape(_LABELS, -1).T
        return (2 * positive - m) * self.c / m, count.ravel()


def _draw_committees(rng: np.random.Generator, n_samples: int = 1) -> list[_Committee]:
    """Return what one posterior makes of several samples."""
    K, a = 4, rng.uniform(0.5, 2.0)
    signs = np.array(list(itertools.product((-1, 1), repeat=K)))
    up = rng.uniform(0.2, 0.8, K)  # how probable a positive weight is
    p = np.where(signs > 0, up, 1 - up).prod(axis=1)
    f = rng.choice([-1.0, 1.0], size=(n_samples, _LABELS, K)) * rng.uniform(0.7, 1.0, K)
    c = a * np.abs(f).sum(axis=-1).max()
    return [_Committee(p, a * signs @ features.T, c) for features in f]


def _margin(scores: np.ndarray) -> np.ndarray:
    """Return the right labelling's score less the best of the others, for each row."""
    return scores[..., 0] - scores[..., 1:].max(axis=-1)


def _chances_of_margins(committee: _Committee, m: int, thresholds: np.ndarray) -> np.ndarray:
    """Return the chance that a committee's margin is at most each threshold."""
    f, chance = committee.law(m)
    return (_margin(f) <= thresholds[:, None]) @ chance


# -- a committee and its mean ---------------------------------------------------------------------


@discrepancy_of("mean-vote")
def _mean_vote(rng: np.random.Generator, slip: bool) -> float:
    [committee] = _draw_committees(rng)
    patterns = committee.patterns()
    positive = sum(chance * np.array(votes) for votes, chance in patterns.items())
    votes = committee.c * positive if slip else 2 * committee.c * positive - committee.c
    return apart(votes, committee.h)


@discrepancy_of("mean-committee")
def _mean_committee(rng: np.random.Generator, slip: bool) -> float:
    [committee] = _draw_committees(rng)
    f, chance = committee.law(m=int(rng.integers(2, 9)))
    return apart(chance @ (f > 0) if slip else chance @ f, committee.h)


@discrepancy_of("hoeffding")
def _hoeffding(rng: np.random.Generator, slip: bool, multiple: float = 1.0) -> float:
    [committee] = _draw_committees(rng)
    m = int(rng.integers(5, 16))
    f, chance = committee.law(m)
    xi = np.linspace(0.02, 1.0, 50) * committee.c
    tail = [chance @ (f[:, 0] - committee.h[0] > x) for x in xi]
    bound = np.exp(-m * xi**2 / ((0.5 if slip else 2) * committee.c**2))
    return excess(tail, multiple * bound)


@discrepancy_of("difference")
def _difference(rng: np.random.Generator, slip: bool, multiple: float = 1.0) -> float:
    [committee] = _draw_committees(rng)
    m, rival = int(rng.integers(5, 16)), 1 + int(np.argmax(committee.h[1:]))
    f, chance = committee.law(m)
    beyond = f[:, 0] - f[:, rival] - _margin(committee.h)
    gamma = np.linspace(0.05, 4.0, 80) * committee.c
    tail = [chance @ (beyond > g / 2) for g in gamma]
    bound = np.exp(-m * gamma**2 / ((2 if slip else 32) * committee.c**2))
    return excess(tail, multiple * bound)


# -- errors and margins of h and of committees ----------------------------------------------------


@discrepancy_of("errors-of-h")
def _errors_of_h(rng: np.random.Generator, slip: bool, multiple: float = 1.0) -> float:
    found = []
    for _ in range(5):
        committees, share = _draw_committees(rng, 6), rng.dirichlet(np.ones(6))
        m, c = int(rng.integers(3, 12)), committees[0].c
        errors = share @ [_margin(committee.h) <= 0 for committee in committees]
        gamma = np.linspace(0.01, 2.0, 20) * c
        small = share @ [_chances_of_margins(one, m, gamma / 2) for one in committees]
        rest = 0 if slip else np.exp(-m * gamma**2 / (32 * c**2))
        found.append(excess(np.full(20, errors), small + multiple * rest))
    return max(found)


@discrepancy_of("divergence-of-draws")
def _divergence_of_draws(rng: np.random.Generator, slip: bool) -> float:
    m, p, p0 = int(rng.integers(2, 5)), *rng.dirichlet(np.full(5, 2.0), size=2)
    kl = 0.0
    for draws in itertools.product(range(5), repeat=m):
        chosen = list(draws)
        kl += p[chosen].prod() * math.log(p[chosen].prod() / p0[chosen].prod())
    return apart((1 if slip else m) * float(p @ np.log(p / p0)), kl)


@discrepancy_of("margins-of-committees")
def _margins_of_committees(rng: np.random.Generator, slip: bool, multiple: float = 1.0) -> float:
    found = []
    for _ in range(5):
        committees = _draw_committees(rng, 6)
        m, c = int(rng.integers(3, 12)), committees[0].c
        gamma = np.linspace(0.01, 2.0, 20) * c
        small = [_chances_of_margins(one, m, gamma / 2) for one in committees]
        of_h = [_margin(one.h) <= gamma for one in committees]
        rest = 0 if slip else (_LABELS - 1) * np.exp(-m * gamma**2 / (32 * c**2))
        found.append(excess(np.mean(small, axis=0), np.mean(of_h, axis=0) + multiple * rest))
    return max(found)


@discrepancy_of("any-difference")
def _any_difference(rng: np.random.Generator, slip: bool, multiple: float = 1.0) -> float:
    while _margin((committee := _draw_committees(rng)[0]).h) <= 0.02 * committee.c:
        pass
    m, largest = int(rng.integers(5, 16)), 4 * committee.c if slip else _margin(committee.h)
    f, chance = committee.law(m)
    gamma = np.linspace(0.01, 0.999, 50) * largest
    short = [chance @ (_margin(f) <= g / 2) for g in gamma]
    bound = (_LABELS - 1) * np.exp(-m * gamma**2 / (32 * committee.c**2))
    return excess(short, multiple * bound)


# -- number of events, constants ------------------------------------------------------------------


@discrepancy_of("number-of-events")
def _number_of_events(rng: np.random.Generator, slip: bool) -> float:
    m, c = int(rng.integers(2, 12)), rng.uniform(0.5, 2.0)
    votes = (2 * np.arange(m + 1) - m) * c / m
    margins = (votes[:, None] - votes).ravel()  # of f(x, y) less the best other
    gamma = np.linspace(-4 * c if slip else 1e-9, 5 * c, 1001)
    events = margins <= gamma[:, None] / 2 + 1e-12
    return apart(len(np.unique(events, axis=0)), m + 1)


@discrepancy_of("shares-of-delta")
def _shares_of_delta(rng: np.random.Generator, slip: bool) -> float:
    delta = rng.uniform(0.01, 0.5)

    def partial_sum(n: int) -> float:
        m = np.arange(1.0, n + 1)
        events = m if slip else m + 1
        return math.fsum(events * delta / (m * (m + 1) ** 2))

    table = [partial_sum(2**j) for j in range(4, 13)]
    for order in range(1, 6):  # the rest of a partial sum is a series in 1 / n
        table = [
            (2**order * late - early) / (2**order - 1) for early, late in itertools.pairwise(table)
        ]
    return apart(table[-1], delta)


@discrepancy_of("logarithm-of-delta")
def _logarithm_of_delta(rng: np.random.Generator, slip: bool, multiple: float = 1.0) -> float:
    m, delta = np.floor(10 ** rng.uniform(0, 7, 200)), 10 ** rng.uniform(-6, -0.01, 200)
    exact = np.log(m) + 2 * np.log(m + 1) - np.log(delta)
    simpler = (2 if slip else 3) * np.log((m + 1) / delta)
    return excess(exact, multiple * simpler, size=float(exact.max()))


@discrepancy_of("size-of-the-committee")
def _size_of_the_committee(rng: np.random.Generator, slip: bool, multiple: float = 1.0) -> float:
    n, log_labels = 10 ** rng.uniform(3, 9, 200), rng.uniform(0.7, 30.0, 200)
    ratio = 10 ** rng.uniform(-1.3, 0.3, 200)  # gamma / c
    kl = rng.uniform(0, 100, 200)
    factor = 8 if slip else 16
    m = multiple * np.ceil(factor / ratio**2 * (np.log(n) + 2 * log_labels - np.log(kl + 1)))
    return excess(log_labels - m * ratio**2 / 32, np.log((kl + 1) / n) / 2, size=10.0)


# -- Eq. (17) and Theorem 8 -----------------------------------------------------------------------


def draw_world(rng: np.random.Generator) -> tuple[int, float, np.ndarray]:
    """Return the size of samples, how often labels are turned, and the chance of each count."""
    n, q = int(rng.integers(2000, 6000)), rng.uniform(0.1, 0.4)
    return n, q, binom.pmf(np.arange(n + 1), n, q)


def misled(errors: np.ndarray, bounds: np.ndarray, chances: np.ndarray) -> float:
    """Return the chance that an error exceeds its bound for any posterior, a row of each."""
    return float(chances[np.any(errors[:, None] > bounds, axis=0)].sum())


@discrepancy_of("mcallester")
def _mcallester(rng: np.random.Generator, slip: bool, multiple: float = 1.0) -> float:
    """Eq. (17) for one draw: the Gibbs predictor, which errs with the sign's chance."""
    n, q, chances = draw_world(rng)
    up, seen = (1 + MEANS) / 2, np.arange(n + 1) / n
    errors = up * q + (1 - up) * (1 - q)
    observed = up[:, None] * seen + (1 - up)[:, None] * (1 - seen)
    divergence = TwoPointPrior().kl(MEANS)
    inside = divergence + math.log(n) + math.log(1 / DELTA) + 2
    root = np.sqrt(inside / (2 * n - 1))[:, None]
    return excess(misled(errors, observed + (0 if slip else multiple * root), chances), DELTA)


@discrepancy_of("theorem-8")
def _theorem_8(rng: np.random.Generator, slip: bool, multiple: float = 1.0) -> float:
    """The averaging predictor: right or wrong by the sign of the mean, with a margin of twice that."""
    n, q, chances = draw_world(rng)
    seen = np.arange(n + 1) / n
    means = MEANS[MEANS != 0]
    errors = np.where(means > 0, q, 1 - q)
    bounds = np.stack([_bounds(mean, seen, n, 0 if slip else multiple) for mean in means])
    return excess(misled(errors, bounds, chances), DELTA)


def _bounds(mean: float, seen: np.ndarray, n: int, multiple: float) -> np.ndarray:
    """Return the theorem's bound for one posterior, whatever share of labels was seen turned.

    What is added to the margin loss is multiplied by a number.  The slip takes 0: without the root m
    may be so large that the averaging term is 0, too.

    The best threshold is just below the margin ``2 |mean|``; scores are ``w`` and ``-w``, so c = 1.
    """
    loss = seen if mean > 0 else 1 - seen
    divergence = float(TwoPointPrior().kl(np.array(mean)))
    terms = Terms(n, loss, 2 * abs(mean) * (1 - 1e-12), math.log(2), divergence, DELTA)
    return loss + multiple * (terms.value(np.maximum(terms.best_m(), 1)) - loss)
