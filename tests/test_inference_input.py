"""Bad input in one sentence, threads without influence, and arrays of any kind."""

import re
from functools import partial
from unittest import mock

import joblib
import numpy as np
import pytest
from forests import make_case

from medn_edu import inference
from medn_edu.inference import Potentials
from medn_edu.kernels import maximize
from medn_edu.samples import Forest, WeightShape, pack

CASE = make_case(0, n_labels=3, n_samples=3, n_nodes=3)
SAMPLES, NODE, EDGE, LABELS = CASE.samples, CASE.node, CASE.edge, np.zeros(9, dtype=int)
TWO_TYPES = pack([Forest(np.eye(3), [-1, 0, 1], [0, 0, 1])])
LONG = Potentials(pack([np.ones((2000, 1))]), np.zeros((2000, 3)), np.zeros((1, 3, 3)))
TEXT, COMPLEX = np.full((1, 3, 3), "1"), np.full((1, 3, 3), 1j)

with_node, with_edge = partial(Potentials, SAMPLES, edge=EDGE), partial(Potentials, SAMPLES, NODE)
two_types = partial(Potentials, TWO_TYPES, NODE[:3])
marginals = partial(inference.marginals, CASE.potentials)
node_potentials = partial(inference.node_potentials, SAMPLES)
edge_potentials = inference.edge_potentials
COEF = np.zeros((3, SAMPLES.n_features))
TWO_EDGE_FEATURES = pack([Forest(np.eye(3), edge_features=np.eye(3)[:, :2])])
of_weights = partial(Potentials.of_weights, TWO_EDGE_FEATURES, np.zeros((3, 3)))
scores = partial(inference.labelling_scores, CASE.potentials)
feature_sums = partial(inference.feature_sums, SAMPLES)
add_loss = partial(inference.add_loss, np.zeros((2, 3)))
two_features = partial(inference.joint_features, pack([np.ones((2, 2))]), np.zeros(2, dtype=int))


@pytest.mark.parametrize(
    "question",
    [
        *(inference.best_labelling, inference.log_partition, inference.edge_marginals),
        *(inference.marginals, partial(inference.marginals, epsilon=0.0)),
        partial(inference.k_best, k=2),
        partial(inference.draw_labellings, rng=np.random.default_rng(0)),
    ],
)
def test_impossible_sample_is_named(question):
    potentials = with_node(np.where(np.arange(9)[:, None] == 4, -np.inf, NODE))
    with pytest.raises(ValueError, match="sample 1 has no allowed labelling: its allowed_labels, "):
        question(potentials)


def spoilt(table, *bad):
    """Return copies of a table with bad numbers in its middle."""
    middle = np.arange(table.size).reshape(table.shape) == table.size // 2
    return [np.where(middle, number, table) for number in bad]


@pytest.mark.parametrize(
    ("name", "call", "told", "values"),
    [
        ("node", with_node, "holds NaN or +inf in sample 1", spoilt(NODE, np.nan, np.inf)),
        ("node", with_node, "has shape (8, 3); expected (9, n_labels)", [NODE[:-1]]),
        ("edge", with_edge, "holds NaN or +inf", spoilt(EDGE, np.nan, np.inf)),
        ("edge", with_edge, "has shape", [EDGE[:, :2], EDGE[:0]]),
        ("edge", two_types, "has shape (1, 3, 3); expected (2, 3, 3)", [EDGE[:1]]),
        ("epsilon", marginals, "is", [-1.0, np.nan, np.inf]),
        ("sample_weight", marginals, "has shape (1,)", [np.ones(1)]),
        ("n_jobs", marginals, "is", [0, 1025]),
        ("k", partial(inference.k_best, CASE.potentials), "is 0", [0]),
        ("coef", node_potentials, "has shape (3, 2)", [np.zeros((3, 2))]),
        ("transitions", edge_potentials, "has shape", [np.zeros((2, 3))]),
        ("allowed", partial(edge_potentials, EDGE), "has shape", [EDGE[:, :2] > 0]),
        ("transitions", of_weights, "has shape", [EDGE[:1], EDGE[0], np.zeros((3, 3, 3))]),
        ("allowed", partial(of_weights, np.zeros((2, 3, 3))), "has shape", [EDGE[:0] > 0]),
        ("mask", partial(node_potentials, COEF), "has shape", [NODE[:-1] > 0, NODE[:, :2] > 0]),
        ("mask", partial(node_potentials, COEF), "has shape (9, 3) and type float64; ", [NODE]),
        ("scale", partial(add_loss, np.zeros(2, int)), "has shape (1,); expected one n", [[1.0]]),
        ("labels", scores, "holds the code 3 in sample 1", spoilt(LABELS, 3)),
        ("labels", scores, "holds the code -1 in sample 1", spoilt(LABELS, -1)),
        ("labels", scores, "has shape", [LABELS[:-1], LABELS.astype(float)]),
        ("labels", add_loss, "do not fit the node potentials", [[0], [0, -1], [0, 3], [0.0, 1]]),
        ("labels", add_loss, "do not fit the node potentials", [0]),
        ("n_edge_types", partial(inference.edge_counts, SAMPLES, LABELS, 3), "is 0", [0]),
        ("n_edge_types", partial(inference.edge_counts, TWO_TYPES, LABELS[:3], 3), "is 1", [1]),
        ("shape", two_features, "has", [WeightShape(3, 3, 1), WeightShape(3, 1, 1)]),
        (
            "shape",
            two_features,
            "has 2 features and 0 transition tables; expected 2",
            [WeightShape(3, 2, 0)],
        ),
        ("node_values", feature_sums, "has shape (8, 3); expected (9, n_labels)", [NODE[:-1]]),
        *(
            ("node_values", feature_sums, "holds NaN or an infinite number in sample 1", [bad])
            for bad in spoilt(NODE, np.nan, np.inf, -np.inf)
        ),
    ],
)
def test_refused_values(name, call, told, values):
    for value in values:
        with pytest.raises(ValueError, match=f"^{re.escape(f'{name} {told}')}"):
            call(**{name: value})


@pytest.mark.parametrize(
    ("name", "call", "told", "values"),
    [
        ("node", with_node, "holds text; expected real numbers", [NODE.astype(str)]),
        ("node", with_node, "holds complex numbers; expected real numbers", [NODE + 1j]),
        ("node", with_node, "holds masked entries", [np.ma.array(NODE, mask=NODE > 0)]),
        ("coef", node_potentials, "holds text; expected real numbers", [TEXT[0]]),
        ("coef", node_potentials, "holds complex numbers; expected real numbers", [COMPLEX[0]]),
        ("transitions", edge_potentials, "holds text; expected real numbers", [TEXT]),
        ("transitions", edge_potentials, "holds complex numbers; expected real", [COMPLEX]),
        ("n_jobs", marginals, "is", ["2", np.timedelta64(1), True]),
    ],
)
def test_refused_types(name, call, told, values):
    for value in values:
        with pytest.raises(TypeError, match=f"^{re.escape(f'{name} {told}')}"):
            call(**{name: value})


def test_scores_too_large_for_a_number_are_told():
    potentials = with_node(np.full_like(NODE, 1e308))
    for question in (inference.best_labelling, inference.log_partition, inference.marginals):
        with pytest.raises(ValueError, match=r"sample 0 has a score that is not finite \(inf\)"):
            question(potentials)


@pytest.mark.parametrize("k", [10**7, 10**30])
def test_more_labellings_than_fit_into_memory(k):
    """Short samples give all they have; long ones are refused before memory is asked for."""
    assert [len(found) for _, found in inference.k_best(CASE.potentials, k)] == [27, 27, 27]
    with pytest.raises(ValueError, match=rf"k is {k}, .*more than 2 GiB.*expected k up to \d+"):
        inference.k_best(LONG, k)


def test_forbidden_transitions_are_minus_infinity_in_a_copy():
    finite = EDGE.copy()
    allowed = finite < finite.max()
    forbidden = edge_potentials(EDGE, allowed)
    np.testing.assert_array_equal(forbidden, np.where(allowed, finite, -np.inf))
    np.testing.assert_array_equal(EDGE, finite)


def test_there_are_no_more_threads_than_work(small_groups, monkeypatch):
    parallel = mock.Mock(wraps=joblib.Parallel)
    monkeypatch.setattr(joblib, "Parallel", parallel)
    labels, _ = inference.best_labelling(CASE.potentials, n_jobs=1000)
    assert parallel.call_args.kwargs["n_jobs"] == small_groups(SAMPLES) > 1
    np.testing.assert_array_equal(labels, inference.best_labelling(CASE.potentials)[0])


@pytest.fixture(scope="module")
def large():
    """Enough nodes for several groups, chunks and threads."""
    return make_case(11, n_labels=5, n_samples=3000, n_nodes=7)


def test_threads_change_nothing(large):
    samples, edge, coef = large.samples, large.edge, np.random.default_rng(0).normal(size=(5, 3))
    potentials = large.potentials
    for ask in (
        lambda n: inference.best_labelling(potentials, n_jobs=n),
        lambda n: [x for pair in inference.k_best(potentials, 2, n_jobs=n) for x in pair],
        lambda n: [inference.log_partition(potentials, n_jobs=n)],
        lambda n: vars(inference.marginals(potentials, n_jobs=n)).values(),
        lambda n: [inference.edge_marginals(potentials, n_jobs=n)],
        lambda n: inference.draw_labellings(potentials, 2, rng=np.random.default_rng(3), n_jobs=n),
        lambda n: [inference.node_potentials(samples, coef, n_jobs=n)],
        lambda n: [inference.feature_sums(samples, large.node, n_jobs=n)],
        lambda n: vars(inference.expected_statistics(samples, coef, edge, n_jobs=n)).values(),
    ):
        for one, two in zip(ask(1), ask(2), strict=True):
            np.testing.assert_array_equal(one, two)


def test_a_sample_is_answered_alike_alone_and_among_others(large):
    labels, _ = inference.best_labelling(large.potentials)
    found = inference.marginals(large.potentials)
    for i in (0, 1234, 2999):
        one = large.samples.take(np.array([i]))
        nodes = slice(large.samples.offsets[i], large.samples.offsets[i + 1])
        alone = Potentials(one, large.node[nodes], large.edge)
        np.testing.assert_array_equal(inference.marginals(alone).node, found.node[nodes])
        np.testing.assert_array_equal(inference.best_labelling(alone)[0], labels[nodes])


def test_read_only_arrays_compile_nothing_new_and_are_copied_once(tmp_path):
    """They are another type to numba; memory maps, which joblib's workers get, may be large."""
    case = make_case(1, n_labels=3)
    expected, _ = inference.best_labelling(case.potentials)
    assert case.samples.packed.parents is case.samples.parents  # which needed no copy
    joblib.dump((case.samples, np.asfortranarray(case.node)), tmp_path / "case")
    samples, node = joblib.load(tmp_path / "case", mmap_mode="r")
    assert not samples.offsets.flags.writeable
    assert not node.flags.writeable
    assert all(array.flags.writeable for array in samples.packed[:6])
    copy, before = samples.packed.offsets, len(getattr(maximize.best_labellings, "signatures", ()))
    labels, _ = inference.best_labelling(Potentials(samples, node, np.asfortranarray(case.edge)))
    np.testing.assert_array_equal(labels, expected)
    assert len(getattr(maximize.best_labellings, "signatures", ())) == before
    pack(samples)  # as every fit and every prediction does
    assert samples.packed.offsets is copy
