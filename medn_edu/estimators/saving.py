"""Saving and loading trained models: one npz file of plain arrays and a JSON header, no pickle.

A file is read as numbers and text, and nothing in it is ever run.  So a model from a stranger can
at worst be wrong.  What the file declares is checked before it is read, because a small file may
unpack to more than the memory holds.
"""

import io
import json
import math
import os
import re
import zipfile
from dataclasses import fields, is_dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from medn_edu import priors, slacks
from medn_edu.files import write_atomically
from medn_edu.problems import DualVariables
from medn_edu.results import SolveResult, TracePoint
from medn_edu.samples import TABLES, WeightShape
from medn_edu.samples.checks import are_positions
from medn_edu.text.vectorizer import width_of_window

FORMAT = "medn_edu model"
FORMAT_VERSION = 2
_ARRAYS = ("weights", "eta", "alpha", "trace", "variance", "marginals")  # marginals are not saved
_KINDS: dict[Any, tuple[type, ...]] = {
    int: (int,),
    float: (float, int),
    bool: (bool,),
    str: (str,),
    float | None: (float, int, type(None)),
}
_SCALARS = {f.name: _KINDS[f.type] for f in fields(SolveResult) if f.name not in _ARRAYS}
_TRACE = [f.name for f in fields(TracePoint)]
_ALPHA = [f"alpha_{f.name}" for f in fields(DualVariables)]
# The arrays of a file and their types.  The header says how large the fixed ones are.  The free ones
# must not unpack to more than UNPACKED times the size of the file, plus LITTLE bytes.
FIXED = {"weights": "f8", "eta": "f8", "variance": "f8", "allowed": "?"}
FREE = {"header": "u1", "offsets": "i8", "labels": "i8", "trace": "f8"}
FREE |= dict.fromkeys(_ALPHA, "i8") | {"alpha_values": "f8"}
_OPTIONAL = {"variance", *_ALPHA}
UNPACKED, LITTLE = 100, 1 << 26
TEXT = 10**8  # characters of all labels, as an array stores them
# How numpy begins an array: length of this beginning, type, shape.
_BEGINNING = re.compile(
    rb"\x93NUMPY\x01\x00(..)\{'descr': '([^']*)', 'fortran_order': False, "
    rb"'shape': \(([\d, ]*)\), \} *\n",
    re.DOTALL,
)
# Containers are saved under their names, because JSON has only lists.
_CONTAINERS: dict[str, Any] = {kind.__name__: kind for kind in (list, tuple, set, frozenset)}
# Parameters that are objects of ours: only their class and constants are saved, and a file can make
# no other objects.  The array that a Gaussian prior may hold is written as a list.
_KNOWN: dict[str, Any] = {
    name: kind
    for room in (priors, slacks)
    for name, kind in vars(room).items()
    if name in room.__all__ and is_dataclass(kind)
}


def save_model(model: Any, path: str | Path, vectorizer: dict[str, Any] | None = None) -> None:
    """Write a trained estimator to ``path``, in one step, with what made its samples, if known."""
    result: SolveResult = model.result_
    parameters = model.get_params()
    header = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "estimator": type(model).__name__,
        "parameters": {n: _encode(value, f"parameter {n}") for n, value in parameters.items()},
        "classes": [_encode(label, "a label") for label in model.classes_.tolist()],
        "n_features": int(model.n_features_in_),
        "n_edge_features": int(model.n_edge_features_in_),
        "table": model._weight_shape.table,  # whatever edge_table has been set since
        "solved": getattr(model, "solved_", None),
        "result": {name: _encode(getattr(result, name), name) for name in _SCALARS},
        "vectorizer": vectorizer,
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
        arrays |= {name: getattr(result.alpha, name.removeprefix("alpha_")) for name in _ALPHA}
    content = io.BytesIO()
    np.savez_compressed(content, allow_pickle=False, **arrays)
    free = sum(array.nbytes for name, array in arrays.items() if name in FREE)
    if free > UNPACKED * len(content.getvalue()) + LITTLE // 2:
        content = io.BytesIO()  # uncompressed: what shrinks so well would be refused when loaded
        np.savez(content, allow_pickle=False, **arrays)
    write_atomically(path, content.getvalue())


def load_state(path: str | Path) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Read what `save_model` wrote, and refuse it unless everything in it fits together.

    The result is the name of the estimator, its parameters and what it has learned.
    """
    path = Path(path)
    if not os.path.isfile(path):  # which, unlike that of Path, never raises
        raise FileNotFoundError(f"{path} is not a file; expected a model written by save().")
    try:
        with path.open("rb") as file:
            if file.read(2) != b"PK":
                raise ValueError("it is not a zip archive")
            with zipfile.ZipFile(file) as archive:
                return _state(archive, os.fstat(file.fileno()).st_size)
    except Exception as error:  # zip and numpy may raise anything on the bytes of a stranger's file
        reason = " ".join(f"{type(error).__name__}: {error}"[:200].split())
        reason = "".join(c if c.isprintable() else "?" for c in reason)
        raise ValueError(
            f"{path} is not a readable model ({reason}); expected a whole file written by save()."
        ) from None


def _state(archive: zipfile.ZipFile, size: int) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Check what a file of a size declares, read it, and check what it holds."""
    shapes = _declared_shapes(archive, size)
    header = json.loads(_read(archive, "header").tobytes().decode())
    if header["format"] != FORMAT:
        raise ValueError(f"its format is {header['format']!r}")
    if header["format_version"] != FORMAT_VERSION:
        raise ValueError("it was written by another version of medn_edu")
    estimator, n_features = header["estimator"], header["n_features"]
    n_edge_features = header.get("n_edge_features", 0)  # older files have none, and no "table"
    table = header.get("table", "potts" if header.get("is_potts", False) else "full")
    _require(type(estimator) is str, "estimator")
    _require(type(n_features) is int and n_features >= 0, "n_features")
    _require(type(n_edge_features) is int and 0 <= n_edge_features < 2**31, "n_edge_features")
    _require(table in TABLES, "table")
    parameters = {name: _decode(value) for name, value in header["parameters"].items()}
    classes = _classes(header["classes"])
    result = {name: _decode(header["result"][name]) for name in _SCALARS}
    for name, kinds in _SCALARS.items():
        _require(type(result[name]) in kinds, name)
        _require(not isinstance(result[name], int) or abs(result[name]) < 2**63, name)
    n_edge_types = (shapes["allowed"] or (0,))[0]
    n_tables = n_edge_types * max(n_edge_features, 1)
    shape = WeightShape(len(classes), n_features, n_tables, table)
    _check_shapes(shapes, shape, n_edge_types, result["n_passes"])
    arrays = {name: _read(archive, name) for name in shapes if name != "header"}
    _check_arrays(arrays, len(classes))
    result |= {name: arrays.get(name) for name in ("weights", "eta", "variance")}
    has_alpha = "alpha_sample" in arrays
    result["alpha"] = DualVariables(*(arrays[name] for name in _ALPHA)) if has_alpha else None
    result["trace"] = [
        TracePoint(int(n_passes), int(n_oracle_calls), *others)
        for n_passes, n_oracle_calls, *others in arrays["trace"].tolist()
    ]
    learned = {"result": SolveResult(**result), "shape": shape, "classes": classes}
    learned["n_edge_features"] = n_edge_features
    learned["solved"] = header.get("solved")
    _require(isinstance(learned["solved"], str | None), "solved")
    learned |= {name: arrays[name] for name in ("allowed", "offsets", "labels")}
    learned["vectorizer"] = _vectorizer(header.get("vectorizer"), n_features)
    return estimator, parameters, learned


def _declared_shapes(archive: zipfile.ZipFile, size: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes that all arrays of a file declare, reading only how each begins."""
    shapes: dict[str, tuple[int, ...]] = {}
    free = 0
    for member in archive.infolist():
        name = member.filename.removesuffix(".npy")
        if name in shapes or f"{name}.npy" != member.filename or name not in FIXED | FREE:
            raise ValueError(f"its member {member.filename!r} does not belong there")
        kind = np.dtype((FIXED | FREE)[name])
        beginning = None
        if member.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            with archive.open(member) as content:
                beginning = _BEGINNING.match(content.read(1024))
        if beginning is not None:
            shapes[name] = tuple(int(n) for n in beginning[3].split(b",") if n.strip())
        if (
            beginning is None
            or beginning[2].decode() != kind.str
            or beginning.end() != 10 + int.from_bytes(beginning[1], "little")
            or beginning.end() + math.prod(shapes[name]) * kind.itemsize != member.file_size
        ):
            raise ValueError(f"its member {name!r} is not a whole array of numbers")
        free += member.file_size if name in FREE else 0
    missing = (FIXED | FREE).keys() - shapes.keys() - _OPTIONAL
    if missing:
        raise ValueError(f"its member {min(missing)!r} is missing")
    if free > UNPACKED * size + LITTLE:
        raise ValueError(f"it has {size} bytes and declares {free}")
    return shapes


def _read(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    with archive.open(f"{name}.npy") as content:
        return np.lib.format.read_array(content, allow_pickle=False)


def _classes(saved: Any) -> list[Any]:
    _require(isinstance(saved, list), "classes")
    classes = [_decode(label) for label in saved]
    longest = max((len(label) for label in classes if isinstance(label, str)), default=0)
    whole = all(label is not None and label == label for label in classes)  # nan is not itself
    _require(len(set(classes)) == len(classes) >= 2 and whole, "classes")
    _require(len(classes) * longest <= TEXT, "classes")
    return classes


def _vectorizer(saved: Any, n_features: int) -> dict[str, Any] | None:
    """Check what a `SequenceVectorizer` knew and the names of the two steps of its pipeline."""
    if saved is None:
        return None
    steps, window, width, names = (saved[key] for key in ("steps", "window", "n_features", "names"))
    _require(type(steps) is list and [type(step) for step in steps] == [str, str], "steps")
    _require(steps[0] != steps[1] and not any("__" in step for step in steps), "steps")
    _require(set(steps).isdisjoint(Pipeline._get_param_names()), "steps")
    _require(type(window) is int and window >= 0, "window")
    if names is not None:  # in rising order, so none is there twice
        _require(type(names) is list and all(type(name) is str for name in names), "names")
        _require(width is None and all(a < b for a, b in pairwise(names)), "names")
    n_columns = width if names is None else len(names)
    _require(type(n_columns) is int and n_columns >= 1, "names")
    _require(n_features == width_of_window(n_columns, window), "names")
    return saved


def _check_shapes(
    shapes: dict[str, tuple[int, ...]], shape: WeightShape, n_edge_types: int, n_passes: int
) -> None:
    """Compare what members declare with the header and with each other."""
    n_weights, n_labels = shape.size, shape.n_labels
    n_labellings = math.prod(shapes.get("alpha_values", ()))
    expected: dict[str, tuple[int, ...]] = {
        "allowed": (max(n_edge_types, 1), n_labels, n_labels),
        "weights": (n_weights,),
        "eta": (n_weights,),
        "variance": (n_weights,),
        "trace": (n_passes, len(_TRACE)),
        "alpha_sample": (n_labellings,),
        "alpha_offsets": (n_labellings + 1,),
        "alpha_values": (n_labellings,),
    }
    n_alpha = sum(name.startswith("alpha_") for name in shapes)
    _require(n_alpha in (0, len(_ALPHA)), "alpha")
    for name, size in expected.items():
        _require(name not in shapes or shapes[name] == size, name)


def _check_arrays(arrays: dict[str, np.ndarray], n_labels: int) -> None:
    """Check that numbers are finite and labels and positions within their bounds."""
    for name in ("weights", "eta", "variance"):
        _require(name not in arrays or np.isfinite(arrays[name]).all(), name)
    _require(arrays["allowed"].view(np.uint8).max() <= 1, "allowed")
    offsets, labels = arrays["offsets"], arrays["labels"]
    _require(_cut(offsets, labels) and len(offsets) > 1, "offsets")
    _require(are_positions(labels, n_labels), "labels")
    if "alpha_sample" in arrays:
        sample, starts, codes, values = (arrays[name] for name in _ALPHA)
        _require(are_positions(sample, len(offsets) - 1), "alpha_sample")
        _require((np.diff(sample) >= 0).all(), "alpha_sample")
        _require(_cut(starts, codes), "alpha_offsets")
        _require(np.array_equal(np.diff(starts), np.diff(offsets)[sample]), "alpha_offsets")
        _require(are_positions(codes, n_labels), "alpha_labels")
        _require((np.isfinite(values) & (values >= 0)).all(), "alpha_values")


def _cut(offsets: np.ndarray, array: np.ndarray) -> bool:
    """Tell whether offsets cut an array into pieces, none of them empty."""
    rising = offsets.ndim == 1 and len(offsets) > 0 and (offsets[1:] > offsets[:-1]).all()
    return bool(rising and offsets[0] == 0 and offsets[-1] == len(array))


def _require(fine: bool | np.bool_, name: str) -> None:
    if not fine:
        raise ValueError(f"its {name!r} has the wrong shape or impossible values")


def _encode(value: Any, name: str) -> Any:
    """Turn labels and parameters into what JSON can hold, keeping tuples, sets and dicts apart."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    for kind, container in _CONTAINERS.items():  # a named tuple becomes a tuple, equal to it
        if isinstance(value, container):
            return {kind: [_encode(item, name) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[_encode(k, name), _encode(v, name)] for k, v in value.items()]}
    if type(value) is _KNOWN.get(type(value).__name__):
        constants = {f.name: getattr(value, f.name) for f in fields(value)}
        return {type(value).__name__: _encode(constants, name)}
    if hasattr(value, "log_mgf"):  # a prior of your own: the model will predict, not train
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
    return _CONTAINERS[kind](map(_decode, items))
