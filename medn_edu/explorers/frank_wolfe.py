r"""Block-coordinate Frank-Wolfe on the three tiny words: labellings come and go, the gap closes.

The dual of MEDN (D1, Theorem 2) has a number :math:`\alpha_i(y) \ge 0` for each of the 27
labellings of each word, those of a word adding up to :math:`C`.  At the start the true labellings
have all of it: :math:`\eta = 0`, and every weight has its prior's mean.  A pass asks each word for
the labelling with the largest margin violation, and raises its dual variable at the cost of the
others.

`word_problem` makes the problem of the words of `medn_edu.theory.axi` as the package poses it, with
a weight for every pair of label and ink and for every transition (18 in all), `frank_wolfe_passes`
replays `medn_edu.solvers.block_frank_wolfe` on it and has every pass certified, and `FrankWolfe` is
the figure: the labellings with their dual variables above, the bounds, their gap and the weights on
their prior's curve (Corollary 7) below.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import islice, pairwise

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator

from medn_edu.explorers.kit.controls import Check, Choice, Time
from medn_edu.explorers.kit.explorer import Explorer, Lesson
from medn_edu.explorers.kit.style import INK, MUTED, new_figure, styled
from medn_edu.priors import GaussianPrior, LaplacePrior, Prior
from medn_edu.problems import DualVariables, MarginLoss, Problem
from medn_edu.slacks import LinearSlack
from medn_edu.solvers.block_frank_wolfe import block_frank_wolfe
from medn_edu.theory.axi import WORDS, axi_samples, text

FW_PRIORS: dict[str, Prior] = {
    "Gaussian": GaussianPrior(),
    "Laplace, λ = 4": LaplacePrior(lam=4.0),
    "Laplace, λ = 36": LaplacePrior(lam=36.0),
}
"""Priors that the explorer offers, by name."""

FW_PRICES = (0.3, 1.0, 3.0)
"""Constants C that the explorer offers."""

N_PASSES = 16
"""Number of passes that are replayed."""

_N_LABELLINGS = 27
_PLACES = 3 ** np.arange(3)[::-1]  # a labelling is a number of three digits
_TRUE_ROWS = np.array([word.true_row for word in WORDS])
_MODEL, _NEW, _TRUTH = "#0072B2", "#E69F00", "#C3CAD1"
_UPPER, _LOWER, _GAP = "#D55E00", "#0072B2", "#009E73"
_UPPER_TEXT = "#B34700"  # the primal's colour, dark enough to be read
_MOST_ROWS = 8
_FLOOR = 1e-6  # smaller gaps are drawn here


def word_problem(prior: Prior, C: float) -> Problem:
    """Return MEDN on the three tiny words, each label with weights of its own."""
    return Problem(axi_samples(), MarginLoss(LinearSlack(C)), prior)


@dataclass(frozen=True, eq=False)
class FrankWolfePass:
    """State of the solver after some passes."""

    number: int  # number of passes so far; 0 before the first
    alpha: np.ndarray  # dual variables of all labellings of each word; each row adds up to ``C``
    new: np.ndarray  # labellings whose dual variables are positive now and were not one pass ago
    gone: np.ndarray  # labellings whose dual variables were positive once and are exactly zero now
    eta: np.ndarray
    weights: np.ndarray
    primal: float
    dual: float

    @property
    def gap(self) -> float:
        """Duality gap, primal less dual."""
        return self.primal - self.dual

    @property
    def relative_gap(self) -> float:
        """Gap by primal value."""
        return self.gap / self.primal


@cache
def frank_wolfe_passes(prior: str, C: float, cached: bool) -> tuple[FrankWolfePass, ...]:
    """Run the package's solver on the words, and keep every pass."""
    problem = word_problem(FW_PRIORS[prior], C)
    solver = block_frank_wolfe(
        problem, rng=np.random.default_rng(0), n_cached_rounds=2 if cached else 0
    )
    passes = [_start(problem, FW_PRIORS[prior], C)]
    ever = passes[0].alpha > 0
    for number, iterate in enumerate(islice(solver, N_PASSES), start=1):
        certificate = iterate.certify(problem)
        assert isinstance(certificate.alpha, DualVariables)
        assert certificate.eta is not None
        alpha = _written_out(certificate.alpha)
        passes.append(
            FrankWolfePass(
                number=number,
                alpha=alpha,
                new=(alpha > 0) & ~(passes[-1].alpha > 0),
                gone=ever & ~(alpha > 0),
                eta=certificate.eta,
                weights=iterate.weights,
                primal=certificate.primal,
                dual=certificate.dual,
            )
        )
        ever = ever | (alpha > 0)
    return tuple(passes)


def _start(problem: Problem, prior: Prior, C: float) -> FrankWolfePass:
    """Return the state in which only the true labellings have positive dual variables."""
    alpha = np.zeros((len(WORDS), _N_LABELLINGS))
    alpha[np.arange(len(WORDS)), _TRUE_ROWS] = C
    none, eta = np.zeros(alpha.shape, dtype=bool), np.zeros(problem.weight_shape.size)
    weights = prior.mean(eta)
    return FrankWolfePass(0, alpha, none, none, eta, weights, problem.primal(weights), 0.0)


def _written_out(alpha: DualVariables) -> np.ndarray:
    """Write sparse dual variables out, one row per word."""
    values = np.zeros((len(WORDS), _N_LABELLINGS))
    np.add.at(values, (alpha.sample, alpha.labels.reshape(-1, 3) @ _PLACES), alpha.values)
    return values


@cache
def _order(prior: str, C: float, cached: bool) -> tuple[tuple[int, ...], ...]:
    """Return the rows of each word: the truth, then the others in the order in which they appear."""
    rows = [[int(row)] for row in _TRUE_ROWS]
    for each in frank_wolfe_passes(prior, C, cached)[1:]:
        for word, row in zip(*np.nonzero(each.new), strict=True):
            if row not in rows[word]:
                rows[word].append(int(row))
    return tuple(map(tuple, rows))


class FrankWolfe:
    """The figure: dual variables, both bounds, their gap, and the weights on their curve."""

    def __init__(self) -> None:
        self.figure = new_figure(8.4, 5.4)
        axes = self.figure.subplots(2, 3, height_ratios=[1.1, 1])
        self._prior = ""
        with styled():
            self._words = [_WordRows(ax, i) for i, ax in enumerate(axes[0])]
            self._draw_bounds(axes[1, 0])
            self._draw_gap(axes[1, 1])
            self._draw_curve(axes[1, 2])

    def show(self, prior: str, C: float, cached: bool, number: int) -> None:
        """Show a pass."""
        passes = frank_wolfe_passes(prior, C, cached)
        for word, rows in zip(self._words, _order(prior, C, cached), strict=True):
            word.show(passes[number], rows, C)
        self._show_bounds(passes, number)
        self._show_curve(prior, passes[number])

    # -- bounds and gap -------------------------------------------------------------------------

    def _draw_bounds(self, ax: Axes) -> None:
        self._bounds = ax
        (self._upper,) = ax.plot([0], [0], "--s", color=_UPPER, ms=4, lw=1.5)
        (self._lower,) = ax.plot([0], [0], "-o", color=_LOWER, ms=4, lw=1.5)
        self._between = ax.fill_between([0, 0], [0, 0], [0, 0], color="#EDEFF1", lw=0, zorder=0)
        ax.set(xlim=(-0.4, N_PASSES + 0.4), xticks=range(0, N_PASSES + 1, 4))
        ax.set(xlabel="pass", ylim=(0, 1))
        ax.yaxis.set_major_locator(MaxNLocator(4, integer=True))
        for height, name, colour in ((0.9, "primal", _UPPER_TEXT), (0.05, "dual", _LOWER)):
            ax.text(0.97, height, name, color=colour, transform=ax.transAxes, ha="right")
        _stand_still(ax, "Bounds of the optimum")

    def _draw_gap(self, ax: Axes) -> None:
        (self._gaps,) = ax.plot([0], [1], "-D", color=_GAP, ms=4, lw=1.5)
        ax.axhline(1e-2, color=MUTED, lw=1, ls=":")
        ax.set(yscale="log", xlim=(-0.4, N_PASSES + 0.4), ylim=(0.6 * _FLOOR, 2))
        ax.set(xlabel="pass", xticks=range(0, N_PASSES + 1, 4))
        ax.set_yticks([1, 1e-2, 1e-4, 1e-6], ["100 %", "1 %", "0.01 %", "0.0001 %"])
        ax.minorticks_off()
        _stand_still(ax, "Relative gap (dotted: 1 %)")

    def _show_bounds(self, passes: tuple[FrankWolfePass, ...], number: int) -> None:
        at = np.arange(number + 1)
        past = passes[: number + 1]
        upper, lower, gaps = (
            np.array([getattr(each, name) for each in past])
            for name in ("primal", "dual", "relative_gap")
        )
        self._upper.set_data(at, upper)
        self._lower.set_data(at, lower)
        edge = np.concatenate([np.stack([at, lower], 1), np.stack([at, upper], 1)[::-1]])
        self._between.set_verts([edge])
        # The start is so far up that the rest would lie on one line.
        self._bounds.set_ylim(0, 2.5 * passes[-1].primal)
        self._gaps.set_data(at, np.maximum(gaps, _FLOOR))

    # -- the weights on their prior's curve --------------------------------------------------------

    def _draw_curve(self, ax: Axes) -> None:
        self._curve_axes = ax
        (self._curve,) = ax.plot([0], [0], "-", color=MUTED, lw=1.2)
        (self._weights,) = ax.plot([0], [0], "o", color=_MODEL, mec="white", ms=6.5)
        self._walls = [
            ax.axvspan(2, 3, fc="#F3DDCB", ec="#D9A27A", hatch="///", lw=0) for _ in "lr"
        ]
        ax.set(ylim=(-1.25, 1.25), xlabel="natural parameter η")
        ax.set_yticks([-1, 0, 1], ["−1", "0", "1"])
        _stand_still(ax, "The 18 posterior means")

    def _show_curve(self, prior: str, here: FrankWolfePass) -> None:
        self._weights.set_data(here.eta, here.weights)
        if prior == self._prior:
            return
        self._prior = prior
        shape = FW_PRIORS[prior]
        end = min(shape.domain[1], 2.0) if prior == "Gaussian" else shape.domain[1]
        eta = np.linspace(-0.999 * end, 0.999 * end, 201)
        self._curve.set_data(eta, shape.mean(eta))
        self._curve_axes.set(xlim=(-1.15 * end, 1.15 * end), xticks=[-end, 0, end])
        self._curve_axes.set_xticklabels([f"−{end:g}", "0", f"{end:g}"])
        for wall, sign in zip(self._walls, (-1, 1), strict=True):
            wall.set_visible(prior != "Gaussian")
            left = end if sign > 0 else -1.3 * end
            wall.set_bounds(left, 0, 0.3 * end, 1)


def _stand_still(ax: Axes, title: str) -> None:
    """Give axes a title, and keep title and labels where they are: looking for room takes long."""
    ax.set_title(title, pad=6, y=1.0)
    ax.xaxis.set_label_coords(0.5, -0.13)
    ax.yaxis.set_label_coords(-0.1, 0.5)


class _WordRows:
    """The labellings of one word, a row each, with bars for their dual variables."""

    def __init__(self, ax: Axes, word: int) -> None:
        self.word = word
        self.names: list[Text] = []
        self.states: list[Text] = []
        self.bars: list[Rectangle] = []
        for row in range(_MOST_ROWS):
            name = ax.text(-0.04, row, "", ha="right", va="center", fontsize=10, family="monospace")
            state = ax.text(0.0, row, "", va="center", fontsize=9)
            bar = ax.add_patch(Rectangle((0, row - 0.33), 0, 0.66, fc=_MODEL, ec=INK, lw=0.8))
            self.names.append(name)
            self.states.append(state)
            self.bars.append(bar)
        ax.set(xlim=(-0.28, 1.22), ylim=(_MOST_ROWS - 0.4, -0.6))
        ax.set_axis_off()
        ax.plot([0, 0], [-0.5, _MOST_ROWS - 0.5], "-", color=MUTED, lw=0.8)
        ax.plot([1, 1], [-0.5, _MOST_ROWS - 0.5], ":", color=MUTED, lw=0.8)
        ax.text(0.97, _MOST_ROWS - 0.7, "all of C", ha="right", fontsize=9, color=MUTED)
        _stand_still(ax, f"Labellings of {WORDS[word].word}")

    def show(self, here: FrankWolfePass, rows: tuple[int, ...], C: float) -> None:
        """Show the dual variables of rows, as shares of ``C``."""
        alpha, new = here.alpha[self.word], here.new[self.word]
        gone = here.gone[self.word]
        for place in range(_MOST_ROWS):
            row = rows[place] if place < len(rows) else -1
            shown = row >= 0 and bool(alpha[row] > 0 or gone[row])
            for artist in (self.names[place], self.states[place], self.bars[place]):
                artist.set_visible(shown)
            if shown:
                self._show_row(place, row, float(alpha[row]) / C, bool(new[row]), bool(gone[row]))

    def _show_row(self, place: int, row: int, share: float, new: bool, gone: bool) -> None:
        true = row == _TRUE_ROWS[self.word]
        name, state, bar = self.names[place], self.states[place], self.bars[place]
        name.set_text(text(WORDS[self.word].labellings[row]))
        name.set_color(MUTED if gone else INK)
        bar.set_width(0.06 if gone else share)
        bar.set_facecolor("white" if gone else _NEW if new else _TRUTH if true else _MODEL)
        bar.set_edgecolor(MUTED if gone else INK)
        bar.set_hatch("////" if new else "")
        words = "gone" if gone else f"{share:.0%}" if share >= 0.005 else "under 1%"
        state.set_text(f"{words} new" if new else f"{words}, true" if true else words)
        state.set_color(MUTED if gone else INK)
        # The truth may hold nearly everything: its words then go inside the bar.
        inside = share > 0.75
        state.set_position(((share if not gone else 0.06) + (-0.03 if inside else 0.03), place))
        state.set_ha("right" if inside else "left")
        if inside and not true:
            state.set_color("white")


def frank_wolfe() -> Explorer:
    """Return an explorer of block-coordinate Frank-Wolfe on the dual of three tiny words.

    Above, the labellings of each word whose dual variables are or were positive, as shares of
    ``C``; below, primal and dual value after each pass, the relative gap, and the weights on their
    prior's shrinkage curve.  Drawn by `medn_edu.explorers.frank_wolfe` from the passes of
    `medn_edu.solvers.block_frank_wolfe`.

    Returns
    -------
    Explorer
        The explorer: its time is ``passes``; ``prior`` and ``C`` make the problem, and ``cached`` adds
        two rounds without decoding to each pass.

    Examples
    --------
    >>> explorer = frank_wolfe()
    >>> all(explorer.check(lesson) for lesson in explorer.lessons)
    True
    """
    drawn = FrankWolfe()
    for prior in FW_PRIORS:
        for C in FW_PRICES:
            for cached in (False, True):
                frank_wolfe_passes(prior, C, cached)

    def update(passes: int, prior: str, C: float, cached: bool) -> str:
        drawn.show(prior, C, cached, passes)
        here = frank_wolfe_passes(prior, C, cached)[passes]
        rounds = ", with more rounds" if cached else ""
        return (
            f"{_named(prior)}, C = {C:g}{rounds}, after pass {passes}: {_count(here)} of 81 labellings "
            f"have dual variables above 0, {here.new.sum()} of them new, {here.gone.sum()} gone; "
            f"largest |η| {_largest(here):.2f}{_of(prior)}; primal {here.primal:.3f}, "
            f"dual {here.dual:.3f}, relative gap {_percent(here)}."
        )

    def alt(passes: int, prior: str, C: float, cached: bool) -> str:
        here = frank_wolfe_passes(prior, C, cached)[passes]
        return (
            "Above, for each of three words the labellings with their dual variables as bars, "
            f"{_count(here)} in all, {here.new.sum()} marked new and {here.gone.sum()} drawn "
            f"hollow because they are gone. Below, the bounds up to pass {passes}, now "
            f"{here.primal:.3f} and {here.dual:.3f}, their relative gap, {_percent(here)}, and "
            f"18 points on the prior's curve, the farthest at |η| = {_largest(here):.2f}{_of(prior)}."
        )

    return Explorer(
        drawn.figure,
        update,
        alt,
        lessons=_lessons(),
        name="frank-wolfe",
        passes=Time(0, N_PASSES, 1, 4, label="passes", per_second=2),
        prior=Choice(list(FW_PRIORS), "Laplace, λ = 36"),
        C=Choice(FW_PRICES, 3.0),
        cached=Check(False, label="two more rounds a pass, without decoding"),
    )


def _named(prior: str) -> str:
    name, _, constant = prior.partition(", ")
    return f"{name} prior, {constant}" if constant else f"{name} prior"


def _count(here: FrankWolfePass) -> int:
    return int((here.alpha > 0).sum())


def _largest(here: FrankWolfePass) -> float:
    return float(np.abs(here.eta).max())


def _of(prior: str) -> str:
    end = FW_PRIORS[prior].domain[1]
    return f" of {end:g}" if np.isfinite(end) else ""


def _percent(here: FrankWolfePass) -> str:
    share = 100 * here.relative_gap
    return f"{share:.2f} %" if share >= 0.005 else "below 0.01 %"


def _lessons() -> list[Lesson]:
    def come_and_go(passes: int, prior: str, C: float, cached: bool) -> bool:
        here = frank_wolfe_passes(prior, C, cached)[passes]
        return bool(_count(here) <= 12 and here.gone.sum() >= 5)

    def stays_inside(passes: int, prior: str, C: float, cached: bool) -> bool:
        end = FW_PRIORS[prior].domain[1]
        so_far = frank_wolfe_passes(prior, C, cached)[: passes + 1]
        farthest = max(map(_largest, so_far))
        return 0.75 * end < farthest < end

    def jumps(passes: int, prior: str, C: float, cached: bool) -> bool:
        so_far = frank_wolfe_passes(prior, C, cached)[: passes + 1]
        never_falls = all(b.dual >= a.dual - 1e-12 for a, b in pairwise(so_far))
        return never_falls and so_far[-1].primal > 1.05 * so_far[-2].primal

    def more_rounds(passes: int, prior: str, C: float, cached: bool) -> bool:
        with_rounds, without = (frank_wolfe_passes(prior, C, c)[passes] for c in (True, False))
        return cached and with_rounds.relative_gap < 0.01 < without.relative_gap / 5

    def spends_all(passes: int, prior: str, C: float, cached: bool) -> bool:
        here = frank_wolfe_passes(prior, C, cached)[passes]
        true = [here.alpha[i, word.true_row] for i, word in enumerate(WORDS)]
        return not any(true) and float(np.abs(here.weights).max()) < 0.1

    laplace = {"prior": "Laplace, λ = 36", "C": 3.0}
    return [
        Lesson(
            {"passes": N_PASSES, **laplace, "cached": False},
            "Labellings come and go: at most 12 of 81 dual variables are positive, and five or more "
            "have gone back to zero.",
            come_and_go,
        ),
        Lesson(
            {"passes": 8, **laplace, "cached": False},
            "The largest |η| goes most of the way to √λ, and no step leads out.",
            stays_inside,
        ),
        Lesson(
            {"passes": 4, "prior": "Gaussian", "C": 0.3, "cached": False},
            "A pass never lowers the dual value; the primal value may rise.",
            jumps,
        ),
        Lesson(
            {"passes": 6, **laplace, "cached": True},
            "More steps among kept labellings, without decoding, close the gap in fewer passes.",
            more_rounds,
        ),
        Lesson(
            {"passes": N_PASSES, "prior": "Laplace, λ = 36", "C": 0.3, "cached": False},
            "At a small C only wrong labellings have positive dual variables, and all means are "
            "small.",
            spends_all,
        ),
    ]
