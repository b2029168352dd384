"""Reading saved models again."""

from pathlib import Path

from medn_edu.checks import check_jobs
from medn_edu.estimators.base import MarkovNetwork
from medn_edu.estimators.crf import CRF
from medn_edu.estimators.epsilon import EpsilonMarkovNetwork
from medn_edu.estimators.l1m3n import L1M3N
from medn_edu.estimators.m3n import M3N
from medn_edu.estimators.medn import MEDN, LaplaceMEDN
from medn_edu.estimators.saving import load_state
from medn_edu.samples import class_array


def load_model(path: str | Path) -> MarkovNetwork:
    """Read a model that was written by `MarkovNetwork.save`.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    MarkovNetwork
        The trained estimator, with its certificate and history.  A prior of your own is not saved,
        so the model predicts, but it needs the prior again before you train it further.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is not a readable model.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from medn_edu import CRF, load_model
    >>> path = Path(tempfile.mkdtemp()) / "model.npz"
    >>> CRF().fit([np.eye(2)], ["ab"]).save(path)
    >>> load_model(path).predict([np.eye(2)])[0]
    array(['a', 'b'], dtype='<U1')
    """
    estimator, parameters, learned = load_state(path)
    kinds = (CRF, EpsilonMarkovNetwork, L1M3N, LaplaceMEDN, M3N, MEDN)
    estimators = {kind.__name__: kind for kind in kinds}
    if estimator not in estimators:
        raise ValueError(
            f"{path} holds a model of the kind {estimator[:50]!r}; this version of "
            f"medn_edu knows {', '.join(estimators)}."
        )
    kind = estimators[estimator]
    for name in parameters.keys() - kind._get_param_names():
        raise ValueError(f"{path} holds the parameter {name[:50]!r}, which {estimator} lacks.")
    try:
        check_jobs(parameters.get("n_jobs", 1))  # the one that predictions ask for
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path} holds a parameter that does not fit: {error}") from None
    model = kind(**parameters)
    learned["classes"] = class_array(learned["classes"])
    model._learn(**learned)
    return model
