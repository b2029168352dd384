"""The soft-max of a word cools down to the maximum, from the CRF's loss to M3N's."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import softmax

from medn_edu.plots.softening import HABITS, Softening, SofteningFrame, softening_frame
from medn_edu.theory.axi import AXI, labelling_scores
from medn_edu.widgets.controls import Check, Control, Slider
from medn_edu.widgets.explorer import Explorer, Lesson

TEMPERATURES = (*(2.0 ** (1 - k / 3) for k in range(22)), 0.0)
"""From 2 down to 1/64, each a cube root of two cooler than the one before; then 0, the maximum."""


class _Temperature(Control):
    """A time that runs from the warmest to the coldest."""

    def __init__(self, start: float, label: str) -> None:
        texts = tuple(f"{epsilon:.3f}" if epsilon else "0" for epsilon in TEMPERATURES)
        super().__init__("time", TEMPERATURES, texts, TEMPERATURES.index(start), label, 4.0)

    def position(self, value: Any) -> int:
        """Return the position of the temperature nearest to ``value``."""
        if not isinstance(value, (int, float)) or not 0 <= value <= TEMPERATURES[0]:
            raise ValueError(f"{value!r} is no temperature here; expected 0 to {TEMPERATURES[0]}.")
        return int(np.argmin(np.abs(np.array(TEMPERATURES) - value)))


def softening() -> Explorer:
    """Return an explorer of the temperature that leads from log-loss to hinge loss.

    On the left the loss of the word *axi* over the weight of habit, in its band above the hinge; on
    the right the distribution that the slope is an expectation of: node marginals, and the
    probabilities of a few labellings.  Drawn by `medn_edu.plots.softening`.

    Returns
    -------
    Explorer
        The explorer: its time is ``epsilon``, from 2 down to 1/64 and then 0; ``habit`` is a weight,
        and ``with_loss`` adds the Hamming loss to the scores.

    Examples
    --------
    >>> explorer = softening()
    >>> all(explorer.check(lesson) for lesson in explorer.lessons)
    True
    """
    drawn = Softening()

    def update(epsilon: float, habit: float, with_loss: bool) -> str:
        frame = softening_frame(epsilon, habit, with_loss=with_loss)
        drawn.show(frame)
        return (
            f"ε = {epsilon:.3f}, habit {habit:.2f}, {_loss(frame)} loss: soft-max {frame.loss:.2f}, "
            f"maximum {frame.hard_loss:.2f}, gap {frame.gap:.2f} of at most ε log 27 = "
            f"{frame.bound:.2f}; entropy {frame.entropy:.2f}, p(axi) = "
            f"{frame.probability('axi'):.2f}."
        )

    def alt(epsilon: float, habit: float, with_loss: bool) -> str:
        frame = softening_frame(epsilon, habit, with_loss=with_loss)
        return (
            f"Left, the loss of axi over the weight of habit, {_loss(frame)} Hamming loss: the curve "
            f"at ε = {epsilon:.3f} in a band of width {frame.bound:.2f} above that at 0, with a gap "
            f"of {frame.gap:.2f} at habit {habit:.2f}. Right, tiles of the node marginals, "
            f"{_true_marginals(frame)} for the true labels, and bars of probabilities of labellings, "
            f"{frame.probability('axi'):.2f} for axi."
        )

    return Explorer(
        drawn.figure,
        update,
        alt,
        lessons=_lessons(),
        name="softening",
        epsilon=_Temperature(1.0, "ε, temperature"),
        habit=Slider(0.0, 3.0, 0.25, 0.5, label="weight of habit"),
        with_loss=Check(True, label="with Hamming loss"),
    )


def _loss(frame: SofteningFrame) -> str:
    return "with" if frame.with_loss else "without"


def _true_marginals(frame: SofteningFrame) -> str:
    return ", ".join(f"{frame.marginals[t, a]:.2f}" for t, a in enumerate((0, 1, 2)))


def _lessons() -> list[Lesson]:
    def sharpens(epsilon: float, habit: float, with_loss: bool) -> bool:
        colder = [e for e in TEMPERATURES if e <= epsilon]
        frames = [softening_frame(e, habit, with_loss=with_loss) for e in colder]
        in_band = all(-1e-12 <= f.gap <= f.bound + 1e-12 for f in frames)
        falls = np.all(np.diff([f.gap for f in frames]) <= 1e-12)
        last = frames[-1]
        return bool(in_band and falls and last.gap == 0 and last.probability("aai") == 1)

    def ties(epsilon: float, habit: float, with_loss: bool) -> bool:
        frame = softening_frame(epsilon, habit, with_loss=with_loss)
        equal = [frame.probability(labelling) for labelling in ("axi", "aai", "aax")]
        before, here, after = np.interp(habit + np.array([-0.05, 0, 0.05]), HABITS, frame.curve)
        kink = (after - here) - (here - before)
        return bool(np.allclose(equal, 1 / 3) and kink > 0.04)

    def log_loss(epsilon: float, habit: float, with_loss: bool) -> bool:
        frame = softening_frame(epsilon, habit, with_loss=with_loss)
        log_loss = -np.log(softmax(labelling_scores(AXI, [1.0, habit])))[AXI.true_row]
        return bool(np.isclose(frame.loss, log_loss) and frame.hard_loss == 0 and frame.loss > 0.1)

    return [
        Lesson(
            {"epsilon": 2.0, "habit": 0.5, "with_loss": True},
            "From ε = 2 down to 0 the gap shrinks inside its band, and all probability ends on aai.",
            sharpens,
        ),
        Lesson(
            {"epsilon": 0.0, "habit": 1.0, "with_loss": True},
            "At ε = 0 and habit 1 three labellings share the maximum, and the loss has a kink there.",
            ties,
        ),
        Lesson(
            {"epsilon": 1.0, "habit": 2.0, "with_loss": False},
            "At ε = 1 without the loss this is the CRF's -log p(axi), above 0 where axi already wins.",
            log_loss,
        ),
    ]
