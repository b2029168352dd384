r"""Two weights under any prior: exact dual variables of *axi*, and the posterior in the plane.

**Which** :math:`\alpha`.  By complementary slackness only labellings whose line
:math:`\mu \cdot \Delta f_i(y) = \Delta\ell_i(y) - \xi_i` passes through the posterior's mean may
have a positive dual variable.  The mean is unique, the dual variables are not: the true labelling
changes nothing, and several labellings may have one line or lines through one point.
`exact_dual_variables` first tries whether one labelling of each word can have its whole budget.
Else it solves D1 with `medn_edu.theory.solve_dual`, a barrier method, whose dual variables are all
a little above 0, and `support_dual_variables` asks a linear program for those that give the same
:math:`\eta`, lie on lines through the mean only, and leave as much as possible to the true
labellings.  `worst_labellings` are all that D1 ever needs.

**The posterior** is the prior tilted by :math:`\eta` (Theorem 2, Eq. (3)), weight by weight, so that
densities are products: `tilted_density`, `tilted_mode`, and `tilted_points` where all lies on single
points.  `share_missing` says how much of it lies on the wrong side of a line, as the margins bind its
mean only.
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
    """Return the labellings that, for some mean, violate their margin more than all others do.

    D1 never needs another one: what lies below the highest of the planes ``loss - mu . difference``
    everywhere has a margin to spare, and what only touches it is a mixture of those that are highest.
    Of labellings with the same plane the first is taken.  Means are tried on a fine grid of weights
    from 0 to 4.  The true labelling is among them: it is the worst where all others have more than
    their margins.

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
    """Return dual variables that solve D1, with exact zeros.

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
    """Return what the dual variables of each word add up to."""
    if not isinstance(problem.slack, LinearSlack):
        raise ValueError(f"the slack is {problem.slack!r}; expected the linear one.")
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

    Of all dual variables on labellings whose line passes through the mean, with
    :math:`\sum_y \alpha_i(y) = C` for each word, a linear program takes those whose :math:`\eta` is
    nearest to that of ``alpha``, and of these the ones that are largest on the true labellings.  It
    ends in a corner of what is allowed, so that no more dual variables are positive than are
    needed.  Newton's method then finds these to all digits.
    """
    rows, words = (np.array([getattr(slot, key) for slot in slots]) for key in ("row", "word"))
    mean, price = problem.posterior_mean(alpha), _budget(problem)
    margins = problem.losses[rows] - problem.differences[rows] @ mean
    tight = margins > problem.xi(mean)[words] - _TIGHT
    found = _corner(problem, rows, problem.eta(alpha), tight)
    # What the barrier left is not part of the solution: once more without it.
    found = _corner(problem, rows, problem.eta(alpha), tight & (found > _ROUNDING * price))
    return _polished(problem, rows, found)


def _polished(problem: EnumeratedProblem, rows: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """Return dual variables on the same labellings whose lines pass through the mean to all digits.

    As many equations as unknowns: each margin violation of a word is its slack, and its dual
    variables add up to C.
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
    """Return dual variables of the free rows, as `support_dual_variables` wants them."""
    losses, price = problem.losses[rows], _budget(problem)
    # Dual variables, then what eta differs by upwards and downwards, which is expensive.
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
    """Return one weight's posterior density, of which the highest value is 1."""
    with np.errstate(divide="ignore"):
        exponent = prior.log_density(w) + eta * w
    return np.exp(exponent - exponent.max())


def tilted_mode(prior: Prior, eta: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return where the posterior is highest, to three digits.

    A Laplace prior's peak stays where it is:

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
    """Return the single points of the plane that have a probability of their own."""
    if not isinstance(prior, TwoPointPrior):
        return np.zeros((0, 2)), np.zeros(0)
    points = prior.a * np.array([(-1, -1), (-1, 1), (1, -1), (1, 1)])
    return points, np.exp(points @ eta - prior.log_mgf(eta).sum()) / 4


def share_missing(prior: Prior, eta: np.ndarray, difference: np.ndarray, margin: float) -> float:
    """Return the probability, under the tilted prior, that ``w . difference < margin``.

    Integrated on a grid along the first weight, with the distribution function of the second.
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
