"""Checks of the exercises of loopy."""

from typing import Any

import numpy as np

from medn_edu.course.exercises.declarations import Function, Judged, Number

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

_TOLD = np.log((np.exp(-1) + 3 * np.exp(1)) / (np.exp(1) + 3 * np.exp(-1)))

check_told = Number(
    right=_TOLD,
    mistakes={
        "unchanged": np.log(3),
        "turned_round": -_TOLD,
        "no_logarithm": np.exp(_TOLD),
        "probabilities": np.tanh(_TOLD / 2),
        "table_of_zero_and_one": np.log((1 + 3 * np.e) / (np.e + 3)),
    },
)

check_inner_count = Number(right=-3)


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
        return "B has no bounds: which of the three numbers are not certified to be concave?"
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
