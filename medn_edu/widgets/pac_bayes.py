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

__all__ = ["pac_bayes_terms"]

_DIVERGENCES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
_RATIOS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


def pac_bayes_terms() -> Explorer:
    """Return an explorer of MEDN's Theorem 8 with all its constants.

    On the left what stands inside the root, stacked, and beside it the bound: margin loss, averaging
    and the root; on the right the bound over the number of samples, with a line at 1.  Drawn by
    `medn_edu.plots.bound_terms`.

    Returns
    -------
    Explorer
        The explorer: its time is ``n``, from 100 to a billion; ``divergence`` is ``KL(p || p0)``,
        ``ratio`` the margin threshold over the bound on scores, ``letters`` the length of a word,
        ``loss`` the share of margins at or below the threshold, and ``m`` how it is chosen.

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
            f"union {union:.2g} and 2 {two:.2g}, all over 2N - 1; beside it a bar of the bound "
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
        letters=Slider(1, 14, 1, 3, label="letters of a word"),
        loss=Slider(0.0, 0.5, 0.05, 0.05, label="share of margins ≤ γ"),
        m=Choice([PAPERS, BEST], PAPERS, label="m"),
    )


def _sizes() -> Control:
    texts = tuple(f"{n:,}" for n in SIZES)
    return Control("time", SIZES, texts, SIZES.index(10_000), "samples N", 6.0)


def _numbers(values: tuple[float, ...], start: float, label: str) -> Control:
    texts = tuple(f"{value:g}" for value in values)
    return Control("slider", values, texts, values.index(start), label)


def _frame(
    n: int, divergence: float, ratio: float, letters: int, loss: float, m: str
) -> TermsFrame:
    return terms_frame(n, Setting(divergence, ratio, letters, loss, m))


def _setting(frame: TermsFrame) -> str:
    given = frame.setting
    word = "1 letter" if given.letters == 1 else f"{given.letters} letters"
    return (
        f"N = {frame.n_samples:,}, KL = {given.divergence:g}, γ/c = {given.ratio:g}, {word}, "
        f"{given.draws} m"
    )


def _count(n: int) -> str:
    """A number of samples in three digits."""
    return f"{n:,}" if n < 1000 else f"{float(f'{n:.2e}'):,.0f}"


def _lessons() -> list[Lesson]:
    def first(values: dict[str, Any], **changed: Any) -> int:
        return _frame(**{**values, **changed}).speaks_from

    def draws_cost(**values: Any) -> bool:
        frame = _frame(**values)
        return frame.inside[0] > 0.99 * sum(frame.inside) and frame.value > 1

    def square(**values: Any) -> bool:
        return 3.7 < first(values, ratio=values["ratio"] / 2) / first(values) < 4.3

    def logarithm(**values: Any) -> bool:
        twice = first(values, letters=2 * values["letters"]) / first(values)
        return 1.4 < twice < 2.2

    def no_help(**values: Any) -> bool:
        return 1 < first(values, m=PAPERS) / first(values, m=BEST) < 1.1

    common = {"divergence": 10.0, "letters": 3, "loss": 0.05}
    return [
        Lesson(
            {**common, "n": 10_000, "ratio": 0.1, "m": PAPERS},
            "Nearly all that stands inside the root is m KL: the price of imitating an average by m "
            "draws.",
            draws_cost,
        ),
        Lesson(
            {**common, "n": 1_000_000, "ratio": 0.1, "m": BEST},
            "Half the margin asks for four times the samples.",
            square,
        ),
        Lesson(
            {**common, "n": 1_000_000, "ratio": 0.2, "letters": 5, "m": BEST},
            "Words of twice the length, with the square of the labellings, ask for only about twice "
            "the samples.",
            logarithm,
        ),
        Lesson(
            {**common, "n": 1_000_000, "ratio": 0.1, "m": BEST},
            "The best m in place of the paper's saves a few percent of the samples, no more.",
            no_help,
        ),
    ]
