"""Telling people how far a fit has come."""

import math
import os
import threading
from typing import Any, Self

from tqdm.auto import tqdm

from medn_edu.results import TracePoint

DELAY = 2.0  # seconds before a bar appears


class _TrainingBar:
    """A bar that appears after two seconds, if somebody can see it and ``TQDM_DISABLE`` is not set.

    Its clock keeps running during a pass, because one pass over very long samples can take minutes.
    """

    def __init__(self, name: str, *, shown: bool, **options: Any) -> None:
        hidden = True if not shown or os.environ.get("TQDM_DISABLE") else None  # tqdm decides
        options |= {"delay": DELAY, "leave": False, "disable": hidden}
        self.bar = tqdm(desc=f"Training {name}", **options)
        self._over = threading.Event()
        self._clock = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> Self:
        if not self.bar.disable:
            self._clock.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._over.set()
        if self._clock.is_alive():
            self._clock.join()
        self.bar.close()

    def _tick(self) -> None:
        wait = DELAY
        while not self._over.wait(wait):
            self.bar.refresh()
            wait = 1.0


class GapProgress(_TrainingBar):
    """A bar that is full when the duality gap has come down to the tolerance.

    Gaps fall roughly geometrically, so the bar moves with their logarithm.  That makes its estimate
    of the time left a fair one.
    """

    def __init__(self, name: str, tol: float, *, shown: bool) -> None:
        self.tol = float(tol)
        self.first_gap = math.nan
        looks = "{desc}: {percentage:3.0f}%|{bar}| {elapsed} (left {remaining}){postfix}"
        super().__init__(name, shown=shown, total=100, bar_format=looks)

    def __call__(self, point: TracePoint) -> None:
        """Move the bar to where a pass has brought the gap."""
        self.show(float(point.gap_estimate) / max(abs(float(point.objective_estimate)), 1e-300))

    def show(self, gap: float) -> None:
        """Move the bar to a relative gap."""
        if not (math.isfinite(gap) and gap > 0):
            return
        if math.isnan(self.first_gap):
            self.first_gap = max(gap, 2 * self.tol)
        share = math.log(self.first_gap / gap) / math.log(self.first_gap / self.tol)
        self.bar.set_postfix_str(f"gap {gap:.2g} of {self.tol:.2g}", refresh=False)
        self.bar.update(max(0.0, min(100.0, 100 * share) - self.bar.n))


class StepProgress(_TrainingBar):
    """A bar that counts a known number of steps."""

    def __init__(self, name: str, n_steps: int, *, shown: bool) -> None:
        super().__init__(name, shown=shown, total=n_steps, unit="iteration")

    def __call__(self, point: TracePoint) -> None:
        """Move the bar by one step."""
        self.bar.update(1)
