"""MEDN on the word axi: density, half-planes and dual variables in the plane of two weights."""

from __future__ import annotations

import numpy as np

from medn_edu.plots.two_weights import PRIORS, TwoWeights, TwoWeightsFrame, two_weights_frame
from medn_edu.theory.axi import WORDS
from medn_edu.widgets.controls import Choice, Control, Slider
from medn_edu.widgets.explorer import Explorer, Lesson

_PRICES = (
    *(0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.85),
    *(1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0),
)
_SETS = {"axi": 1, ", ".join(word.word for word in WORDS): len(WORDS)}


def two_weights() -> Explorer:
    """Return an explorer of MEDN on the word *axi*, in the plane of its two weights.

    On the left the posterior's density with its mean and its mode, the region in which a mean has
    all margins, and the lines of the labellings with positive dual variables; on the right these as
    bars.  Drawn by `medn_edu.plots.two_weights`.

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
        frame = _frame(prior, C, lam, words)
        drawn.show(frame)
        return f"{_setting(frame, lam)}: posterior mean {_point(frame.mean)}, {_rest(frame)}."

    def alt(prior: str, C: float, lam: int, words: str) -> str:
        frame = _frame(prior, C, lam, words)
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


def _frame(prior: str, C: float, lam: int, words: str) -> TwoWeightsFrame:
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
        frames = [_frame(prior, price, lam, words) for price in _PRICES[::6]]
        firsts = [frame.mean[0] for frame in frames]
        return bool(
            all(np.all(frame.mode == 0) for frame in frames)
            and np.all(np.diff(firsts) > -1e-3)
            and firsts[-1] - firsts[0] > 0.5
        )

    def one_labelling(prior: str, C: float, lam: int, words: str) -> bool:
        frame = _frame(prior, C, lam, words)
        held = {slot.name: alpha for slot, alpha in zip(frame.slots, frame.alpha, strict=True)}
        return held["xax"] == C and sum(alpha == 0 for alpha in held.values()) == len(held) - 1

    def half_below(prior: str, C: float, lam: int, words: str) -> bool:
        frame = _frame(prior, C, lam, words)
        k = frame.heaviest
        on_line = frame.problem.differences[frame.rows] @ frame.mean - frame.wanted
        return k is not None and abs(on_line[k]) < 1e-3 and abs(frame.missing[k] - 0.5) < 2e-3

    def true_takes_the_rest(prior: str, C: float, lam: int, words: str) -> bool:
        half, now = (_frame(prior, price, lam, words) for price in (C / 2, C))
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
