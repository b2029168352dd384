r"""Two weights under any prior: exact dual variables of *axi*, and the posterior in the plane.

**Which** :math:`\alpha`.  Each labelling has a line in the plane,
:math:`\mu \cdot \Delta f_i(y) = \Delta\ell_i(y) - \xi_i`.  By complementary slackness a dual variable
can be positive only if its labelling's line passes through the posterior's mean.  The mean is unique,
but the dual variables are not.  The true labelling adds nothing to :math:`\eta`, and several
labellings may share one line or have lines through one point.

`exact_dual_variables` first tries to give the whole budget of each word to one of its labellings.  If
that fails, it solves D1 with `medn_edu.theory.solve_dual`.  That is a barrier method, so all its dual
variables are a little above 0.  `support_dual_variables` then uses a linear program to find dual
variables that give the same :math:`\eta`, belong only to lines through the mean, and leave as much as
possible to the true labellings.  D1 never needs more labellings than `worst_labellings`.

**The posterior** is the prior tilted by :math:`\eta` (Theorem 2, Eq. (3)).  The weights are
independent, so its density is a product over the weights.  `tilted_density` and `tilted_mode` work on
one weight.  `tilted_points` is for priors that put all their probability on single points.  Margins
constrain only the mean, so `share_missing` says how much probability is on the wrong side of a line.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.optimize import linprog, root

from medn_edu.priors import Prior, TwoPointPrior
from medn_edu.slacks import LinearSlack
from medn_edu.theory.axi import WORDS, TinyWord, text
from medn_edu.theory.medn import EnumeratedProblem
from medn_edu.theory.medn_solvers import solve_dual

_TIGHT = 2e-3  # margins as near as this to the least one are tight
_ROUNDING = 2e-3  # shares of C below this are what the solver's accuracy leaves


@dataclass(frozen=True)
class Slot:
    """A labelling whose dual variable may be positive."""

    word: int  # which word
    name: str  # the labelling, as letters
    row: int  # its row in the enumerated problem
    is_true: bool  # whether it is the true one


@cache
def worst_labellings(n_words: int = 1) -> tuple[Slot, ...]:
    """Return the labellings that, for some mean, violate their margin more than all other labellings.

    D1 never needs another labelling.  Each labelling is a plane, ``loss - mu . difference``.  A plane
    that is below the highest one everywhere belongs to a margin that is never violated most.  A plane
    that only touches the highest ones is a mixture of them.  If several labellings have the same
    plane, the first one is taken.  Means are tried on a fine grid of weights from 0 to 4.  The true
    labelling is included, because it is the worst one wherever all others exceed their margins.

    >>> [slot.name for slot in worst_labellings(1)]
    ['aax', 'aai', 'axi', 'xax', 'iax']
    """
    one = np.linspace(0.003, 4.003, 250)  # a little off round numbers, where lines meet
    means = np.stack(np.meshgrid(one, one + 0.0017), axis=-1).reshape(-1, 2)
    slots = []
    for k, word in enumerate(WORDS[:n_words]):
        rows = _alone_at_the_top(word, means)
        slots += [
            Slot(k, text(word.labellings[row]), 27 * k + row, row == word.true_row) for row in rows
        ]
    return tuple(slots)


def _alone_at_the_top(word: TinyWord, means: np.ndarray) -> list[int]:
    planes = np.column_stack([word.differences, word.losses])
    first = np.sort(np.unique(planes, axis=0, return_index=True)[1])  # of labellings that are alike
    violations = planes[first, 2] - means @ planes[first, :2].T
    top = violations > violations.max(axis=1, keepdims=True) - 1e-9
    return first[np.unique(top[top.sum(axis=1) == 1].argmax(axis=1))].tolist()


def exact_dual_variables(problem: EnumeratedProblem, slots: tuple[Slot, ...]) -> np.ndarray:
    """Return dual variables that solve D1 and are exactly 0 wherever they can be.

    >>> from medn_edu.priors import GaussianPrior
    >>> from medn_edu.theory.axi import AXI, axi_problem
    >>> for C in (0.4, 1.0):
    ...     problem = axi_problem(GaussianPrior(), LinearSlack(C), [AXI])
    ...     exact_dual_variables(problem, worst_labellings(1)).round(3)
    array([0.35, 0.  , 0.  , 0.05, 0.  ])
    array([1., 0., 0., 0., 0.])
    """
    found = _one_labelling_each(problem, slots)
    if found is not None:
        return found
    return support_dual_variables(problem, slots, solve_dual(problem, accuracy=1e-7).alpha)


def _budget(problem: EnumeratedProblem) -> float:
    """Return the sum of the dual variables of each word."""
    if not isinstance(problem.slack, LinearSlack):
        raise ValueError(f"the problem's slack is {problem.slack!r}; expected a LinearSlack.")
    return float(problem.slack.C)


def _one_labelling_each(problem: EnumeratedProblem, slots: tuple[Slot, ...]) -> np.ndarray | None:
    """Return the dual variables if one labelling of each word has the whole budget, else None.

    Each choice is judged by its duality gap, which is 0 if the chosen labellings have the largest
    margin violations.  So no solver is needed, and nothing is rounded.
    """
    rows, words = (np.array([getattr(slot, key) for slot in slots]) for key in ("row", "word"))
    each = [np.flatnonzero(words == word) for word in range(problem.n_samples)]
    chosen = np.stack(np.meshgrid(*each, indexing="ij"), axis=-1).reshape(-1, len(each))
    F, losses, price = problem.differences[rows], problem.losses[rows], _budget(problem)
    eta = price * F[chosen].sum(axis=1)
    low, high = problem.prior.domain
    inside = np.all((eta > low) & (eta < high), axis=1)
    chosen, eta = chosen[inside], eta[inside]
    short = losses - problem.prior.mean(eta) @ F.T
    gap = sum(
        short[:, own].max(axis=1) - short[np.arange(len(short)), chosen[:, word]]
        for word, own in enumerate(each)
    )
    best = int(np.argmin(gap)) if len(chosen) else 0
    if len(chosen) == 0 or gap[best] > 1e-13:
        return None
    found = np.zeros(len(slots))
    found[chosen[best]] = price
    return found


def support_dual_variables(
    problem: EnumeratedProblem, slots: tuple[Slot, ...], alpha: np.ndarray
) -> np.ndarray:
    r"""Return dual variables with exact zeros and the same ``eta`` as ``alpha``.

    Only labellings whose line passes through the mean are used, and :math:`\sum_y \alpha_i(y) = C` for
    each word.  Among these dual variables a linear program picks those whose :math:`\eta` is nearest to
    that of ``alpha``, and among those the ones that are largest on the true labellings.  Its solution
    is a vertex of the feasible set, so no more dual variables are positive than necessary.  Newton's
    method then computes them to full accuracy.
    """
    rows, words = (np.array([getattr(slot, key) for slot in slots]) for key in ("row", "word"))
    mean, price = problem.posterior_mean(alpha), _budget(problem)
    margins = problem.losses[rows] - problem.differences[rows] @ mean
    tight = margins > problem.xi(mean)[words] - _TIGHT
    found = _corner(problem, rows, problem.eta(alpha), tight)
    # Tiny dual variables are left over from the barrier, so solve once more without them.
    found = _corner(problem, rows, problem.eta(alpha), tight & (found > _ROUNDING * price))
    return _polished(problem, rows, found)


def _polished(problem: EnumeratedProblem, rows: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """Return dual variables on the same labellings, so accurate that their lines meet at the mean.

    There are as many equations as unknowns: each margin violation of a word equals its slack, and the
    word's dual variables add up to C.
    """
    support = np.flatnonzero(alpha)
    F, losses = problem.differences[rows[support]], problem.losses[rows[support]]
    member = problem.member[rows[support]]
    price = _budget(problem)

    def residual(z: np.ndarray) -> np.ndarray:
        some, xi = z[: len(support)], z[len(support) :]
        violation = losses - F @ problem.prior.mean(some @ F)
        return np.concatenate([violation - member @ xi, (some @ member - price) / price])

    def slope(z: np.ndarray) -> np.ndarray:
        curvature = problem.prior.variance(z[: len(support)] @ F)
        none = np.zeros((problem.n_samples, problem.n_samples))
        return np.block([[-(F * curvature) @ F.T, -member], [member.T / price, none]])

    start = np.concatenate([alpha[support], problem.xi(problem.prior.mean(alpha[support] @ F))])
    found = root(residual, start, jac=slope, options={"xtol": 1e-13})
    if np.abs(found.fun).max() > 1e-8 or np.any(found.x[: len(support)] <= 0):
        return alpha
    polished = np.zeros_like(alpha)
    polished[support] = found.x[: len(support)]
    return polished


def _corner(
    problem: EnumeratedProblem, rows: np.ndarray, eta: np.ndarray, free: np.ndarray
) -> np.ndarray:
    """Return the dual variables of the free rows that `support_dual_variables` describes."""
    losses, price = problem.losses[rows], _budget(problem)
    # First the dual variables, then the differences of eta in both directions, which are expensive.
    cost = np.concatenate([(losses > 0) * (1 + 1e-3 * np.arange(len(rows))), np.full(4, 1e3)])
    given = np.hstack([problem.differences[rows].T, np.eye(2), -np.eye(2)])
    sums = problem.member[rows].T
    found = linprog(
        cost,
        A_eq=np.vstack([given, np.hstack([sums, np.zeros((len(sums), 4))])]),
        b_eq=np.concatenate([eta, np.full(len(sums), price)]),
        bounds=[(0, price if each else 0) for each in free] + [(0, None)] * 4,
        method="highs",
    )
    return np.where(free, found.x[: len(rows)], 0.0)


# -- the posterior -------------------------------------------------------------------------------


def tilted_density(prior: Prior, eta: float, w: np.ndarray) -> np.ndarray:
    """Return one weight's posterior density at points ``w``, scaled so that the highest is 1."""
    with np.errstate(divide="ignore"):
        exponent = prior.log_density(w) + eta * w
    return np.exp(exponent - exponent.max())


def tilted_mode(prior: Prior, eta: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return where the posterior is highest, to three decimals.

    The peak of a Laplace prior doesn't move:

    >>> from medn_edu.priors import GaussianPrior, LaplacePrior
    >>> for prior in (GaussianPrior(), LaplacePrior(4.0)):
    ...     tilted_mode(prior, np.array([1.0, 0.5]), -2.0, 4.0)
    array([1. , 0.5])
    array([0., 0.])
    """
    if isinstance(prior, TwoPointPrior):
        return np.where(eta >= 0, prior.a, -prior.a)
    fine = np.linspace(low, high, 6001)
    at = [fine[tilted_density(prior, float(e), fine).argmax()] for e in eta]
    return np.round(at, 3) + 0.0


def tilted_points(prior: Prior, eta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the points of the plane that have positive probability, and their probabilities.

    Only a `TwoPointPrior` has such points.  For other priors both arrays are empty.
    """
    if not isinstance(prior, TwoPointPrior):
        return np.zeros((0, 2)), np.zeros(0)
    points = prior.a * np.array([(-1, -1), (-1, 1), (1, -1), (1, 1)])
    return points, np.exp(points @ eta - prior.log_mgf(eta).sum()) / 4


def share_missing(prior: Prior, eta: np.ndarray, difference: np.ndarray, margin: float) -> float:
    """Return the probability, under the tilted prior, that ``w . difference < margin``.

    The first weight is integrated on a grid, and the second by its distribution function.
    """
    a, b = difference
    points, probabilities = tilted_points(prior, eta)
    if len(points):
        return float(probabilities[points @ difference < margin - 1e-9].sum())
    (first, mass), (second, other) = (_cells(prior, e) for e in eta)
    if b == 0:
        return float(mass @ (a * first < margin - 1e-9))
    edges = np.append(second, 2 * second[-1] - second[-2]) - (second[1] - second[0]) / 2
    below = np.interp((margin - a * first) / b, edges, np.append(0.0, np.cumsum(other)))
    return float(mass @ (below if b > 0 else 1 - below))


def _cells(prior: Prior, eta: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the middles of small cells along one weight, and their probabilities."""
    at = np.array([eta])
    mean, deviation = float(prior.mean(at)[0]), float(np.sqrt(prior.variance(at)[0]))
    w = np.linspace(mean - 14 * deviation, mean + 14 * deviation, 4001)
    density = tilted_density(prior, eta, w)
    return w, density / density.sum()
