"""Bounds that the solvers of L1-M3N keep: the best weights so far, and the best proof."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np

from medn_edu.problems.norm_margin import NormMarginProblem
from medn_edu.problems.norms import L1Norm
from medn_edu.results import DualVariables, Iterate
from medn_edu.solvers._warm_start import check_warm_start

__all__ = ["Bounds", "check_l1_problem", "fitting"]


def check_l1_problem(problem: NormMarginProblem) -> None:
    """Refuse a problem that is not L1-M3N."""
    if not isinstance(problem.norm, L1Norm):
        raise TypeError(f"the norm is {problem.norm!r}; this solver expects L1Norm().")


def fitting(problem: NormMarginProblem, sample: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Return masses, scaled down where a sample has more than its own."""
    total = np.bincount(sample, mass, problem.n_samples)
    return mass * np.minimum(1.0, problem.mass / np.maximum(total, 1e-300))[sample]


class Bounds:
    """The best weights so far with their objective, and the masses behind the largest lower bound.

    At first all weights are 0.

    Parameters
    ----------
    problem : NormMarginProblem
        L1-M3N.
    """

    def __init__(self, problem: NormMarginProblem) -> None:
        self.problem = problem
        self.weights = np.zeros(problem.weight_shape.size)
        self.upper, self.lower = np.inf, 0.0  # no mass at all proves 0
        nothing = np.zeros(0, dtype=np.int64)
        self.alpha = DualVariables(nothing, np.zeros(1, dtype=np.int64), nothing, np.zeros(0))
        self.n_oracle_calls = 0
        labels, _ = self.visit(np.zeros(problem.weight_shape.size))
        # As much mass as there is on what is wrong at w = 0: with a small C this is the optimum.
        everyone, offsets = np.arange(problem.n_samples), problem.data.samples.offsets
        self.prove(DualVariables(everyone, offsets, labels, problem.mass))

    @property
    def gap(self) -> float:
        """Distance of the bounds."""
        return self.upper - self.lower

    def closed(self, tol: float) -> bool:
        """Say whether the gap is at most this share of the objective."""
        return self.gap <= tol * self.upper

    def without_weights(self) -> Bounds:
        """Return the same proof, to be joined by other weights."""
        other = copy.copy(self)
        other.upper = np.inf
        return other

    def visit(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Decode at these weights, keep them if they are the best so far, and return what was found."""
        labels, violation = self.decode(weights)
        slack = self.problem.mass @ np.maximum(violation, 0.0)
        upper = self.problem.norm.value(weights) + float(slack)
        if upper < self.upper:
            self.weights, self.upper = weights.copy(), upper
        return labels, violation

    def decode(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Find the most violated labellings, and count the calls."""
        self.n_oracle_calls += self.problem.n_samples
        return self.problem.violated(weights)

    def prove(self, alpha: DualVariables) -> float:
        """Keep these masses if they bound better than the last, and return their bound."""
        lower = self.problem.dual(alpha)
        if lower > self.lower:
            self.alpha, self.lower = alpha, lower
        return lower

    def start(self, alpha: DualVariables) -> DualVariables:
        """Return masses found with another constant as they are feasible here; keep their bound."""
        check_warm_start(alpha, self.problem.data)
        alpha = replace(alpha, values=fitting(self.problem, alpha.sample, alpha.values))
        self.prove(alpha)
        return alpha

    def iterate(self, stopped: str = "") -> Iterate:
        """Return the best of both sides."""
        alpha = self.alpha
        return Iterate(
            weights=self.weights,
            gap_estimate=self.gap,
            objective_estimate=self.upper,
            n_oracle_calls=self.n_oracle_calls,
            dual=lambda: alpha,
            stopped=stopped,
        )
