"""The checks of exercises: never raise, know the right answer, and tell mistakes apart."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import planted_answers
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import rel_entr, softmax
from scipy.stats import sem

from medn_edu.course import exercises
from medn_edu.course.exercises.ocr_study import _best_prefix_ends, _greedy

CHECKS = [getattr(exercises, name) for name in exercises.__all__]


def said(capsys: pytest.CaptureFixture[str]) -> str:
    text = capsys.readouterr().out
    assert text.endswith("\n")
    assert text.count("\n") == 1
    return text.strip()


class Hostile:
    """Raises whatever is done to it."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError("leave me alone")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("leave me alone")

    __hash__ = None  # type: ignore[assignment]


def scaled(message: Any) -> Any:
    return message / np.sum(message)


ODD_ANSWERS = [
    *("", "a", b"b", [], {}, {1}, float("nan"), float("inf"), 1j, True, int, object()),
    *(np.zeros(0), np.zeros((2, 2)), Hostile(), lambda: 1, lambda *a: None, lambda *a: a[0]),
    *(lambda *a: [[1], [2, 3]], lambda *a: 1 / 0, lambda *a: "text", lambda *a: exit(1)),
]


@pytest.mark.parametrize("check", CHECKS)
def test_checks_never_raise(check: Any, capsys: pytest.CaptureFixture[str]) -> None:
    for answer in ODD_ANSWERS:
        check(answer)
        assert said(capsys).startswith("Not quite: ")


@given(st.one_of(st.floats(), st.integers(), st.text(), st.lists(st.integers()), st.binary()))
def test_checks_never_raise_on_anything(answer: Any) -> None:
    for check in CHECKS:
        check(answer)


@pytest.mark.parametrize("check", CHECKS)
def test_an_untouched_stub_is_not_yet(check: Any, capsys: pytest.CaptureFixture[str]) -> None:
    check(None)
    assert said(capsys).startswith("Not yet")


def test_a_function_that_changes_its_arguments_is_still_judged(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def score(node: np.ndarray, edge: np.ndarray, labels: np.ndarray) -> float:
        total = sum(node[t, label] for t, label in enumerate(labels))
        total += sum(edge[a, b] for a, b in itertools.pairwise(labels))
        node[:], edge[:], labels[:] = 0, 0, 0
        return total

    exercises.check_labelling_score(score)
    assert said(capsys).startswith("Right")


def test_another_rule_of_integration_is_right(capsys: pytest.CaptureFixture[str]) -> None:
    def tilted_mean(w: np.ndarray, log_p0: np.ndarray, eta: float) -> float:
        density = softmax(log_p0 + eta * w)
        return np.trapezoid(w * density, w) / np.trapezoid(density, w)

    exercises.check_tilted_mean(tilted_mean)
    assert said(capsys).startswith("Right")


class SilentError(Exception):
    """An exception that cannot even be printed."""

    def __str__(self) -> str:
        raise RuntimeError("no")


def fails(*_: Any) -> None:
    raise SilentError


def test_what_stops_a_function_is_told_with_its_arguments(
    capsys: pytest.CaptureFixture[str],
) -> None:
    exercises.check_conjugate(lambda eta, lam: 1 / (eta - 1))
    text = said(capsys)
    assert text.startswith("Not quite: it stopped with ZeroDivisionError")
    assert "The arguments were 1.0, 4.0." in text
    exercises.check_conjugate(fails)
    assert "it stopped with SilentError. The arguments" in said(capsys)


def test_right_numbers_in_another_shape_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    exercises.check_posterior_mean(np.array([2 / 3]))
    assert "without brackets" in said(capsys)
    exercises.check_conjugate(
        lambda eta, lam: np.array([2 * eta**2 / (lam - eta**2) + np.log(1 - eta**2 / lam)])
    )
    assert "the numbers are right, but yours come in an array of shape (1,)" in said(capsys)


def viterbi(node: np.ndarray, edge: np.ndarray) -> list[int]:
    best, back = node[0], []
    for here in node[1:]:
        scores = best[:, None] + edge
        back.append(scores.argmax(axis=0))
        best = here + scores.max(axis=0)
    path = [int(best.argmax())]
    for pointers in reversed(back):
        path.append(int(pointers[path[-1]]))
    return path[::-1]


def project(v: np.ndarray, radius: float) -> np.ndarray:
    """Bisect for the threshold: another way than the checks'."""
    low, high = 0.0, float(np.abs(v).max())
    if np.abs(v).sum() <= radius:
        return v
    for _ in range(200):
        theta = (low + high) / 2
        too_much = np.maximum(np.abs(v) - theta, 0).sum() > radius
        low, high = (theta, high) if too_much else (low, theta)
    return np.sign(v) * np.maximum(np.abs(v) - high, 0)


def project_carelessly(v: np.ndarray, radius: float) -> np.ndarray:
    """Bisect without a look whether the point is inside: thresholds may be negative."""
    thetas = (np.abs(v)[:, None] - np.abs(v)).clip(0).sum(axis=0)
    keep = thetas < radius
    theta = (np.abs(v)[keep].sum() - radius) / keep.sum()
    return np.sign(v) * np.maximum(np.abs(v) - theta, 0)


def per_word(true: list[str], predicted: list[str]) -> list[float]:
    words = zip(true, predicted, strict=True)
    return [np.mean([a != b for a, b in zip(t, p, strict=True)]) for t, p in words]


def paired(a: np.ndarray, b: np.ndarray, t: float, spread: float | None = None) -> tuple:
    """Return an interval from `scipy`'s standard error, or from another one."""
    half = t * (sem(a - b) if spread is None else spread)
    return np.mean(a - b) - half, np.mean(a - b) + half


def cross_validation(
    parts: Any = lambda n, k: [range(n)[i::k] for i in range(k)],
    *,
    train: Any = lambda everyone, part: sorted(everyone - part),
    turns: Any = lambda parts: parts,
    choose: Any = min,
) -> Any:
    """Return a learner's `choose`, with a mistake or without."""

    def answer(n: int, n_folds: int, constants: list[float], error: Any) -> Any:
        means = {}
        for c in constants:
            turn = turns([set(part) for part in parts(n, n_folds)])
            found = [error(c, train(set(range(n)), part), sorted(part)) for part in turn]
            means[c] = np.mean(found)
        return choose(means, key=means.get)

    return answer


def early_stopping(errors: list[float], patience: int) -> int:
    best = [errors.index(min(errors[: i + 1])) for i in range(len(errors))]
    return next((b for i, b in enumerate(best) if i - b == patience), best[-1])


def chain_scores(node: np.ndarray, edge: np.ndarray) -> dict[tuple[int, ...], float]:
    every = itertools.product(range(node.shape[1]), repeat=len(node))
    rows = range(len(node))
    return {y: node[rows, y].sum() + edge[y[:-1], y[1:]].sum() for y in every}


def margin(node: np.ndarray, edge: np.ndarray, labels: Any, rivals: Any = np.any) -> float:
    """Return how far the truth leads all that differ from it anywhere (or everywhere)."""
    scores, truth = chain_scores(node, edge), tuple(labels)
    return scores[truth] - max(s for y, s in scores.items() if rivals(np.array(y) != labels))


def over_other_scores(scores: dict[tuple[int, ...], float], truth: tuple[int, ...]) -> float:
    """Return how far the truth leads the largest score that is another number."""
    return scores[truth] - max(score for score in scores.values() if score != scores[truth])


def bisect(p: float, budget: float, kl: Any = None, low: Any = None, halvings: int = 50) -> float:
    """Return a learner's inverse of kl, with a mistake or without."""
    kl = kl or (lambda p, q: rel_entr(p, q) + rel_entr(1 - p, 1 - q))
    inside, outside = p, 1.0 if low is None else low
    for _ in range(halvings):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if kl(p, middle) <= budget else (inside, middle)
    return inside


def plain_kl(p: float, q: float) -> float:
    return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))


SHUFFLE = np.random.default_rng(0)


def shuffled(n: int, n_folds: int) -> list[Any]:
    return np.array_split(SHUFFLE.permutation(n), n_folds)


ANSWERS = {
    exercises.check_threshold: [0.15, 0.3, 0.769, 0.4, 0.65, 0.75, 0.25],
    exercises.check_l1_constant: [
        2 * 60 / (4 * 10 * 5),
        2 * 60 / (10 * 5),
        2 * 60 / (2 * 10 * 5),
        4 * 2 * 60 / (10 * 5),
        2 * 60 / (4 * 10 * 5**2),
        2 * 60 / (4 * 10),
        2 * 60 * 5 / (4 * 10),
        2 / (4 * 10 * 5),
        60 / (4 * 10 * 5),
        2,
        4 * 10 * 5 / (2 * 60),
        10 * 5 / (2 * 60),
        10,
    ],
    exercises.check_weight_bounds: [
        lambda g, e: 2 * g / (1 - 2 * np.abs(e)),
        lambda g, e: 2 * g / (1 - 2 * e),
        lambda g, e: g / (1 - np.abs(e)),
        lambda g, e: g * (0.5 - np.abs(e)),
        lambda g, e: g / np.abs(e),
        lambda g, e: (0.5 - np.abs(e)) / g,
        lambda g, e: np.full(len(e), g),
    ],
    exercises.check_em_update: [
        lambda w, k: np.abs(w) / np.abs(w).mean() / k,
        lambda w, k: np.abs(w) / np.abs(w).sum() / k,
        lambda w, k: w / np.abs(w).mean() / k,
        lambda w, k: w / w.mean() / k,
        lambda w, k: w**2 / np.mean(w**2) / k,
        lambda w, k: np.abs(w) / np.abs(w).sum(),
        lambda w, k: k * np.abs(w) / np.abs(w).mean(),
        lambda w, k: np.abs(w) / np.abs(w).mean(),
        lambda w, k: len(w) * np.abs(w) / np.sqrt(w @ w) / k,
        lambda w, k: len(w) * np.abs(w) / k,
        lambda w, k: np.abs(w) / k,
        lambda w, k: np.abs(w) / np.sqrt(np.mean(w**2)),
        lambda w, k: np.ones(len(w)) / k,
    ],
    exercises.check_l1_projection: [
        project,
        lambda v, r: v if np.abs(v).sum() <= r else v * r / np.abs(v).sum(),
        lambda v, r: v if np.linalg.norm(v) <= r else v * r / np.linalg.norm(v),
        lambda v, r: project(v, r) if np.abs(v).sum() <= r else v.clip(-r, r),
        lambda v, r: np.sign(v) * (np.abs(v) - max(np.abs(v).sum() - r, 0) / len(v)).clip(0),
        lambda v, r: v - np.sign(v) * max(np.abs(v).sum() - r, 0) / len(v),
        lambda v, r: np.abs(project(v, r)),
        project_carelessly,
        lambda v, r: (
            project(v, r) * (np.abs(v).sum() <= r)
            + (np.sign(v) * (np.abs(v) - np.abs(v).max() + r).clip(0) * (np.abs(v).sum() > r))
        ),
    ],
    exercises.check_chance: [4.5, 0.05, 0.75, 5.25, 85.5, 0.99, 0.0099, 15.75, 0.3, 90, 17],
    exercises.check_paired_error: [
        *(0.506, 1.6, 0.16, 1.789, 2.479, 0.358, 1.315, 0.256, 2.56, 1.265, 0.253, 7),
    ],
    exercises.check_paired_interval: [
        paired,
        lambda a, b, t: paired(a, b, t, np.hypot(sem(a), sem(b))),
        lambda a, b, t: paired(a, b, t, np.std(a - b) / len(a) ** 0.5),
        lambda a, b, t: paired(a, b, t, sem(a - b) * len(a) ** 0.5),
        lambda a, b, t: paired(a, b, t, sem(a - b) / len(a) ** 0.5),
        lambda a, b, t: paired(a, b, 1),
        lambda a, b, t: paired(b, a, t),
        lambda a, b, t: np.mean(a) - np.mean(b),
        lambda a, b, t: paired(a, b, 2 * t),
    ],
    exercises.check_honest_error: [
        lambda v, t: t[np.argmin(v)],
        lambda v, t: np.sort(t)[0],
        lambda v, t: np.sort(v)[0],
        lambda v, t: np.argmin(t),
        lambda v, t: np.argmin(v),
        lambda v, t: v[np.argmin(t)],
        lambda v, t: sum(t) / len(t),
        lambda v, t: t[np.argmax(v)],
        lambda v, t: t[np.argmin(v + t)],
        lambda v, t: t[0],
    ],
    exercises.check_cross_validation: [
        cross_validation(),
        lambda n, k, constants, error: constants[1],
        cross_validation(lambda n, k: [range(i + 1, n + 1, k) for i in range(k)]),
        cross_validation(train=lambda everyone, part: sorted(everyone)),
        lambda n, k, constants, error: cross_validation()(n, k, constants[:3], error),
        cross_validation(turns=lambda parts: parts[:1]),
        lambda n, k, constants, error: cross_validation()(
            n, k, constants, lambda c, train, test: error(c, test, train)
        ),
        cross_validation(lambda n, k: [range(i * (n // k), (i + 1) * (n // k)) for i in range(k)]),
        cross_validation(lambda n, k: [range(n)[i :: k - 1] for i in range(k - 1)]),
        cross_validation(train=lambda everyone, part: sorted(everyone - part)[1:]),
        cross_validation(shuffled),
        cross_validation(lambda n, k: [*([i] for i in range(k - 1)), range(k - 1, n)]),
        cross_validation(choose=max),
        lambda n, k, constants, error: min(0.1, cross_validation()(n, k, constants, error) / 100),
        lambda n, k, constants, error: cross_validation()(n, k, constants, error) and None,
    ],
    exercises.check_quiet_coin: [
        *(1 - 0.05 ** (1 / 50), np.sqrt(np.log(20) / 100), np.log(20) / 50, 0.05 ** (1 / 50)),
        *(1 - 0.95 ** (1 / 50), 0.05 / 50, 1 / 50, 0.5),
    ],
    exercises.check_n_draws: [
        *(32 * 5 * np.log(26) * 400, 32 * 5 * np.log(26) * 20, 16 * 5 * np.log(26) * 400),
        *(32 * np.log(26) * 400, 32 * 26**5 * 400, 32 * 5 * 26 * 400, 32 * 26 * np.log(5) * 400),
        *(32 * 5 * np.log(26) / 400, 32 * 5 * np.log10(26) * 400, 2 * 5 * np.log(26) * 400),
        *(5 * np.log(26) * 400, 12345),
    ],
    exercises.check_averaging: [
        lambda m, g, c, k: np.exp(k - m / 32 * (g / c) ** 2),
        lambda m, g, c, k: np.exp(k) * np.exp(-m / 32 * (g / c) ** 2),
        lambda m, g, c, k: np.exp(-m / 32 * (g / c) ** 2),
        lambda m, g, c, k: k * np.exp(-m / 32 * (g / c) ** 2),
        lambda m, g, c, k: np.exp(k - m / 32 * (g / c)),
        lambda m, g, c, k: np.exp(k - m / 32 * (g * c) ** 2),
        lambda m, g, c, k: np.exp(k - m / 2 * (g / c) ** 2),
        lambda m, g, c, k: k - m / 32 * (g / c) ** 2,
        lambda m, g, c, k: np.exp(k - (g / c) ** 2 / 32),
        lambda m, g, c, k: np.exp(k - m / 64 * (g / c) ** 2),
    ],
    exercises.check_margin: [
        margin,
        lambda n, e, y: margin(n, e, y, lambda differ: True),
        lambda n, e, y: -margin(n, e, y),
        lambda n, e, y: np.diff(sorted(chain_scores(n, e).values())[-2:])[0],
        lambda n, e, y: margin(n, np.zeros_like(e), y),
        lambda n, e, y: margin(n, e, y, np.all),
        lambda n, e, y: over_other_scores(chain_scores(n, e), tuple(y)),
        lambda n, e, y: chain_scores(n, e)[tuple(y)],
        lambda n, e, y: margin(n, e.T, y),
    ],
    exercises.check_kl_inverse: [
        bisect,
        lambda p, b: bisect(p, b, plain_kl),
        lambda p, b: min(1, p + np.sqrt(b / 2)),
        lambda p, b: p + np.sqrt(b / 2),
        lambda p, b: bisect(p, b, low=0.0),
        lambda p, b: bisect(p, b, lambda p, q: rel_entr(q, p) + rel_entr(1 - q, 1 - p)),
        lambda p, b: rel_entr(p, b) + rel_entr(1 - p, 1 - b),
        lambda p, b: p,
        lambda p, b: 1,
        lambda p, b: bisect(p, b, halvings=6),
    ],
    exercises.check_words_right: [0.299, 0.86, 0.70, -0.12, 0.14**8],
    exercises.check_labelling_score: [
        lambda n, e, y: n[range(len(y)), y].sum() + e[y[:-1], y[1:]].sum(),
        lambda n, e, y: n[range(len(y)), y].sum(),
        lambda n, e, y: n[range(len(y)), y].sum() + e[y[1:], y[:-1]].sum(),
        lambda n, e, y: n[range(len(y)), y].sum() + e[y, np.roll(y, -1)].sum(),
        lambda n, e, y: e[y[:-1], y[1:]].sum(),
    ],
    exercises.check_error_share: [
        lambda t, p: np.mean([a != b for a, b in zip("".join(t), "".join(p), strict=True)]),
        lambda t, p: np.mean(per_word(t, p)),
        lambda t, p: np.mean(np.array(per_word(t, p)) > 0),
        lambda t, p: np.mean([a == b for a, b in zip("".join(t), "".join(p), strict=True)]),
        lambda t, p: sum(a != b for a, b in zip("".join(t), "".join(p), strict=True)),
    ],
    exercises.check_best_path: [
        viterbi,
        lambda n, e: n.argmax(axis=1),
        _greedy,
        _best_prefix_ends,
        lambda n, e: viterbi(n, e.T),
    ],
    exercises.check_early_stopping: [
        early_stopping,
        lambda e, k: e.index(min(e)),
        lambda e, k: early_stopping(e, 1),
        lambda e, k: min(early_stopping(e, k) + k, len(e) - 1),
        lambda e, k: early_stopping(e, k) + 1,
        lambda e, k: e[early_stopping(e, k)],
        lambda e, k: next(
            (i - k for i in range(k, len(e)) if sorted(e[i - k : i + 1]) == e[i - k : i + 1]),
            e.index(min(e)),
        ),
        lambda e, k: len(e) - 1,
        lambda e, k: 2,
    ],
    exercises.check_posterior_mean: [2 / 3, 1.0, 0.5, 2.0, 0.4, 1 / 3],
    exercises.check_equal_variance: [2, 1, np.sqrt(2), 0.5, 4],
    exercises.check_conjugate: [
        lambda e, k: 2 * e**2 / (k - e**2) + np.log(1 - e**2 / k),
        lambda e, k: 2 * e**2 / (k - e**2),
        lambda e, k: 2 * e**2 / (k - e**2) - np.log(1 - e**2 / k),
        lambda e, k: -np.log(1 - e**2 / k),
        lambda e, k: -2 * e**2 / (k - e**2) - np.log(1 - e**2 / k),
        lambda e, k: 2 * e**2 / (k - e**2) ** 2,
    ],
    exercises.check_eta_for_mean: [
        lambda m, k: k * m / (1 + np.sqrt(1 + k * m**2)),
        lambda m, k: (-1 + np.sqrt(1 + k * m**2)) / m,
        lambda m, k: (-1 - np.sqrt(1 + k * m**2)) / m,
        lambda m, k: np.sqrt(1 + k * m**2) - 1,
        lambda m, k: 2 * m / (k - m**2),
        lambda m, k: k * m / 2,
    ],
    exercises.check_tilted_mean: [
        lambda w, p, e: np.average(w, weights=softmax(p + e * w)),
        lambda w, p, e: np.average(w, weights=np.exp(p + e * w)),
        lambda w, p, e: np.sum(w * np.exp(p + e * w)),
        lambda w, p, e: np.sum(w * np.exp(p + e * w)) * (w[1] - w[0]),
        lambda w, p, e: np.average(w, weights=softmax(e * w)),
        lambda w, p, e: np.average(w, weights=softmax(p)),
        lambda w, p, e: np.average(w, weights=softmax(p - e * w)),
        lambda w, p, e: w[np.argmax(p + e * w)],
    ],
    exercises.check_best_alpha: [
        lambda C, q: np.minimum(C, 1 / q),
        lambda C, q: C,
        lambda C, q: 1 / q,
        lambda C, q: np.minimum(C, 2 / q),
        lambda C, q: np.maximum(C, 1 / q),
        lambda C, q: C / q,
    ],
    exercises.check_slope: [
        lambda z, t, C, p: z + C * np.sign(t) * np.abs(t) ** (p - 1),
        lambda z, t, C, p: z + np.sign(t) * np.abs(t) ** (p - 1),
        lambda z, t, C, p: z + C / p * np.sign(t) * np.abs(t) ** (p - 1),
        lambda z, t, C, p: z + C * np.abs(t) ** (p - 1),
        lambda z, t, C, p: z + C * t,
        lambda z, t, C, p: z - C * np.sign(t) * np.abs(t) ** (p - 1),
        lambda z, t, C, p: z,
    ],
    exercises.check_message: [
        lambda f, m, a: scaled(f * np.prod(np.delete(m, a, axis=0), axis=0)),
        lambda f, m, a: scaled(f * np.prod(np.delete(m, a, axis=0), axis=0) / m[a]),
        lambda f, m, a: scaled(f * np.prod(m, axis=0)),
        lambda f, m, a: f * np.prod(np.delete(m, a, axis=0), axis=0),
        lambda f, m, a: scaled(np.prod(np.delete(m, a, axis=0), axis=0)),
        lambda f, m, a: scaled(f * m[a]),
        lambda f, m, a: f,
    ],
}
ANSWERS |= planted_answers.ANSWERS


@pytest.mark.parametrize("check", CHECKS)
def test_three_mistakes_are_told_apart(check: Any, capsys: pytest.CaptureFixture[str]) -> None:
    verdicts = []
    for answer in ANSWERS[check]:
        check(answer)
        verdicts.append(said(capsys))
    assert verdicts[0].startswith("Right: ")
    assert all(verdict.startswith("Not quite: ") for verdict in verdicts[1:])
    assert len(set(verdicts)) == len(verdicts) >= 4
