"""CRFsuite, a well-known library for CRFs, configured to train the same model as `medn_edu.CRF`."""

import time
from typing import Any


def crfsuite_trainer(penalty: str, **settings: Any) -> Any:
    """Return a trainer of the model of `CRF` with ``lam=1``: all features, all transitions.

    Its ``history`` has, for each iteration, the clock time and the processor time at its end, and the
    loss it reached.  This loss includes the penalty, as our objective does.
    """
    import pycrfsuite

    class Trainer(pycrfsuite.Trainer):
        """Keeps when each iteration ended and the loss it reached."""

        def on_iteration(self, log: Any, info: dict[str, Any]) -> None:
            loss = float(info["loss"])
            self.history.append((time.perf_counter(), time.process_time(), loss))

    trainer = Trainer(algorithm="lbfgs", verbose=True)
    trainer.history = []
    # CRFsuite's penalty is c1 |w|_1 + c2 |w|^2, ours lam |w|_1 or lam/2 |w|^2.
    c1, c2 = (1.0, 0.0) if penalty == "l1" else (0.0, 0.5)
    every = {"feature.possible_states": 1, "feature.possible_transitions": 1}
    trainer.set_params({"c1": c1, "c2": c2, "max_iterations": 1000, **every, **settings})
    return trainer
