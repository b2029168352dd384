"""Random small forests with potentials, for tests that compare with enumeration."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from medn_edu.inference import Potentials
from medn_edu.samples import Forest, Samples, pack
from medn_edu.theory.reference import Tree

SIZES = {2: 7, 3: 5, 4: 4, 5: 4}  # labels: nodes at most, so that enumeration stays quick


@dataclass
class Case:
    """Packed samples and potentials."""

    samples: Samples
    node: np.ndarray
    edge: np.ndarray

    def trees(self) -> list[Tree]:
        every = range(self.samples.n_samples)
        return [Tree.of(self.samples, self.node, self.edge, i) for i in every]

    @property
    def potentials(self) -> Potentials:
        return Potentials(self.samples, self.node, self.edge)


def make_case(
    seed: int,
    *,
    n_labels: int | None = None,
    n_samples: int | None = None,
    n_nodes: int | None = None,
    scale: float = 1.0,
    forbid: float = 0.0,
    kind: str | None = None,
    ties: bool = False,
) -> Case:
    """Make chains, trees and forests of several roots, by one or two edge types."""
    rng = np.random.default_rng(seed)
    n_labels = n_labels or int(rng.integers(2, 6))
    n_types = int(rng.integers(1, 3))
    forests = []
    for _ in range(n_samples or int(rng.integers(1, 4))):
        n = n_nodes or int(rng.integers(1, SIZES[n_labels] + 1))
        shape = kind or rng.choice(["chain", "tree", "forest", "star"])
        if shape == "chain":
            parents = np.arange(-1, n - 1)
        elif shape == "star":
            parents = np.r_[-1, np.zeros(n - 1, int)]
        else:
            lowest = -1 if shape == "forest" else 0
            parents = np.array([-1, *(rng.integers(lowest, t) for t in range(1, n))])
        features = rng.normal(size=(n, 3)) * (rng.random((n, 3)) < 0.7)
        forests.append(Forest(features, parents, rng.integers(0, n_types, n)))
    samples = pack(forests)
    n_types = max(n_types, samples.n_edge_types)

    def draw(*size: int) -> np.ndarray:
        if ties:
            return rng.integers(0, 2, size).astype(float) * scale
        return rng.normal(size=size) * scale

    node, edge = draw(samples.n_nodes, n_labels), draw(n_types, n_labels, n_labels)
    edge[rng.random(edge.shape) < forbid] = -np.inf
    node[rng.random(node.shape) < forbid / 4] = -np.inf
    return Case(samples, node, edge)


@st.composite
def cases(draw, scales=(0.0, 0.3, 1.0, 5.0), forbid=(0.0, 0.0, 0.3)) -> Case:
    """Strategy of `make_case`."""
    return make_case(
        draw(st.integers(0, 2**32 - 1)),
        n_labels=draw(st.sampled_from(sorted(SIZES))),
        scale=draw(st.sampled_from(scales)),
        forbid=draw(st.sampled_from(forbid)),
        kind=draw(st.sampled_from(["chain", "tree", "forest", "star"])),
        ties=draw(st.booleans()),
    )
