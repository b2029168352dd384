"""What users hand in: every slip gets one sentence that names the thing."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from medn_edu import CRF, M3N
from medn_edu.packing import (
    check_sample_weight,
    encode_labels,
    forbidden_to_allowed,
    label_samples,
    pack,
)
from medn_edu.structures import Forest

GOOD = [np.eye(3), np.ones((1, 3))]


def sentence(error: pytest.ExceptionInfo) -> str:
    """Return an error's message, asserting that it is one sentence."""
    text = str(error.value)
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
    ],
)
def test_bad_samples(X, words):
    """Each bad sample is named, with what was expected."""
    with pytest.raises(ValueError) as error:
        pack(X)
    assert all(word in sentence(error) for word in words)


@pytest.mark.parametrize(
    "X", [7, None, "axi", {"a": 1}, np.float64(3), sp.eye(3), Forest(np.eye(2), [-1, 0])]
)
def test_not_a_sequence_of_samples(X):
    """Something that holds no samples is refused by name."""
    with pytest.raises(TypeError, match=r"X is a .*expected a sequence of samples"):
        pack(X)


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (["aba"], ["2 samples", "1 label sequences"]),
        (["ab", "a"], ["sample 0 has 3 nodes", "2 labels"]),
        ([["a", None, "b"], "a"], ["sample 0", "missing label"]),
        ([[0.0, float("nan"), 1.0], [1.0]], ["sample 0", "missing label"]),
        ([np.zeros((3, 2)), [1]], ["y[0]", "2 dimensions"]),
    ],
)
def test_bad_labels(y, words):
    """Each bad label sequence is named, with what was expected."""
    with pytest.raises(ValueError) as error:
        encode_labels(y, pack(GOOD))
    assert all(word in sentence(error) for word in words)


@pytest.mark.parametrize("y", [3, [1, 2], "ab", [[["a"], "b", "c"], ["a"]]])
def test_labels_of_the_wrong_kind(y):
    """Labels that are not sequences of hashable values are refused."""
    with pytest.raises((TypeError, ValueError)) as error:
        encode_labels(y, pack(GOOD))
    sentence(error)


def test_label_not_seen_in_training():
    """A label that training never showed is named, with its sample."""
    with pytest.raises(
        ValueError, match="'z' of sample 1 was not seen in training; the known labels"
    ):
        encode_labels(["aba", "z"], pack(GOOD), ["a", "b"])


@pytest.mark.parametrize(
    "labels",
    [
        [0, 1, 2],
        ["x", "yy", "z"],
        [0.5, 1.5, -1.0],
        [True, False, True],
        [("a", 1), ("b", 2), ("a", 1)],
    ],
)
def test_labels_may_be_anything_hashable(labels):
    """Labels come back as they went in."""
    codes, classes = encode_labels([labels], pack([np.eye(3)]))
    assert classes[codes].tolist() == labels


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
    ],
)
def test_bad_forbidden_transitions(forbidden, words):
    """Forbidden transitions must be pairs of known labels."""
    with pytest.raises((TypeError, ValueError)) as error:
        forbidden_to_allowed(forbidden, np.array(["a", "b"]))
    assert all(word in sentence(error) for word in words)


def test_too_many_transitions_are_refused():
    """A table that would not fit into memory is not asked for."""
    with pytest.raises(ValueError, match="9999 edge types and 200 labels make more than") as error:
        forbidden_to_allowed(None, np.arange(200), 9999)
    sentence(error)


def test_forbidden_must_last_longer_than_one_fit():
    """An iterator would forbid in the first fit only."""
    with pytest.raises(TypeError, match="forbidden is an iterator"):
        forbidden_to_allowed(zip("a", "b", strict=True), np.array(["a", "b"]))


@pytest.mark.parametrize("labels", [["a", "a\0", "b"], [-1, 2**63 + 1, 5], [np.int64(1), 2, 1]])
def test_labels_are_never_changed(labels):
    """Numpy would shorten strings with trailing NULs and round huge integers; it may not."""
    codes, classes = encode_labels([labels], pack([np.eye(3)]))
    assert classes[codes].tolist() == labels
    again, _ = encode_labels([labels], pack([np.eye(3)]), classes.tolist())
    assert np.array_equal(codes, again)


def test_training_labels_may_not_use_forbidden_transitions():
    """The sample and the node are named."""
    allowed = np.ones((1, 2, 2), bool)
    allowed[0, 0, 1] = False
    with pytest.raises(ValueError, match="sample 1 use a forbidden transition, at node 1"):
        label_samples(pack([np.eye(2), np.eye(2)]), np.array([0, 0, 0, 1]), allowed)


def test_a_single_label_is_refused():
    """There is nothing to learn from one label."""
    with pytest.raises(ValueError, match="single label"):
        label_samples(pack([np.eye(2)]), np.array([0, 0]), np.ones((1, 1, 1), bool))


@pytest.mark.parametrize(
    "weight",
    [[1.0], [1.0, 0.0], [1.0, -1.0], [1.0, np.nan], [1.0, 1e101], [1.0, 1j], "ab", [[1.0], [2.0]]],
)
def test_bad_sample_weights(weight):
    """Weights are finite, positive, and one per sample."""
    with pytest.raises(ValueError, match="sample_weight"):
        check_sample_weight(weight, 2)


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
