"""The dual variables of block Frank-Wolfe at work: kept labellings, what they tilt, and the moves.

The numbers are in four bundles of arrays: the training samples (`Blocks`, which never change), the
kept labellings with their dual variables (`Atoms`), the prior tilted by them (`TiltedPrior`), and
scratch space.  The methods of `DualState` are the moves of `medn_edu.solvers.block_frank_wolfe`, which
`medn_edu.kernels.block_step` makes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from medn_edu.kernels import block_step as kernels
from medn_edu.kernels.atoms import drop_atoms
from medn_edu.kernels.bundles import Parameters
from medn_edu.kernels.tilting import (
    EXPONENTIAL_SLACK,
    LINEAR,
    OWN,
    PRIORS,
    SLACKS,
    slack_slopes_along,
)
from medn_edu.priors import GaussianPrior
from medn_edu.problems import DualVariables
from medn_edu.solvers._arena import atoms_of, dual_variables, empty_arena, enlarged, every_atom
from medn_edu.solvers._training import (
    kernel_order,
    public_order,
    tilted_prior,
    training_blocks,
    workspace,
)
from medn_edu.solvers._warm_start import starting_point
from medn_edu.solvers.line_search import highest_point

if TYPE_CHECKING:
    from medn_edu.problems import Problem

__all__ = ["DualState"]

# Measured on the OCR letters; the optimum does not depend on them, times do, and only mildly.
_N_STEPS = 20  # at most so many pairwise steps in a visit,
_ACCURACY = 0.1  # until violations differ by this share of what they differed by at first
_EXTRAPOLATION = 1.0  # how far to extrapolate at most, in steps from the round before


class DualState:
    """All arrays the kernels work on, and the kernels as methods that enlarge the arena at need.

    ``gram_budget`` is how many bytes Gram matrices of node features may take, and ``capacity`` for how
    many labellings per sample there is room at first.
    """

    def __init__(self, problem: Problem, gram_budget: int, capacity: int) -> None:
        self.problem = problem
        self.shape = problem.weight_shape
        self.parameters = _parameters(problem)
        self.order = kernel_order(self.shape)
        self.blocks = training_blocks(problem, gram_budget if self.parameters.unit else 0)
        self.capacity = capacity
        self.work = workspace(self.blocks, self.shape)
        self.gaps = np.full(len(self.blocks.C), np.inf)
        # Without a linear slack atom 0 is a source, whose dual variable means nothing.
        self.source = 0 if self.parameters.slack == LINEAR else 1
        self._tilt(np.zeros(self.shape.size))

    @property
    def passes_between_rebuilds(self) -> int:
        """How often everything is to be computed afresh from the dual variables.

        With the standard normal prior rounding errors of eta stay as small as they are.  Near the end of
        a domain means magnify them.
        """
        return 20 if self.parameters.unit else 1

    # -- reading ----------------------------------------------------------------------------

    def weights(self) -> np.ndarray:
        """Return the posterior means as a flat vector in the public order, a copy."""
        return public_order(self.tilted.mean, self.shape)

    def variances(self) -> np.ndarray:
        """Return the posterior variances as a flat vector in the public order, a copy."""
        return public_order(self.tilted.variance, self.shape)

    def dual_value(self) -> float:
        """Return the value of the dual."""
        self._move_everything()
        loss, total = self._sum_losses()
        prior = self.problem.prior.log_mgf(self.tilted.eta, self.order)
        slack = self.problem.margin_loss._conjugates(self.problem.data, total)
        return float(loss.sum() - np.sum(prior) - slack.sum())

    def dual_variables(self) -> DualVariables:
        """Collect the labellings in use and their dual variables."""
        return dual_variables(self.atoms, self.blocks, self.source)

    # -- moving -----------------------------------------------------------------------------

    def load(self, warm_start: DualVariables | None) -> None:
        """Start from an earlier solution, or from that share of it at which the dual is largest.

        A share of 0, where only the true labellings are in use, is always feasible.
        """
        is_fixed = self.source == 0
        alpha = starting_point(warm_start, self.problem.data, self.blocks.C, is_fixed=is_fixed)
        self.atoms = empty_arena(self.blocks, self.capacity)
        done = 0
        while done < len(alpha):
            done = kernels.load_atoms(
                done,
                alpha.sample,
                alpha.offsets,
                alpha.labels.astype(np.int64),  # a copy, which may be written to
                alpha.values,
                self.blocks,
                self.tilted.coef.shape,
                self.parameters.unit,
                self.tilted.variance,
                self.atoms,
                self.work,
            )
            if done < len(alpha):
                self.atoms = enlarged(self.atoms)  # a block that needs more asks again
        eta = self._sum_eta()
        if not eta.any():
            self._tilt(eta)
            return
        share = self._search_everywhere(np.zeros_like(eta), eta, np.zeros_like(self.gaps))
        self._shrink(max(share, 1e-300))
        self._tilt(share * eta)

    def rebuild(self) -> None:
        """Compute everything afresh from the dual variables: steps add rounding to eta."""
        eta = self._sum_eta()
        if self._domain_end(np.zeros_like(eta), eta) > 1.0:
            self._tilt(eta)
        else:  # rounding has left the domain
            self.load(self.dual_variables())

    def visit(self, order: np.ndarray, *, with_oracle: bool) -> None:
        """Make a step in each of these blocks."""
        position = 0
        while position < len(order):
            position, n_cells, loss, change, total = kernels.visit_blocks(
                order,
                position,
                self.blocks,
                self.tilted,
                self.parameters,
                self.atoms,
                self.work,
                self.gaps,
                with_oracle,
                _N_STEPS,
                _ACCURACY,
            )
            if n_cells < 0:
                self.atoms = enlarged(self.atoms)  # a block that needs more asks again
            elif position < len(order):
                self._finish_step(order[position], self.work.cells[:n_cells], loss, change, total)
                position += 1

    def extrapolate(self) -> None:
        """Go on in the direction of the steps since the last call, as far as it pays."""
        total = np.zeros_like(self.gaps)
        if self.source > 0:
            self._move_everything()
            _, total = self._sum_losses()
        atoms, is_fixed = self.atoms, self.source == 0
        kernels.extrapolate(
            self.blocks.C,
            is_fixed,
            _EXTRAPOLATION,
            atoms.first,
            atoms.count,
            atoms.alpha,
            atoms.previous,
            atoms.moved,
        )
        delta = self._sum_moves()
        step = self._search_everywhere(self.tilted.eta, delta, total)
        if step > 0:
            if self.source > 0:
                atoms.moved[atoms.first] = 0.0
            kernels.take_step(atoms.alpha, atoms.moved, step)
            self._tilt(self.tilted.eta + step * delta)

    # -- shared pieces ----------------------------------------------------------------------

    def _tilt(self, eta: np.ndarray) -> None:
        self.tilted = tilted_prior(self.problem, eta, unit=self.parameters.unit)

    def _move_everything(self) -> None:
        """Let all dual variables count as moved, as if from 0."""
        self.atoms.moved[:] = self.atoms.alpha
        if self.source > 0:
            self.atoms.moved[self.atoms.first] = 0.0

    def _sum_moves(self) -> np.ndarray:
        """Return by how much the moves change eta."""
        eta, coef = np.zeros(self.shape.size), self.tilted.coef
        coef = eta[: coef.size].reshape(coef.shape)
        kernels.sum_eta(self.blocks, self.atoms, self.work.augmented, coef, eta)
        return eta

    def _sum_eta(self) -> np.ndarray:
        """Return what the dual variables tilt the prior by."""
        self._move_everything()
        return self._sum_moves()

    def _sum_losses(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the loss of each block's moves, and what they add to its free sum."""
        loss, change = np.zeros_like(self.gaps), np.zeros_like(self.gaps)
        kernels.sum_losses(self.blocks, self.atoms, self.source, loss, change)
        return loss, change

    def _shrink(self, share: float) -> None:
        """Keep a share of what was loaded; what a fixed sum lacks goes back to the true labelling."""
        atoms = self.atoms
        sample, number = every_atom(atoms, 1)
        slot = atoms.first[sample] + number
        rest = (1.0 - share) * atoms.alpha[slot]
        atoms.alpha[slot] -= rest
        if self.source == 0:
            np.add.at(atoms.alpha, atoms.first[sample], rest)
        atoms.previous[:] = atoms.alpha

    def _domain_end(self, eta: np.ndarray, delta: np.ndarray) -> float:
        """Return how many times ``delta`` can be added to eta before the prior's domain ends."""
        moving = delta != 0
        end = np.where(delta[moving] > 0, self.parameters.upper, self.parameters.lower)
        return float(np.min((end - eta[moving]) / delta[moving], initial=np.inf))

    def _search(
        self,
        eta: np.ndarray,
        delta: np.ndarray,
        cells: np.ndarray,
        loss: float,
        C: np.ndarray,
        total: np.ndarray,
        change: np.ndarray,
    ) -> float:
        """Return how far to go along ``delta``, which some cells of eta and some blocks move along."""
        prior, index = self.problem.prior, self.order[cells]
        slack, constant = self.parameters.slack, self.parameters.constant

        def slope(step: float) -> tuple[float, float]:
            at = eta + step * delta
            first, second = slack_slopes_along(slack, constant, C, total, change, step)
            return (
                loss - first - float(delta @ prior.mean(at, index)),
                second + float(np.square(delta) @ prior.variance(at, index)),
            )

        limit = self._domain_end(eta, delta)
        if slack == EXPONENTIAL_SLACK:
            up = change > 0
            limit = float(np.min((C[up] - total[up]) / change[up], initial=limit))
        return highest_point(slope, slope(0.0)[0], limit)

    def _search_everywhere(self, eta: np.ndarray, delta: np.ndarray, total: np.ndarray) -> float:
        """Return how far to go along a direction in which all blocks move at once."""
        loss, change = self._sum_losses()
        cells = np.flatnonzero(delta)
        C = self.blocks.C
        return self._search(eta[cells], delta[cells], cells, float(loss.sum()), C, total, change)

    def _finish_step(
        self, i: int, cells: np.ndarray, loss: float, change: float, total: float
    ) -> None:
        """Do what the kernel does with a prior it knows: search along the direction and go there."""
        prior, tilted, work, index = self.problem.prior, self.tilted, self.work, self.order[cells]
        eta, delta, C = tilted.eta[cells], work.delta[cells], self.blocks.C[i : i + 1]
        step = self._search(eta, delta, cells, loss, C, np.array([total]), np.array([change]))
        eta = eta + step * delta
        tilted.eta[cells] = eta
        tilted.mean[cells] = prior.mean(eta, index)
        tilted.variance[cells] = prior.variance(eta, index)
        kernels.copy_transitions(
            cells, work.delta, work.seen, tilted.mean, tilted.edge, tilted.edge_by_child
        )
        atoms = atoms_of(self.atoms, self.blocks, i)
        kernels.take_step(atoms.alpha[self.source :], atoms.moved[self.source :], step)
        self.atoms.count[i] = drop_atoms(
            len(atoms.alpha), atoms.alpha, atoms.previous, atoms.labels, atoms.products
        )


def _parameters(problem: Problem) -> Parameters:
    """Say in numbers what prior and slack there are."""
    name, (p, q) = problem.prior.compiled or ("", (0.0, 0.0))
    lower, upper = problem.prior.domain
    slack, constant = problem.margin_loss.slack.compiled
    return Parameters(
        prior=PRIORS.get(name, OWN),
        p=p,
        q=q,
        lower=float(lower),
        upper=float(upper),
        # An exponential slack bends the dual even then.
        unit=problem.prior == GaussianPrior() and SLACKS[slack] != EXPONENTIAL_SLACK,
        slack=SLACKS[slack],
        constant=constant,
    )
