r"""The word *axi* under any prior: a posterior over two weights, and the mean that the margins bind.

MEDN's P1 asks of a distribution :math:`p(w_1, w_2)` that its *mean* :math:`\mu` has the margins,

.. math:: \mu^\top \Delta f_i(y) \ge \Delta\ell_i(y) - \xi_i \quad\text{for all } i, y ,

and Theorem 2 (Eq. (3)) says that the best one is the prior tilted by
:math:`\eta = \sum_{i,y} \alpha_i(y) \Delta f_i(y)`.  With two weights all of it can be drawn: the
density, its mean and its mode, a half-plane for every labelling, and the dual variables
:math:`\alpha_i(y)`.  Only labellings whose line passes through the mean may have positive ones
(complementary slackness); all others have exactly zero.

`two_weights_frame` puts together what one position of the controls shows, computed by
`medn_edu.theory.two_weights`, which also says which of several :math:`\alpha` is shown; `TwoWeights` is
the figure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap

from medn_edu.explorers.kit.controls import Choice, Control, Slider
from medn_edu.explorers.kit.explorer import Explorer, Lesson
from medn_edu.explorers.kit.style import INK, MUTED, new_figure, styled
from medn_edu.priors import (
    BoxPrior,
    ExponentialPrior,
    GaussianPrior,
    LaplacePrior,
    Prior,
    TwoPointPrior,
)
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
_CONTOUR, _HOLDS = "#4C84AD", "#009E73"
_COLOURS = ("#D55E00", "#8A5FA8", "#7A5B12")  # one for each word
_DASHES: tuple[Any, ...] = ("-", "--", ":", (0, (2.4, 0.8, 0.8, 0.8)), (0, (0.6, 0.6)))


@dataclass(frozen=True, eq=False)
class TwoWeightsFrame:
    """MEDN on one or three words of three letters, solved."""

    prior_name: str  # one of `PRIORS`
    prior: Prior  # the prior of each weight
    problem: EnumeratedProblem  # p1 and D1
    slots: tuple[Slot, ...]  # the labellings whose dual variables may be positive
    alpha: np.ndarray  # their dual variables; most of them exactly 0
    eta: np.ndarray
    mean: np.ndarray
    mode: np.ndarray  # where the posterior is highest
    xi: np.ndarray  # slack of each word
    density: np.ndarray  # posterior density, of which the highest in view is 1
    atoms: np.ndarray
    atom_probabilities: np.ndarray
    missing: np.ndarray

    @property
    def price(self) -> float:
        """The constant C."""
        return float(self.problem.slack.C)  # type: ignore[union-attr]

    @property
    def rows(self) -> np.ndarray:
        """Row of each slot in the problem, shape (n_slots,)."""
        return np.array([slot.row for slot in self.slots])

    @property
    def wanted(self) -> np.ndarray:
        """Margin that each slot's labelling asks of the mean, less slack, shape (n_slots,)."""
        return self.problem.losses[self.rows] - self.xi[[slot.word for slot in self.slots]]

    @property
    def heaviest(self) -> int | None:
        """The slot of the wrong labelling with the largest dual variable; None if all are zero."""
        wrong = np.where([slot.is_true for slot in self.slots], 0.0, self.alpha)
        return int(wrong.argmax()) if wrong.max() > 0 else None


def two_weights_frame(
    prior: str = "Laplace", C: float = 1.0, lam: float = 4.0, n_words: int = 1
) -> TwoWeightsFrame:
    """Solve MEDN on the words of `medn_edu.theory.axi`."""
    if not 1 <= n_words <= len(WORDS):
        raise ValueError(f"n_words is {n_words}; expected 1 to {len(WORDS)}.")
    return _frame(prior, float(C), float(lam), n_words)


@lru_cache(maxsize=256)
def _frame(name: str, C: float, lam: float, n_words: int) -> TwoWeightsFrame:
    prior, slots = _prior(name, lam), worst_labellings(n_words)
    problem = axi_problem(prior, LinearSlack(C), WORDS[:n_words])
    alpha = exact_dual_variables(problem, slots)
    rows = np.array([slot.row for slot in slots])
    eta = alpha @ problem.differences[rows]
    mean = prior.mean(eta)
    xi = problem.xi(mean)
    wanted = problem.losses[rows] - xi[[slot.word for slot in slots]]
    points, probabilities = tilted_points(prior, eta)
    return TwoWeightsFrame(
        name, prior, problem, slots, alpha, eta, mean,
        tilted_mode(prior, eta, _LOW, _HIGH),
        xi,
        _density(prior, eta),
        points,
        probabilities,
        np.array([
            share_missing(prior, eta, problem.differences[row], margin)
            for row, margin in zip(rows, wanted, strict=True)
        ]),
    )  # fmt: skip


def _prior(name: str, lam: float) -> Prior:
    priors: Mapping[str, Prior] = {
        "Gaussian": GaussianPrior(),
        "Laplace": LaplacePrior(lam),
        "box": BoxPrior(3**0.5),
        "exponential": ExponentialPrior(2.0),
        "two-point": TwoPointPrior(1.0),
    }
    if name not in priors:
        raise ValueError(f"there is no prior {name!r} here; expected one of {', '.join(PRIORS)}.")
    return priors[name]


# -- the posterior -------------------------------------------------------------------------------


def _density(prior: Prior, eta: np.ndarray) -> np.ndarray:
    if isinstance(prior, TwoPointPrior):
        return np.zeros((len(_W), len(_W)))
    first, second = (tilted_density(prior, float(e), _W) for e in eta)
    return np.outer(second, first)


# -- the figure ----------------------------------------------------------------------------------


class TwoWeights:
    """The figure: posterior and half-planes in the plane of two weights, and dual variables as bars.

    `show` changes it in place.
    """

    def __init__(self) -> None:
        self.figure = new_figure(8.4, 5.0)
        left, right = self.figure.subplots(1, 2, width_ratios=[1.45, 1])
        with styled():
            self._draw_plane(left)
            self._draw_bars(right)

    def show(self, frame: TwoWeightsFrame) -> None:
        """Show a solution."""
        self._show_posterior(frame)
        self._show_region(frame)
        self._show_lines(frame)
        self._show_bars(frame)

    # -- the plane, on the left ----------------------------------------------------------------

    def _draw_plane(self, ax: Axes) -> None:
        extent = (_LOW, _HIGH, _LOW, _HIGH)
        half = (_W[1] - _W[0]) / 2
        cells = (_LOW - half, _HIGH + half, _LOW - half, _HIGH + half)
        self._image = ax.imshow(
            np.zeros((len(_W), len(_W))), extent=cells, origin="lower", cmap=_BLUES,
            vmin=0, vmax=1, interpolation="nearest", zorder=0,
        )  # fmt: skip
        self._plane = ax
        self._contours = self._contour(np.outer(_W - _LOW, _W - _LOW) / (_HIGH - _LOW) ** 2)
        (self._region,) = ax.fill(
            [0, 0],
            [0, 0],
            facecolor="none",
            edgecolor=_HOLDS,
            hatch="//",
            lw=1,
            alpha=0.6,
            zorder=2,
        )
        self._region_text = ax.text(
            _HIGH - 0.08, _HIGH - 0.1, "the mean has\nall margins here", ha="right", va="top",
            color="#00664B", zorder=7,
            bbox={"fc": "white", "ec": "none", "pad": 1.5, "alpha": 0.85},
        )  # fmt: skip
        ax.axhline(0, color="#B9C2CA", lw=0.8, zorder=1)
        ax.axvline(0, color="#B9C2CA", lw=0.8, zorder=1)
        self._discs = ax.scatter([], [], s=[], color=_BLUES(1.0), edgecolor=_CONTOUR, zorder=1)
        most = len(worst_labellings(len(WORDS)))
        self._loose = [ax.plot([], [], lw=0.8, zorder=3, alpha=0.7)[0] for _ in range(most)]
        self._lines = [ax.plot([], [], lw=2.2, zorder=4)[0] for _ in range(most)]
        marks = {"ls": "none", "clip_on": False}
        (self._prior_mean,) = ax.plot([0], [0], "+", color=INK, ms=11, mew=1.6, zorder=6.5, **marks)
        (self._mode,) = ax.plot(
            [0], [0], "v", mfc="white", mec=INK, mew=1.4, ms=13, zorder=6, **marks
        )
        (self._mean,) = ax.plot([0], [0], "o", color=INK, mec="white", ms=9, zorder=7, **marks)
        ax.set(xlim=extent[:2], ylim=extent[2:], aspect="equal")
        ax.set(xlabel="$w_1$, weight of the ink", ylabel="$w_2$, weight of the habit")
        ax.set_title("Posterior, and lines that bind its mean")
        marked = [self._mean, self._mode, self._prior_mean]
        names = ["posterior mean μ", "posterior mode", "prior mean"]
        self.figure.legend(marked, names, loc="outside lower left", ncols=3, handlelength=1)

    def _contour(self, density: np.ndarray) -> Any:
        return self._plane.contour(
            _W[::2], _W[::2], density[::2, ::2], _LEVELS, colors=_CONTOUR, linewidths=0.9, zorder=1
        )

    def _show_posterior(self, frame: TwoWeightsFrame) -> None:
        self._image.set_data(frame.density)
        if frame.density.any():  # contours have no data to exchange: these few lines are drawn anew
            self._contours.remove()
            self._contours = self._contour(frame.density)
        self._contours.set_visible(bool(frame.density.any()))
        self._discs.set_offsets(frame.atoms if len(frame.atoms) else np.zeros((0, 2)))
        self._discs.set_sizes(2500 * frame.atom_probabilities)  # area by probability
        before = float(frame.prior.mean(np.zeros(1))[0])
        self._prior_mean.set_data([before], [before])
        self._mode.set_data(*frame.mode[:, None])
        self._mean.set_data(*frame.mean[:, None])

    def _show_region(self, frame: TwoWeightsFrame) -> None:
        self._region.set_xy(_region(len(frame.xi)))

    def _show_lines(self, frame: TwoWeightsFrame) -> None:
        looks = slot_looks(frame.slots)
        losses = frame.problem.losses[frame.rows]
        for k, (line, loose) in enumerate(zip(self._lines, self._loose, strict=True)):
            seen = k < len(frame.slots) and frame.alpha[k] > 0 and not frame.slots[k].is_true
            line.set_visible(seen)
            loose.set_visible(seen and losses[k] > frame.wanted[k] + 1e-2)
            if not seen:
                continue
            colour, dashes = looks[k]
            difference = frame.problem.differences[frame.slots[k].row]
            for artist, margin in ((line, frame.wanted[k]), (loose, losses[k])):
                artist.set_data(*_line(difference, margin))
                artist.set_color(colour)
                artist.set_linestyle(dashes)

    # -- the dual variables, on the right ------------------------------------------------------

    def _draw_bars(self, ax: Axes) -> None:
        most = len(worst_labellings(len(WORDS)))
        self._bars = ax.barh(np.arange(most), np.zeros(most), height=0.62, lw=0, zorder=2)
        self._tracks = ax.barh(
            np.arange(most), np.ones(most), height=0.62, color="#EEF1F4", lw=0, zorder=1
        )
        self._names = [ax.text(-0.17, k, "", ha="right", va="center") for k in range(most)]
        self._keys = [ax.plot([-0.14, -0.02], [k, k], lw=2.2)[0] for k in range(most)]
        self._values = [ax.text(1.03, k, "", ha="left", va="center") for k in range(most)]
        self._total = ax.text(0.0, 0.0, "", va="top", ha="left", fontsize=10)
        ax.set(xlim=(-0.62, 1.3), xticks=[], yticks=[])
        for side in ax.spines.values():
            side.set_visible(False)
        self._bar_axes = ax
        ax.set_title("Dual variables α (full bar: C)")

    def _show_bars(self, frame: TwoWeightsFrame) -> None:
        looks, count = slot_looks(frame.slots), len(frame.slots)
        for k, bar in enumerate(self._bars):
            shown = k < count
            for artist in (bar, self._tracks[k], self._names[k], self._keys[k], self._values[k]):
                artist.set_visible(shown)
            if not shown:
                continue
            slot, alpha = frame.slots[k], float(frame.alpha[k])
            bar.set_width(alpha / frame.price)
            colour, dashes = looks[k]
            bar.set_color(MUTED if slot.is_true else colour)
            self._keys[k].set(color=colour, linestyle=dashes, visible=not slot.is_true)
            self._names[k].set_text(_name(slot, len(frame.xi)))
            self._values[k].set_text(f"{alpha:.2f}" if alpha > 0 else "0")
            self._values[k].set_color(INK if alpha > 0 else MUTED)
        self._bar_axes.set_ylim(max(count, 8) + 2.6, -0.8)
        self._total.set_position((-0.6, count))
        self._total.set_text(_below_the_bars(frame))


def slot_looks(slots: tuple[Slot, ...]) -> list[tuple[str, Any]]:
    """Return colour and dashes of each slot: a colour a word, dashes by its wrong labellings."""
    looks = []
    for slot in slots:
        wrong = [other for other in slots if other.word == slot.word and not other.is_true]
        dashes = _DASHES[wrong.index(slot)] if slot in wrong else "-"
        looks.append((_COLOURS[slot.word], dashes))
    return looks


def _name(slot: Slot, n_words: int) -> str:
    name = f"{WORDS[slot.word].word}: {slot.name}" if n_words > 1 else slot.name
    return f"{name}, true" if slot.is_true and n_words == 1 else name


def _below_the_bars(frame: TwoWeightsFrame) -> str:
    slack = ", ".join(f"{xi + 0.0:.2f}" for xi in frame.xi)
    each = " for each word" if len(frame.xi) > 1 else ""
    lines = [f"C = {frame.price:g}{each}", f"slack ξ = {slack}"]
    heaviest = frame.heaviest
    if heaviest is not None:
        lines += [
            f"μ lies on the line of {_name(frame.slots[heaviest], len(frame.xi))};",
            f"{frame.missing[heaviest]:.0%} of the posterior on its wrong side",
        ]
    return "\n".join(lines)


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


_PRICES = (
    *(0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.85),
    *(1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0),
)
_SETS = {"axi": 1, ", ".join(word.word for word in WORDS): len(WORDS)}


def two_weights() -> Explorer:
    """Return an explorer of MEDN on the word *axi*, in the plane of its two weights.

    On the left the posterior's density with its mean and its mode, the region in which a mean has
    all margins, and the lines of the labellings with positive dual variables; on the right these as
    bars.  Drawn by `medn_edu.explorers.two_weights`.

    Returns
    -------
    Explorer
        The explorer: its time is ``C``, the price of slack; ``prior`` is the prior of both weights,
        ``lam`` the Laplace prior's constant, and ``words`` the training set.

    Examples
    --------
    >>> explorer = two_weights()
    >>> all(explorer.check(lesson) for lesson in explorer.lessons)
    True
    """
    drawn = TwoWeights()

    def update(prior: str, C: float, lam: int, words: str) -> str:
        frame = _frame_of(prior, C, lam, words)
        drawn.show(frame)
        return f"{_setting(frame, lam)}: posterior mean {_point(frame.mean)}, {_rest(frame)}."

    def alt(prior: str, C: float, lam: int, words: str) -> str:
        frame = _frame_of(prior, C, lam, words)
        return (
            f"Left, the posterior under the {prior} prior over the weights of ink and habit, with its "
            f"mean at {_point(frame.mean)}, its mode at {_point(frame.mode)}, the region in which a "
            f"mean has all margins, and the lines of support labellings. Right, bars of the dual "
            f"variables at C = {C:g}: {_dual_variables(frame)}; {int(np.sum(frame.alpha == 0))} "
            f"places are empty."
        )

    return Explorer(
        drawn.figure,
        update,
        alt,
        lessons=_lessons(),
        name="two-weights",
        prior=Choice(list(PRIORS), "Laplace"),
        C=Control(
            "time", _PRICES, tuple(f"{C:g}" for C in _PRICES), _PRICES.index(1.0),
            "C, price of slack", 4.0,
        ),
        lam=Slider(1, 9, 1, 4, label="λ, of the Laplace prior"),
        words=Choice(list(_SETS), label="training set"),
    )  # fmt: skip


def _frame_of(prior: str, C: float, lam: int, words: str) -> TwoWeightsFrame:
    return two_weights_frame(prior, C, float(lam), _SETS[words])


def _point(point: np.ndarray) -> str:
    first, second = np.round(point, 2) + 0.0
    return f"({first:.2f}, {second:.2f})"


def _setting(frame: TwoWeightsFrame, lam: int) -> str:
    constant = f", λ = {lam}" if frame.prior_name == "Laplace" else ""
    names = ", ".join(word.word for word in WORDS[: len(frame.xi)])
    return f"{frame.prior_name} prior{constant}, C = {frame.price:g}, {names}"


def _dual_variables(frame: TwoWeightsFrame) -> str:
    return ", ".join(
        f"{_labelling(frame, k)} {alpha:.2f}" for k, alpha in enumerate(frame.alpha) if alpha > 0
    )


def _labelling(frame: TwoWeightsFrame, k: int) -> str:
    slot = frame.slots[k]
    name = f"{WORDS[slot.word].word} as {slot.name}" if len(frame.xi) > 1 else slot.name
    return f"{name} (true)" if slot.is_true and len(frame.xi) == 1 else name


def _rest(frame: TwoWeightsFrame) -> str:
    slack = ", ".join(f"{xi:.2f}" for xi in np.round(frame.xi, 2) + 0.0)
    heaviest = frame.heaviest
    missed = (
        ""
        if heaviest is None
        else f"; {frame.missing[heaviest]:.0%} of the posterior on the wrong side of "
        f"the line of {_labelling(frame, heaviest)}"
    )
    return f"mode {_point(frame.mode)}, slack {slack}, α: {_dual_variables(frame)}{missed}"


def _lessons() -> list[Lesson]:
    def mode_stays(prior: str, C: float, lam: int, words: str) -> bool:
        frames = [_frame_of(prior, price, lam, words) for price in _PRICES[::6]]
        firsts = [frame.mean[0] for frame in frames]
        return bool(
            all(np.all(frame.mode == 0) for frame in frames)
            and np.all(np.diff(firsts) > -1e-3)
            and firsts[-1] - firsts[0] > 0.5
        )

    def one_labelling(prior: str, C: float, lam: int, words: str) -> bool:
        frame = _frame_of(prior, C, lam, words)
        held = {slot.name: alpha for slot, alpha in zip(frame.slots, frame.alpha, strict=True)}
        return held["xax"] == C and sum(alpha == 0 for alpha in held.values()) == len(held) - 1

    def half_below(prior: str, C: float, lam: int, words: str) -> bool:
        frame = _frame_of(prior, C, lam, words)
        k = frame.heaviest
        on_line = frame.problem.differences[frame.rows] @ frame.mean - frame.wanted
        return k is not None and abs(on_line[k]) < 1e-3 and abs(frame.missing[k] - 0.5) < 2e-3

    def true_takes_the_rest(prior: str, C: float, lam: int, words: str) -> bool:
        half, now = (_frame_of(prior, price, lam, words) for price in (C / 2, C))
        true = np.array([slot.is_true for slot in now.slots])
        return bool(
            np.allclose(half.alpha[~true], now.alpha[~true], atol=1e-3)
            and abs(now.alpha[true].sum() - half.alpha[true].sum() - C / 2) < 1e-3
            and np.abs(now.xi).max() < 1e-3
        )

    start = {"lam": 4, "words": "axi"}
    return [
        Lesson(
            {"prior": "Laplace", "C": 3.0, **start},
            "Under the Laplace prior the mode is (0, 0) for every C, while the mean moves from there "
            "to (1, 1).",
            mode_stays,
        ),
        Lesson(
            {"prior": "Gaussian", "C": 0.1, **start},
            "With a small C one labelling, xax, has all of C, and every other has exactly none.",
            one_labelling,
        ),
        Lesson(
            {"prior": "Gaussian", "C": 1.0, **start},
            "The mean lies on the line of aax, and half of the posterior lies on its wrong side: the "
            "margin binds the mean, not each w.",
            half_below,
        ),
        Lesson(
            {"prior": "Gaussian", "C": 10.0, **start},
            "Once the mean has all margins, a larger C changes nothing but the true labelling's α.",
            true_takes_the_rest,
        ),
    ]
