"""MEDN with a prior of the gallery, which is told by its name.

`medn_edu.MEDN` takes any prior as an object.  A study that compares shapes wants to tell them by name,
and all at the same variance, so that its constants are a name and a number.
"""

from typing import Any

from medn_edu.estimators.max_margin import PriorNetwork
from medn_edu.explorers.shrinkage import prior_gallery
from medn_edu.priors import Prior
from medn_edu.slacks import LinearSlack


class ShapedMEDN(PriorNetwork):
    """MEDN with a prior of the gallery, told by its name and its variance."""

    def __init__(
        self,
        shape: str = "Laplace",
        variance: float = 1.0,
        C: float = 1.0,
        *,
        forbidden: Any = None,
        tol: float = 1e-2,
        max_iter: int = 300,
        warm_start: bool = False,
        random_state: Any = 0,
        n_jobs: int = 1,
        verbose: int = 0,
    ) -> None:
        self.shape = shape
        self.variance = variance
        self.C = C
        self.forbidden = forbidden
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _prior(self) -> Prior:
        return prior_gallery()[self.shape].with_variance(self.variance)

    def _slack(self) -> LinearSlack:
        return LinearSlack(self.C)
