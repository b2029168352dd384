"""Whatever somebody hands in as samples: refused in one sentence, or the same as its dense twin.

Sparse matrices are damaged here in every way that scipy lets pass, by its constructors or by
assigning to their arrays.  Compiled code would follow such numbers out of memory; that it does not
is seen with ``NUMBA_BOUNDSCHECK=1``, which `test_kernels_modes.py` asks for.
"""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from medn_edu import CRF, M3N, Forest, Graph
from medn_edu.samples import Samples, encode_labels, pack

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

POSITIONS = st.sampled_from([-(2**31), -3, -1, 0, 1, 2, 3, 5, 1000, 2**31 - 1])
VALUES = st.sampled_from([-2.0, -0.5, 0.0, 0.5, 1.0, 3.0])
SHAPES = hnp.array_shapes(min_dims=2, max_dims=2, max_side=4)
DENSE = hnp.arrays(np.float64, SHAPES, elements=VALUES, fill=st.nothing())
ARRAYS = {
    "csr": ["indices", "indptr", "data"],
    "csc": ["indices", "indptr", "data"],
    "bsr": ["indices", "indptr", "data"],
    "coo": ["row", "col", "data"],
    "lil": ["rows", "data"],
    "dia": ["offsets", "data"],
    "dok": [],
}


@st.composite
def sparse_matrices(draw):
    """A sparse matrix of any format, some of whose numbers were overwritten."""
    kind = sp.csr_array if draw(st.booleans()) else sp.csr_matrix
    matrix = kind(draw(DENSE)).asformat(draw(st.sampled_from(list(ARRAYS))))
    for _ in range(draw(st.integers(0, 2))):
        if names := ARRAYS[matrix.format]:
            _damage(draw, matrix, draw(st.sampled_from(names)))
        else:
            matrix._dict[draw(st.tuples(POSITIONS, POSITIONS))] = 1.0  # noqa: SLF001  scipy refuses it
    return matrix


def _damage(draw, matrix, name):
    """Overwrite one number of an array of a sparse matrix, or make it shorter or longer."""
    array = getattr(matrix, name).copy()
    change = draw(st.sampled_from(["one", "shorter", "longer", "type"]))
    if change == "one" and array.size and matrix.format == "lil":
        array[draw(st.integers(0, len(array) - 1))][:] = draw(st.lists(POSITIONS, max_size=4))
    elif change == "one" and array.size:
        place, value = draw(st.integers(0, array.size - 1)), np.int64(draw(POSITIONS))
        array.flat[place] = value.astype(array.dtype)  # wraps in a small type
    elif change == "shorter":
        array = array[: draw(st.integers(0, len(array)))]
    elif change == "longer":
        array = np.concatenate([array, array[-1:]])
    elif change == "type" and matrix.format != "lil":
        array = array.astype(draw(st.sampled_from([np.int64, np.uint32, np.float32, np.int8])))
    try:
        with np.errstate(invalid="raise"):
            setattr(matrix, name, array)
    except (AttributeError, TypeError, ValueError, FloatingPointError):
        assume(False)  # scipy itself refuses, or its array type cannot hold the numbers


def packed_or_refused(X) -> Samples | None:
    """Pack, or return None if that was refused in one sentence that names what was wrong."""
    return unless_refused(lambda: pack(X), ("sample ", "Samples", "X "))


def unless_refused(call, names):
    """Call, or return None if that was refused in one sentence with one of some names."""
    try:
        return call()
    except (TypeError, ValueError) as error:
        text = str(error)
        assert text.endswith(".")
        assert "\n" not in text
        assert any(name in text for name in names)
        return None


def dense_twin(matrix) -> np.ndarray:
    """Read what a sound matrix holds, number by number, in plain Python."""
    twin = np.zeros(matrix.shape)
    if hasattr(matrix, "indptr"):  # scipy reads no arrays of mixed types or with unused ends
        n = matrix.indptr[-1]
        whole = matrix.indices[:n].astype(np.int64), matrix.indptr.astype(np.int64)
        matrix = type(matrix)((matrix.data[:n], *whole), shape=matrix.shape)
    entries = matrix.tocoo()
    for row, column, value in zip(*entries.coords, entries.data, strict=True):
        twin[row, column] += value
    return twin


@given(matrix=sparse_matrices())
def test_sparse_samples_are_refused_or_are_their_dense_twins(matrix):
    names = [] if matrix.format == "lil" else ARRAYS[matrix.format]
    before = {name: np.array(getattr(matrix, name)) for name in names}
    samples = packed_or_refused([np.ones((2, matrix.shape[1])), matrix])
    for name, array in before.items():
        assert np.array_equal(getattr(matrix, name), array, equal_nan=True)
    if samples is None:
        return
    twin = pack([np.ones((2, matrix.shape[1])), dense_twin(matrix)])
    assert np.array_equal(samples.features.toarray(), twin.features.toarray())
    assert np.array_equal(samples.parents, twin.parents)
    y = [[0, 1], [0] * matrix.shape[0]]
    sparse, dense = (CRF(max_iter=1, tol=10.0, verbose=0).fit(one, y) for one in (samples, twin))
    assert np.array_equal(sparse.weights_, dense.weights_)
    assert sparse.score(samples, y) == dense.score(twin, y)


CELLS = st.one_of(
    VALUES,
    st.sampled_from(
        [None, "1", b"2", 1j, 10**400, np.float16(1), np.ma.masked, np.datetime64("NaT"), "", [1.0]]
    ),
)
DTYPES = ["?", "i1", "u8", "f2", "g", "c8", "U3", "S3", "M8[s]", "m8[s]", "O", "V4", "f4,i4"]


@st.composite
def odd_samples(draw):
    """Something that may be meant as one sample."""
    kind = draw(st.sampled_from(["rows", "array", "masked", "forest", "graph", "scalar"]))
    if kind == "rows":
        rows = st.one_of(st.lists(CELLS, max_size=3), st.tuples(CELLS, CELLS), CELLS)
        return draw(st.lists(rows, max_size=3))
    if kind == "scalar":
        return draw(st.one_of(CELLS, st.just({1, 2}), st.just({"a": 1}), st.just(object())))
    if kind == "array":
        shape = draw(st.lists(st.integers(0, 3), max_size=3))
        order = draw(st.sampled_from("CF"))
        return np.zeros(shape, dtype=draw(st.sampled_from(DTYPES)), order=order)
    dense = draw(DENSE)
    if kind == "masked":
        return np.ma.array(dense, mask=dense > draw(VALUES))
    whole = st.one_of(st.integers(-2, 3), st.sampled_from([0.5, np.nan, 2.0**63, "0", None, True]))
    numbers = st.one_of(st.none(), st.lists(whole, max_size=4), whole)
    if kind == "graph":
        pairs = st.lists(
            st.one_of(st.tuples(whole, whole), st.lists(whole, max_size=3)), max_size=4
        )
        return Graph(dense, draw(st.one_of(pairs, numbers)), draw(numbers))
    return Forest(dense, draw(numbers), draw(numbers))


@given(X=st.lists(odd_samples(), max_size=2))
def test_odd_samples_are_refused_or_hold_what_was_handed_in(X):
    samples = packed_or_refused(X)
    if samples is None:
        return
    handed_in = [item.features if isinstance(item, Forest | Graph) else item for item in X]
    dense = np.concatenate([np.asarray(item, dtype=float) for item in handed_in])
    assert np.array_equal(np.concatenate(samples.split(samples.features.toarray())), dense)
    assert not any(np.ma.is_masked(item) for item in handed_in)
    samples.check()


LABELS = st.one_of(st.booleans(), st.integers(), st.text(), st.binary(), st.tuples(st.integers()))
ODD = st.one_of(LABELS, st.none(), st.floats(), st.just(["a"]), st.just(np.ma.masked))
PAIRS = st.one_of(st.tuples(LABELS, LABELS), st.text(min_size=2, max_size=2), st.tuples(ODD, ODD))


@given(y=st.tuples(PAIRS, PAIRS) | st.tuples(PAIRS, ODD) | ODD)
def test_odd_labels_are_refused_or_come_back(y):
    samples = pack([np.eye(2), np.eye(2)])
    found = unless_refused(lambda: encode_labels(y, samples), ("sample ", "y is", "y has", "y["))
    if found is not None:
        codes, classes = found
        assert classes[codes].tolist() == [label for pair in y for label in pair]


@given(
    name=st.sampled_from(
        ["offsets", "parents", "edge_types", "indices", "indptr", "data", "edge_features"]
    ),
    is_rich=st.booleans(),
    at=st.integers(0, 30),
    value=POSITIONS,
)
def test_samples_changed_by_hand_are_refused_or_fit(name, is_rich, at, value):
    is_rich = is_rich or name == "edge_features"
    one, two = (np.arange(10.0).reshape(5, 2)[:3], -np.eye(2)) if is_rich else (None, None)
    sets = [["a", "b"], None] if is_rich else None
    forests = (
        Forest(np.eye(3), None, None, one),
        Forest(np.ones((2, 3)), [-1, 0], [0, 1], two, sets),
    )
    samples = pack(forests)
    assert samples.n_edge_types == 2  # remembered, and to be forgotten
    assert samples.n_edge_kinds == (4 if is_rich else 2)
    array = getattr(samples if hasattr(samples, name) else samples.features, name)
    array.flat[at % array.size] = value
    if packed_or_refused(samples) is not None:
        samples.check()
        assert samples.n_edge_types == samples.edge_types.max() + 1
        if samples.n_edge_types < 10:
            for model in (CRF(max_iter=1, tol=10.0, verbose=0), M3N(max_iter=1, verbose=0)):
                model.fit(samples, ["abc", "ab"]).predict(samples)
