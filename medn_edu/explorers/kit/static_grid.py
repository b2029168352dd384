"""Which settings of an explorer a page without a kernel has pictures of.

All of them would be too many: `norm_balls` has 2,349.  So they are listed by what a reader needs first,
and the list may be cut anywhere.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any

from medn_edu.explorers.kit.controls import Control

MOST_STATES = 300


def static_grid(
    controls: Mapping[str, Control],
    moves: Sequence[Mapping[str, Any]],
    shown: Mapping[str, int],
    most: int = MOST_STATES,
) -> list[dict[str, int]]:
    """Return at most ``most`` settings, each as the positions of all controls.

    First what is shown at the beginning and by the lessons, then the time there, then every control by
    itself.  The rest is a coarse grid of as many controls as there is room for, in their order.

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
    scenes = [{name: shown[name] for name in controls}, start, *of_lessons]
    yield from scenes
    times = [name for name, control in controls.items() if control.kind == "time"]
    for name in times:
        for position in halving(len(controls[name].values)):
            yield from (scene | {name: position} for scene in scenes)
    for name, control in controls.items():
        yield from (scenes[0] | {name: i} for i in halving(len(control.values)))
    yield from _coarse(controls, scenes[0], most)


def _coarse(
    controls: Mapping[str, Control], shown: Mapping[str, int], most: int
) -> Iterator[dict[str, int]]:
    """Return grids that get finer, as long as the whole of one has room."""
    for count in range(2, max(len(control.values) for control in controls.values()) + 1):
        axes, size = [], 1
        for name, control in controls.items():
            steps = len(control.values)
            every = range(steps) if control.kind in ("choice", "check") else thinned(steps, count)
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


def halving(steps: int) -> list[int]:
    """Return all positions: both ends, what lies halfway, and so on."""
    order: dict[int, None] = {}
    count = 2
    while len(order) < steps:
        order.update(dict.fromkeys(thinned(steps, count)))
        count = 2 * count - 1
    return list(order)
