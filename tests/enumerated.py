"""Small random training sets, and priors and slacks to try on them, for tests that enumerate."""

from functools import cache

import numpy as np

from medn_edu import priors, slacks
from medn_edu.problems import DualMarginals, DualVariables
from medn_edu.samples import Forest, LabelledSamples, label_samples, pack
from medn_edu.theory.medn import EnumeratedProblem, enumerate_problem
from medn_edu.theory.medn_solvers import ReferenceSolution, solve_dual

N_LABELS, N_FEATURES = 3, 3
FORBIDDEN = (0, 2)

PRIORS = {
    "gaussian": priors.GaussianPrior(),
    "laplace": priors.LaplacePrior(lam=4.0),
    "normal-gamma": priors.NormalGammaPrior(shape=2.0, lam=9.0),
    "normal-inverse-gaussian": priors.NormalInverseGaussianPrior(alpha=1.5, delta=0.7),
    "box": priors.BoxPrior(a=1.2),
    "two-point": priors.TwoPointPrior(a=0.8),
    "exponential": priors.ExponentialPrior(rate=2.0),
    "spike-slab": priors.SpikeSlabPrior(pi=0.3, slab_variance=2.0),
}
SLACKS = {
    "linear": slacks.LinearSlack(C=1.3),
    "quadratic": slacks.QuadraticSlack(C=0.7),
    "exponential": slacks.ExponentialSlack(c=1.8),
}
KINDS = ["chain", "tree types forbidden weights"]
# With label sets, costs, edge features and Potts tables, which not every solver takes.
RICH = [
    "tree types forbidden sets costs",
    "chain sets edges weights",
    "tree types edges potts costs",
]


def make_data(kind: str, seed: int = 0, n_samples: int = 5) -> LabelledSamples:
    """Draw samples of 1 to 3 nodes whose labels come from a noisy random model.

    ``kind`` names what is in them: "tree" (else chains), "types" of edges, "forbidden" transitions,
    sample "weights", label "sets" per node, label "costs", "edges" with features, "potts" tables.
    """
    rng = np.random.default_rng(seed)
    n_types = 2 if "types" in kind else 1
    allowed = np.ones((n_types, N_LABELS, N_LABELS), dtype=bool)
    if "forbidden" in kind:
        allowed[0][FORBIDDEN] = False
    forests = []
    for n in rng.integers(1, 4, n_samples):
        features = rng.normal(size=(n, N_FEATURES)) * (rng.random((n, N_FEATURES)) < 0.8)
        if "tree" in kind:
            parents = [-1, *(int(rng.integers(-1, t)) for t in range(1, n))]
        else:
            parents = list(range(-1, n - 1))
        edges = rng.normal(size=(n, 2)) if "edges" in kind else None
        forests.append(Forest(features, parents, rng.integers(0, n_types, n), edges))
    samples = pack(forests)
    scores = samples.features @ rng.normal(size=(N_FEATURES, N_LABELS))
    codes = (scores + rng.normal(size=scores.shape)).argmax(axis=1)
    for t, parent in enumerate(samples.parents):
        if parent >= 0 and not allowed[samples.edge_types[t], codes[parent], codes[t]]:
            codes[t] = codes[parent]
    weight = rng.uniform(0.5, 2.0, n_samples) if "weights" in kind else None
    mask = rng.random((samples.n_nodes, N_LABELS)) < 0.6
    mask[np.arange(samples.n_nodes), codes] = True
    costs = np.array([0.5, 1.0, 2.5])[codes]
    return label_samples(
        samples, codes, allowed, weight,
        mask=mask if "sets" in kind else None,
        costs=costs if "costs" in kind else None,
        table="potts" if "potts" in kind else "full",
    )  # fmt: skip


def uneven_prior(data: LabelledSamples) -> priors.GaussianPrior:
    """Prior variances that differ from weight to weight, by more than a factor of ten."""
    return priors.GaussianPrior(np.random.default_rng(0).uniform(0.1, 2.0, data.weight_shape.size))


def alpha_of(listed: EnumeratedProblem, shares: np.ndarray, constant: float = 1.0) -> DualVariables:
    """Return dual variables on all labellings: shares of the constant times a sample's weight."""
    totals = constant * listed.sample_weight / listed.totals(shares)
    offsets = np.cumsum([0, *map(len, listed.labellings)])
    labels = np.concatenate(listed.labellings)
    return DualVariables(listed.sample, offsets, labels, totals[listed.sample] * shares)


def random_shares(listed: EnumeratedProblem, rng: np.random.Generator) -> np.ndarray:
    """Draw shares of all labellings for `alpha_of`, about half of them 0."""
    shares = rng.exponential(size=len(listed.losses)) * (rng.random(len(listed.losses)) < 0.5)
    return shares + (listed.losses == 0)


def marginals_of(data: LabelledSamples, listed: EnumeratedProblem, alpha) -> DualMarginals:
    """Sum the dual variables of labellings up by node and label, and by edge and transition."""
    samples, n_labels = data.samples, data.n_labels
    node = np.zeros((samples.n_nodes, n_labels))
    edge = np.zeros((samples.n_nodes, n_labels, n_labels))
    for i, y, value in zip(listed.sample, listed.labellings, alpha, strict=True):
        first = samples.offsets[i]
        for t, label in enumerate(y):
            node[first + t, label] += value
            parent = samples.parents[first + t]
            if parent >= 0:
                edge[first + t, y[parent - first], label] += value
    return DualMarginals(node, edge)


@cache
def solved(
    kind: str, prior: priors.Prior, slack: slacks.LinearSlack, seed: int = 0
) -> tuple[EnumeratedProblem, ReferenceSolution]:
    """Enumerate a problem and solve its dual."""
    problem = enumerate_problem(make_data(kind, seed), prior, slack)
    return problem, solve_dual(problem)
