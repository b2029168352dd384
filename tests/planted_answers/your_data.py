"""Answers to the exercises of your-data: the right one first, then typical mistakes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import scipy.sparse as sp

from medn_edu.course import exercises


def spaces(letters: str, labels: str) -> str:
    """Cut by a pattern: another way than the check's."""
    found = re.finditer("BM*E|S", "".join(labels))
    return " ".join(letters[match.start() : match.end()] for match in found)


def before(kinds: str) -> Any:
    return lambda letters, labels: "".join(
        f" {a}" if b in kinds else a for a, b in zip(letters, labels, strict=True)
    )


def after(kinds: str) -> Any:
    return lambda letters, labels: "".join(
        f"{a} " if b in kinds else a for a, b in zip(letters, labels, strict=True)
    )


def group_folds(groups: list[str], k: int) -> list[int]:
    places: dict[str, int] = {}
    return [places.setdefault(group, len(places)) % k for group in groups]


def folds_of_runs(groups: list[str], k: int) -> list[int]:
    new = [a != b for a, b in zip(groups[1:], groups[:-1], strict=True)]
    return [int(run) % k for run in np.cumsum([0, *new])]


def window(x: np.ndarray, reach: int) -> np.ndarray:
    n, d = x.shape
    wide = np.zeros((n, (2 * reach + 1) * d))
    for t in range(n):
        for k in range(-reach, reach + 1):
            if 0 <= t + k < n:
                wide[t, (reach + k) * d : (reach + k + 1) * d] = x[t + k]
    return wide


def rolled(x: np.ndarray, reach: int) -> np.ndarray:
    return np.hstack([np.roll(x, -k, axis=0) for k in range(-reach, reach + 1)])


def padded(x: np.ndarray, reach: int) -> np.ndarray:
    long = np.pad(x, ((reach, reach), (0, 0)), mode="edge")
    return np.hstack([long[k : k + len(x)] for k in range(2 * reach + 1)])


def turned(x: np.ndarray, reach: int) -> np.ndarray:
    return window(x[::-1], reach)[::-1]


ANSWERS: dict[Any, list[Any]] = {
    exercises.check_bmes: [
        *("SBMMMMMMME", "S BMMMMMMME", "BBMMMMMMME", "SBMMMMMMMM", "SMMMMMMMME", "BMMMMMMMME"),
        *("BMMMMMMME", "sbmmmmmmme", "SBMMMMMME", "SBMMMMMMEE"),
    ],
    exercises.check_spaces: [
        spaces,
        lambda letters, labels: spaces(letters, labels).split(),
        before("BS"),
        before("B"),
        before("S"),
        after("E"),
        after("B"),
        lambda letters, labels: letters,
        lambda letters, labels: " ".join(letters),
        lambda letters, labels: len(letters),
    ],
    exercises.check_group_folds: [
        group_folds,
        lambda groups, k: [i % k for i in range(len(groups))],
        folds_of_runs,
        lambda groups, k: dict(zip(groups, group_folds(groups, k), strict=True)),
        lambda groups, k: [fold + 1 for fold in group_folds(groups, k)],
        lambda groups, k: [0] * len(groups),
        lambda groups, k: group_folds(groups, len(groups)),
        lambda groups, k: [sum(map(ord, group)) % k for group in groups],
        lambda groups, k: [k * (fold > 0) for fold in group_folds(groups, k)],
        lambda groups, k: [np.flatnonzero(np.array(groups) == g) for g in sorted(set(groups))],
    ],
    exercises.check_window: [
        window,
        lambda x, reach: x,
        rolled,
        padded,
        turned,
        lambda x, reach: window(x, reach)[reach : len(x) - reach],
        lambda x, reach: window(x, 1),
        lambda x, reach: window(x, reach)[:, : (reach + 1) * x.shape[1]],
        lambda x, reach: np.hstack([window(column[:, None], reach) for column in x.T]),
        lambda x, reach: sp.csr_array(window(x, reach)),
        lambda x, reach: 2 * window(x, reach),
    ],
}
