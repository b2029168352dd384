"""The dual variables of block Frank-Wolfe at work: kept labellings, what they tilt, and the moves.

The numbers are in four bundles of arrays: the training samples (`Blocks`, which never change), the
kept labellings with their dual variables (`Atoms`), the prior tilted by them (`TiltedPrior`), and
scratch space (`Workspace`).
"""

import numpy as np

from medn_edu.kernels import block_step as kernels
from medn_edu.kernels.atoms import Atoms, drop_atoms
from medn_edu.kernels.bundles import Blocks, Parameters
from medn_edu.kernels.tilting import (
    EXPONENTIAL_SLACK,
    LINEAR,
    OWN,
    PRIORS,
    QUADRATIC,
    SLACKS,
    slack_slopes_along,
)
from medn_edu.priors import GaussianPrior
from medn_edu.problems import DualVariables, Problem
from medn_edu.solvers.line_search import highest_point
from medn_edu.solvers.training import (
    kernel_order,
    public_order,
    starting_point,
    tilted_prior,
    training_blocks,
    workspace,
)


class DualState:
    """All arrays the kernels work on.  Its methods call the kernels, and enlarge a full arena."""

    def __init__(self, problem: Problem, gram_budget: int, capacity: int) -> None:
        self.problem = problem
        self.shape = problem.weight_shape
        self.parameters = _parameters(problem)
        self.order = kernel_order(self.shape)
        self.blocks = training_blocks(problem, gram_budget if self.parameters.is_parabola else 0)
        self.capacity = capacity
        self.work = workspace(self.blocks, self.shape)
        self.gaps = np.full(len(self.blocks.C), np.inf)
        self.offset = np.zeros(self.shape.size)  # where eta begins
        # Without a linear slack atom 0 is a source, whose dual variable means nothing.
        self.source = 0 if self.parameters.slack == LINEAR else 1
        # With the standard normal prior rounding errors of eta stay as small as they are.  Near the end
        # of a domain means magnify them.
        self.passes_between_rebuilds = 20 if self.parameters.is_parabola else 1

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
        atoms = self.atoms
        sample, number = _every_atom(atoms, self.source)
        lengths = np.diff(self.blocks.offsets)[sample]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        start = atoms.first_label[sample] + number * lengths
        labels = atoms.labels[np.arange(offsets[-1]) + np.repeat(start - offsets[:-1], lengths)]
        return DualVariables(sample, offsets, labels, atoms.alpha[atoms.first[sample] + number])

    def load(self, warm_start: DualVariables | None) -> None:
        """Start from that share of an earlier solution at which the dual is largest.

        A share of 0, where only the true labellings are in use, is always feasible.
        """
        is_fixed = self.source == 0
        alpha = starting_point(warm_start, self.problem.data, self.blocks.C, is_fixed=is_fixed)
        self.atoms = _empty_arena(self.blocks, self.capacity)
        self._tilt(self.offset.copy())
        labels = alpha.labels.astype(np.int64)  # a copy, which may be written to
        given = (alpha.sample, alpha.offsets, labels, alpha.values)
        shape, variance = self.tilted.coef.shape, self.tilted.variance
        is_parabola = self.parameters.is_parabola
        done = 0
        while done < len(alpha):
            done = kernels.load_atoms(
                done, *given, self.blocks, shape, is_parabola, variance, self.atoms, self.work
            )
            if done < len(alpha):
                self.atoms = _enlarged(self.atoms)  # a block that needs more asks again
        eta = self._sum_eta()
        if eta.any():
            share = self._search_everywhere(eta, np.zeros_like(self.gaps))
            self._shrink(share)
            self._tilt(self.offset + share * eta)

    def rebuild(self) -> None:
        """Compute everything afresh from the dual variables: steps add rounding to eta."""
        eta = self._sum_eta()
        if self._domain_end(self.offset, eta) > 1.0:
            self._tilt(self.offset + eta)
        else:  # rounding has left the domain
            self.load(self.dual_variables())

    def go_on(self, problem: Problem, offset: np.ndarray) -> None:
        """Keep the dual variables, but take another elastic net and let eta begin at ``offset``."""
        self.problem, self.parameters = problem, _parameters(problem)
        self.offset = offset[self.order]
        self.rebuild()

    def visit(self, order: np.ndarray, *, with_oracle: bool) -> None:
        """Make a step in each of these blocks."""
        position, blocks, parameters, gaps = 0, self.blocks, self.parameters, self.gaps
        while position < len(order):
            tilted, atoms, work = self.tilted, self.atoms, self.work
            position, n_cells, loss, change, total = kernels.visit_blocks(
                order, position, blocks, tilted, parameters, atoms, work, gaps, with_oracle
            )
            if n_cells < 0:
                self.atoms = _enlarged(self.atoms)  # a block that needs more asks again
            elif position < len(order):
                self._finish_step(order[position], work.cells[:n_cells], loss, change, total)
                position += 1

    def extrapolate(self) -> None:
        """Go on in the direction of the steps since the last call, as far as it pays."""
        total = np.zeros_like(self.gaps)
        if self.source > 0:
            self._move_everything()
            _, total = self._sum_losses()
        atoms, C, is_fixed = self.atoms, self.blocks.C, self.source == 0
        kernels.extrapolate(
            C, is_fixed, atoms.first, atoms.count, atoms.alpha, atoms.previous, atoms.moved
        )
        delta = self._sum_moves()
        step = self._search_everywhere(delta, total)
        if step > 0:
            if self.source > 0:
                atoms.moved[atoms.first] = 0.0
            kernels.take_step(atoms.alpha, atoms.moved, step)
            self._tilt(self.tilted.eta + step * delta)

    def _tilt(self, eta: np.ndarray) -> None:
        self.tilted = tilted_prior(
            self.problem, eta, self.order, is_unit=self.parameters.is_parabola
        )

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
        sample, number = _every_atom(atoms, 1)
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
        cells: np.ndarray,
        delta: np.ndarray,
        loss: float,
        C: np.ndarray,
        total: np.ndarray,
        change: np.ndarray,
    ) -> float:
        """Return how far to go along ``delta``, which some cells of eta and some blocks move along."""
        eta, prior, index = self.tilted.eta[cells], self.problem.prior, self.order[cells]
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

    def _search_everywhere(self, delta: np.ndarray, total: np.ndarray) -> float:
        """Return how far to go along a direction in which all blocks move at once."""
        loss, change = self._sum_losses()
        cells = np.flatnonzero(delta)
        return self._search(cells, delta[cells], float(loss.sum()), self.blocks.C, total, change)

    def _finish_step(
        self, i: int, cells: np.ndarray, loss: float, change: float, total: float
    ) -> None:
        """Do what the kernel does with a prior it knows: search along the direction and go there."""
        prior, tilted, work, index = self.problem.prior, self.tilted, self.work, self.order[cells]
        delta, C = work.delta[cells], self.blocks.C[i : i + 1]
        step = self._search(cells, delta, loss, C, np.array([total]), np.array([change]))
        eta = tilted.eta[cells] + step * delta
        tilted.eta[cells] = eta
        tilted.mean[cells] = prior.mean(eta, index)
        tilted.variance[cells] = prior.variance(eta, index)
        kernels.copy_transitions(
            cells, self.blocks.edges.is_plain, work.delta, work.seen,
            tilted.mean, tilted.edge, tilted.edge_by_child,
        )  # fmt: skip
        atoms, n_nodes = self.atoms, self.blocks.offsets[i + 1] - self.blocks.offsets[i]
        count, capacity = atoms.count[i], atoms.capacity[i]
        slots = slice(atoms.first[i], atoms.first[i] + count)
        alpha, previous, moved = atoms.alpha[slots], atoms.previous[slots], atoms.moved[slots]
        labels = atoms.labels[atoms.first_label[i] :][: count * n_nodes].reshape(count, n_nodes)
        products = atoms.products[atoms.first_product[i] :][: capacity**2]
        kernels.take_step(alpha[self.source :], moved[self.source :], step)
        atoms.count[i] = drop_atoms(
            count, alpha, previous, labels, products.reshape(capacity, capacity)
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
        is_parabola=problem.prior == GaussianPrior() and SLACKS[slack] in (LINEAR, QUADRATIC),
        slack=SLACKS[slack],
        constant=constant,
    )


def _empty_arena(blocks: Blocks, capacity: int) -> Atoms:
    """Return an arena in which each block has room for ``capacity`` atoms and no free space is left."""
    n_samples, n_nodes = len(blocks.C), len(blocks.parents)
    number, n_slots = np.arange(n_samples), capacity * n_samples
    used = np.array([n_slots, capacity * n_nodes, capacity**2 * n_samples])
    return Atoms(
        used=used,
        first=capacity * number,
        capacity=np.full(n_samples, capacity),
        count=np.zeros(n_samples, dtype=np.int64),
        first_label=capacity * blocks.offsets[:-1],
        first_product=capacity**2 * number,
        alpha=np.zeros(n_slots),
        previous=np.zeros(n_slots),
        violation=np.zeros(n_slots),
        moved=np.zeros(n_slots),
        labels=np.zeros(used[1], dtype=np.int64),
        products=np.zeros(used[2]),
    )


def _enlarged(atoms: Atoms) -> Atoms:
    """Return an arena with the same atoms, twice the slots and labels, and four times the products."""
    growth = {"alpha": 1, "previous": 1, "violation": 1, "moved": 1, "labels": 1, "products": 3}
    old = {name: getattr(atoms, name) for name in growth}
    return atoms._replace(
        **{name: np.pad(old[name], (0, growth[name] * len(old[name]))) for name in growth}
    )


def _every_atom(atoms: Atoms, first: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the sample of each atom and its number there, from the ``first`` number on."""
    count = atoms.count
    sample = np.repeat(np.arange(len(count)), count)
    number = np.arange(len(sample)) - np.repeat(np.cumsum(count) - count, count)
    return sample[number >= first], number[number >= first]
