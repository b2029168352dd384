"""Weights switch off along the path from the Laplace MEDN to L1-M3N."""

from __future__ import annotations

import numpy as np

from medn_edu.plots.l1_path import (
    N_COPIES,
    N_LABELS,
    PRICES,
    PathFrame,
    WeightsOnPath,
    group_slices,
    l1_path_frames,
)
from medn_edu.widgets.controls import Choice, Time
from medn_edu.widgets.explorer import Explorer, Lesson

_SMALL = 1e-3


def l1_path() -> Explorer:
    """Return an explorer of the weights along the path of lambda to L1-M3N.

    Above the magnitudes of 36 weights, with the bounds that the gap puts on those of a solution;
    below their ``|eta| / (2 sqrt(lam))``, which must come to a half for a weight to stay.  The last
    step is the clean-up, of `medn_edu.solvers.l1_path`, after which weights are exactly 0.  Drawn
    by `medn_edu.plots.l1_path`.

    Returns
    -------
    Explorer
        The explorer: its time is ``step``; ``C`` is the price of violated margins.

    Examples
    --------
    >>> explorer = l1_path()
    >>> all(explorer.check(lesson) for lesson in explorer.lessons)
    True
    """
    drawn = WeightsOnPath()
    most = max(len(l1_path_frames(C)) for C in PRICES) - 1

    def update(step: int, C: float) -> str:
        frame = _at(C, step)
        drawn.show(frame)
        return (
            f"C = {C:g}, {_where(frame)}: {np.sum(frame.weights > _SMALL)} of {len(frame.weights)} "
            f"weights above {_SMALL}, {frame.zeros} exactly 0; cost {frame.primal:.3f}, dual value "
            f"{frame.dual:.3f}, {_gap(frame)}."
        )

    def alt(step: int, C: float) -> str:
        frame = _at(C, step)
        largest = {name: frame.weights[part].max() for name, part in group_slices().items()}
        sizes = ", ".join(f"{name} {size:.2g}" for name, size in largest.items())
        return (
            f"Above, the magnitudes of {len(frame.weights)} weights on a logarithmic scale, largest "
            f"by group: {sizes}; below, |η| / 2√λ of each as a bar, "
            f"{np.sum(frame.eta > 0.495)} of them at the line of one half."
        )

    return Explorer(
        drawn.figure,
        update,
        alt,
        lessons=_lessons(most),
        name="l1-path",
        step=Time(0, most, 1, 0, label="step along λ", per_second=2),
        C=Choice(PRICES, 0.05),
    )


def _at(C: float, step: int) -> PathFrame:
    frames = l1_path_frames(C)
    return frames[min(step, len(frames) - 1)]


def _where(frame: PathFrame) -> str:
    return "after the clean-up" if frame.is_clean else f"λ = {frame.lam:,.0f}"


def _gap(frame: PathFrame) -> str:
    return "no gap" if frame.gap == 0 else f"gap {frame.gap / frame.primal:.1%}"


def _lessons(most: int) -> list[Lesson]:
    parts = group_slices()

    def nothing_is_zero(step: int, C: float) -> bool:
        frame = _at(C, step)
        return bool(frame.zeros == 0 and frame.eta.max() < 0.5)

    def those_below_die(step: int, C: float) -> bool:
        frame, clean = _at(C, step), _at(C, most)
        below = frame.eta < 0.45
        return bool(
            frame.gap < 0.05 * frame.primal
            and below.sum() > 10
            and np.all(clean.weights[below] == 0)
            and np.all(clean.weights <= frame.bounds * (1 + 1e-9))
        )

    def exact_zeros(step: int, C: float) -> bool:
        frame = _at(C, step)
        stays = frame.weights > 0
        return bool(frame.gap == 0 and frame.zeros > 18 and np.allclose(frame.eta[stays], 0.5))

    def one_copy_stays(step: int, C: float) -> bool:
        relevant = _at(C, step).weights[parts["relevant"]].reshape(-1, N_COPIES, N_LABELS)
        kept = np.sum(relevant > 0, axis=1)  # of the copies, for each group and label
        return bool(kept.max() == 1 and np.all(kept.sum(axis=1) > 0))

    def noise_is_gone(step: int, C: float) -> bool:
        weights = _at(C, step).weights
        return bool(np.all(weights[parts["irrelevant"]] == 0) and weights.any())

    return [
        Lesson(
            {"step": 0, "C": 0.05},
            "At a small λ no weight is 0 and no |η| / 2√λ reaches a half.",
            nothing_is_zero,
        ),
        Lesson(
            {"step": most - 3, "C": 0.05},
            "Near the end a weight whose |η| / 2√λ stays below a half is one that dies.",
            those_below_die,
        ),
        Lesson(
            {"step": most, "C": 0.05},
            "After the clean-up zeros are exact, and where a weight is left |η| / 2√λ is ½.",
            exact_zeros,
        ),
        Lesson(
            {"step": most, "C": 0.05},
            "Of three near-copies at most one keeps a weight for a label.",
            one_copy_stays,
        ),
        Lesson(
            {"step": most, "C": 0.02},
            "At a small C every weight of the irrelevant features is exactly 0.",
            noise_is_gone,
        ),
    ]
