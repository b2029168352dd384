"""The dual of maximum entropy discrimination at work: the arrays that block visits change.

`DualState` holds the kept labellings with their masses, what they tilt the prior by, and the means and
variances that follow; its methods are the moves of `medn_edu.solvers.block_frank_wolfe`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from medn_edu.kernels import block_frank_wolfe as kernels
from medn_edu.kernels.block_atoms import Atoms, Blocks, drop_atoms, make_room, move_atoms
from medn_edu.kernels.block_masses import free_mass, slack_room, slack_slopes_along
from medn_edu.kernels.block_model import Terms, Tilted, Workspace
from medn_edu.kernels.block_products import fill_gram
from medn_edu.kernels.tilting import (
    EXPONENTIAL_SLACK,
    LINEAR,
    OWN,
    PRIORS,
    SLACKS,
    slack_slopes,
)
from medn_edu.priors import GaussianPrior
from medn_edu.results import DualVariables
from medn_edu.samples import WeightShape
from medn_edu.solvers._warm_start import starting_masses
from medn_edu.solvers.line_search import highest_point

if TYPE_CHECKING:
    from medn_edu.problems.max_margin import MaxMarginProblem

__all__ = ["DualState"]

# Measured on the OCR letters; the optimum does not depend on them, times do, and only mildly.
_N_STEPS = 20  # at most so many pairwise steps in a visit,
_ACCURACY = 0.1  # until violations differ by this share of what they differed by at first
_EXTRAPOLATION = 1.0  # how far to extrapolate at most, in steps from the round before


class DualState:
    """All arrays the kernels work on, and the kernels as methods that enlarge the arena at need.

    Parameters
    ----------
    problem : MaxMarginProblem
        The problem.
    gram_budget : int
        Bytes that Gram matrices of node features may take.
    capacity : int
        Labellings per sample for which there is room at first.
    """

    def __init__(self, problem: MaxMarginProblem, gram_budget: int, capacity: int) -> None:
        self.problem = problem
        self.shape = problem.weight_shape
        self.terms = _terms(problem)
        self.order = _kernel_order(self.shape)
        self.blocks = _blocks(problem, gram_budget if self.terms.unit else 0)
        self.capacity = capacity
        self.work = _workspace(self.blocks, self.shape)
        n_samples = len(self.blocks.mass)
        self.gaps = np.full(n_samples, np.inf)
        self._tilt(np.zeros(self.shape.size))

    @property
    def passes_between_rebuilds(self) -> int:
        """How often everything is to be computed afresh from the masses.

        With the standard normal prior rounding errors of eta stay as small as they are.  Near the end of
        a domain means magnify them.
        """
        return 20 if self.terms.unit else 1

    # -- reading ----------------------------------------------------------------------------

    def weights(self) -> np.ndarray:
        """Return the posterior means as a flat vector in the public order, a copy."""
        return self._in_public_order(self.model.mean)

    def variances(self) -> np.ndarray:
        """Return the posterior variances as a flat vector in the public order, a copy."""
        return self._in_public_order(self.model.variance)

    def dual_value(self) -> float:
        """Return the value of the dual."""
        loss, mass = self._losses()
        prior = self.problem.prior.log_mgf(self.model.eta, self.order)
        return float(loss.sum() - np.sum(prior) - self.problem.conjugates(mass).sum())

    def dual_variables(self) -> DualVariables:
        """Collect the atoms and their masses."""
        atoms, count = self.atoms, self.atoms.count
        sample = np.repeat(np.arange(len(count)), count)
        number = np.arange(len(sample)) - np.repeat(np.cumsum(count) - count, count)
        if self.terms.slack != LINEAR:  # atom 0 is where mass comes from
            sample, number = sample[number > 0], number[number > 0]
        lengths = np.diff(self.blocks.offsets)[sample]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        start = atoms.first_label[sample] + number * lengths
        labels = atoms.labels[np.arange(offsets[-1]) + np.repeat(start - offsets[:-1], lengths)]
        values = atoms.alpha[atoms.first[sample] + number]
        return DualVariables(sample, offsets, labels.astype(np.int64), values)

    # -- moving -----------------------------------------------------------------------------

    def load(self, warm_start: DualVariables | None) -> None:
        """Start from masses of an earlier solution, or from that share at which the dual is largest.

        A share of 0, all mass on the true labellings, is always feasible.
        """
        fixed = self.terms.slack == LINEAR
        alpha = starting_masses(warm_start, self.problem.data, self.problem.mass, fixed=fixed)
        self.atoms = _empty_atoms(self.blocks, self.capacity)
        arrays = (alpha.sample, alpha.offsets, alpha.labels.astype(np.int32), alpha.values)
        done = 0
        while done < len(alpha):
            done = kernels.load_atoms(
                done, *arrays, self.blocks, self.model, self.terms, self.atoms, self.work
            )
            if done < len(alpha):
                self._enlarge()
        eta = self._sum_eta()
        if not eta.any():
            self._tilt(eta)
            return
        loss, mass = self._losses()
        share = self._search(np.zeros_like(eta), eta, loss, np.zeros_like(mass), mass)
        kernels.shrink(self.blocks, self.terms, self.atoms, max(share, 1e-300))
        self._tilt(share * eta)

    def rebuild(self) -> None:
        """Compute everything afresh from the masses: steps add rounding to eta."""
        eta = self._sum_eta()
        if self._room(np.zeros_like(eta), eta) > 1.0:
            self._tilt(eta)
        else:  # rounding has left the domain
            self.load(self.dual_variables())

    def visit(self, order: np.ndarray, *, with_oracle: bool) -> None:
        """Visit blocks in this order."""
        visit = self._visit_in_python if self.terms.prior == OWN else self._visit
        position = 0
        while position < len(order):
            position = visit(order, position, with_oracle)
            if position < len(order):
                self._enlarge()

    def extrapolate(self) -> None:
        """Go on in the direction in which the masses moved since the last call, as far as it pays."""
        delta = np.zeros(self.shape.size)
        loss, change = np.zeros_like(self.gaps), np.zeros_like(self.gaps)
        mass = np.zeros_like(self.gaps)
        if self.terms.slack != LINEAR:
            _, mass = self._losses()
        kernels.aim(
            self.blocks,
            self.model,
            self.terms,
            self.atoms,
            self.work,
            _EXTRAPOLATION,
            delta,
            loss,
            change,
        )
        step = self._search(self.model.eta, delta, loss, mass, change)
        if step > 0:
            kernels.follow(self.terms, self.atoms, step)
            self._tilt(self.model.eta + step * delta)

    # -- shared pieces ----------------------------------------------------------------------

    def _in_public_order(self, cells: np.ndarray) -> np.ndarray:
        values = np.empty(self.shape.size)
        values[self.order] = cells
        return values

    def _tilt(self, eta: np.ndarray) -> None:
        """Tilt the prior by eta: means, variances, and the tables the oracle reads."""
        prior, shape = self.problem.prior, self.shape
        mean = eta if self.terms.unit else _vector(prior.mean(eta, self.order), eta)
        variance = _vector(prior.variance(eta, self.order), eta)
        n_coef = shape.n_features * shape.n_labels
        allowed = self.problem.data.allowed
        edge = np.where(allowed, mean[n_coef:].reshape(allowed.shape), -np.inf)
        self.model = Tilted(
            coef=mean[:n_coef].reshape(shape.n_features, shape.n_labels),
            edge=edge,
            edge_by_child=edge.transpose(0, 2, 1).copy(),
            eta=eta,
            mean=mean,
            variance=variance,
        )

    def _sum_eta(self) -> np.ndarray:
        """Return what the masses tilt the prior by."""
        eta = np.zeros(self.shape.size)
        kernels.sum_up(self.blocks, self.model, self.terms, self.atoms, self.work, eta)
        return eta

    def _losses(self) -> tuple[np.ndarray, np.ndarray]:
        """Return each block's loss and free mass."""
        loss, mass = np.zeros_like(self.gaps), np.zeros_like(self.gaps)
        kernels.sum_losses(self.blocks, self.terms, self.atoms, loss, mass)
        return loss, mass

    def _search(
        self,
        eta: np.ndarray,
        delta: np.ndarray,
        loss: np.ndarray,
        mass: np.ndarray,
        change: np.ndarray,
    ) -> float:
        """Return how far to go along a direction in which all blocks move at once."""
        prior, total = self.problem.prior, float(loss.sum())
        cells = np.flatnonzero(delta)
        eta, delta, index = eta[cells], delta[cells], self.order[cells]

        def slope(step: float) -> tuple[float, float]:
            tilted = eta + step * delta
            first, second = slack_slopes_along(self.blocks, self.terms, mass, change, step)
            return (
                total - first - float(delta @ prior.mean(tilted, index)),
                second + float(np.square(delta) @ prior.variance(tilted, index)),
            )

        limit = min(self._room(eta, delta), slack_room(self.blocks, self.terms, mass, change))
        return highest_point(slope, slope(0.0)[0], limit)

    def _room(self, eta: np.ndarray, delta: np.ndarray) -> float:
        """Return how many times ``delta`` can be added to eta before the prior's domain ends."""
        moving = delta != 0
        end = np.where(delta[moving] > 0, self.terms.upper, self.terms.lower)
        return float(np.min((end - eta[moving]) / delta[moving], initial=np.inf))

    def _visit(self, order: np.ndarray, position: int, with_oracle: bool) -> int:
        return kernels.visit_blocks(
            order,
            position,
            self.blocks,
            self.model,
            self.terms,
            self.atoms,
            self.work,
            self.gaps,
            with_oracle,
            _N_STEPS,
            _ACCURACY,
        )

    def _visit_in_python(self, order: np.ndarray, position: int, with_oracle: bool) -> int:
        """Do what the compiled visit does, but ask the prior in Python for slopes and curvatures."""
        blocks, terms, atoms, work = self.blocks, self.terms, self.atoms, self.work
        for place in range(position, len(order)):
            i = order[place]
            if with_oracle and not make_room(blocks, i, atoms):
                return place
            n_cells, loss, mass = kernels.propose(
                i,
                blocks,
                self.model,
                terms,
                atoms,
                work,
                self.gaps,
                with_oracle,
                _N_STEPS,
                _ACCURACY,
            )
            if n_cells >= 0:
                step = self._search_cells(i, work.cells[:n_cells], loss, mass)
                kernels.accept(blocks, i, self.model, terms, atoms, work, n_cells, step)
            drop_atoms(blocks, i, atoms)
        return len(order)

    def _search_cells(self, i: int, cells: np.ndarray, loss: float, mass: float) -> float:
        """Search along a block's direction, and go there: eta, means and variances."""
        prior, model, index = self.problem.prior, self.model, self.order[cells]
        eta, delta = model.eta[cells], self.work.delta[cells]
        before = free_mass(i, self.terms, self.atoms)
        slack, constant, largest = self.terms.slack, self.terms.constant, self.blocks.mass[i]

        def slope(step: float) -> tuple[float, float]:
            tilted = eta + step * delta
            first, second = slack_slopes(slack, constant, largest, before + step * mass)
            return (
                loss - mass * first - float(delta @ prior.mean(tilted, index)),
                mass * mass * second + float(np.square(delta) @ prior.variance(tilted, index)),
            )

        limit = self._room(eta, delta)
        if slack == EXPONENTIAL_SLACK and mass > 0:
            limit = min(limit, (largest - before) / mass)
        step = highest_point(slope, slope(0.0)[0], limit)
        tilted = eta + step * delta
        model.eta[cells] = tilted
        model.mean[cells] = prior.mean(tilted, index)
        model.variance[cells] = prior.variance(tilted, index)
        return step

    def _enlarge(self) -> None:
        # A block for which even this is too small asks again.
        sizes = [2 * array.size for array in (self.atoms.alpha, self.atoms.labels)]
        larger = _arena(len(self.gaps), *sizes, 4 * self.atoms.products.size)
        move_atoms(self.blocks, self.atoms, larger)
        self.atoms = larger


def _terms(problem: MaxMarginProblem) -> Terms:
    """Say in numbers what prior and slack there are."""
    name, (p, q) = problem.prior.compiled or ("", (0.0, 0.0))
    lower, upper = problem.prior.domain
    slack, constant = problem.slack.compiled
    return Terms(
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


def _kernel_order(shape: WeightShape) -> np.ndarray:
    """Return where each cell stands in the public order of the weights."""
    coef, transitions = shape.split(np.arange(shape.size))
    return np.concatenate([coef.T.ravel(), transitions.ravel()])


def _vector(values: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Return what a prior answered as a vector that kernels may write to."""
    return np.array(np.broadcast_to(values, like.shape), dtype=np.float64)


def _blocks(problem: MaxMarginProblem, gram_budget: int) -> Blocks:
    """Collect what the kernels read, and compute the Gram matrices that pay and fit."""
    samples = problem.data.samples
    n_nonzero = np.diff(samples.indptr[samples.offsets])
    size = np.where(samples.lengths**2 <= n_nonzero, samples.lengths**2, 0)
    size[8 * np.cumsum(size) > gram_budget] = 0
    gram_start = np.where(size > 0, np.cumsum(size) - size, -1)
    arrays = [
        np.require(array, requirements=["C", "W"])
        for array in (
            samples.data,
            samples.indices,
            samples.indptr,
            samples.offsets,
            samples.parents,
            samples.edge_types,
            problem.data.labels,
            np.asarray(problem.mass, dtype=np.float64),
        )
    ]
    gram = np.zeros(int(size.sum()))
    fill_gram(*arrays[:4], gram_start, np.zeros(samples.n_features), gram)
    return Blocks(*arrays, gram=gram, gram_start=gram_start)


def _workspace(blocks: Blocks, shape: WeightShape) -> Workspace:
    longest = int(np.diff(blocks.offsets).max())
    return Workspace(
        scores=np.empty((longest, shape.n_labels)),
        augmented=np.empty((longest, shape.n_labels)),
        message=np.empty(shape.n_labels),
        labelling=np.empty(longest, dtype=np.int32),
        differs=np.zeros(longest, dtype=bool),
        delta=np.zeros(shape.size),
        cells=np.zeros(shape.size, dtype=np.int64),
        seen=np.zeros(shape.size, dtype=bool),
    )


def _arena(n_samples: int, n_slots: int, n_labels: int, n_products: int) -> Atoms:
    """Return an arena of these sizes in which no block has a place yet."""
    per_block = [np.zeros(n_samples, dtype=np.int64) for _ in range(5)]
    per_slot = [np.zeros(n_slots) for _ in range(4)]
    return Atoms(
        np.zeros(3, dtype=np.int64),
        *per_block,
        *per_slot,
        labels=np.zeros(n_labels, dtype=np.int32),
        products=np.zeros(n_products),
    )


def _empty_atoms(blocks: Blocks, capacity: int) -> Atoms:
    """Return an arena in which each block has room for ``capacity`` atoms and there is no more."""
    n_samples, n_nodes = len(blocks.mass), len(blocks.parents)
    used = capacity * n_samples, capacity * n_nodes, capacity**2 * n_samples
    atoms = _arena(n_samples, *used)
    atoms.capacity[:] = capacity
    atoms.first[:] = capacity * np.arange(n_samples)
    atoms.first_label[:] = capacity * blocks.offsets[:-1]
    atoms.first_product[:] = capacity**2 * np.arange(n_samples)
    atoms.used[:] = used
    return atoms
