"""Checks of the exercises of loopy."""

from typing import Any

import numpy as np

from medn_edu.course.exercises.declarations import Choice, Function, Judged, Number

check_frontier = Number(
    right=1024,
    mistakes={
        "longer_side": 2.0**30,
        "labels_times_rows": 20.0,
        "whole_grid": 2.0**300,
        "rows_squared": 100.0,
        "two_columns": 2.0**20,
        "caret": 2 ^ 10,
    },
)


# -- edges that leave no cycle ----------------------------------------------------------------------

_ROWS = [(3 * r + c, 3 * r + c + 1) for r in range(3) for c in range(2)]
_SQUARE = {*_ROWS, *((v, v + 3) for v in range(6))}


def _pieces(edges: set[tuple[int, int]]) -> int:
    """Return into how many pieces nine pixels with these edges fall."""
    piece = list(range(9))
    for u, v in edges:
        piece = [piece[u] if each == piece[v] else each for each in piece]
    return len(set(piece))


def _judge_cut(answer: Any) -> str | None:
    removed = set()
    for pair in answer:
        u, v = sorted(int(each) for each in pair)
        removed.add((u, v))
    if strange := sorted(removed - _SQUARE):
        u, v = strange[0]
        return (
            f"pixels {u} and {v} have no edge; neighbours are side by side, or one above the other."
        )
    kept = _SQUARE - removed
    if len(kept) > 9 - _pieces(kept):
        if len(removed) >= 4:
            return (
                "that is the right number of edges or more, but some round trip is still possible."
            )
        return "a cycle is left; remember the larger ones, such as the one along the rim."
    if len(removed) > 4:
        return "no cycle is left, but the grid falls apart: some of these edges could stay."
    return None


check_no_echo = Judged(
    right=[(1, 4), (2, 5), (4, 7), (5, 8)],
    judge=_judge_cut,
    expected="a list of pairs of pixels, such as [(0, 1), (4, 5)]",
    mistakes=[
        [(1, 4), (4, 7)],
        [(0, 1), (0, 3), (3, 6), (6, 7)],
        [(1, 4), (2, 5), (4, 7), (5, 8), (0, 1)],
        [(0, 4), (4, 8)],
        4,
    ],
)


def _judge_runs(answer: Any) -> str | None:
    right = ["trw", "bethe", "ones"]
    if isinstance(answer, str):
        answer = answer.replace(",", " ").split()
    names = [str(name).lower() for name in answer]
    if sorted(names) != sorted(right):
        return 'expected each of "ones", "TRW" and "Bethe" once, in the order A, B, C.'
    if names == right:
        return None
    if names[1] != "bethe":
        return "B has no bounds: for which of the three is the local program not concave?"
    return (
        "A and C are swapped: which entropy counts nodes many times, so that its value is too high?"
    )


check_runs = Judged(
    right="TRW Bethe ones",
    judge=_judge_runs,
    expected='three names in one string, such as "ones TRW Bethe"',
    mistakes=["ones Bethe TRW", "Bethe TRW ones", "TRW TRW ones", 3],
)

check_five_cycle = Number(right=4)

check_denoiser = Choice(right="c")


# -- labels from beliefs that tie -------------------------------------------------------------------

_CLEAR = 1e-6


def _decode(
    beliefs: np.ndarray,
    tables: np.ndarray,
    ends: np.ndarray,
    *,
    all_labels: bool = False,
    blind: bool = False,
    turned: bool = False,
    last: bool = False,
) -> np.ndarray:
    """Return the labels; each option makes one mistake."""
    best = beliefs >= beliefs.max(axis=1, keepdims=True) - _CLEAR
    labels = np.where(best.sum(axis=1) == 1, best.argmax(axis=1), -1)
    if blind:
        labels = np.full(len(labels), -1)
    for v in np.flatnonzero(labels < 0):
        gains = np.zeros(beliefs.shape[1])
        for table, (first, second) in zip(tables, ends, strict=True):
            table = table.T if turned else table
            if v == first and labels[second] >= 0:
                gains += table[:, labels[second]]
            if v == second and labels[first] >= 0:
                gains += table[labels[first]]
        if not all_labels:
            gains = np.where(best[v], gains, -np.inf)
        labels[v] = len(gains) - 1 - gains[::-1].argmax() if last else gains.argmax()
    return labels


def _argmax(beliefs: np.ndarray, tables: np.ndarray, ends: np.ndarray) -> np.ndarray:
    return beliefs.argmax(axis=1)


def _tied_graphs() -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return small graphs with ties, of which each mistake gets one wrong or more."""
    half = [0.5, 0.5]
    attracts, repels = np.array([[1.0, -1.0], [-1.0, 1.0]]), np.array([[-1.0, 1.0], [1.0, -1.0]])
    square = np.array([[0, 1], [2, 3], [0, 2], [1, 3]])
    circle = np.array([[0, 1], [1, 2], [2, 3], [3, 0]])
    ordered = np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 3.0], [1.0, 0.0, 0.0]])
    tie = [0.45, 0.45, 0.1]
    return [
        (np.array([half] * 4), np.array([attracts, attracts, repels, repels]), square),
        (np.array([half, half, [0.1, 0.9], half]), np.array([attracts, repels] * 2), circle),
        (np.array([tie, [0.1, 0.8, 0.1], tie, [0.2, 0.4, 0.4]]), np.array([ordered] * 4), circle),
        (np.array([tie, [0.1, 0.1, 0.8], tie]), np.array([ordered] * 2), circle[:2]),
        (np.array([half, [0.2, 0.8], half]), np.array([attracts] * 2), circle[:2]),
    ]


check_decode = Function(
    cases=_tied_graphs(),
    right=_decode,
    mistakes={
        "largest_alone": _argmax,
        "only_earlier_ones": lambda b, t, e: _decode(b, t, e, blind=True),
        "table_turned": lambda b, t, e: _decode(b, t, e, turned=True),
        "every_label": lambda b, t, e: _decode(b, t, e, all_labels=True),
        "last_of_equals": lambda b, t, e: _decode(b, t, e, last=True),
    },
    otherwise="some labels differ; try two nodes that tie, joined by an edge that attracts, on paper.",
)
