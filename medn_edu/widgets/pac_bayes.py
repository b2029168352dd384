"""The terms of Theorem 8, and the number of samples from which on it says something."""

from __future__ import annotations

from typing import Any

from medn_edu.plots.bound_terms import (
    BEST,
    PAPERS,
    SIZES,
    BoundTerms,
    Setting,
    TermsFrame,
    terms_frame,
)
from medn_edu.widgets.controls import Choice, Control, Slider
from medn_edu.widgets.explorer import Explorer, Lesson

_DIVERGENCES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
_RATIOS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


def pac_bayes_terms() -> Explorer:
    """Return an explorer of MEDN's Theorem 8 with all its constants.

    On the left what stands inside the root, stacked, and next to it the bound: margin loss,
    averaging and the root; on the right the bound over the number of samples, with a line at 1.
    Drawn by `medn_edu.plots.bound_terms`.

    Returns
    -------
    Explorer
        The explorer: its time is ``n``, from 100 to a billion; ``divergence`` is ``KL(p || p0)``,
        ``ratio`` the margin threshold over the bound on scores, ``letters`` the length of a word
        in an alphabet of 26, ``loss`` the share of margins at or below the threshold, and ``m``
        how it is chosen.

    Examples
    --------
    >>> explorer = pac_bayes_terms()
    >>> all(explorer.check(lesson) for lesson in explorer.lessons)
    True
    """
    drawn = BoundTerms()

    def update(**values: Any) -> str:
        frame = _frame(**values)
        drawn.show(frame)
        return (
            f"{_setting(frame)}: m = {frame.m:,}; inside the root {sum(frame.inside):.3g}, of which "
            f"m KL is {frame.inside[0] / sum(frame.inside):.0%}; margin loss "
            f"{frame.setting.margin_loss:.2f} + averaging {frame.averaging:.3g} + root "
            f"{frame.root:.3g} = {frame.value:.3g}. Below 1 from N = {_count(frame.speaks_from)} on."
        )

    def alt(**values: Any) -> str:
        frame = _frame(**values)
        product, sampling, union, two = frame.inside
        return (
            f"Left, a bar of the terms inside the root, m KL {product:.2g}, ln N {sampling:.2g}, "
            f"union {union:.2g} and 2 {two:.2g}, all over 2N - 1; next to it a bar of the bound "
            f"{frame.value:.3g}. Right, the bound as a curve that falls over N and passes the line "
            f"at 1 at N = {_count(frame.speaks_from)}."
        )

    return Explorer(
        drawn.figure,
        update,
        alt,
        lessons=_lessons(),
        name="pac-bayes-terms",
        n=_sizes(),
        divergence=_numbers(_DIVERGENCES, 10.0, "divergence KL(p ‖ p₀)"),
        ratio=_numbers(_RATIOS, 0.1, "margin γ / c"),
        letters=Slider(1, 14, 1, 3, label="letters of a word (of 26)"),
        loss=Slider(0.0, 0.5, 0.05, 0.05, label="share of margins ≤ γ"),
        m=Choice([PAPERS, BEST], PAPERS, label="m"),
    )


def _sizes() -> Control:
    texts = tuple(f"{n:,}" for n in SIZES)
    return Control("time", SIZES, texts, SIZES.index(1_000_000), "samples N", 6.0)


def _numbers(values: tuple[float, ...], start: float, label: str) -> Control:
    texts = tuple(f"{value:g}" for value in values)
    return Control("slider", values, texts, values.index(start), label)


def _frame(
    n: int, divergence: float, ratio: float, letters: int, loss: float, m: str
) -> TermsFrame:
    return terms_frame(n, Setting(divergence, ratio, letters, loss, m))


def _setting(frame: TermsFrame) -> str:
    given = frame.setting
    word = f"{given.letters} {'letter' if given.letters == 1 else 'letters'} of 26"
    return (
        f"N = {frame.n_samples:,}, KL = {given.divergence:g}, γ/c = {given.ratio:g}, {word}, "
        f"{given.draws} m"
    )


def _count(n: int) -> str:
    """A number of samples in three digits."""
    return f"{n:,}" if n < 1000 else f"{float(f'{n:.2e}'):,.0f}"


def _first(values: dict[str, Any], **changed: Any) -> int:
    """Where the bound begins to speak, with some values changed."""
    return _frame(**{**values, **changed}).speaks_from


def _saved_by_the_best_m(values: dict[str, Any]) -> float:
    """Share of the samples that the best m saves."""
    return 1 - _first(values, m=BEST) / _first(values, m=PAPERS)


def _draws_cost(**values: Any) -> bool:
    frame = _frame(**values)
    return frame.inside[0] > 0.99 * sum(frame.inside)


def _square(**values: Any) -> bool:
    return 3.7 < _first(values, ratio=values["ratio"] / 2) / _first(values) < 4.3


def _logarithm(**values: Any) -> bool:
    return 1.4 < _first(values, letters=2 * values["letters"]) / _first(values) < 1.9


def _saves_little(**values: Any) -> bool:
    return 0.05 < _saved_by_the_best_m(values) < 0.07


def _saves_a_third(**values: Any) -> bool:
    return 1 / 3 < _saved_by_the_best_m(values) < 0.4 and _first(values, m=BEST) > 100_000_000


def _lessons() -> list[Lesson]:
    start = {"n": 1_000_000, "divergence": 10.0, "ratio": 0.1, "letters": 3, "loss": 0.05}
    digits = {"n": 200_000_000, "divergence": 100.0, "ratio": 0.01, "letters": 1, "loss": 0.1}
    return [
        Lesson(
            {**start, "m": PAPERS},
            "Nearly all that stands inside the root is m KL: the price of imitating an average by m "
            "draws.",
            _draws_cost,
        ),
        Lesson(
            {**start, "m": PAPERS},
            "Half the margin asks for four times the samples.",
            _square,
        ),
        Lesson(
            {**start, "m": PAPERS},
            "Words of twice the length, with the square of the labellings, ask for less than twice "
            "the samples.",
            _logarithm,
        ),
        Lesson(
            {**start, "m": BEST},
            "The best m in place of the paper's saves 6 % of the samples.",
            _saves_little,
        ),
        Lesson(
            {**digits, "m": BEST},
            "With a small margin and a large divergence the best m saves a third of the samples, and "
            "over a hundred million are left.",
            _saves_a_third,
        ),
    ]
