r"""The Hessian that quasi-Newton methods start from: Kronecker-factored curvature of the soft-max loss.

If the nodes were independent, the Hessian of the loss with respect to the weights of labels and features
would be

    sum_t c_t (diag(p_t) - p_t p_t^T) (x) x_t x_t^T / epsilon,

where ``(x)`` is the Kronecker product, ``c_t`` the weight of the node's sample, ``x_t`` the features of
node ``t`` and ``p_t`` the marginals of its label.  This average of products is approximated by the
product of the averages,

    H_0 = M (x) G + floor I,  with
    M = sum_t c_t (diag(p_t) - p_t p_t^T) / epsilon  and  G = sum_t u_t x_t x_t^T / sum_t u_t,

where ``u_t = c_t (1 - ||p_t||^2)`` is the trace of the weighted label covariance.  It weights the nodes,
because a node with a certain label adds no curvature.  Boehning (1992) bounds the Hessian in this form,
and Martens and Grosse (2015) use it for neural networks.  With the eigenvectors ``M = V diag(m) V^T``
and ``G = U diag(g) U^T``, multiplying by the inverse takes four small products and a division by
``m_a g_k + floor``.  Transition weights get a diagonal.  If there are very many features, only the
diagonal of ``G`` is kept.
"""

import numpy as np

from medn_edu.problems import Problem, soft_max
from medn_edu.results import OVERFLOW
from medn_edu.samples import LabelledSamples

MAX_GRAM_FEATURES = 500  # with more, the feature factor is a diagonal
MAX_GRAM_NODES = 8192  # nodes from which the feature factor is estimated


class InitialHessian:
    """``M (x) G + floor I`` for labels and features and a diagonal for transitions.

    It is computed at some weights: a sweep over all samples.  The floor is a share of the largest
    curvature, at least that of the penalty; it keeps weights that hardly matter in place.  ``diagonal``
    is that of the matrix.
    """

    def __init__(self, problem: Problem, weights: np.ndarray, floor_share: float) -> None:
        self._shape = problem.weight_shape
        curvature = soft_max.curvature(problem, weights)
        try:
            label_values, self._label_vectors = np.linalg.eigh(curvature.labels)
            feature_values, self._feature_vectors = _feature_factor(problem.data, curvature.trace)
        except np.linalg.LinAlgError:  # there are infinite entries
            raise ValueError(OVERFLOW) from None
        by_feature = np.maximum(feature_values, 0.0)
        self._coef_values = np.maximum(label_values, 0.0)[:, None] * by_feature
        largest = max(self._coef_values.max(), curvature.transitions.max())
        floor = max(problem.elastic_net.l2, floor_share * largest, np.finfo(float).tiny)
        self._coef_values += floor
        self._transitions = curvature.transitions + floor
        diagonal = by_feature
        if self._feature_vectors is not None:
            diagonal = (self._feature_vectors**2) @ by_feature
        coef_diagonal = np.maximum(np.diag(curvature.labels), 0.0)[:, None] * diagonal + floor
        self.diagonal = np.concatenate([coef_diagonal.ravel(), self._transitions])

    def multiply(self, vector: np.ndarray) -> np.ndarray:
        """Multiply by the matrix."""
        return self._apply(np.multiply, vector)

    def solve(self, vector: np.ndarray) -> np.ndarray:
        """Multiply by its inverse."""
        return self._apply(np.divide, vector)

    def _apply(self, scale: np.ufunc, vector: np.ndarray) -> np.ndarray:
        """Turn to the eigenvectors, multiply or divide by the eigenvalues, and turn back."""
        shape = self._shape
        coef = vector[: shape.n_coef].reshape(shape.n_rows, shape.n_features)
        transitions = scale(vector[shape.n_coef :], self._transitions)
        turned = self._label_vectors.T @ coef
        if self._feature_vectors is None:
            turned = scale(turned, self._coef_values)
        else:
            turned = scale(turned @ self._feature_vectors, self._coef_values)
            turned = turned @ self._feature_vectors.T
        return np.concatenate([(self._label_vectors @ turned).ravel(), transitions])


def _feature_factor(
    data: LabelledSamples, trace: np.ndarray
) -> tuple[np.ndarray, np.ndarray | None]:
    """Eigenvalues and eigenvectors of ``G``; of its diagonal (None) with very many features."""
    features = data.samples.features
    total = max(float(trace.sum()), np.finfo(float).tiny)
    if features.shape[1] > MAX_GRAM_FEATURES:
        return features.multiply(features).T @ trace / total, None
    # Evenly spaced nodes are sample enough, and few enough to be written out.
    some = slice(None, None, -(-features.shape[0] // MAX_GRAM_NODES))
    rows = features[some].toarray() * np.sqrt(np.maximum(trace[some], 0.0))[:, None]
    values, vectors = np.linalg.eigh(rows.T @ rows)
    return values / max(float(trace[some].sum()), np.finfo(float).tiny), vectors
