"""Random labellings, drawn from ``p(y | x)`` proportional to ``exp(F(x, y) / epsilon)``.

An upward sweep sums over everything below each node.  Then the root is drawn from its marginal, and
every other node is drawn given the label of its parent.  So draws are exact and independent.
"""

import numpy as np

from medn_edu.checks import check_count, check_nonnegative, check_rng
from medn_edu.inference._sweeps import Sweeps, sweep
from medn_edu.inference.maximization import best_labelling
from medn_edu.inference.potentials import Potentials
from medn_edu.kernels import sampling as kernels


def draw_labellings(
    potentials: Potentials,
    n_draws: int = 1,
    epsilon: float = 1.0,
    *,
    rng: np.random.Generator,
    n_jobs: int = 1,
) -> np.ndarray:
    """Draw independent labellings of each sample, exactly.

    Parameters
    ----------
    potentials, epsilon, n_jobs
        See `medn_edu.inference`.
    n_draws : int, default=1
        Number of labellings per sample.
    rng : numpy.random.Generator
        Source of randomness.  The same state gives the same draws, for any ``n_jobs``.

    Returns
    -------
    ndarray of int64, shape (n_draws, n_nodes)
        Labels; each row is one labelling of all samples.

    Examples
    --------
    In this chain of three nodes, neighbours prefer equal labels:

    >>> import numpy as np
    >>> from medn_edu.samples import pack
    >>> node, edge = np.zeros((3, 2)), np.array([[[4.0, 0.0], [0.0, 4.0]]])
    >>> potentials = Potentials(pack([np.ones((3, 1))]), node, edge)
    >>> draws = draw_labellings(potentials, 1000, rng=np.random.default_rng(0))
    >>> bool(0.9 < (draws[:, 0] == draws[:, 1]).mean() < 1.0)
    True
    """
    n_draws, rng = check_count("n_draws", n_draws), check_rng(rng)
    if check_nonnegative("epsilon", epsilon) == 0.0:
        return np.tile(best_labelling(potentials, n_jobs=n_jobs)[0], (n_draws, 1))
    uniforms = rng.random((n_draws, potentials.samples.n_nodes))
    labels = np.empty(uniforms.shape, dtype=np.int64)

    def visit(sweeps: Sweeps) -> None:
        belief, edge = sweeps.log_belief(), sweeps.edge.log
        kernels.draw_down(belief, edge, *sweeps.where, uniforms, labels)

    sweep(potentials, epsilon, n_jobs, visit)
    return labels
