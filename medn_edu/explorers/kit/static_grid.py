"""Which settings of an explorer a page without a kernel has pictures of.

All of them would be too many: `norm_balls` has 2,349.  So they are listed by what a reader needs first,
and the list may be cut anywhere.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any

from medn_edu.explorers.kit.controls import Control

MOST_STATES = 300
_COUNTS = [2**k + 1 for k in range(1, 12)]  # the last exceeds what a control may have


def static_grid(
    controls: Mapping[str, Control],
    moves: Sequence[Mapping[str, Any]],
    shown: Mapping[str, int],
    most: int = MOST_STATES,
) -> list[dict[str, int]]:
    """Return at most ``most`` settings, each as the positions of all controls.

    First what is shown at the beginning and by the lessons.  Then, ever finer: every control by itself,
    the time at each lesson, so that it can be played, and, a quarter as fine, the time for each choice.
    The rest is a coarse grid of as many controls as there is room for, in their order.

    Parameters
    ----------
    controls : mapping of str to Control
        The controls by name.
    moves : sequence of mapping
        The values that the lessons set; the other controls are at their start.
    shown : mapping of str to int
        The positions at the beginning.
    most : int
        Number of settings.
    """
    found = {tuple(each.values()): each for each in _wanted(controls, moves, shown, most)}
    return list(islice(found.values(), most))


def _wanted(
    controls: Mapping[str, Control],
    moves: Sequence[Mapping[str, Any]],
    shown: Mapping[str, int],
    most: int,
) -> Iterator[dict[str, int]]:
    start = {name: control.start for name, control in controls.items()}
    of_lessons = [
        start | {name: controls[name].position(value) for name, value in move.items()}
        for move in moves
    ]
    first = {name: shown[name] for name in controls}
    scenes = [first, start, *of_lessons]
    yield from scenes
    times = [name for name, control in controls.items() if control.kind == "time"]
    choices = [
        {name: i}
        for name, control in controls.items()
        for i in range(len(control.values))
        if _either(control)
    ]
    yield from (first | choice for choice in choices)
    for count in _COUNTS:
        for name, control in controls.items():
            if not _either(control):
                yield from (first | {name: i} for i in thinned(len(control.values), count))
        for name in times:
            steps = len(controls[name].values)
            for i in thinned(steps, 4 * count - 3):
                yield from (scene | {name: i} for scene in scenes)
            for i in thinned(steps, count):
                yield from (first | choice | {name: i} for choice in choices)
    yield from _coarse(controls, first, most)


def _either(control: Control) -> bool:
    return control.kind in ("choice", "check")


def _coarse(
    controls: Mapping[str, Control], shown: Mapping[str, int], most: int
) -> Iterator[dict[str, int]]:
    """Return grids that get finer, as long as the whole of one has room."""
    for count in range(2, max(len(control.values) for control in controls.values()) + 1):
        axes, size = [], 1
        for name, control in controls.items():
            steps = len(control.values)
            every = range(steps) if _either(control) else thinned(steps, count)
            size *= len(every)
            axes.append(every if size <= most else [shown[name]])
            size = size if size <= most else size // len(every)
        for positions in product(*axes):
            yield dict(zip(controls, positions, strict=True))


def thinned(steps: int, count: int) -> list[int]:
    """Return ``count`` positions of ``steps``, evenly spread, with both ends."""
    if count >= steps:
        return list(range(steps))
    return [round(i * (steps - 1) / (count - 1)) for i in range(count)]
