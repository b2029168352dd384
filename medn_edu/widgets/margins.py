"""A lattice whose best path jumps as weights change, and the margins of all other labellings."""

from __future__ import annotations

import numpy as np

from medn_edu.plots.margins import Margins, MarginsFrame, margins_frame
from medn_edu.theory.axi import WORDS
from medn_edu.widgets.controls import Choice, Slider, Time
from medn_edu.widgets.explorer import Explorer, Lesson


def margins() -> Explorer:
    """Return an explorer of a three-letter word's lattice and of its margins.

    On the left the best path and, next to it, the best path once the Hamming loss is added; on the
    right the margin of each of the 26 other labellings against the margin wanted.  Drawn by
    `medn_edu.plots.margins`.

    Returns
    -------
    Explorer
        The explorer: its time is ``habit``, the weight of the pairs that the script likes, from 0 to
        3; ``ink`` is the weight of the ink, and ``word`` one of the three words of
        `medn_edu.theory.axi`.

    Examples
    --------
    >>> explorer = margins()
    >>> all(explorer.check(lesson) for lesson in explorer.lessons)
    True
    """
    drawn = Margins()

    def update(word: str, habit: float, ink: float) -> str:
        frame = margins_frame(word, ink, habit)
        drawn.show(frame)
        return (
            f"{word} with w = ({ink:.2f}, {habit:.2f}): best path {frame.names(frame.best)}, score "
            f"{frame.scores.max():.2f}; with the loss added {frame.names(frame.augmented)}, "
            f"{(frame.scores + frame.word.losses).max():.2f}; smallest margin "
            f"{frame.margins[frame.closest[0]]:.2f} ({frame.names(frame.closest)}); {_short(frame)}."
        )

    def alt(word: str, habit: float, ink: float) -> str:
        frame = margins_frame(word, ink, habit)
        return (
            f"Left, a lattice of three letters by three labels for the word {word}: the best path "
            f"{frame.names(frame.best)} as a solid line, the best path with the loss added, "
            f"{frame.names(frame.augmented)}, dashed. Right, the margins of the 26 other labellings "
            f"in groups of 1, 2 and 3 wrong letters, each with the margin wanted as a dashed line: "
            f"{_short(frame)}."
        )

    return Explorer(
        drawn.figure,
        update,
        alt,
        lessons=_lessons(),
        name="margins",
        word=Choice([each.word for each in WORDS]),
        habit=Time(0.0, 3.0, 0.1, 0.3, label="w₂, weight of the habit", per_second=5),
        ink=Slider(0.5, 2.0, 0.25, 1.0, label="w₁, weight of the ink"),
    )


def _short(frame: MarginsFrame) -> str:
    if not frame.n_short:
        return "none of the 26 margins is short of its loss, hinge 0.00"
    return f"{frame.n_short} of 26 margins short of their loss, hinge {frame.hinge:.2f}"


def _lessons() -> list[Lesson]:
    def jumps(word: str, habit: float, ink: float) -> bool:
        before, here, after = (margins_frame(word, ink, habit + step) for step in (-0.1, 0, 0.1))
        return len(before.best) == len(after.best) == 1 and here.best == before.best + after.best

    def falls_behind(word: str, habit: float, ink: float) -> bool:
        frame = margins_frame(word, ink, habit)
        return (
            frame.best == [frame.word.true_row]
            and bool((frame.violations[frame.closest] <= 0).all())
            and frame.hinge > 0
        )

    def scales(word: str, habit: float, ink: float) -> bool:
        here, half = margins_frame(word, ink, habit), margins_frame(word, ink / 2, habit / 2)
        return (
            here.best == half.best
            and bool(np.allclose(here.margins, 2 * half.margins))
            and here.hinge == 0 < half.hinge
        )

    return [
        Lesson(
            {"word": "axi", "habit": 0.5, "ink": 1.0},
            "The best path jumps, here from aai to axi, and at the jump both score alike.",
            jumps,
        ),
        Lesson(
            {"word": "axi", "habit": 0.8, "ink": 0.5},
            "The labelling with the largest violation need not be the runner-up: aai keeps its "
            "distance, iax, with three letters wrong, does not.",
            falls_behind,
        ),
        Lesson(
            {"word": "axi", "habit": 1.0, "ink": 1.0},
            "Twice the weights have the same best path and twice the margins: from half of these "
            "weights the hinge falls to 0.",
            scales,
        ),
    ]
