r"""Theorem 8 of MEDN in a picture: the terms inside its root, those of the bound, and the bound over N.

A setting holds all that the theorem needs, except for N: the divergence, :math:`\gamma / c`, the number
of letters of a word, the share of words whose margin is at most :math:`\gamma`, and whether :math:`m` is
the paper's or the best.  The numbers are those of `medn_edu.theory.bounds.Terms`, for many N at once.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from medn_edu.explorers.kit import palette
from medn_edu.explorers.kit.controls import Choice, Slider, listed
from medn_edu.explorers.kit.explorer import Exhibit, Explorer, lesson
from medn_edu.explorers.kit.style import ERROR, INK, new_figure, styled
from medn_edu.theory.bounds import Terms

PAPERS, BEST = "the paper's", "the best"
SIZES = tuple(int(float(f"{10 ** (k / 5):.1e}")) for k in range(10, 46))
"""Numbers of training words that the explorer offers, from 100 to a billion."""

DELTA = 0.05
_DIVERGENCES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
_RATIOS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
_TOP = 1.6  # of the bars
_ROOM = 1.75  # of both axes, with room for a number on a bar
_RIGHTMOST = 3e5  # number of samples beyond which words on its right would leave the axes
_INSIDE = (  # name, colour, hatch
    ("m KL", palette.BLUE, ""),
    ("ln N", palette.ORANGE, "//"),
    ("3 ln (m+1)/δ", palette.GREEN, ".."),
    ("2", palette.GREY, ""),
)
_SUM = (
    ("margin loss", palette.SKY, "\\\\"),
    ("averaging", palette.PINK, "xx"),
    ("the root", palette.SLATE, ""),
)


@dataclass(frozen=True)
class Setting:
    """All that Theorem 8 needs, except for N."""

    divergence: float  # ``KL(p || p0)``
    ratio: float  # margin threshold as a share of the bound on scores, ``gamma / c``
    letters: int  # length of a word; it has ``26**letters`` labellings
    margin_loss: float  # share of the samples with a margin of at most ``gamma``
    draws: str  # how m is chosen

    @property
    def log_n_labellings(self) -> float:
        """Logarithm of the number of labellings of a word."""
        return self.letters * math.log(26)


@dataclass(frozen=True, eq=False)
class TermsFrame:
    """One position of the explorer."""

    n_samples: int
    setting: Setting
    m: int  # number of imagined draws
    inside: tuple[float, ...]  # terms under the root, each divided by ``2 N - 1``
    averaging: float
    root: float
    value: float  # of the bound
    curve: np.ndarray  # the bound at every N of `SIZES`
    roots: np.ndarray  # the root there
    speaks_from: int  # the smallest N from which on the bound is below 1


def terms_frame(n_samples: int, setting: Setting) -> TermsFrame:
    """Compute the terms of Theorem 8."""
    terms, m = _terms(np.array(n_samples), setting)
    inside = (m * setting.divergence, terms.sampling, terms.union(m), terms.constant)
    return TermsFrame(
        n_samples, setting, int(m), tuple(float(term) / (2 * n_samples - 1) for term in inside),
        float(terms.averaging(m)), float(terms.root(m)), float(terms.value(m)),
        *_over_n(setting),
    )  # fmt: skip


@lru_cache(maxsize=256)
def _over_n(setting: Setting) -> tuple[np.ndarray, np.ndarray, int]:
    """Return bound and root at all `SIZES`, and from which N on the bound is below 1, by zooming in."""
    terms, m = _terms(np.array(SIZES), setting)
    curve, roots = terms.value(m), terms.root(m)
    low, high = 1.0, 1e18
    while high - low > 1:
        sizes = np.unique(np.geomspace(low, high, 65).round())
        terms, m = _terms(sizes, setting)
        vacuous = np.flatnonzero(terms.value(m) >= 1)
        low, high = sizes[vacuous[-1]], sizes[vacuous[-1] + 1]
        if high / low < 1 + 1e-9:
            break
    return curve, roots, int(high)


def _terms(n_samples: np.ndarray, setting: Setting) -> tuple[Terms, np.ndarray]:
    """Return the theorem's terms at many N, and the m for each."""
    loss, labellings = setting.margin_loss, setting.log_n_labellings
    terms = Terms(n_samples, loss, setting.ratio, labellings, setting.divergence, DELTA)
    return terms, terms.papers_m() if setting.draws == PAPERS else terms.best_m()


# -- the drawing: each panel draws on axes and returns what shows a frame there ---------------------

Show = Callable[[TermsFrame], None]


def _bars(ax: Axes) -> Show:
    """Draw two stacked bars, inside the root and outside."""
    # One unit is about an inch in the least room, where words are as large as ever.
    show_inside, show_sum = _stack(ax, 0.0, _INSIDE), _stack(ax, 1.85, _SUM)
    ax.axhline(1, color=ERROR, lw=1.5, zorder=4)
    ax.set(xlim=(-0.2, 3.2), ylim=(0, _ROOM), yticks=[0, 0.5, 1, 1.5])
    ax.set_xticks([0.15, 2.0], ["inside the root,\nover 2N − 1", "the bound"])
    ax.tick_params(axis="x", length=0)
    ax.set_title("The terms")

    def show(frame: TermsFrame) -> None:
        show_inside(frame.inside)
        show_sum((frame.setting.margin_loss, frame.averaging, frame.root))

    return show


def _stack(
    ax: Axes, x: float, parts: tuple[tuple[str, str, str], ...]
) -> Callable[[tuple[float, ...]], None]:
    """Draw a bar of several parts, and next to it their names and numbers."""
    boxes, numbers = [], []
    for k, (label, colour, hatch) in enumerate(parts):
        look: dict[str, Any] = {"fc": colour, "ec": "white", "hatch": hatch, "lw": 0.8}
        boxes.append(ax.add_patch(Rectangle((x, 0), 0.3, 0, **look)))
        y = 0.535 + 0.235 * (k - (len(parts) - 1) / 2)
        ax.add_patch(Rectangle((x + 0.5, y - 0.045), 0.09, 0.09, **look))
        ax.text(x + 0.63, y + 0.008, label, va="bottom", fontsize=9)
        numbers.append(ax.text(x + 0.63, y, "", va="top", fontsize=9))
    total = ax.text(x + 0.15, 0, "", ha="center", va="bottom", fontweight="bold", zorder=5)

    def show(values: tuple[float, ...]) -> None:
        bottom = 0.0
        for box, number, value in zip(boxes, numbers, values, strict=True):
            top = min(bottom + value, _TOP)
            box.set_bounds(x, bottom, 0.3, top - bottom)
            number.set_text(_short(value))
            bottom = top
        total.set_y(1.015 if 0.9 < bottom < 1 else bottom + 0.015)  # not on the line at 1
        total.set_text(_short(sum(values)) + (" ↑" if sum(values) > _TOP else ""))

    return show


def _over_samples(ax: Axes) -> Show:
    """Draw the bound over N, and where it begins to say something."""
    nowhere = np.array([SIZES[0], SIZES[-1]]), np.zeros(2)
    (curve,) = ax.plot(*nowhere, color=INK, label="the bound")
    (roots,) = ax.plot(*nowhere, "--", color=palette.SLATE, lw=1.5, label="the root alone")
    (now,) = ax.plot([1], [0], "o", color=INK, ms=9, zorder=6, clip_on=False)
    (drop,) = ax.plot([1, 1], [0, 0], "-", color=INK, lw=1, zorder=0)
    ax.axhline(1, color=ERROR, lw=1.5)
    (first,) = ax.plot([1, 1], [0, 1.3], ":", color=ERROR, lw=1.8)
    words: dict[str, Any] = {"fontsize": 9, "color": ERROR, "va": "bottom", "zorder": 5}
    first_text = ax.annotate("", (1, 0), (6, 0), textcoords="offset points", **words)
    first_text.set_bbox({"fc": "white", "ec": "none", "pad": 0.5})
    nothing = ax.text(1, 1.02, "says nothing", **words)
    ax.set(
        xscale="log",
        xlim=(SIZES[0], SIZES[-1]),
        ylim=(0, _ROOM),
        xlabel="number of training words N",
    )
    ax.set(yticks=[0, 0.5, 1, 1.5])
    ax.set_xticks(
        [10.0**k for k in range(2, 10)], [_power(k) if k % 2 else "" for k in range(2, 10)]
    )
    ax.minorticks_off()
    ax.set_ylabel("bound on the share misread")
    legend = ax.legend(loc="lower left", bbox_to_anchor=(-0.02, 1), handlelength=2)
    legend.set_zorder(7)  # over all that moves, so that it is drawn once

    def show(frame: TermsFrame) -> None:
        curve.set_data(SIZES, np.minimum(frame.curve, 2 * _TOP))
        roots.set_data(SIZES, np.minimum(frame.roots, 2 * _TOP))
        height = min(frame.value, _ROOM)
        now.set_data([frame.n_samples], [height])
        now.set_marker("^" if frame.value > _ROOM else "o")
        drop.set_data([frame.n_samples] * 2, [0, height])
        n = frame.speaks_from
        beyond = n > SIZES[-1]
        first.set_visible(not beyond)
        first.set_xdata([n, n])
        # Right of the line the curves are below 1, so the words stand above; where they would leave
        # the axes they stand on its left, at the bottom, for there the curves are high.
        left = n > _RIGHTMOST
        first_text.xy = (min(max(n, SIZES[0]), SIZES[-1]), 0.02 if left else 1.14)
        first_text.set_position((-6, 0) if left else (6, 0))
        first_text.set_ha("right" if left else "left")
        first_text.set_text(f"below 1 from\nN ≈ {_three_digits(n)}" + (" →" if beyond else ""))
        nothing.set_x(SIZES[0] * 1.2 if left else SIZES[-1])
        nothing.set_ha("left" if left else "right")

    return show


def _power(exponent: int) -> str:
    """Return a power of ten in plain characters: formulas take 10 ms each time they change."""
    return "10" + str(exponent).translate(str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"))


def _short(number: float) -> str:
    """Return two or three digits of a number, whatever its size."""
    if not math.isfinite(number):
        return "∞"
    if number and not 1e-3 < number < 1e5:
        exponent = math.floor(math.log10(number))
        return f"{number / 10.0**exponent:.1f}·{_power(exponent)}"
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def _three_digits(n: int) -> str:
    return f"{float(f'{n:.2e}'):,.0f}"


# -- sentence, lessons, controls ------------------------------------------------------------------


def _frame(
    n: int, divergence: float, ratio: float, letters: int, loss: float, m: str
) -> TermsFrame:
    """Return what the controls ask for."""
    return terms_frame(n, Setting(divergence, ratio, letters, loss, m))


def _first(values: dict[str, Any], **changed: Any) -> int:
    """Return where the bound begins to speak, with some values changed."""
    return _frame(**{**values, **changed}).speaks_from


def _saved_by_the_best_m(values: dict[str, Any]) -> float:
    """Return the share of the words that the best m saves."""
    return 1 - _first(values, m=BEST) / _first(values, m=PAPERS)


_START = {"n": 1_000_000, "divergence": 10.0, "ratio": 0.1, "letters": 3, "loss": 0.05}
_DIGITS = {"n": 200_000_000, "divergence": 100.0, "ratio": 0.01, "letters": 1, "loss": 0.1}


@lesson(
    "Nearly everything inside the root is m KL, the price of a committee of m models.",
    {**_START, "m": PAPERS},
)
def _draws_cost(**values: Any) -> bool:
    frame = _frame(**values)
    return frame.inside[0] > 0.99 * sum(frame.inside)


@lesson("With half the margin, the bound needs four times the words.", {**_START, "m": PAPERS})
def _square(**values: Any) -> bool:
    return 3.7 < _first(values, ratio=values["ratio"] / 2) / _first(values) < 4.3


@lesson(
    "If words become twice as long, the number of labellings is squared, but the bound needs less "
    "than twice as many words.",
    {**_START, "m": PAPERS},
)
def _logarithm(**values: Any) -> bool:
    return 1.4 < _first(values, letters=2 * values["letters"]) / _first(values) < 1.9


@lesson("The best m, instead of the paper's, saves 6 % of the words.", {**_START, "m": BEST})
def _saves_little(**values: Any) -> bool:
    return 0.05 < _saved_by_the_best_m(values) < 0.07


@lesson(
    "With a small margin and a large divergence the best m saves a third of the words. More than a "
    "hundred million are still needed.",
    {**_DIGITS, "m": BEST},
)
def _saves_a_third(**values: Any) -> bool:
    return 1 / 3 < _saved_by_the_best_m(values) < 0.4 and _first(values, m=BEST) > 100_000_000


_CAPTION = (
    "On the left, one bar for the sum inside the root and one for the bound, each split into its "
    "terms. On the right, the bound for each number $N$ of training words. Above the line at 1 the "
    "bound says nothing. Whatever you move, look at which term fills the first bar, and where the curve "
    "crosses the line. (With a large $N$ the bars are too low to see, so read the numbers next to them.)"
)


def pac_bayes_terms() -> Explorer:
    """Return an explorer of MEDN's Theorem 8 with all its constants.

    On the left are the terms inside the root, stacked, and next to them the bound: margin loss,
    averaging and the root. On the right is the bound for each number of training words, with a line
    at 1.

    Returns
    -------
    Explorer
        The explorer: its time is ``n``, from 100 to a billion; ``divergence`` is ``KL(p || p0)``,
        ``ratio`` the margin threshold over the bound on scores, ``letters`` the length of a word
        in an alphabet of 26, ``loss`` the share of margins at or below the threshold, and ``m``
        how it is chosen.
    """
    figure = new_figure(9.0, 4.4)
    left, right = figure.subplots(1, 2, width_ratios=[1.7, 1])
    with styled():
        show_bars, show_curves = _bars(left), _over_samples(right)

    def update(**values: Any) -> str:
        frame = _frame(**values)
        show_bars(frame)
        show_curves(frame)
        given, n_letters = frame.setting, frame.setting.letters
        value = _short(frame.value)
        if value == "1":  # rounded; the next sentence would belie it
            value = f"{frame.value:.6g}"
        return (
            f"N = {frame.n_samples:,}, KL = {given.divergence:g}, γ/c = {given.ratio:g}, "
            f"{n_letters} {'letter' if n_letters == 1 else 'letters'} of 26, {given.draws} m: "
            f"m = {frame.m:,}. Inside the root {_short(sum(frame.inside))}, of which "
            f"m KL is {frame.inside[0] / sum(frame.inside):.0%}. Margin loss "
            f"{given.margin_loss:.2f} + averaging {_short(frame.averaging)} + root "
            f"{_short(frame.root)} = {value}. The bound is below 1 from about N = "
            f"{_three_digits(frame.speaks_from)} on."
        )

    def alt(**values: Any) -> str:
        frame = _frame(**values)
        product, sampling, union, two = frame.inside
        return (
            f"Left, a bar of the terms inside the root, m KL {product:.2g}, ln N {sampling:.2g}, "
            f"union {union:.2g} and 2 {two:.2g}, all over 2N - 1, and a bar of the bound "
            f"{frame.value:.3g}. Right, the bound as a curve that falls as N grows and crosses the "
            f"line at 1 at about N = {_three_digits(frame.speaks_from)}."
        )

    return Explorer(
        figure,
        update,
        alt,
        caption=_CAPTION,
        lessons=[_draws_cost, _square, _logarithm, _saves_little, _saves_a_third],
        name="pac-bayes-terms",
        n=listed(
            SIZES, 1_000_000, "training words N", texts=[f"{n:,}" for n in SIZES], per_second=6
        ),
        divergence=listed(_DIVERGENCES, 10.0, "divergence KL(p ‖ p₀)"),
        ratio=listed(_RATIOS, 0.1, "margin γ / c"),
        letters=Slider(1, 14, 1, 3, label="letters of a word (of 26)"),
        loss=Slider(0.0, 0.5, 0.05, 0.05, label="share of margins ≤ γ"),
        m=Choice([PAPERS, BEST], PAPERS, label="m"),
    )


EXHIBIT = Exhibit("What a bound is made of", "pac-bayes", pac_bayes_terms)
