"""Saving models, alone or with the vectorizer that makes their samples, and reading them again."""

from pathlib import Path
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from medn_edu.checks import check_jobs
from medn_edu.estimators.base import MarkovNetwork
from medn_edu.estimators.crf import CRF
from medn_edu.estimators.epsilon import EpsilonMarkovNetwork
from medn_edu.estimators.l1m3n import L1M3N
from medn_edu.estimators.m3n import M3N
from medn_edu.estimators.medn import MEDN, LaplaceMEDN
from medn_edu.estimators.saving import load_state
from medn_edu.estimators.saving import save_model as write_model
from medn_edu.samples import class_array
from medn_edu.text import SequenceVectorizer


def save_model(model: Any, path: str | Path) -> None:
    """Write a trained model to one file, which `load_model` reads (npz with a JSON header, no pickle).

    Parameters
    ----------
    model : estimator or Pipeline
        A trained estimator of this package, or a scikit-learn `Pipeline` of a `SequenceVectorizer` and
        such an estimator.  The names of the two steps are saved too, but the pipeline's other parameters
        are not.
    path : str or Path
        File to write.  An existing file is replaced in one step.

    Raises
    ------
    NotFittedError
        If the model is not trained.
    OSError
        If the file cannot be written.
    TypeError
        If the model is something else, or has labels or parameters that JSON cannot hold.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.pipeline import make_pipeline
    >>> from medn_edu import CRF, SequenceVectorizer, load_model, save_model
    >>> X = [[{"word": "Ada"}, {"word": "sleeps"}]]
    >>> model = make_pipeline(SequenceVectorizer(), CRF()).fit(X, [["noun", "verb"]])
    >>> path = Path(tempfile.mkdtemp()) / "model.npz"
    >>> save_model(model, path)
    >>> load_model(path).predict(X)[0]
    array(['noun', 'verb'], dtype='<U4')
    """
    estimator, vectorizer = model, None
    if isinstance(model, Pipeline):
        kinds = [getattr(step, "__name__", type(step).__name__) for _, step in model.steps]
        if len(kinds) != 2 or not isinstance(model.steps[0][1], SequenceVectorizer):
            raise TypeError(
                f"model is a Pipeline of {', '.join(kinds)}; expected a SequenceVectorizer and one "
                "estimator of medn_edu, because a file holds no other steps."
            )
        (first, maker), (last, estimator) = model.steps
        check_is_fitted(maker, "vectorizer_")
        vectorizer = {"steps": [first, last], **maker._saved()}
    if not isinstance(estimator, MarkovNetwork):
        raise TypeError(
            f"model is or ends in a {type(estimator).__name__}; expected a trained estimator of "
            "medn_edu, or a Pipeline of a SequenceVectorizer and such an estimator."
        )
    check_is_fitted(estimator, "coef_")
    if vectorizer and maker.n_features_out_ != estimator.n_features_in_:
        raise ValueError(
            f"the vectorizer of this Pipeline makes {maker.n_features_out_} features, but its estimator "
            f"was trained on {estimator.n_features_in_}; expected steps that were trained together."
        )
    write_model(estimator, path, vectorizer)


def load_model(path: str | Path) -> Any:
    """Read a model that was written by `save_model` or by an estimator's own ``save``.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    MarkovNetwork or Pipeline
        What was saved: the trained estimator with its certificate and history, alone or in a pipeline
        after its vectorizer.  A prior of your own is not saved.  The model can predict without it, but
        set the prior again before you train the model further.

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
            f"{path} holds a model of the unknown class {estimator[:50]!r}; expected one that this "
            f"version of medn_edu can load: {', '.join(estimators)}."
        )
    kind = estimators[estimator]
    for name in parameters.keys() - kind._get_param_names():
        raise ValueError(
            f"{path} holds the parameter {name[:50]!r}, which {estimator} does not have."
        )
    try:
        check_jobs(parameters.get("n_jobs", 1))  # the one that predictions ask for
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path} holds a parameter that does not fit: {error}") from None
    model = kind(**parameters)
    learned["classes"] = class_array(learned["classes"])
    vectorizer, solved = learned.pop("vectorizer"), learned.pop("solved")
    model._learn(**learned)
    if solved is not None:
        model.solved_ = solved
    if vectorizer is None:
        return model
    first, last = vectorizer.pop("steps")
    return Pipeline([(first, SequenceVectorizer._restored(**vectorizer)), (last, model)])
