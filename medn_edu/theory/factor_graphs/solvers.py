r"""General convex solvers for the programs on factor graphs, and for their duals.

Structured prediction and its approximation have the same form.  There are blocks ``k`` of labels.  In
the exact program a block holds all labellings of an example.  In the approximated one it holds the
labels of a node or of a factor.  Each block has offsets :math:`e_k`, a matrix :math:`A_k` and a
temperature :math:`t_k`.  The first of the variables ``u`` are the weights :math:`\theta`:

.. math:: \min_u \sum_k \text{softmax}_{t_k}(e_k + A_k u) - d^\top u + \frac{C}{p} \|\theta\|_p^p .

By Fenchel duality (Theorem 1) the variables of the dual are distributions, one per block:

.. math:: \max_b \sum_k t_k H(b_k) + b_k^\top e_k - \frac{C^{1-q}}{q} \|z_\theta\|_q^q, \qquad
          z = \sum_k A_k^\top b_k - d, \quad z_\lambda = 0 .

`minimise` solves the primal with scipy.  `maximise` solves the dual by Newton's method with a
logarithmic barrier (Boyd and Vandenberghe 2004, chapter 11).  Neither of them uses messages.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import null_space
from scipy.optimize import minimize

from medn_edu.theory.factor_graphs.graph import Beliefs, Messages, distribution, soft_max
from medn_edu.theory.factor_graphs.learning import Program


@dataclass(frozen=True, eq=False)
class Blocks:
    """A sum of soft-maxes of affine functions, a linear term and a regulariser."""

    offsets: list[np.ndarray]  # ``e_k``, one vector per block
    matrices: list[np.ndarray]  # ``A_k``, one column per variable
    temperatures: list[float]  # ``t_k``, none negative
    d: np.ndarray  # coefficients of the linear term, one per variable
    program: Program  # gives the regulariser
    n_weights: int  # how many of the variables, the first ones, are weights

    def value(self, u: np.ndarray) -> float:
        """The primal value."""
        parts = zip(self.offsets, self.matrices, self.temperatures, strict=True)
        total = sum(float(soft_max(e + A @ u, t)) for e, A, t in parts)
        return total - float(self.d @ u) + self.program.regulariser(u[: self.n_weights])

    def gradient(self, u: np.ndarray) -> np.ndarray:
        """The gradient of the primal value."""
        parts = zip(self.offsets, self.matrices, self.temperatures, strict=True)
        total = sum(A.T @ distribution(e + A @ u, t) for e, A, t in parts) - self.d
        total[: self.n_weights] += self.program.regulariser_slope(u[: self.n_weights])
        return np.asarray(total)


def exact_blocks(program: Program) -> Blocks:
    """Write structured prediction (3) as blocks, one per example."""
    offsets = [example.losses for example in program.examples]
    matrices = [example.features for example in program.examples]
    d = program.d
    return Blocks(offsets, matrices, [program.epsilon] * len(offsets), d, program, len(d))


def local_blocks(program: Program) -> Blocks:
    """Write approximated structured prediction (Theorem 2) as blocks.

    For each example there is one block per node, then one per factor.
    """
    columns, n_weights = message_columns(program), len(program.d)
    n_variables = max(place.stop for place in columns.values())
    offsets, matrices = [], []
    for i, example in enumerate(program.examples):
        scopes = [*((v,) for v in range(len(example.loss))), *example.scopes]
        features = (*example.node_features, *example.factor_features)
        for k, (scope, phi) in enumerate(zip(scopes, features, strict=True)):
            sign = -1.0 if k < len(example.loss) else 1.0
            labels = np.indices(phi.shape[:-1]).reshape(len(scope), -1)
            A = np.zeros((labels.shape[1], n_variables))
            A[:, :n_weights] = phi.reshape(-1, n_weights)
            for (j, v, a), place in columns.items():
                # a node's messages are taken from it, and each is given to its factor
                if j == i and v in scope and (sign < 0 or a == k - len(example.loss)):
                    A[:, place] = sign * np.eye(len(example.loss[v]))[labels[scope.index(v)]]
            offsets.append(example.loss[k] if sign < 0 else np.zeros(len(A)))
            matrices.append(A)
    temperatures = program.epsilon * np.concatenate([program.c.node, program.c.factor])
    d = np.concatenate([program.d, np.zeros(n_variables - n_weights)])
    many = [*temperatures] * len(program.examples)
    return Blocks(offsets, matrices, many, d, program, n_weights)


def message_columns(program: Program) -> dict[tuple[int, int, int], slice]:
    """Return which variables of `local_blocks` belong to each message."""
    out, end = {}, len(program.d)
    for i, lam in enumerate(program.zero_messages()):
        for (v, a), message in lam.items():
            out[i, v, a] = slice(end, end + len(message))
            end += len(message)
    return out


def as_messages(program: Program, u: np.ndarray) -> tuple[Messages, ...]:
    """Sort the variables of `local_blocks` into messages."""
    out: tuple[Messages, ...] = tuple({} for _ in program.examples)
    for (i, v, a), place in message_columns(program).items():
        out[i][v, a] = u[place]
    return out


def restrict(blocks: Blocks, u: np.ndarray, columns: list[int]) -> Blocks:
    """Hold all variables fixed except some messages."""
    rest = np.delete(np.arange(len(u)), columns)
    pairs = zip(blocks.offsets, blocks.matrices, strict=True)
    return Blocks(
        [e + A[:, rest] @ u[rest] for e, A in pairs],
        [A[:, columns] for A in blocks.matrices],
        blocks.temperatures,
        np.zeros(len(columns)),
        blocks.program,
        0,
    )


def as_beliefs(program: Program, b: list[np.ndarray]) -> tuple[Beliefs, ...]:
    """Sort the distributions of `local_blocks` into beliefs."""
    queue, out = iter(b), []
    for example in program.examples:
        nodes = tuple(next(queue) for _ in example.loss)
        factors = tuple(next(queue).reshape(phi.shape[:-1]) for phi in example.factor_features)
        out.append(Beliefs(nodes, factors))
    return tuple(out)


def minimise(blocks: Blocks) -> np.ndarray:
    """Minimise the primal with scipy.

    Each block at temperature 0 is a maximum.  It becomes a variable that is at least as large as every
    number in the block.
    """
    start = np.zeros(len(blocks.d))
    flat = [k for k, t in enumerate(blocks.temperatures) if t == 0]
    if not flat:
        options = {"maxiter": 5000, "maxfun": 20000, "ftol": 1e-15, "gtol": 1e-9, "maxcor": 50}
        found = minimize(
            blocks.value, start, jac=blocks.gradient, method="L-BFGS-B", options=options
        )
        return found.x
    return _minimise_with_maxima(blocks, flat)


def _minimise_with_maxima(blocks: Blocks, flat: list[int]) -> np.ndarray:
    """Minimise over ``(u, tops)`` subject to ``tops[k] >= e_k + A_k u``."""
    n = len(blocks.d)
    smooth = [k for k in range(len(blocks.offsets)) if k not in flat]
    rest = Blocks(
        [blocks.offsets[k] for k in smooth],
        [blocks.matrices[k] for k in smooth],
        [blocks.temperatures[k] for k in smooth],
        blocks.d,
        blocks.program,
        blocks.n_weights,
    )
    above = np.repeat(np.eye(len(flat)), [len(blocks.offsets[k]) for k in flat], axis=0)
    slope = np.hstack([-np.vstack([blocks.matrices[k] for k in flat]), above])
    offset = np.concatenate([blocks.offsets[k] for k in flat])
    constraint = {"type": "ineq", "fun": lambda x: slope @ x - offset, "jac": lambda _: slope}
    found = minimize(
        lambda x: rest.value(x[:n]) + x[n:].sum(),
        np.concatenate([np.zeros(n), [blocks.offsets[k].max() for k in flat]]),
        jac=lambda x: np.concatenate([rest.gradient(x[:n]), np.ones(len(flat))]),
        constraints=constraint,
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-13},
    )
    return found.x[:n]


def maximise(blocks: Blocks, *, accuracy: float = 1e-7) -> list[np.ndarray]:
    """Maximise the dual by Newton's method with a logarithmic barrier."""
    climb = _Climb(blocks)
    sizes = [len(e) for e in blocks.offsets]
    b = np.concatenate([np.full(n, 1 / n) for n in sizes])
    barrier = 1.0
    while barrier > accuracy / len(b):
        barrier /= 10
        b = climb.newton(b, barrier)
    return np.split(b, np.cumsum(sizes)[:-1])


def feasible_steps(blocks: Blocks) -> np.ndarray:
    """Return the directions in which the dual's distributions may move."""
    sizes = [len(e) for e in blocks.offsets]
    sums = np.repeat(np.eye(len(sizes)), sizes, axis=0).T
    agreement = np.vstack(blocks.matrices)[:, blocks.n_weights :].T
    return null_space(np.vstack([sums, agreement]))


class _Climb:
    """The dual with its barrier, over all blocks in a row."""

    def __init__(self, blocks: Blocks) -> None:
        self.program, n_weights = blocks.program, blocks.n_weights
        sizes = [len(e) for e in blocks.offsets]
        stacked = np.vstack(blocks.matrices)
        self.e = np.concatenate(blocks.offsets)
        self.t = np.repeat(blocks.temperatures, sizes)
        self.features, self.d = stacked[:, :n_weights].T, blocks.d[:n_weights]
        self.free = feasible_steps(blocks)

    def value(self, b: np.ndarray, barrier: float) -> float:
        """The dual value and the barrier's; minus infinity outside."""
        if np.any(b <= 0):
            return -np.inf
        price = self.program.mismatch_price(self.features @ b - self.d)
        return float(b @ self.e + (barrier - self.t * b) @ np.log(b)) - price

    def direction(self, b: np.ndarray, barrier: float) -> tuple[np.ndarray, float]:
        """Newton's step within the constraints, and the ascent that it promises."""
        q, scale = self.program.q, self.program.C ** (1 - self.program.q)
        z = self.features @ b - self.d
        slope = self.e + barrier / b - self.t * (np.log(b) + 1)
        slope -= self.features.T @ (scale * np.abs(z) ** (q - 1) * np.sign(z))
        bend = scale * (q - 1) * np.maximum(np.abs(z), 1e-6) ** (q - 2)
        hessian = np.diag(self.t / b + barrier / b**2) + self.features.T * bend @ self.features
        step = self.free @ np.linalg.solve(self.free.T @ hessian @ self.free, self.free.T @ slope)
        return step, float(slope @ step)

    def newton(self, b: np.ndarray, barrier: float) -> np.ndarray:
        """Climb to the top for one barrier."""
        for _ in range(50):
            step, ascent = self.direction(b, barrier)
            if ascent < 1e-12:
                break
            size, now = 1.0, self.value(b, barrier)
            while self.value(b + size * step, barrier) < now + 0.1 * size * ascent and size > 1e-10:
                size /= 2
            b = b + size * step
        return b
