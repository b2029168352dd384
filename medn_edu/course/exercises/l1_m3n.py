"""Checks of the exercises of l1-m3n."""

from typing import Any

import numpy as np

from medn_edu.course.exercises.declarations import Choice, Function, Judged, Number
from medn_edu.theory.projection import project_l1_ball, project_l2_ball

check_threshold = Number(right=0.15, mistakes={"factor": 1 / 1.3})


def faulty_rounds(n_rounds: int = 7) -> str:
    """Return the printout of a cutting plane run that keeps only the newest labellings.

    It is the notebook's run, on the same eight chains with C = 0.2, but it forgets its working sets.
    """
    from scipy.optimize import linprog

    from medn_edu.datasets import make_chain_crf
    from medn_edu.priors import GaussianPrior
    from medn_edu.samples import label_samples, pack
    from medn_edu.slacks import LinearSlack
    from medn_edu.theory.medn import enumerate_problem

    chains, C = make_chain_crf(8, 6, 3, 3, 3, sampler="exact"), 0.2
    data = label_samples(pack(chains.data), np.concatenate(chains.target), np.ones((1, 3, 3), bool))
    every = enumerate_problem(data, GaussianPrior(), LinearSlack(C))
    F, losses, sample = every.differences, every.losses, every.sample
    kept, upper, lines = np.array([], dtype=int), np.inf, []
    for number in range(n_rounds):
        margins = np.hstack([-F[kept], F[kept], -np.eye(8)[sample[kept]]])
        found = linprog(np.repeat([0.5, C], [54, 8]), A_ub=margins, b_ub=-losses[kept])
        w = found.x[:27] - found.x[27:54]
        H = losses - F @ w
        kept = np.array([np.where(sample == i, H, -np.inf).argmax() for i in range(8)])
        upper = min(upper, 0.5 * np.abs(w).sum() + C * H[kept].sum())
        lines.append(f"round {number}: {found.fun:.3f} ≤ optimum ≤ {upper:.3f}")
    return "\n".join(lines)


check_faulty_rounds = Choice(right="b")

check_em_copies = Choice(right="b")

check_still_alive = Choice(right="c")


def _soft(v: np.ndarray, theta: float) -> np.ndarray:
    return np.sign(v) * np.maximum(np.abs(v) - theta, 0)


def _once(v: np.ndarray, radius: float) -> np.ndarray:
    return _soft(v, max(np.abs(v).sum() - radius, 0.0) / len(v))


def _judge_broken_projection(point: Any) -> str | None:
    """Say whether the quick projection is right at a point, and so not broken by it."""
    if isinstance(point, str | bytes | dict | set):
        return "expected three numbers, such as [0.9, 0.4, 0.3]."
    v = np.asarray(point, dtype=np.float64)
    if v.shape != (3,):
        return "expected three numbers, such as [0.9, 0.4, 0.3]."
    if not np.isfinite(v).all() or np.abs(v).max() > 1e6:
        return "expected three ordinary numbers, none of them infinite or larger than a million."
    total = float(np.abs(v).sum())
    if total <= 1:
        return (
            f"the sizes add up to {total:.3g}, so the point is inside the ball; take one outside."
        )
    if np.allclose(_once(v, 1.0), project_l1_ball(v, 1.0), atol=1e-6):
        lost = (total - 1) / 3
        return (
            f"`quick` is right here: each weight can give up the {lost:.3g} that it takes. "
            "Make one weight smaller than that."
        )
    return None


check_broken_projection = Judged(
    right=[2.0, 2.0, 0.1],
    expected="three numbers, such as [0.9, 0.4, 0.3]",
    judge=_judge_broken_projection,
    mistakes=[[0.9, 0.4], [0.3, 0.2, 0.1], [0.9, 0.8, 0.7], [2.0, 2.0, 1.9], [np.inf, 0.0, 1.0]],
)


def _scaled(v: np.ndarray, radius: float) -> np.ndarray:
    return v * min(1.0, radius / np.abs(v).sum())


def _unclipped(v: np.ndarray, radius: float) -> np.ndarray:
    theta = max(np.abs(v).sum() - radius, 0.0) / len(v)
    return np.sign(v) * (np.abs(v) - theta)


def _to_sphere(v: np.ndarray, radius: float) -> np.ndarray:
    """Sorted thresholds without a look whether the point is inside."""
    u = np.sort(np.abs(v))[::-1]
    theta = (np.cumsum(u) - radius) / np.arange(1, len(u) + 1)
    return _soft(v, theta[np.flatnonzero(u > theta)[-1]])


def _one_left(v: np.ndarray, radius: float) -> np.ndarray:
    if np.abs(v).sum() <= radius:
        return v
    return _soft(v, np.abs(v).max() - radius)


rng = np.random.default_rng(4)
check_l1_projection = Function(
    cases=[
        *((2 * rng.normal(size=k), radius) for k, radius in ((2, 1.0), (5, 1.5), (8, 0.3))),
        (np.array([3.0, -2.9, 0.1, 0.0]), 2.0),
        (np.array([-1.0, 1.0]), 1.0),
        (np.array([0.2, -0.3, 0.1]), 1.0),  # inside
        (np.array([-2.0, 0.5]), 4.0),
    ],
    right=project_l1_ball,
    mistakes={
        "scaled": _scaled,
        "project_l2_ball": project_l2_ball,
        "once": _once,
        "unclipped": _unclipped,
        "signs_lost": lambda v, radius: np.abs(project_l1_ball(v, radius)),
        "to_sphere": _to_sphere,
        "one_left": _one_left,
    },
)
