"""The word *axi* under any prior: a posterior over two weights whose mean must meet the margins.

P1 puts its margin constraints on the *mean* of a distribution, and the best distribution is a tilted
prior (Theorem 2).  With two weights all of it can be drawn: density, mean and mode, a half-plane for
each labelling, and the dual variables, which are positive only where the line passes through the mean.
`medn_edu.theory.two_weights` solves the problem.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap

from medn_edu import priors
from medn_edu.explorers.kit import palette
from medn_edu.explorers.kit.controls import Choice, Slider, listed
from medn_edu.explorers.kit.explorer import Exhibit, Explorer, lesson
from medn_edu.explorers.kit.panels import draw_cross
from medn_edu.explorers.kit.style import INK, MUTED, new_figure, styled
from medn_edu.priors import Prior
from medn_edu.slacks import LinearSlack
from medn_edu.theory.axi import WORDS, axi_problem
from medn_edu.theory.medn import EnumeratedProblem
from medn_edu.theory.two_weights import (
    Slot,
    exact_dual_variables,
    share_missing,
    tilted_density,
    tilted_mode,
    tilted_points,
    worst_labellings,
)

PRIORS = ("Gaussian", "Laplace", "box", "exponential", "two-point")
"""Names of the priors: N(0, 1), Laplace, uniform of variance 1, exponential of mean 1/2, and +-1."""

_LOW, _HIGH = -2.0, 4.0  # how far the plane of weights is drawn
_W = np.linspace(_LOW, _HIGH, 241)
_LEVELS = (0.1, 0.3, 0.6, 0.9)  # of the highest density in view
_BLUES = LinearSegmentedColormap.from_list("density", ["#FFFFFF", "#8DBBDD"])
_CONTOUR = "#4C84AD"
_COLOURS = (palette.VERMILION, "#8A5FA8", "#7A5B12")  # one for each word
_DASHES: tuple[Any, ...] = ("-", "--", ":", (0, (2.4, 0.8, 0.8, 0.8)), (0, (0.6, 0.6)))


@dataclass(frozen=True, eq=False)
class TwoWeightsFrame:
    """MEDN on one or three words of three letters, solved."""

    prior_name: str  # one of `PRIORS`
    prior: Prior  # of each weight
    C: float
    problem: EnumeratedProblem
    slots: tuple[Slot, ...]  # the labellings whose dual variables may be positive
    rows: np.ndarray  # row of each slot in the problem
    alpha: np.ndarray  # dual variable of each slot; most of them exactly 0
    eta: np.ndarray
    mean: np.ndarray
    mode: np.ndarray  # where the posterior is highest
    xi: np.ndarray  # slack of each word
    wanted: np.ndarray  # margin that the mean must have over each slot's labelling, minus slack
    missing: np.ndarray  # share of the posterior without that margin
    density: np.ndarray  # of the posterior over `_W` by `_W`; 0 where points have all of it
    points: np.ndarray
    probabilities: np.ndarray  # of the points

    @property
    def heaviest(self) -> int | None:
        """The slot of the wrong labelling with the largest dual variable; None if all are zero."""
        wrong = np.where([slot.is_true for slot in self.slots], 0.0, self.alpha)
        return int(wrong.argmax()) if wrong.max() > 0 else None

    @property
    def bound(self) -> list[int]:
        """The slots of wrong labellings with positive dual variables: the mean lies on their lines."""
        return [k for k, slot in enumerate(self.slots) if self.alpha[k] > 0 and not slot.is_true]


@lru_cache(maxsize=256)
def two_weights_frame(
    prior: str = "Laplace", C: float = 1.0, lam: float = 4.0, n_words: int = 1
) -> TwoWeightsFrame:
    """Solve MEDN on the words of `medn_edu.theory.axi`."""
    if not 1 <= n_words <= len(WORDS):
        raise ValueError(f"n_words is {n_words}; expected 1 to {len(WORDS)}.")
    chosen, slots = _prior(prior, float(lam)), worst_labellings(n_words)
    problem = axi_problem(chosen, LinearSlack(float(C)), WORDS[:n_words])
    rows = np.array([slot.row for slot in slots])
    differences = problem.differences[rows]
    alpha = exact_dual_variables(problem, slots)
    eta = alpha @ differences
    mean = chosen.mean(eta)
    xi = problem.xi(mean)
    wanted = problem.losses[rows] - xi[[slot.word for slot in slots]]
    missing = [share_missing(chosen, eta, *each) for each in zip(differences, wanted, strict=True)]
    points, probabilities = tilted_points(chosen, eta)
    density = np.zeros((len(_W), len(_W)))
    if not len(points):
        first, second = (tilted_density(chosen, float(e), _W) for e in eta)
        density = np.outer(second, first)
    return TwoWeightsFrame(
        prior, chosen, C, problem, slots, rows, alpha, eta, mean,
        tilted_mode(chosen, eta, _LOW, _HIGH), xi, wanted, np.array(missing),
        density, points, probabilities,
    )  # fmt: skip


def _prior(name: str, lam: float) -> Prior:
    known: dict[str, Prior] = {
        "Gaussian": priors.GaussianPrior(),
        "Laplace": priors.LaplacePrior(lam),
        "box": priors.BoxPrior(3**0.5),
        "exponential": priors.ExponentialPrior(2.0),
        "two-point": priors.TwoPointPrior(1.0),
    }
    if name not in known:
        raise ValueError(f"there is no prior {name!r} here; expected one of {', '.join(PRIORS)}.")
    return known[name]


# -- the drawing: each panel draws on axes and returns what shows a frame there ---------------------

Show = Callable[[TwoWeightsFrame], None]


def _plane(ax: Axes) -> Show:
    """Draw posterior, region and lines in the plane of the two weights."""
    half = (_W[1] - _W[0]) / 2
    cells = (_LOW - half, _HIGH + half, _LOW - half, _HIGH + half)
    image = ax.imshow(
        np.zeros((len(_W), len(_W))), extent=cells, origin="lower", cmap=_BLUES,
        vmin=0, vmax=1, interpolation="nearest", zorder=0,
    )  # fmt: skip

    def contour(density: np.ndarray) -> Any:
        x, look = _W[::2], {"colors": _CONTOUR, "linewidths": 0.9, "zorder": 1}
        return ax.contour(x, x, density[::2, ::2], _LEVELS, **look)

    contours = contour(np.outer(_W - _LOW, _W - _LOW) / (_HIGH - _LOW) ** 2)
    hatched = {"facecolor": "none", "edgecolor": palette.GREEN, "hatch": "//", "alpha": 0.6}
    (region,) = ax.fill([0, 0], [0, 0], **hatched, lw=1, zorder=2)
    ax.text(
        _HIGH - 0.08, _HIGH - 0.1, "the mean has\nall margins here", ha="right", va="top",
        color=palette.GREEN_TEXT, zorder=7,
        bbox={"fc": "white", "ec": "none", "pad": 1.5, "alpha": 0.85},
    )  # fmt: skip
    draw_cross(ax, zorder=1)
    discs = ax.scatter([], [], s=[], color=_BLUES(1.0), edgecolor=_CONTOUR, zorder=1)
    most = worst_labellings(len(WORDS))
    loose_lines = [ax.plot([], [], lw=0.8, zorder=3, alpha=0.7)[0] for _ in most]
    lines = [ax.plot([], [], lw=2.2, zorder=4)[0] for _ in most]
    marks: dict[str, Any] = {"ls": "none", "clip_on": False}
    (prior_mean,) = ax.plot([0], [0], "+", color=INK, ms=11, mew=1.6, zorder=6.5, **marks)
    hollow = {"mfc": "white", "mec": INK, "mew": 1.4}
    (mode,) = ax.plot([0], [0], "v", ms=13, zorder=6, **hollow, **marks)
    (mean,) = ax.plot([0], [0], "o", color=INK, mec="white", ms=9, zorder=7, **marks)
    ax.set(xlim=(_LOW, _HIGH), ylim=(_LOW, _HIGH), aspect="equal", anchor="N")
    ax.set(xlabel="$w_1$, weight of the ink", ylabel="$w_2$, weight of the habit")
    ax.set_title("The posterior and its mean")
    names = ["posterior mean μ", "posterior mode", "prior mean"]
    below = {"loc": "outside lower left", "ncols": 3, "handlelength": 1}
    ax.figure.legend([mean, mode, prior_mean], names, **below)

    def show(frame: TwoWeightsFrame) -> None:
        nonlocal contours
        image.set_data(frame.density)
        if frame.density.any():  # contours have no data to exchange: these few lines are drawn anew
            contours.remove()
            contours = contour(frame.density)
        contours.set_visible(bool(frame.density.any()))
        discs.set_offsets(frame.points if len(frame.points) else np.zeros((0, 2)))
        discs.set_sizes(2500 * frame.probabilities)  # area by probability
        before = float(frame.prior.mean(np.zeros(1))[0])
        prior_mean.set_data([before], [before])
        mode.set_data(*frame.mode[:, None])
        mean.set_data(*frame.mean[:, None])
        region.set_xy(_region(len(frame.xi)))
        show_lines(frame)

    def show_lines(frame: TwoWeightsFrame) -> None:
        looks, losses = _looks(frame.slots), frame.problem.losses[frame.rows]
        for k, (line, loose) in enumerate(zip(lines, loose_lines, strict=True)):
            seen = k < len(frame.slots) and frame.alpha[k] > 0 and not frame.slots[k].is_true
            line.set_visible(seen)
            loose.set_visible(seen and losses[k] > frame.wanted[k] + 1e-2)
            if seen:
                difference = frame.problem.differences[frame.rows[k]]
                for artist, margin in ((line, frame.wanted[k]), (loose, losses[k])):
                    artist.set_data(*_line(difference, margin))
                    artist.set(color=looks[k][0], linestyle=looks[k][1])

    return show


def _bars(ax: Axes) -> Show:
    """Draw the dual variables, and say in words what they mean."""
    places = np.arange(len(worst_labellings(len(WORDS))))
    bars = ax.barh(places, 0 * places, height=0.62, lw=0, zorder=2)
    tracks = ax.barh(places, 0 * places + 1, height=0.62, color="#EEF1F4", lw=0, zorder=1)
    names = [ax.text(-0.17, k, "", ha="right", va="center") for k in places]
    keys = [ax.plot([-0.14, -0.02], [k, k], lw=2.2)[0] for k in places]
    values = [ax.text(1.03, k, "", ha="left", va="center") for k in places]
    total = ax.text(0.0, 0.0, "", va="top", ha="left", fontsize=10)
    ax.set(xlim=(-0.62, 1.3), xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    ax.set_title("Dual variables α")

    def show(frame: TwoWeightsFrame) -> None:
        looks, count = _looks(frame.slots), len(frame.slots)
        for k, artists in enumerate(zip(bars, tracks, names, keys, values, strict=True)):
            for artist in artists:
                artist.set_visible(k < count)
            if k < count:
                bar, _, name, key, value = artists
                slot, alpha, (colour, dashes) = frame.slots[k], float(frame.alpha[k]), looks[k]
                bar.set_width(alpha / frame.C)
                bar.set_color(MUTED if slot.is_true else colour)
                key.set(color=colour, linestyle=dashes, visible=not slot.is_true)
                name.set_text(_name(frame, k, ": ", ", true"))
                value.set_text(f"{alpha:.2f}" if alpha > 0 else "0")
                value.set_color(INK if alpha > 0 else MUTED)
        ax.set_ylim(max(count, 8) + 3.5, -0.8)
        total.set_position((-0.6, count))
        total.set_text(_below_the_bars(frame))

    return show


def _looks(slots: tuple[Slot, ...]) -> list[tuple[str, Any]]:
    """Return colour and dashes of each slot: a colour a word, dashes by its wrong labellings."""
    looks = []
    for slot in slots:
        wrong = [other for other in slots if other.word == slot.word and not other.is_true]
        dashes = _DASHES[wrong.index(slot)] if slot in wrong else "-"
        looks.append((_COLOURS[slot.word], dashes))
    return looks


def _name(frame: TwoWeightsFrame, k: int, between: str, true: str) -> str:
    """Return a labelling, marked if it is the true one, with its word where there are several."""
    slot = frame.slots[k]
    if slot.is_true:
        return slot.name + true
    return f"{WORDS[slot.word].word}{between}{slot.name}" if len(frame.xi) > 1 else slot.name


def _below_the_bars(frame: TwoWeightsFrame) -> str:
    lines = [f"a full bar is C = {frame.C:g}", f"slack ξ = {_slack(frame)}"]
    names = [_name(frame, k, ": ", "") for k in frame.bound]
    if len(names) == 1:
        lines += [f"μ lies on the line of {names[0]};", _missing(frame), "on its wrong side"]
    elif names:
        each = "both lines" if len(names) == 2 else f"all {len(names)} lines"
        lines += [f"μ lies on {each};", _missing(frame), "on each wrong side"]
    return "\n".join(lines)


def _missing(frame: TwoWeightsFrame) -> str:
    """Return how much of the posterior lies on the wrong side of lines that the mean lies on."""
    shares = [frame.missing[k] for k in frame.bound]
    ends = dict.fromkeys(f"{end:.0%}" for end in (min(shares), max(shares)))
    return f"{' to '.join(ends)} of the posterior"


def _slack(frame: TwoWeightsFrame) -> str:
    return ", ".join(f"{xi:.2f}" for xi in np.round(frame.xi, 2) + 0.0)


def _line(difference: np.ndarray, margin: float) -> np.ndarray:
    """Return two points, far out, of the line ``difference . w = margin``, shape (2, 2)."""
    squared = difference @ difference
    foot, along = difference * margin / squared, np.array([-difference[1], difference[0]])
    along = 20 * along / np.sqrt(squared)
    return np.transpose([foot - along, foot + along])


@cache
def _region(n_words: int) -> np.ndarray:
    """Return the corners of the region in view in which the mean has all margins."""
    corners = np.array([(_LOW, _LOW), (_HIGH, _LOW), (_HIGH, _HIGH), (_LOW, _HIGH)])
    for word in WORDS[:n_words]:
        for difference, loss in zip(word.differences, word.losses, strict=True):
            corners = _cut(corners, difference, loss)
    return corners


def _cut(corners: np.ndarray, difference: np.ndarray, margin: float) -> np.ndarray:
    """Cut a convex polygon by a half-plane."""
    over = corners @ difference - margin
    kept = []
    for here, there, a, b in zip(
        corners, np.roll(corners, -1, 0), over, np.roll(over, -1), strict=True
    ):
        if a >= 0:
            kept.append(here)
        if a * b < 0:
            kept.append(here + (there - here) * a / (a - b))
    return np.array(kept)


# -- sentence, lessons, controls ------------------------------------------------------------------

_PRICES = (
    *(0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.85),
    *(1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0),
)
_TEXTS = ("Gaussian, N(0, 1)", "Laplace", "box, [−√3, √3]", "exponential, mean ½", "two-point, ±1")
_SETS = {"axi": 1, ", ".join(word.word for word in WORDS): len(WORDS)}


def _frame(prior: str, C: float, lam: int, words: str) -> TwoWeightsFrame:
    """Return what the controls ask for."""
    return two_weights_frame(prior, C, lam, _SETS[words])


def _sentence(frame: TwoWeightsFrame, lam: int) -> str:
    constant = {"Laplace": f", λ = {lam}", "box": " on [−√3, √3]"}.get(frame.prior_name, "")
    names = ", ".join(word.word for word in WORDS[: len(frame.xi)])
    missed, bound = "", [_name(frame, k, " as ", "") for k in frame.bound]
    if bound:
        line = "the line of" if len(bound) == 1 else "each of the lines of"
        missed = f"; {_missing(frame)} on the wrong side of {line} {', '.join(bound)}"
    return (
        f"{frame.prior_name} prior{constant}, C = {frame.C:g}, {names}: posterior mean "
        f"{_point(frame.mean)}, mode {_point(frame.mode)}, slack {_slack(frame)}, "
        f"α: {_dual_variables(frame)}{missed}."
    )


def _point(point: np.ndarray) -> str:
    first, second = np.round(point, 2) + 0.0
    return f"({first:.2f}, {second:.2f})"


def _dual_variables(frame: TwoWeightsFrame) -> str:
    positive = [(k, alpha) for k, alpha in enumerate(frame.alpha) if alpha > 0]
    return ", ".join(f"{_name(frame, k, ' as ', ' (true)')} {alpha:.2f}" for k, alpha in positive)


@lesson(
    "Under the Laplace prior the mode stays at (0, 0) for every C, while the mean moves from there "
    "to (1, 1).",
    {"prior": "Laplace", "C": 3.0, "lam": 4, "words": "axi"},
)
def _mode_stays(**values: Any) -> bool:
    frames = [_frame(**{**values, "C": C}) for C in _PRICES[::6]]
    firsts = [frame.mean[0] for frame in frames]
    moves_on = np.all(np.diff(firsts) > -1e-3) and firsts[-1] - firsts[0] > 0.5
    return bool(moves_on and all(np.all(frame.mode == 0) for frame in frames))


@lesson(
    "With a small C, one labelling (xax) takes the whole budget, and every other dual variable is "
    "exactly zero.",
    {"prior": "Gaussian", "C": 0.1, "lam": 4, "words": "axi"},
)
def _one_labelling(**values: Any) -> bool:
    frame = _frame(**values)
    alpha = {slot.name: alpha for slot, alpha in zip(frame.slots, frame.alpha, strict=True)}
    return alpha["xax"] == frame.C and np.sum(frame.alpha == 0) == len(frame.alpha) - 1


@lesson(
    "The mean lies on the line of aax, and half of the posterior lies on its wrong side. The "
    "margin constrains the mean, not each weight vector.",
    {"prior": "Gaussian", "C": 1.0, "lam": 4, "words": "axi"},
)
def _half_below(**values: Any) -> bool:
    frame = _frame(**values)
    k = frame.heaviest
    on_line = frame.problem.differences[frame.rows] @ frame.mean - frame.wanted
    return k is not None and abs(on_line[k]) < 1e-3 and abs(frame.missing[k] - 0.5) < 2e-3


@lesson(
    "Once the mean satisfies all margins, a larger C changes only the true labelling's α.",
    {"prior": "Gaussian", "C": 10.0, "lam": 4, "words": "axi"},
)
def _true_takes_the_rest(**values: Any) -> bool:
    C = values["C"]
    half, now = (_frame(**{**values, "C": price}) for price in (C / 2, C))
    true = np.array([slot.is_true for slot in now.slots])
    return bool(
        np.allclose(half.alpha[~true], now.alpha[~true], atol=1e-3)
        and abs(now.alpha[true].sum() - half.alpha[true].sum() - C / 2) < 1e-3
        and np.abs(now.xi).max() < 1e-3
    )


_CAPTION = (
    "Left, the posterior over the two weights (blue) with its mean and its mode. Means in the hatched "
    "region satisfy all margins without slack. Each thick line belongs to a labelling with a positive "
    "dual variable, and the thin line of the same kind shows where it would be without slack. Right, "
    "the dual variables as bars. Notice that the mean lies on every thick line. The slider λ changes "
    "only the Laplace prior."
)


def two_weights() -> Explorer:
    """Return an explorer of MEDN on the word *axi*, in the plane of its two weights.

    The left panel shows the posterior's density with its mean and its mode, the region in which a mean
    has all margins, and the lines of the labellings with positive dual variables.  The right panel
    shows the dual variables as bars.

    Returns
    -------
    Explorer
        The explorer.  Its time is ``C``, the price of slack; ``prior`` is the prior of both weights,
        ``lam`` the constant of the Laplace prior, and ``words`` the training set.
    """
    figure = new_figure(8.4, 5.0)
    left, right = figure.subplots(1, 2, width_ratios=[1.45, 1])
    with styled():
        show_plane, show_bars = _plane(left), _bars(right)

    def update(**values: Any) -> str:
        frame = _frame(**values)
        show_plane(frame)
        show_bars(frame)
        return _sentence(frame, values["lam"])

    def alt(**values: Any) -> str:
        frame = _frame(**values)
        return (
            f"Left, the posterior under the {frame.prior_name} prior over the weights of ink and "
            f"habit, with its mean at {_point(frame.mean)}, its mode at {_point(frame.mode)}, the "
            f"region in which a mean satisfies all margins, and the lines of support labellings. Right, "
            f"bars of the dual variables at C = {frame.C:g}: {_dual_variables(frame)}. "
            f"The other {int(np.sum(frame.alpha == 0))} are empty."
        )

    return Explorer(
        figure,
        update,
        alt,
        caption=_CAPTION,
        lessons=[_mode_stays, _one_labelling, _half_below, _true_takes_the_rest],
        name="two-weights",
        prior=Choice(list(PRIORS), "Laplace", texts=_TEXTS),
        C=listed(_PRICES, 1.0, "C, price of slack", per_second=4),
        lam=Slider(1, 9, 1, 4, label="λ (Laplace prior only)"),
        words=Choice(list(_SETS), label="training set"),
    )


EXHIBIT = Exhibit("A distribution over two weights", "medn", two_weights)
