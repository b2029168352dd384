"""Checks of the exercises of two-losses, and the faulty run of one of them."""

from typing import Any

import numpy as np
from scipy.special import logsumexp

from medn_edu.course.exercises._shared import chain_score, labellings, lists_labellings, soft_best
from medn_edu.course.exercises.declarations import Choice, Function, Judged, Number, differs
from medn_edu.theory.axi import AXI

check_log_z = Number(
    right=float(logsumexp([5, 3])),
    mistakes={
        "z_itself": float(np.exp(5) + np.exp(3)),
        "log_of_sum": float(np.log(8)),
        "log_loss": float(logsumexp([5, 3]) - 5),
    },
)


def _log_partition(node: np.ndarray, edge: np.ndarray) -> float:
    return soft_best(node, edge, 1.0)


def _listed(node: np.ndarray, edge: np.ndarray) -> float:
    return float(logsumexp([chain_score(node, edge, labels) for labels in labellings(node)]))


def _overflowing(node: np.ndarray, edge: np.ndarray) -> float:
    below = np.exp(node[0])
    for here in node[1:]:
        below = np.exp(here) * (below @ np.exp(edge))
    return float(np.log(below.sum()))


_LARGE = np.array([[900.0, 901.0], [899.0, 900.0], [900.0, 950.0]])
_EDGE = np.array([[0.0, 1.0], [2.0, 0.0]])
rng = np.random.default_rng(2)
check_log_partition = Function(
    cases=[
        (rng.normal(size=(n, k)), rng.normal(size=(k, k)))
        for n, k in ((1, 3), (2, 3), (3, 2), (12, 2))
    ],
    right=_log_partition,
    mistakes={
        "letters_alone": lambda node, edge: logsumexp(node, axis=1).sum(),
        "best_score": lambda node, edge: soft_best(node, edge, 0.0),
        "edge_transposed": lambda node, edge: _log_partition(node, edge.T),
        "z_itself": lambda node, edge: np.exp(_log_partition(node, edge)),
        "largest_not_added": lambda node, edge: _log_partition(node, edge) - node[0].max(),
    },
    hidden={
        "listed": (_listed, lists_labellings),
        "overflowing": (_overflowing, differs(_log_partition, (_LARGE, _EDGE), (-_LARGE, _EDGE))),
    },
)


def _judge_table(answer: Any) -> str | None:
    p = np.asarray(answer, dtype=float)
    if p.shape != (2, 2):
        return "expected two rows of two probabilities, such as [[0.25, 0.25], [0.25, 0.25]]."
    if not np.isfinite(p).all() or (p < 0).any():
        return "a probability is a number that isn't negative."
    if not np.isclose(p.sum(), 1, atol=1e-6):
        return f"your four probabilities add up to {p.sum():.4g}; they must add up to 1."
    if np.isclose(np.sort(p.ravel())[-2:], p.max()).all():
        return "two labellings share the first place; let one of them be the most probable."
    first, second = p.sum(axis=1), p.sum(axis=0)
    if np.isclose(first[0], first[1]) or np.isclose(second[0], second[1]):
        return "at one of the letters both labels have the same marginal; make one of them larger."
    path = np.unravel_index(p.argmax(), p.shape)
    read = "".join("ax"[label] for label in path)
    if path == (first.argmax(), second.argmax()):
        return (
            f"the best path is {read}, and so are the best marginals. Let several other labellings "
            "outvote it at one letter."
        )
    return None


check_path_or_marginals = Judged(
    right=[[0.4, 0.0], [0.3, 0.3]],
    judge=_judge_table,
    expected="two rows of two probabilities, such as [[0.25, 0.25], [0.25, 0.25]]",
    mistakes=[
        [0.4, 0.0, 0.3, 0.3],
        [[0.5, -0.1], [0.3, 0.3]],
        [[4, 0], [3, 3]],
        [[0.4, 0.1], [0.4, 0.1]],
        [[0.4, 0.1], [0.2, 0.3]],
        [[0.4, 0.3], [0.2, 0.1]],
    ],
)


def faulty_run() -> None:
    """Print a run of subgradient steps on P0 of *axi*, C = 1, in which one thing went wrong."""
    losses, differences, w = AXI.losses, AXI.differences, np.zeros(2)
    for step in range(1, 1001):
        rival = (-differences @ w).argmax()  # the fault: no loss is added
        w = w - (w - differences[rival]) / step
        if step in (1, 2, 3, 10, 100, 1000):
            value = w @ w / 2 + (losses - differences @ w).max()
            wrong = AXI.losses[(-differences @ w).argmax()]
            weights = f"w = ({w[0]:.2f}, {w[1]:.2f})"
            print(f"step {step:4}: {weights}, P0 {value:.2f}, {wrong:.0f} letters wrong")


check_faulty_run = Choice(right="b")

check_no_price = Choice(right="c")


def _primal(alpha: Any, losses: Any, differences: Any, C: Any) -> float:
    w = alpha @ differences
    return float(w @ w / 2 + C * (losses - differences @ w).max())


def _dual(alpha: Any, losses: Any, differences: Any) -> float:
    w = alpha @ differences
    return float(alpha @ losses - w @ w / 2)


def _gap(alpha: Any, losses: Any, differences: Any, C: Any) -> float:
    return _primal(alpha, losses, differences, C) - _dual(alpha, losses, differences)


def _gap_cases() -> list[tuple[Any, ...]]:
    rng, cases = np.random.default_rng(1), []
    for n, k, C in ((3, 2, 1.0), (27, 2, 0.5), (8, 5, 3.0)):
        losses, differences = rng.integers(1, 4, n).astype(float), rng.normal(size=(n, k))
        losses[0], differences[0] = 0.0, 0.0  # the truth
        cases.append((C * rng.dirichlet(np.ones(n)), losses, differences, C))
    return cases


check_gap = Function(
    cases=_gap_cases(),
    right=_gap,
    mistakes={
        "primal_alone": _primal,
        "dual_alone": lambda a, loss, d, C: _dual(a, loss, d),
        "sign": lambda a, loss, d, C: -_gap(a, loss, d, C),
        "relative": lambda a, loss, d, C: _gap(a, loss, d, C) / _primal(a, loss, d, C),
        "price_missing": lambda a, loss, d, C: (
            (loss - d @ (a @ d)).max() - C * (loss - d @ (a @ d)).max() + _gap(a, loss, d, C)
        ),
        "loss_missing": lambda a, loss, d, C: (
            _gap(a, loss, d, C) + C * ((-d @ (a @ d)).max() - (loss - d @ (a @ d)).max())
        ),
        "always_zero": lambda a, loss, d, C: 0.0 * a.sum(),
        "not_halved": lambda a, loss, d, C: _gap(a, loss, d, C) + (a @ d) @ (a @ d),
        "squares_missing": lambda a, loss, d, C: (
            C * (loss - d @ (a @ d)).max() - a @ loss
        ),
    },
)  # fmt: skip
