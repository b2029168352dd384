"""What users hand in: every slip gets one sentence that names the thing."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from medn_edu import CRF, M3N
from medn_edu.samples import (
    Forest,
    Samples,
    check_sample_weight,
    encode_labels,
    forbidden_to_allowed,
    label_samples,
    pack,
)

GOOD = [np.eye(3), np.ones((1, 3))]


class NotAvailable:
    """What pandas' NA is like: it answers no comparison, and is neither true nor false."""

    def __eq__(self, other):
        return self

    __ne__ = __eq__

    def __bool__(self):
        raise TypeError("boolean value of NA is ambiguous")

    def __hash__(self):
        return 1

    def __repr__(self):
        return "<NA>"


class DataFrame:
    """What data frames are like: an array, but their columns' names to who walks along them."""

    ndim, shape, columns = 2, (3, 3), ["a", "b", "c"]

    def __iter__(self):
        return iter(self.columns)

    def __array__(self, dtype=None, copy=None):
        return np.eye(3)


MASKED = np.ma.array(np.eye(3), mask=np.eye(3))


def damaged(name, at, value, form="csr"):
    """A sparse matrix, one of whose numbers is wrong."""
    matrix = sp.csr_array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]).asformat(form)
    getattr(matrix, name)[at] = value
    return matrix


def sentence(call, *arguments, error=ValueError) -> str:
    """Return why a call is refused, asserting that it is told in one sentence."""
    with pytest.raises(error) as caught:
        call(*arguments)
    text = str(caught.value)
    assert text.endswith(".")
    assert "\n" not in text
    return text


@pytest.mark.parametrize(
    ("X", "words"),
    [
        ([], ["X holds no samples"]),
        ([np.eye(3), np.ones((0, 3))], ["sample 1", "no nodes"]),
        ([np.eye(3), np.ones((2, 0))], ["sample 1", "no features"]),
        ([np.eye(3), [[1.0, 2.0], [1.0]]], ["sample 1", "one length"]),
        ([np.eye(3), np.ones((2, 4))], ["sample 1", "4 features", "expected 3"]),
        ([np.eye(3), np.full((1, 3), np.nan)], ["sample 1", "NaN"]),
        ([np.eye(3), sp.csr_matrix([[0, 0, np.inf]])], ["sample 1", "infinite"]),
        ([np.eye(3), np.ones(3)], ["sample 1", "1 dimension;"]),
        ([np.eye(3), []], ["sample 1", "no nodes"]),
        ([np.eye(3), 3.0], ["sample 1", "0 dimensions"]),
        ([np.eye(3), np.eye(3) * 1j], ["sample 1", "complex"]),
        ([np.eye(3), sp.csr_matrix(np.eye(3) * 1j)], ["sample 1", "complex"]),
        ([np.eye(3), np.array([[1j, 0, 0]], dtype=object)], ["sample 1", "complex"]),
        ([np.eye(3), [[10**400, 0, 0]]], ["sample 1", "numbers"]),
        ([np.eye(3), np.full((1, 3), np.longdouble("1e400"))], ["sample 1", "infinite"]),
        ([np.eye(3), [[0, -1e160, 0]]], ["sample 1", "size -1e+160", "up to 1e+100", "rescale"]),
        ([np.eye(3), sp.csr_matrix([[0, 0, 2e100]])], ["sample 1", "2e+100", "rescale"]),
        ([Forest(np.eye(3), [-1, 0, 1], [0, 10**9, 0])], ["sample 0", "1000000000", "below 10000"]),
        ([np.eye(3), [["a", "b", "c"]]], ["sample 1", "numbers"]),
        ([Forest(np.eye(3), [-1, 2, 0])], ["parents of sample 0", "node 1", "earlier"]),
        ([Forest(np.eye(3), [1, 0, 1])], ["parents of sample 0", "node 0"]),
        ([Forest(np.eye(3), [-1, 0, -2])], ["parents of sample 0", "node 2", "-2"]),
        ([Forest(np.eye(3), [-1, 0, 7])], ["parents of sample 0", "node 2", "7"]),
        ([Forest(np.eye(3), [-1, 0])], ["parents of sample 0", "3 whole numbers"]),
        ([Forest(np.eye(3), [-1, 0, 0.5])], ["parents of sample 0", "whole numbers"]),
        ([Forest(np.eye(3), [-1, 0, 0], [0, -1, 0])], ["edge_types of sample 0", "negative"]),
        ([Forest(np.eye(3), [-1, 0, 0], [0, 1])], ["edge_types of sample 0", "3 whole"]),
        ([Forest(np.eye(3), [-1, 0, np.nan])], ["parents of sample 0", "whole numbers"]),
        ([Forest(np.eye(3), [-1, 0, 2.0**63])], ["parents of sample 0", "whole numbers"]),
        ([Forest(np.eye(3), ["-1", "0", "0"])], ["parents of sample 0", "whole numbers"]),
        ([Forest(np.eye(3), [-1, 0, 0], [0, np.nan, 1])], ["edge_types of sample 0", "whole"]),
        ([Forest(np.eye(3), [-1, 0, 0], [0, 1e300, 1])], ["edge_types of sample 0", "whole"]),
        ([np.eye(3), np.zeros((1, 3), "M8[s]")], ["sample 1", "holds dates"]),
        ([np.eye(3), np.full((1, 3), np.timedelta64("NaT"))], ["sample 1", "holds durations"]),
        ([np.eye(3), [[1.0, 2.0, np.timedelta64(1, "s")]]], ["sample 1", "durations"]),
        ([np.eye(3), [["1", "2", "3"]]], ["sample 1", "holds text"]),
        ([np.eye(3), np.array([["1", 2, 3]], dtype=object)], ["sample 1", "holds text"]),
        ([np.eye(3), np.array([[None, 2, 3]], dtype=object)], ["sample 1", "not numbers"]),
        ([np.eye(3), np.zeros((1, 3), "f4,i4")], ["sample 1", "not numbers"]),
        ([np.eye(3), MASKED], ["sample 1", "holds masked entries"]),
        ([np.eye(3), [MASKED[0]]], ["sample 1", "holds masked entries"]),
        ([np.eye(3), [[1.0, 2.0, np.ma.masked]]], ["sample 1", "holds masked entries"]),
        ([np.eye(3), sp.csr_array((1, 2**31))], ["sample 1", "2147483648 features"]),
    ],
)
def test_bad_samples(X, words):
    """Each bad sample is named, with what was expected."""
    text = sentence(pack, X)
    assert all(word in text for word in words)


@pytest.mark.parametrize(
    ("form", "name", "change"),
    [
        ("csr", "data", lambda data: data[:, None]),
        ("csr", "data", list),
        ("csr", "data", lambda data: np.ma.array(data, mask=data > 0)),
        ("csr", "indices", lambda indices: np.ma.array(indices, mask=indices > 0)),
        ("csr", "data", lambda data: np.array(["1"] * len(data), dtype=object)),
        ("csc", "data", lambda data: data[:, None]),
        ("dia", "offsets", lambda offsets: offsets + 0.5),
        ("dia", "offsets", lambda offsets: offsets.astype(np.int64) + 10**12),
    ],
)
def test_arrays_that_no_sparse_sample_has(form, name, change):
    matrix = sp.csr_matrix(np.eye(3)).asformat(form)
    setattr(matrix, name, change(getattr(matrix, name)))
    text = sentence(pack, [np.eye(3), matrix])
    assert text.startswith(("sample 1 of X is a damaged", "sample 1 of X holds text"))


@pytest.mark.parametrize(
    ("form", "name", "at", "value"),
    [
        ("csr", "indices", 1, 3),
        ("csr", "indices", 1, -1),
        ("csr", "indptr", 0, 1),
        ("csr", "indptr", 1, 9),
        ("csr", "indptr", 1, -1),
        ("csr", "indptr", 2, 4),
        ("csc", "indices", 1, 2),
        ("csc", "indptr", 1, 9),
        ("bsr", "indices", 0, 9),
        ("bsr", "indptr", -1, 99),
        ("coo", "row", 0, 2),
        ("coo", "col", 0, -1),
        ("lil", "rows", 0, [0, 5]),
        ("lil", "rows", 0, [0]),
        ("lil", "data", 0, [1.0]),
        ("dok", "_dict", (0, 7), 1.0),
    ],
)
def test_damaged_sparse_samples(form, name, at, value):
    """Scipy takes arrays at their word, and compiled code would follow them out of memory."""
    damaged_one = damaged(name, at, value, form)
    for one in (damaged_one, Forest(damaged_one, [-1, 0])):
        assert f"sample 1 of X is a damaged {form}_array" in sentence(pack, [np.eye(3), one])


def test_sparse_samples_may_have_unused_ends():
    """Scipy allows arrays that are longer than what rows say, and cuts them off when asked to check."""
    matrix = sp.csr_array(np.eye(3))
    matrix.indices, matrix.data = np.array([0, 1, 2, 99]), np.array([1.0, 1.0, 1.0, np.nan])
    assert (pack([matrix]).features != sp.eye(3)).nnz == 0
    assert len(matrix.indices) == len(matrix.data) == 4


@pytest.mark.parametrize(
    ("name", "at", "value"),
    [
        ("parents", 1, 99),
        ("parents", 1, -2),
        ("parents", 3, 0),  # in another sample
        ("offsets", 1, 0),
        ("edge_types", 1, -1),
        ("indices", 0, 3),
        ("indptr", 1, 99),
    ],
)
def test_samples_changed_by_hand(name, at, value):
    """Samples are packed once and trusted, but not when somebody wrote into them."""
    samples = pack(GOOD)
    assert (len(samples.indices), samples.n_edge_types) == (6, 1)
    getattr(samples if name in vars(samples) else samples.features, name)[at] = value
    parts = (samples.features, samples.offsets, samples.parents, samples.edge_types)
    assert "these Samples do not fit, because somebody built" in sentence(pack, samples)
    assert "these Samples do not fit" in sentence(Samples, *parts)


def test_edge_types_changed_by_hand_are_counted_again():
    samples = pack(GOOD)
    assert samples.n_edge_types == 1
    samples.edge_types[1] = 4
    assert pack(samples).n_edge_types == 5


def test_not_a_sequence_of_samples():
    """Something that holds no samples is refused by name."""
    numbers = [7, None, np.float64(3), sp.eye(3), np.eye(3), DataFrame()]
    for X in [*numbers, "axi", {"a": 1}, {1, 2}, Forest(np.eye(2), [-1, 0])]:
        text = sentence(pack, X, error=TypeError)
        assert re.search(r"X is a .*expected a sequence of samples", text), X


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (["aba"], ["2 samples", "1 label sequences"]),
        (["ab", "a"], ["sample 0 has 3 nodes", "2 labels"]),
        (["aba", [NotAvailable()]], ["sample 1 has a missing label (<NA>)"]),
        ([np.ma.array([0, 1, 0], mask=[0, 0, 1]), [1]], ["y[0] has masked entries"]),
        (["aba", np.array(["NaT"], "M8[s]")], ["sample 1", "missing label"]),
        (["aba", [np.timedelta64("NaT")]], ["sample 1", "missing label"]),
        ([["a", None, "b"], "a"], ["sample 0", "missing label"]),
        ([[0.0, float("nan"), 1.0], [1.0]], ["sample 0", "missing label"]),
        ([np.zeros((3, 2)), [1]], ["y[0]", "2 dimensions"]),
    ],
)
def test_bad_labels(y, words):
    """Each bad label sequence is named, with what was expected."""
    text = sentence(encode_labels, y, pack(GOOD))
    assert all(word in text for word in words)


def test_labels_of_the_wrong_kind():
    """Labels that are not sequences of hashable values are refused."""
    wrong = [[["a"], "b", "c"], [np.eye(50), "b", "c"], {"a", "b", "c"}, DataFrame()]
    for y in [3, [1, 2], "ab", {"aba", "b"}, DataFrame(), ["aba", {"a": 1}]]:
        sentence(encode_labels, y, pack(GOOD), error=(TypeError, ValueError))
    for labels in wrong:
        sentence(encode_labels, [labels, ["a"]], pack(GOOD), error=(TypeError, ValueError))


@pytest.mark.parametrize(
    "labels",
    [
        *([0, 1, 2], ["x", "yy", "z"], [0.5, 1.5, -1.0], [True, False, True]),
        [("a", 1), ("b", 2), ("a", 1)],
        *(["a", "a\0", "b"], [-1, 2**63 + 1, 5], [np.int64(1), 2, 1]),
    ],
)
def test_labels_may_be_anything_hashable(labels):
    """They come back as they went in: no NUL at an end is lost, and no huge integer rounded."""
    codes, classes = encode_labels([labels], pack([np.eye(3)]))
    assert classes[codes].tolist() == labels
    again, _ = encode_labels([labels], pack([np.eye(3)]), classes.tolist())
    assert np.array_equal(codes, again)


def test_integers_and_booleans_are_told_apart_from_nothing():
    """Numpy and Python integers are the same label; so are equal numbers of other types."""
    codes, classes = encode_labels([np.array([3, 1, 3])], pack([np.eye(3)]))
    again, _ = encode_labels([[3, 1, 3]], pack([np.eye(3)]), classes.tolist())
    assert np.array_equal(codes, again)


@pytest.mark.parametrize(
    ("forbidden", "words"),
    [
        ([("a", "z")], ["forbidden", "'z'"]),
        (["a"], ["forbidden", "pairs"]),
        ([3], ["forbidden", "pairs"]),
        ({5: [("a", "b")]}, ["edge type 5", "0 to 0"]),
        (3, ["forbidden", "pairs"]),
        ({0: 3}, ["forbidden", "pairs"]),
        ({0.0: [("a", "b")]}, ["edge type 0.0"]),
        ({True: [("a", "b")]}, ["edge type True"]),
        ([(np.eye(50), "a")], ["forbidden", "pairs"]),
        (DataFrame(), ["forbidden", "pairs"]),
    ],
)
def test_bad_forbidden_transitions(forbidden, words):
    """Forbidden transitions must be pairs of known labels."""
    labels = np.array(["a", "b"])
    text = sentence(forbidden_to_allowed, forbidden, labels, error=(TypeError, ValueError))
    assert all(word in text for word in words)


ALLOWED = np.ones((1, 2, 2), bool)
NOT_AB = ALLOWED & ~np.eye(2, k=1, dtype=bool)
NOTHING = pack([np.eye(2)]).take([])


@pytest.mark.parametrize(
    ("words", "error", "call", "arguments"),
    [
        *(  # a code below 0 would be a label in no table
            (
                "codes are not 2 whole numbers from 0 to 1",
                ValueError,
                label_samples,
                (pack([np.eye(2)]), np.array(codes), ALLOWED),
            )
            for codes in ([0, 2], [-1, 1], [0], [0.0, 1.0])
        ),
        (
            "'z' of sample 1 was not seen in training; the known labels",
            ValueError,
            encode_labels,
            (["aba", "z"], pack(GOOD), ["a", "b"]),
        ),
        (
            "9999 edge types and 200 labels make more than",  # memory can hold
            ValueError,
            forbidden_to_allowed,
            (None, np.arange(200), 9999),
        ),
        (
            "forbidden is an iterator",  # which would forbid in the first fit only
            TypeError,
            forbidden_to_allowed,
            (zip("a", "b", strict=True), np.array(["a", "b"])),
        ),
        (
            "sample 1 use a forbidden transition, at node 1",
            ValueError,
            label_samples,
            (pack([np.eye(2), np.eye(2)]), np.array([0, 0, 0, 1]), NOT_AB),
        ),
        (
            "have 3 edge types but allowed has 1; expected at least",
            ValueError,
            label_samples,
            (pack([Forest(np.eye(2), [-1, 0], [0, 2])]), np.array([0, 1]), ALLOWED),
        ),
        (
            "single label",  # from which there is nothing to learn
            ValueError,
            label_samples,
            (pack([np.eye(2)]), np.array([0, 0]), np.ones((1, 1, 1), bool)),
        ),
        (
            "sample_weight holds text; expected numbers, one per",
            TypeError,
            check_sample_weight,
            (["1", "2"], 2),
        ),
        ("X holds no samples", ValueError, pack, (NOTHING,)),
        *(  # a mask, or a number that is no sample's
            (
                "index must hold whole numbers from 0 to 2, the pos",
                ValueError,
                pack([np.eye(2)] * 3).take,
                (index,),
            )
            for index in ([True, False, True], [0, -1], [3], [0.0], 1, [[0]])
        ),
    ],
)
def test_what_does_not_fit_together(words, error, call, arguments):
    assert words in sentence(call, *arguments, error=error)


@pytest.mark.parametrize(
    "weight",
    [
        *([1.0], [1.0, 0.0], [1.0, -1.0], [1.0, np.nan], [1.0, 1e101], [1.0, 1j]),
        *("ab", [[1.0], [2.0]], ["1", "2"], np.ones(2, "m8[s]")),
        np.ma.array([1.0, 2.0], mask=[0, 1]),
        np.array([1, 1e400], dtype=np.longdouble) * np.longdouble("1e400"),
    ],
)
def test_bad_sample_weights(weight):
    """Weights are finite, positive, and one per sample."""
    text = sentence(check_sample_weight, weight, 2, error=(TypeError, ValueError))
    assert "sample_weight" in text


def test_packing_keeps_chains_trees_and_sparse_rows():
    """Packed arrays say what the samples said."""
    tree = Forest(sp.csr_matrix(np.eye(3)), parents=[-1, 0, 0], edge_types=[9, 1, 0])
    samples = pack([np.eye(3), tree])
    assert samples.parents.tolist() == [-1, 0, 1, -1, 3, 3]
    assert samples.edge_types.tolist() == [0, 0, 0, 0, 1, 0]
    assert samples.n_edge_types == 2
    assert samples.features.nnz == 6
    assert pack(samples) is samples


def test_some_edge_types_may_be_missing():
    """Samples to predict need not show every type; at roots types mean nothing."""
    samples = pack([Forest(np.eye(3), [-1, 0, -1], [-5, 7, 10**9])])
    assert samples.edge_types.tolist() == [0, 7, 0]


NUMBERS = st.sampled_from([0.0, -0.0, 1.0, -2.5, 5e-324, 1e100])


@settings(max_examples=50, deadline=None)
@given(
    rows=st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=12),
    data=st.data(),
)
def test_packing_keeps_every_number_and_no_zero(rows, data):
    """Dense, sparse and mixed samples come to the same compressed rows."""
    dense = np.array(rows)
    cuts = data.draw(st.sets(st.integers(1, len(rows)), max_size=4))
    parts = [part for part in np.split(dense, sorted(cuts)) if len(part)]
    expected = sp.csr_matrix(dense)
    expected.eliminate_zeros()
    makers = [np.asarray, np.asfortranarray, np.ndarray.tolist, sp.csc_matrix, _with_a_stored_zero]
    for make in [*makers, lambda part: data.draw(st.sampled_from(makers))(part)]:
        X = [make(part) for part in parts]
        features = pack(X).features
        assert np.array_equal(features.data, expected.data)
        assert np.array_equal(features.indices, expected.indices)
        assert np.array_equal(features.indptr, expected.indptr)


def _with_a_stored_zero(part):
    """Return a sparse matrix that stores all its entries, zeros too."""
    rows, columns = np.indices(part.shape)
    return sp.coo_matrix((part.ravel(), (rows.ravel(), columns.ravel())), shape=part.shape)


def test_packing_large_samples_in_pieces():
    """Samples larger and smaller than what is compressed at a time follow one another."""
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(3000, 150)) * (rng.random((3000, 150)) < 0.2)
    parts = np.split(dense, [1, 1000, 2500, 2501, 2990])
    assert (pack(parts).features != sp.csr_matrix(dense)).nnz == 0


def test_packing_leaves_the_samples_alone():
    """Stored zeros and duplicates are dropped from the copy, not from what was handed in."""
    given_ = sp.csr_matrix((np.array([1.0, 2.0, 0.0]), [0, 0, 1], [0, 3]), shape=(1, 2))
    features = pack([given_]).features
    assert given_.data.tolist() == [1.0, 2.0, 0.0]
    assert features.toarray().tolist() == [[3.0, 0.0]]
    assert features.nnz == 1


def test_data_frames_and_unmasked_arrays_are_features():
    """A list of data frames works, and so does a masked array without masked entries."""
    X = [DataFrame(), np.ma.array(np.eye(3)), np.eye(3, dtype=bool), np.eye(3).astype(object)]
    assert (pack(X).features != pack([np.eye(3)] * 4).features).nnz == 0


def test_taking_samples_equals_packing_them():
    """`Samples.take` and packing a sublist are the same."""
    rng = np.random.default_rng(0)
    X = [
        Forest(rng.normal(size=(n, 2)), np.r_[-1, rng.integers(0, 1, n - 1)]) for n in (1, 4, 2, 3)
    ]
    taken, packed = pack(X).take([2, 0, 3]), pack([X[2], X[0], X[3]])
    assert np.array_equal(taken.parents, packed.parents)
    assert np.array_equal(taken.offsets, packed.offsets)
    assert (taken.features != packed.features).nnz == 0


def test_no_samples_may_be_taken():
    assert NOTHING.n_samples == 0


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=3)
    | st.binary(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=2), inner, max_size=2)
    ),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(X=ANYTHING, y=ANYTHING)
def test_arbitrary_input_gets_a_sentence_or_is_packed(X, y):
    """Whatever is handed in, there is a result or one sentence, never another traceback."""
    try:
        samples = pack(X)
        codes, classes = encode_labels(y, samples)
    except (TypeError, ValueError) as error:
        assert str(error).endswith(".")
        assert "\n" not in str(error)
    else:
        assert len(codes) == samples.n_nodes
        assert codes.max() < len(classes)


ANY_FLOAT = st.floats() | st.sampled_from([1e308, -1e100, 1e100, 1e-100, 5e-324, 0.0, 1.0])


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "model",
    [M3N(max_iter=10, verbose=0), CRF(max_iter=10, verbose=0)],
    ids=["M3N", "CRF"],
)
@settings(max_examples=150, deadline=None)
@given(
    values=st.lists(ANY_FLOAT, min_size=8, max_size=8),
    weight=st.lists(ANY_FLOAT, min_size=2, max_size=2) | st.none(),
)
def test_features_of_any_size_are_learned_from_or_refused(model, values, weight):
    """Whatever the floats, weights and marginals are numbers, or one sentence says why not."""
    X = np.array(values).reshape(2, 2, 2)
    try:
        model.fit(X, ["ab", "ba"], sample_weight=weight)
    except ValueError as error:
        assert str(error).endswith(".")
        assert "\n" not in str(error)
        assert any(not abs(v) <= 1e100 for v in values) or weight is not None
    else:
        assert np.isfinite(model.weights_).all()
        marginals = model.predict_marginals(X)
        assert all(np.isfinite(sample).all() for sample in marginals)
        assert [len(labels) for labels in model.predict(X)] == [2, 2]
