"""What users hand in: every slip gets one sentence that names the thing."""

import enum
import re

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from medn_edu import CRF, M3N
from medn_edu.samples import (
    Forest,
    Graph,
    GraphSamples,
    Samples,
    WeightShape,
    check_sample_weight,
    encode_labels,
    forbidden_to_allowed,
    grid,
    label_samples,
    pack,
)

GOOD = [np.eye(3), np.ones((1, 3))]


class NotAvailable:
    """What pandas' NA is like: whether it equals anything cannot be told."""

    __hash__ = object.__hash__

    def __eq__(self, other):
        raise TypeError("boolean value of NA is ambiguous")


class DataFrame:
    """What data frames are like: an array, but their columns' names to who walks along them."""

    ndim, shape, columns = 2, (3, 3), ["a", "b", "c"]

    def __iter__(self):
        return iter(self.columns)

    def __array__(self, dtype=None, copy=None):
        return np.eye(3)


MASKED = np.ma.array(np.eye(3), mask=np.eye(3))


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
        (
            [Forest(np.eye(3), [-1, 0, 1], [0, 10**9, 0])],
            ["sample 0", "1000000000", "below 25000000"],
        ),
        ([Forest(np.eye(3), [-1, 2, 0])], ["parents of sample 0", "node 1", "earlier"]),
        ([Forest(np.eye(3), [1, 0, 1])], ["parents of sample 0", "node 0"]),
        ([Forest(np.eye(3), [-1, 1, 0])], ["parents of sample 0", "node 1 has parent 1"]),
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
        ([np.eye(1), sp.csr_matrix((np.array(["1"], object), [0], [0, 1]))], ["1 of X holds text"]),
        ([np.eye(3), np.array([[None, 2, 3]], dtype=object)], ["sample 1", "not numbers"]),
        ([np.eye(3), np.zeros((1, 3), "f4,i4")], ["sample 1", "not numbers"]),
        ([np.eye(3), MASKED], ["sample 1", "holds masked entries"]),
        ([np.eye(3), [MASKED[0]]], ["sample 1", "holds masked entries"]),
        ([np.eye(3), [[1.0, 2.0, np.ma.masked]]], ["sample 1", "holds masked entries"]),
        ([np.eye(3), sp.csr_array((1, 2**31))], ["sample 1", "2147483648 features"]),
    ],
)
def test_bad_samples(X, words):
    text = sentence(pack, X)
    assert all(word in text for word in words)


PATH = [[0, 1], [1, 2]]
SHAPE = "expected whole numbers, of shape (n_edges, 2), the two nodes of each edge."


@pytest.mark.parametrize(
    ("edges", "more", "words"),
    [
        ([[0, 1], [2, 2]], {}, "edges of sample 1: edge 1 joins node 2 to itself; expected two"),
        (
            [[0, 1], [0, 1]],
            {},
            "edges of sample 1: edges 0 and 1 both join nodes 0 and 1; expected",
        ),
        ([[2, 0], [1, 0], [0, 2]], {}, "sample 1: edges 0 and 2 both join nodes 2 and 0; expected"),
        (
            [[0, 1], [1, 3]],
            {},
            "sample 1: edge 1 joins nodes 1 and 3; expected numbers from 0 to 2",
        ),
        (
            [[0, -1]],
            {},
            "edges of sample 1: edge 0 joins nodes 0 and -1; expected numbers from 0 to 2",
        ),
        ([0, 1], {}, f"edges of sample 1 has shape (2,); {SHAPE}"),
        ([[0, 1, 2]], {}, f"edges of sample 1 has shape (1, 3); {SHAPE}"),
        (np.zeros((1, 0, 2)), {}, f"edges of sample 1 has shape (1, 0, 2); {SHAPE}"),
        (3, {}, f"edges of sample 1 has shape (); {SHAPE}"),
        (None, {}, f"edges of sample 1 holds objects that are not numbers; {SHAPE}"),
        ([[0, 1], [1]], {}, f"edges of sample 1 holds rows of different lengths; {SHAPE}"),
        ([["0", "1"]], {}, f"edges of sample 1 holds text; {SHAPE}"),
        ([[0, 0.5]], {}, f"edges of sample 1 holds a number that is not whole; {SHAPE}"),
        ([[0, np.nan]], {}, f"edges of sample 1 holds a number that is not whole; {SHAPE}"),
        ([[0, 2.0**63]], {}, f"edges of sample 1 holds a number that is not whole; {SHAPE}"),
        (
            PATH,
            {"edge_types": [0]},
            "edge_types of sample 1 must be 2 whole numbers, one per edge.",
        ),
        (PATH, {"edge_types": [0, 0.5]}, "edge_types of sample 1 must be 2 whole numbers, one per"),
        (PATH, {"edge_types": [0, -1]}, "edge_types of sample 1 holds a negative type; expected 0"),
        (
            PATH,
            {"edge_types": [0, 10**9]},
            "edge_types of sample 1 holds type 1000000000; expected",
        ),
        (
            PATH,
            {"edge_features": np.ones((3, 1))},
            "edge_features of sample 1 has shape (3, 1); expected (2, 1), one row per edge.",
        ),
        (
            PATH,
            {"edge_features": [[0], [np.nan]]},
            "edge_features of sample 1 holds NaN or a number above 1e+100 in size, at edge 1; expected",
        ),
        (
            PATH,
            {"edge_features": None},
            "sample 1 of X has no edge_features and sample 0 has some;",
        ),
        (
            PATH,
            {"allowed_labels": [None]},
            "allowed_labels of sample 1 have 1 entries for 3 nodes; e",
        ),
        (PATH, {"features": np.eye(2)}, "sample 1 of X has 2 features; expected 3."),
    ],
)
def test_bad_graphs(edges, more, words):
    """Whatever the other samples are, and whether or not one of them has a cycle."""
    features = {"edge_features": [[1.0]] * np.size(edges)} if "edge_features" in more else {}
    bad = Graph(**{"features": np.eye(3), "edges": edges} | features | more)
    for good in ([[0, 1]], [[0, 1], [1, 2], [2, 0]]):
        one = None if not features else np.ones((len(good), 1))
        assert words in sentence(pack, [Graph(np.eye(3), good, edge_features=one), bad])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            (np.ones(3),),
            "features of a grid has shape (3,); expected (height, width) or (height, wi",
        ),
        ((np.ones((2, 2, 2, 2)),), "features of a grid has shape (2, 2, 2, 2); expected (height,"),
        ((np.ones((0, 3)),), "features of a grid has shape (0, 3); expected (height, width) or"),
        ((np.ones((2, 3, 0)),), "features of a grid has shape (2, 3, 0); expected (height, width)"),
        ((np.ones((2, 2)), 6), "connectivity is 6; expected 4 or 8."),
        ((np.ones((2, 2)), "8"), "connectivity is '8'; expected 4 or 8."),
        ((np.ones((2, 2)), True), "connectivity is True; expected 4 or 8."),
        ((np.ones((2, 2)), None), "connectivity is None; expected 4 or 8."),
        ((np.ones((2, 2)), np.ones(2)), "connectivity is array([1., 1.]); expected 4 or 8."),
    ],
)
def test_bad_grids(arguments, words):
    assert sentence(grid, *arguments).startswith(words)
    assert sentence(grid, [["a"]], error=TypeError).startswith("features of a grid holds text; exp")
    assert "sample 0 of X holds NaN" in sentence(pack, [grid(np.full((2, 2), np.nan))])


def test_grids_of_other_sizes_than_in_training():
    """If every pixel has weights of its own; the sentence names both widths."""
    model = CRF().fit([grid(np.eye(2)[:1], share=False)] * 2, ["ab", "ba"])
    text = sentence(model.predict, [grid(np.eye(3)[:1], share=False)])
    assert text == "sample 0 of X has 3 features; expected 2."


@pytest.mark.parametrize(
    ("form", "name", "value"),
    [
        ("csr", "data", np.ones((3, 1))),
        ("csr", "data", [1.0, 2.0, 3.0]),
        ("csr", "data", np.ones(2)),
        ("csr", "data", np.ma.array([1.0, 2.0, 3.0], mask=[0, 0, 1])),
        ("csr", "indices", np.ma.array([0, 2, 1], mask=[0, 0, 1])),
        ("csr", "indices", np.array([0, 3, 1])),
        ("csr", "indices", np.array([0, -1, 1])),
        ("csr", "indptr", np.array([1, 2, 3])),
        ("csr", "indptr", np.array([0, 9, 3])),
        ("csr", "indptr", np.array([0, -1, 3])),
        ("csr", "indptr", np.array([0, 2, 4])),
        ("csc", "data", np.ones((3, 1))),
        ("csc", "indices", np.array([0, 2, 0])),
        ("csc", "indptr", np.array([0, 9, 2, 3])),
        ("bsr", "indices", np.array([9, 2, 1])),
        ("bsr", "indptr", np.array([0, 2, 99])),
        ("coo", "row", np.array([2, 0, 1])),
        ("coo", "col", np.array([-1, 2, 1])),
        ("dia", "offsets", np.array([0.5, 2.5])),
        ("dia", "offsets", np.array([0, 10**12])),
        ("lil", "rows", [[0, 5], [1]]),
        ("lil", "rows", [[0], [1]]),
        ("lil", "data", [[1.0], [3.0]]),
        ("dok", "_dict", {(0, 7): 1.0}),
    ],
)
def test_damaged_sparse_samples(form, name, value):
    """Scipy takes arrays at their word, and compiled code would follow them out of memory."""
    matrix = sp.csr_array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]).asformat(form)
    setattr(matrix, name, value)
    for one in (matrix, Forest(matrix, [-1, 0])):
        assert f"sample 1 of X is a damaged {form}_array" in sentence(pack, [np.eye(3), one])


def test_packing_leaves_sparse_samples_alone():
    """Zeros, duplicates and what lies beyond the last row are dropped from the copy only."""
    matrix = sp.csr_array((np.array([1.0, 2.0, 0.0]), [0, 0, 1], [0, 3]), shape=(1, 2))
    matrix.indices, matrix.data = np.array([0, 0, 1, 99]), np.array([1.0, 2.0, 0.0, np.inf])
    features = pack([matrix]).features
    assert matrix.indices.tolist() == [0, 0, 1, 99]
    assert matrix.data.tolist() == [1.0, 2.0, 0.0, np.inf]
    assert features.toarray().tolist() == [[3.0, 0.0]]
    assert features.nnz == 1


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


@pytest.mark.parametrize(
    ("name", "at", "value"),
    [
        ("nodes", 0, 3),  # twice
        ("nodes", 0, 4),  # in another sample
        ("nodes", 0, 99),
        ("edges", 0, 3),  # in another sample
        ("edges", 0, -1),
        ("edge_offsets", 1, 3),
        ("edge_offsets", 2, 1),
    ],
)
def test_the_order_as_given_changed_by_hand(name, at, value):
    samples = pack([Graph(np.eye(3), [[1, 0], [2, 0]]), Graph(np.eye(3), [[0, 1]])])
    samples.given.nodes[:3] = 2, 1, 0
    samples.check()
    getattr(samples.given, name)[at] = value
    assert re.match(r"the given .* of these Samples do not fit", sentence(pack, samples))


@pytest.mark.parametrize(
    ("name", "at", "value"),
    [
        ("edges", (1, 0), 99),
        ("edges", (1, 0), -1),
        ("edges", (1, 0), 2),  # to itself
        ("edges", (2, 1), 4),  # in another sample
        ("edge_offsets", 1, 4),
        ("edge_offsets", 2, 4),
        ("edge_types", 1, -1),
        ("offsets", 1, 2),
    ],
)
def test_graph_samples_changed_by_hand(name, at, value):
    samples = pack([Graph(np.eye(3), [[0, 1], [1, 2], [2, 0]]), np.eye(3)])
    getattr(samples, name)[at] = value
    parts = (
        samples.features,
        samples.offsets,
        samples.edges,
        samples.edge_offsets,
        samples.edge_types,
    )
    assert "of these GraphSamples do not fit, because" in sentence(pack, samples)
    assert "of these GraphSamples do not fit" in sentence(GraphSamples, *parts)


def test_packed_samples_are_looked_at_again():
    samples = pack(GOOD)
    for X, name in ((GOOD, "sample 0 of X"), (samples, "X")):
        text = sentence(lambda X: pack(X, n_features=4), X)
        assert text == f"{name} has 3 features; expected 4."
    samples.edge_types[1] = 4
    assert pack(samples).n_edge_types == 5
    samples.features.data[-1] = np.nan
    assert "sample 1 of X holds NaN" in sentence(pack, samples)


def test_not_a_sequence_of_samples():
    numbers = [7, None, np.float64(3), sp.eye(3), np.eye(3), DataFrame()]
    for X in [*numbers, "axi", {"a": 1}, {1, 2}, Forest(np.eye(2), [-1, 0])]:
        text = sentence(pack, X, error=TypeError)
        assert re.search(r"X is a .*expected a sequence of samples", text), X


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (["aba"], ["2 samples", "1 label sequences"]),
        (["ab", "a"], ["sample 0 has 3 nodes", "2 labels"]),
        (["aba", [NotAvailable()]], ["sample 1 has a missing label ("]),
        ([np.ma.array([0, 1, 0], mask=[0, 0, 1]), [1]], ["y[0] has masked entries"]),
        (["aba", np.array(["NaT"], "M8[s]")], ["sample 1", "missing label"]),
        (["aba", [np.timedelta64("NaT")]], ["sample 1", "missing label"]),
        ([["a", None, "b"], "a"], ["sample 0", "missing label"]),
        ([[0.0, float("nan"), 1.0], [1.0]], ["sample 0", "missing label"]),
        ([np.zeros((3, 2)), [1]], ["y[0]", "2 dimensions"]),
    ],
)
def test_labels_that_do_not_fit(y, words):
    text = sentence(encode_labels, y, pack(GOOD))
    assert all(word in text for word in words)


@pytest.mark.parametrize(
    ("y", "words"),
    [
        ([[np.eye(50), "b", "c"], "a"], ["sample 0", "not hashable"]),
        ([{"a", "b", "c"}, "a"], ["y[0] is a set"]),
        ([DataFrame(), "a"], ["y[0] is a DataFrame"]),
        (["aba", {"a": 1}], ["y[1] is a dict"]),
        ([1, 2], ["y[0] is a int"]),
        ({"aba", "b"}, ["y is a set, which has no order"]),
        (DataFrame(), ["y is a DataFrame"]),
        ("ab", ["y is a str"]),
        (3, ["y is a int"]),
    ],
)
def test_what_holds_no_labels(y, words):
    text = sentence(encode_labels, y, pack(GOOD), error=TypeError)
    assert all(word in text for word in words)


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
    assert not any(isinstance(label, np.generic) for label in classes.tolist())
    again, _ = encode_labels([labels], pack([np.eye(3)]), classes.tolist())
    assert np.array_equal(codes, again)


class Side(enum.IntEnum):
    LEFT, RIGHT = 0, 1


@pytest.mark.parametrize("labels", [[0.5, 1], [True, 2], [Side.LEFT, Side.RIGHT]])
def test_labels_keep_their_types(labels):
    _, classes = encode_labels([labels], pack([np.eye(2)]))
    assert [type(label) for label in classes.tolist()] == [type(label) for label in labels]


def test_integers_are_the_same_labels_in_an_array_and_in_a_list():
    samples, integers = pack([np.eye(3)]), [3, 1, 3]
    for array in (np.array(integers), np.array(integers, dtype=object)):
        codes, classes = encode_labels([array], samples)
        assert codes.tolist() == [1, 0, 1]
        assert classes.dtype.kind == "i"
        for y, known in ((integers, classes), (array, [1, 3])):
            again, _ = encode_labels([y], samples, known)
            assert np.array_equal(codes, again)


def test_labels_that_cannot_be_compared_are_sorted_by_type_and_text():
    _, classes = encode_labels([["b", 2, "a", 1]], pack([np.eye(4)]))
    assert classes.tolist() == [1, 2, "a", "b"]


def test_forbidden_pairs_hold_for_all_edge_types_or_for_those_named():
    for forbidden, expected in (
        ([("a", "b")], [[0, 0, 1], [1, 0, 1]]),
        ({1: [("b", "a")]}, [[1, 1, 0]]),
    ):
        allowed = forbidden_to_allowed(forbidden, np.array(["a", "b"]), 2)
        assert np.argwhere(~allowed).tolist() == expected


@pytest.mark.parametrize(
    ("forbidden", "words"),
    [
        ([("a", "z")], "forbidden names the label 'z'"),
        (["a"], "pairs"),
        ([3], "pairs"),
        ({5: [("a", "b")]}, "edge type 5, but the samples have edge types 0 to 0"),
        ({0.0: [("a", "b")]}, "edge type 0.0"),
        ({True: [("a", "b")]}, "edge type True"),
        ([(np.eye(50), "a")], "pairs"),
    ],
)
def test_bad_forbidden_transitions(forbidden, words):
    text = sentence(forbidden_to_allowed, forbidden, np.array(["a", "b"]))
    assert text.startswith("forbidden")
    assert words in text


@pytest.mark.parametrize(
    ("forbidden", "words"),
    [
        (3, "forbidden is a int"),
        ({0: 3}, "forbidden[0] is a int"),
        (DataFrame(), "forbidden is a DataFrame"),
        (zip("a", "b", strict=True), "forbidden is an iterator"),  # empty after the first fit
    ],
)
def test_forbidden_that_is_no_list(forbidden, words):
    text = sentence(forbidden_to_allowed, forbidden, np.array(["a", "b"]), error=TypeError)
    assert text.startswith(words)
    assert "pairs" in text


ALLOWED = np.ones((1, 2, 2), bool)
NOT_AB = ALLOWED & ~np.eye(2, k=1, dtype=bool)
TWO, AAAB = pack([np.eye(2), np.eye(2)]), np.array([0, 0, 0, 1])
THREE_TYPES = pack([Forest(np.eye(2), [-1, 0], [0, 2])])


@pytest.mark.parametrize(
    ("words", "call", "arguments"),
    [
        *(  # a code below 0 would be a label in no table
            ("codes are not 4 whole numbers from 0 to 1", label_samples, (TWO, codes, ALLOWED))
            for codes in (2 * AAAB, AAAB - 1, AAAB[:3], 1.0 * AAAB)
        ),
        (
            "sample 1 use a forbidden transition, from node 0 to node 1;",
            label_samples,
            (TWO, AAAB, NOT_AB),
        ),
        ("have 3 edge types but allowed has 1", label_samples, (THREE_TYPES, AAAB[2:], ALLOWED)),
        ("single label", label_samples, (TWO, AAAB, np.ones((1, 1, 1), bool))),
        ("'z' of sample 1 was not seen", encode_labels, (["aba", "z"], pack(GOOD), ["a", "b"])),
        ("9999 edge types and 200", forbidden_to_allowed, (None, np.arange(200), 9999)),
        ("X holds no samples", pack, (TWO.take([]),)),
        ("weights has shape (9,); expected (8,)", WeightShape(2, 2, 1).split, (np.zeros(9),)),
        *(  # a mask, or a number that is no sample's
            ("index must hold whole numbers from 0 to 1, the pos", TWO.take, (index,))
            for index in ([True, False], [0, -1], [2], [0.0], 1, [[0]])
        ),
        *(
            ("sample_weight ", check_sample_weight, (weight, 2))
            for weight in (
                *([1.0], [1.0, 0.0], [1.0, -1.0], [1.0, np.nan], [1.0, 1e101], [[1.0], [2.0]]),
                np.array([1, 1e400], dtype=np.longdouble) * np.longdouble("1e400"),
            )
        ),
    ],
)
def test_what_does_not_fit_together(words, call, arguments):
    assert words in sentence(call, *arguments)


@pytest.mark.parametrize(
    "weight", ["ab", ["1", "2"], [1, 1j], np.ones(2, "m8[s]"), np.ma.array([1.0, 2.0], mask=[0, 1])]
)
def test_weights_that_are_no_numbers(weight):
    assert sentence(check_sample_weight, weight, 2, error=TypeError).startswith(
        "sample_weight holds"
    )


def test_packing_keeps_chains_trees_and_sparse_rows():
    """Samples to predict need not show every edge type; at roots types mean nothing."""
    tree = Forest(sp.csr_matrix(np.eye(3)), parents=[-1, 0, 0], edge_types=[9, 1, 0])
    samples = pack([np.eye(3), tree, Forest(np.eye(3), [-1, 0, -1], [-5, 7, 10**9])])
    assert samples.parents.tolist() == [-1, 0, 1, -1, 3, 3, -1, 6, -1]
    assert samples.edge_types.tolist() == [0, 0, 0, 0, 1, 0, 0, 7, 0]
    assert samples.n_edge_types == 8
    assert samples.features.nnz == 9
    assert pack(samples) is samples


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


def test_data_frames_and_unmasked_arrays_are_features():
    """A list of data frames works, and so does a masked array without masked entries."""
    X = [DataFrame(), np.ma.array(np.eye(3)), np.eye(3, dtype=bool), np.eye(3).astype(object)]
    assert (pack(X).features != pack([np.eye(3)] * 4).features).nnz == 0


def test_taking_samples_equals_packing_them():
    rng = np.random.default_rng(0)
    X = [
        Forest(rng.normal(size=(n, 2)), np.minimum(0, np.arange(-1, n - 1)), range(n))
        for n in (1, 4, 2, 3)
    ]
    taken, packed = pack(X).take([2, 0, 3]), pack([X[2], X[0], X[3]])
    for name in ("offsets", "parents", "edge_types"):
        assert np.array_equal(getattr(taken, name), getattr(packed, name))
    assert (taken.features != packed.features).nnz == 0


ANY_FLOAT = st.floats() | st.sampled_from([1e308, -1e100, 1e100, 1e-100, 5e-324, 0.0, 1.0])


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", [M3N, CRF])
@settings(max_examples=150, deadline=None)
@given(
    values=st.lists(ANY_FLOAT, min_size=8, max_size=8),
    weight=st.lists(ANY_FLOAT, min_size=2, max_size=2) | st.none(),
)
def test_features_of_any_size_are_learned_from_or_refused(kind, values, weight):
    model, X = kind(max_iter=10, verbose=0), np.array(values).reshape(2, 2, 2)
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
