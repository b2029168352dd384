"""Saving and loading trained models: one npz file of plain arrays and a JSON header, no pickle.

A file that is loaded is read as numbers and text and never run, so a model from a stranger can at
worst be wrong.
"""

from __future__ import annotations

import io
import json
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from medn_edu import priors, slacks
from medn_edu.files import write_atomically
from medn_edu.results import DualVariables, SolveResult, TracePoint

__all__ = ["load_state", "save_model"]

FORMAT = "medn_edu model"
FORMAT_VERSION = 2
_ARRAYS = ("weights", "eta", "alpha", "trace", "variance", "marginals")  # marginals are not saved
_SCALARS = [f.name for f in fields(SolveResult) if f.name not in _ARRAYS]
_TRACE = [f.name for f in fields(TracePoint)]
_ALPHA = [f.name for f in fields(DualVariables)]
_CONTAINERS: tuple[Any, ...] = (list, tuple, set, frozenset)
# Parameters that are objects of ours: their class and constants are saved, nothing else is made from a
# file.  The array that a Gaussian prior may hold is written as a list.
_KNOWN: dict[str, Any] = {
    name: kind
    for room in (priors, slacks)
    for name, kind in vars(room).items()
    if name in room.__all__ and is_dataclass(kind)
}


def save_model(model: Any, path: str | Path) -> None:
    """Write a trained estimator to ``path``, in one step.

    Parameters
    ----------
    model : MarkovNetwork
        A trained estimator.
    path : str or Path
        File to write.

    Raises
    ------
    TypeError
        If a label or a parameter is of a type that JSON cannot hold.
    OSError
        If the file cannot be written.
    """
    result: SolveResult = model.result_
    header = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "estimator": type(model).__name__,
        "parameters": {
            name: _encode(value, f"parameter {name}") for name, value in model.get_params().items()
        },
        "classes": [_encode(label, "a label") for label in model.classes_.tolist()],
        "n_features": int(model.n_features_in_),
        "result": {name: _encode(getattr(result, name), name) for name in _SCALARS},
    }
    arrays = {
        "header": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8),
        "weights": model.weights_,
        "eta": model.eta_,
        "allowed": model._allowed,
        "offsets": model._offsets,
        "labels": model._labels,
        "trace": np.array([[getattr(p, name) for name in _TRACE] for p in result.trace], float),
    }
    if result.variance is not None:
        arrays["variance"] = result.variance
    if result.alpha is not None:
        arrays |= {f"alpha_{name}": getattr(result.alpha, name) for name in _ALPHA}
    content = io.BytesIO()
    np.savez_compressed(content, allow_pickle=False, **arrays)
    write_atomically(path, content.getvalue())


def load_state(path: str | Path) -> dict[str, Any]:
    """Read what `save_model` wrote and check that it hangs together.

    Parameters
    ----------
    path : str or Path
        File to read.

    Returns
    -------
    dict
        ``estimator``, ``parameters``, ``classes``, ``n_features``, ``weights``, ``eta``, ``allowed``,
        ``offsets``, ``labels`` and ``result``.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is not a readable model.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not a file; expected a model written by save().")
    try:
        arrays = _read_arrays(path.read_bytes())
        header = json.loads(arrays["header"].tobytes().decode())
        return _state(header, arrays)
    except Exception as error:  # whatever the bytes of a stranger's file make zip and numpy do
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise ValueError(
            f"{path} is not a readable model ({reason}); expected a whole file written by save()."
        ) from None


def _read_arrays(content: bytes) -> dict[str, np.ndarray]:
    """Read arrays of numbers; what else numpy would read, were it allowed to, is refused."""
    if not content.startswith(b"PK"):
        raise ValueError("it is not a zip archive")
    arrays = {}
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        for name in archive.files:
            try:
                array = archive[name]
            except ValueError:  # with advice to allow pickle, which would run what is in the file
                array = None
            if not isinstance(array, np.ndarray):
                raise ValueError(f"its member {name!r} is not a whole array of numbers")
            arrays[name] = array
    return arrays


def _state(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    if header["format"] != FORMAT:
        raise ValueError(f"its format is {header['format']!r}")
    if header["format_version"] != FORMAT_VERSION:
        raise ValueError("it was written by another version of medn_edu")
    classes = [_decode(label) for label in header["classes"]]
    allowed = arrays["allowed"]
    _require(allowed.dtype == bool and allowed.ndim == 3, "allowed")
    _require(allowed.shape[1:] == (len(classes), len(classes)), "allowed")
    n_features = int(header["n_features"])
    n_weights = len(classes) * n_features + allowed.size
    for name in ("weights", "eta", *(["variance"] if "variance" in arrays else [])):
        _require(arrays[name].shape == (n_weights,) and np.isfinite(arrays[name]).all(), name)
    alpha = None
    if "alpha_sample" in arrays:
        alpha = DualVariables(**{name: arrays[f"alpha_{name}"] for name in _ALPHA})
    kinds: list[Any] = [int if name.startswith("n_") else float for name in _TRACE]
    trace = [
        TracePoint(*(kind(value) for kind, value in zip(kinds, row, strict=True)))
        for row in arrays["trace"].reshape(-1, len(_TRACE)).tolist()
    ]
    scalars = {name: _decode(header["result"][name]) for name in _SCALARS}
    result = SolveResult(
        weights=arrays["weights"],
        eta=arrays["eta"],
        alpha=alpha,
        trace=trace,
        variance=arrays.get("variance"),
        **scalars,
    )
    return {
        "estimator": header["estimator"],
        "parameters": {name: _decode(value) for name, value in header["parameters"].items()},
        "classes": classes,
        "n_features": n_features,
        "allowed": allowed,
        "offsets": arrays["offsets"],
        "labels": arrays["labels"],
        "result": result,
    }


def _require(fine: bool, name: str) -> None:
    if not fine:
        raise ValueError(f"its array {name!r} has the wrong shape or holds NaN")


def _encode(value: Any, name: str) -> Any:
    """Turn labels and parameters into what JSON can hold, keeping tuples, sets and dicts apart."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    for kind in _CONTAINERS:  # a named tuple becomes a tuple, which is equal to it
        if isinstance(value, kind):
            return {kind.__name__: [_encode(item, name) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[_encode(k, name), _encode(v, name)] for k, v in value.items()]}
    if type(value) is _KNOWN.get(type(value).__name__):
        constants = {f.name: getattr(value, f.name) for f in fields(value)}
        return {type(value).__name__: _encode(constants, name)}
    if hasattr(value, "log_mgf"):  # a prior of somebody's own: the model will predict, not train
        return f"{type(value).__name__}, a prior that is not saved with the model"
    raise TypeError(
        f"{name} is a {type(value).__name__}, which cannot be saved; expected numbers, strings, "
        "booleans, or tuples, lists, sets and dicts of them."
    )


def _decode(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    ((kind, items),) = value.items()
    if kind == "dict":
        return {_decode(k): _decode(v) for k, v in items}
    if kind in _KNOWN:
        return _KNOWN[kind](**_decode(items))
    make = {container.__name__: container for container in _CONTAINERS}[kind]
    return make(_decode(item) for item in items)
