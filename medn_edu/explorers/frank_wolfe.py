"""Block-coordinate Frank-Wolfe on the three tiny words: labellings come and go, the gap closes.

At the start each word's true labelling has all of ``C``.  A pass finds, for each word, the labelling
with the largest margin violation.  It raises the dual variable of that labelling and lowers the others.
The words are those of `medn_edu.theory.axi` with 18 weights.  The passes are those of
`medn_edu.solvers.block_frank_wolfe`, certified.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import islice, pairwise, product

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator

from medn_edu.explorers.kit import palette
from medn_edu.explorers.kit.controls import Check, Choice, Time
from medn_edu.explorers.kit.explorer import Exhibit, Explorer, lesson
from medn_edu.explorers.kit.panels import draw_bounds
from medn_edu.explorers.kit.style import INK, MUTED, new_figure, styled
from medn_edu.priors import GaussianPrior, LaplacePrior, Prior
from medn_edu.problems import DualVariables, MarginLoss, Problem
from medn_edu.slacks import LinearSlack
from medn_edu.solvers.block_frank_wolfe import block_frank_wolfe
from medn_edu.theory.axi import WORDS, axi_samples, text

PRIORS: dict[str, Prior] = {
    "Gaussian": GaussianPrior(),
    "Laplace, λ = 4": LaplacePrior(lam=4.0),
    "Laplace, λ = 36": LaplacePrior(lam=36.0),
}
PRICES = (0.3, 1.0, 3.0)  # constants C
N_PASSES = 16

_PLACES = 3 ** np.arange(3)[::-1]  # a labelling is a number of three digits
_TRUE_ROWS = np.array([word.true_row for word in WORDS])
_MOST_ROWS = 8
_FLOOR = 1e-6  # smaller gaps are drawn here


def listed(alpha: DualVariables, n_words: int) -> np.ndarray:
    """Return dual variables of three-letter words with a column for each of the 27 labellings."""
    values = np.zeros((n_words, 27))
    np.add.at(values, (alpha.sample, alpha.labels.reshape(-1, 3) @ _PLACES), alpha.values)
    return values


def word_problem(prior: Prior, C: float) -> Problem:
    """Return MEDN on the three tiny words, each label with weights of its own."""
    return Problem(axi_samples(), MarginLoss(LinearSlack(C)), prior)


@dataclass(frozen=True, eq=False)
class FrankWolfePass:
    """State of the solver after some passes."""

    alpha: np.ndarray  # dual variables of all labellings of each word; each row adds up to ``C``
    new: np.ndarray  # labellings whose dual variables are positive now and were not one pass ago
    gone: np.ndarray  # labellings whose dual variables were positive once and are exactly zero now
    eta: np.ndarray
    weights: np.ndarray
    primal: float
    dual: float

    @property
    def relative_gap(self) -> float:
        """Duality gap by primal value."""
        return (self.primal - self.dual) / self.primal

    @property
    def count(self) -> int:
        """Number of labellings whose dual variables are positive."""
        return int((self.alpha > 0).sum())

    @property
    def largest(self) -> float:
        """The largest natural parameter's magnitude."""
        return float(np.abs(self.eta).max())


@cache
def frank_wolfe_passes(prior: str, C: float, cached: bool) -> tuple[FrankWolfePass, ...]:
    """Run the package's solver on the words, and keep every pass and the start before them."""
    problem = word_problem(PRIORS[prior], C)
    alpha = np.zeros((len(WORDS), 27))
    alpha[np.arange(len(WORDS)), _TRUE_ROWS] = C
    none, eta = np.zeros(alpha.shape, dtype=bool), np.zeros(problem.weight_shape.size)
    weights = PRIORS[prior].mean(eta)
    passes = [FrankWolfePass(alpha, none, none, eta, weights, problem.primal(weights), 0.0)]
    ever = alpha > 0
    rng, rounds = np.random.default_rng(0), 2 if cached else 0
    solver = block_frank_wolfe(problem, rng=rng, n_cached_rounds=rounds)
    for iterate in islice(solver, N_PASSES):
        certificate = iterate.certify(problem)
        assert isinstance(certificate.alpha, DualVariables)
        assert certificate.eta is not None
        alpha = listed(certificate.alpha, len(WORDS))
        passes.append(
            FrankWolfePass(
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


@cache
def _order(prior: str, C: float, cached: bool) -> list[list[int]]:
    """Return the rows of each word: the truth, then the others in the order in which they appear."""
    rows = [[int(row)] for row in _TRUE_ROWS]
    for each in frank_wolfe_passes(prior, C, cached)[1:]:
        for word, row in zip(*np.nonzero(each.new), strict=True):
            if row not in rows[word]:
                rows[word].append(int(row))
    return rows


def _stand_still(ax: Axes, title: str) -> None:
    """Give axes a title, and keep title and labels where they are: looking for room takes long."""
    ax.set_title(title, pad=6, y=1.0)
    ax.xaxis.set_label_coords(0.5, -0.13)
    ax.yaxis.set_label_coords(-0.1, 0.5)


def _draw_word(ax: Axes, word: int) -> Callable[[FrankWolfePass, list[int], float], None]:
    """Draw the labellings of one word, a row each, with bars for their dual variables."""
    rows: list[tuple[Text, Text, Rectangle]] = []
    for y in range(_MOST_ROWS):
        name = ax.text(-0.04, y, "", ha="right", va="center", fontsize=10, family="monospace")
        state = ax.text(0.0, y, "", va="center", fontsize=9)
        bar = ax.add_patch(Rectangle((0, y - 0.33), 0, 0.66, fc=palette.BLUE, ec=INK, lw=0.8))
        rows.append((name, state, bar))
    ax.set(xlim=(-0.28, 1.22), ylim=(_MOST_ROWS + 0.4, -0.6))
    ax.set_axis_off()
    ax.plot([0, 0], [-0.5, _MOST_ROWS + 0.3], "-", color=MUTED, lw=0.8)
    ax.plot([1, 1], [-0.5, _MOST_ROWS + 0.3], ":", color=MUTED, lw=0.8)
    ax.text(0.97, _MOST_ROWS + 0.2, "all of C", ha="right", fontsize=9, color=MUTED)
    _stand_still(ax, f"Labellings of {WORDS[word].word}")

    def show(here: FrankWolfePass, order: list[int], C: float) -> None:
        for y, (name, state, bar) in enumerate(rows):
            row = order[y] if y < len(order) else -1
            gone, new = bool(here.gone[word, row]), bool(here.new[word, row])
            shown = row >= 0 and bool(here.alpha[word, row] > 0 or gone)
            for artist in (name, state, bar):
                artist.set_visible(shown)
            if not shown:
                continue
            true, share = row == _TRUE_ROWS[word], float(here.alpha[word, row]) / C
            name.set_text(text(WORDS[word].labellings[row]))
            name.set_color(MUTED if gone else INK)
            bar.set_width(0.06 if gone else share)
            colour = palette.ORANGE if new else palette.PALE_GREY if true else palette.BLUE
            bar.set_facecolor("white" if gone else colour)
            bar.set_edgecolor(MUTED if gone else INK)
            bar.set_hatch("////" if new else "")
            words = "gone" if gone else f"{share:.0%}" if share >= 0.005 else "under 1%"
            state.set_text(f"{words} new" if new else f"{words}, true" if true else words)
            # The truth may hold nearly everything: its words then go inside the bar.
            inside = share > 0.75
            state.set_color("white" if inside and not true else MUTED if gone else INK)
            state.set_x((0.06 if gone else share) + (-0.03 if inside else 0.03))
            state.set_ha("right" if inside else "left")

    return show


def _draw_gap(ax: Axes) -> Callable[[np.ndarray], None]:
    (gaps,) = ax.plot([0], [1], "-D", color=palette.GREEN, ms=4, lw=1.5)
    ax.axhline(1e-2, color=MUTED, lw=1, ls=":")
    ax.set(yscale="log", xlim=(-0.4, N_PASSES + 0.4), ylim=(0.6 * _FLOOR, 2))
    ax.set(xlabel="pass", xticks=range(0, N_PASSES + 1, 4))
    ax.set_yticks([1, 1e-2, 1e-4, 1e-6], ["100 %", "1 %", "0.01 %", "0.0001 %"])
    ax.minorticks_off()
    _stand_still(ax, "Relative gap")
    return lambda past: gaps.set_data(np.arange(len(past)), np.maximum(past, _FLOOR))


def _draw_curve(ax: Axes) -> Callable[[str, FrankWolfePass], None]:
    """Draw the weights on their prior's shrinkage curve (Corollary 7), and walls at its ends."""
    (curve,) = ax.plot([0], [0], "-", color=MUTED, lw=1.2)
    (weights,) = ax.plot([0], [0], "o", color=palette.BLUE, mec="white", ms=6.5)
    walls = [ax.axvspan(2, 3, fc="#F3DDCB", ec="#D9A27A", hatch="///", lw=0) for _ in "lr"]
    ax.set(ylim=(-1.25, 1.25), xlabel="natural parameter η")
    ax.set_yticks([-1, 0, 1], ["−1", "0", "1"])
    _stand_still(ax, "Posterior means")
    drawn = ""  # the prior whose curve is drawn

    def show(prior: str, here: FrankWolfePass) -> None:
        nonlocal drawn
        weights.set_data(here.eta, here.weights)
        if prior == drawn:
            return
        drawn = prior
        end = min(PRIORS[prior].domain[1], 2.0) if prior == "Gaussian" else PRIORS[prior].domain[1]
        eta = np.linspace(-0.999 * end, 0.999 * end, 201)
        curve.set_data(eta, PRIORS[prior].mean(eta))
        ax.set(xlim=(-1.15 * end, 1.15 * end), xticks=[-end, 0, end])
        ax.set_xticklabels([f"−{end:g}", "0", f"{end:g}"])
        for wall, left in zip(walls, (-1.3 * end, end), strict=True):
            wall.set_visible(prior != "Gaussian")
            wall.set_bounds(left, 0, 0.3 * end, 1)

    return show


_LAPLACE = {"prior": "Laplace, λ = 36", "C": 3.0}


@lesson(
    "Labellings come and go: at most 12 of the 81 dual variables are positive, and at least five "
    "others were and are zero again.",
    {"passes": N_PASSES, **_LAPLACE, "cached": False},
)
def _come_and_go(passes: int, prior: str, C: float, cached: bool) -> bool:
    here = frank_wolfe_passes(prior, C, cached)[passes]
    return bool(here.count <= 12 and here.gone.sum() >= 5)


@lesson(
    "The largest |η| goes most of the way to the wall at √λ, and no step crosses it.",
    {"passes": 8, **_LAPLACE, "cached": False},
)
def _stays_inside(passes: int, prior: str, C: float, cached: bool) -> bool:
    end = PRIORS[prior].domain[1]
    so_far = frank_wolfe_passes(prior, C, cached)[: passes + 1]
    return 0.75 * end < max(each.largest for each in so_far) < end


@lesson(
    "A pass never lowers the dual value, but it may raise the primal value.",
    {"passes": 4, "prior": "Gaussian", "C": 0.3, "cached": False},
)
def _jumps(passes: int, prior: str, C: float, cached: bool) -> bool:
    so_far = frank_wolfe_passes(prior, C, cached)[: passes + 1]
    never_falls = all(b.dual >= a.dual - 1e-12 for a, b in pairwise(so_far))
    return never_falls and so_far[-1].primal > 1.05 * so_far[-2].primal


@lesson(
    "Extra rounds among the labellings found so far, without decoding, close the gap in fewer passes.",
    {"passes": 6, **_LAPLACE, "cached": True},
)
def _more_rounds(passes: int, prior: str, C: float, cached: bool) -> bool:
    with_rounds, without = (frank_wolfe_passes(prior, C, c)[passes] for c in (True, False))
    return cached and with_rounds.relative_gap < 0.01 < without.relative_gap / 5


@lesson(
    "With a small C only wrong labellings have positive dual variables, and all means are small.",
    {"passes": N_PASSES, "prior": "Laplace, λ = 36", "C": 0.3, "cached": False},
)
def _spends_all(passes: int, prior: str, C: float, cached: bool) -> bool:
    here = frank_wolfe_passes(prior, C, cached)[passes]
    true = here.alpha[np.arange(len(WORDS)), _TRUE_ROWS]
    return not true.any() and float(np.abs(here.weights).max()) < 0.1


def _words(prior: str, here: FrankWolfePass) -> tuple[str, str]:
    """Return the largest natural parameter, with the end of its domain, and the gap."""
    end, percent = PRIORS[prior].domain[1], 100 * here.relative_gap
    gap = f"{percent:.2f} %" if percent >= 0.005 else "below 0.01 %"
    return f"{here.largest:.2f}" + (f" of {end:g}" if np.isfinite(end) else ""), gap


_CAPTION = (
    "Top: the labellings of each word. A bar shows a labelling's share of the budget $C$. It's hatched "
    "if it is new, and hollow if it has gone back to zero. Bottom: the primal and the dual value after "
    "each pass (an arrow at the top means that the primal value is above the panel), their relative "
    "gap, and the 18 posterior means on the prior's curve. Watch which bars come and go while the two "
    "bounds approach each other."
)


def frank_wolfe() -> Explorer:
    """Return an explorer of block-coordinate Frank-Wolfe on the dual of three tiny words.

    Above, the labellings of each word whose dual variables are or were positive, as shares of
    ``C``; below, primal and dual value after each pass, the relative gap, and the weights on their
    prior's shrinkage curve.

    Returns
    -------
    Explorer
        The explorer: its time is ``passes``; ``prior`` and ``C`` make the problem, and ``cached`` adds
        two rounds without decoding to each pass.
    """
    figure = new_figure(8.4, 5.4)
    axes = figure.subplots(2, 3, height_ratios=[1.1, 1])
    with styled():
        word_panels = [_draw_word(ax, i) for i, ax in enumerate(axes[0])]
        bounds = axes[1, 0]
        show_bounds = draw_bounds(bounds, size=4)
        looks = {"color": palette.VERMILION, "ms": 6, "clip_on": False}
        (above,) = bounds.plot([], [], "^", **looks)  # the start is far up: all else would be flat
        bounds.set(xlim=(-0.4, N_PASSES + 0.4), xticks=range(0, N_PASSES + 1, 4))
        bounds.set(xlabel="pass", ylim=(0, 1))
        bounds.yaxis.set_major_locator(MaxNLocator(4, integer=True))
        for height, name, colour in ((0.9, "primal", "#B34700"), (0.05, "dual", palette.BLUE)):
            bounds.text(0.97, height, name, color=colour, transform=bounds.transAxes, ha="right")
        _stand_still(bounds, "Both bounds")
        show_gaps, show_curve = _draw_gap(axes[1, 1]), _draw_curve(axes[1, 2])
    for problem in product(PRIORS, PRICES, (False, True)):  # so that sliders answer at once
        frank_wolfe_passes(*problem)

    def update(passes: int, prior: str, C: float, cached: bool) -> str:
        every = frank_wolfe_passes(prior, C, cached)
        here, past = every[passes], every[: passes + 1]
        for show, order in zip(word_panels, _order(prior, C, cached), strict=True):
            show(here, order, C)
        show_bounds(np.array([p.dual for p in past]), np.array([p.primal for p in past]))
        top = 2.5 * every[-1].primal
        bounds.set_ylim(0, top)
        high = [k for k, p in enumerate(past) if p.primal > top]
        above.set_data(high, [top] * len(high))
        show_gaps(np.array([p.relative_gap for p in past]))
        show_curve(prior, here)
        name, _, constant = prior.partition(", ")
        problem = f"{name} prior, {constant}" if constant else f"{name} prior"
        rounds = ", with extra rounds" if cached else ""
        largest, gap = _words(prior, here)
        return (
            f"{problem}, C = {C:g}{rounds}, after pass {passes}: {here.count} of 81 labellings "
            f"have dual variables above 0, {here.new.sum()} of them new, {here.gone.sum()} gone; "
            f"largest |η| {largest}; primal {here.primal:.3f}, dual {here.dual:.3f}, "
            f"relative gap {gap}."
        )

    def alt(passes: int, prior: str, C: float, cached: bool) -> str:
        here = frank_wolfe_passes(prior, C, cached)[passes]
        largest, gap = _words(prior, here)
        return (
            "Above, for each of three words the labellings with their dual variables as bars, "
            f"{here.count} in all, {here.new.sum()} marked new and {here.gone.sum()} drawn "
            f"hollow because they are gone. Below, the bounds up to pass {passes}, now "
            f"{here.primal:.3f} and {here.dual:.3f}, their relative gap, {gap}, and "
            f"18 points on the prior's curve, the farthest at |η| = {largest}."
        )

    return Explorer(
        figure,
        update,
        alt,
        caption=_CAPTION,
        lessons=[_come_and_go, _stays_inside, _jumps, _more_rounds, _spends_all],
        name="frank-wolfe",
        passes=Time(0, N_PASSES, 1, 4, label="passes", per_second=2),
        prior=Choice(list(PRIORS), "Laplace, λ = 36"),
        C=Choice(PRICES, 3.0),
        cached=Check(False, label="two extra rounds per pass, without decoding"),
    )


EXHIBIT = Exhibit("Labellings come and go", "exact", frank_wolfe)
