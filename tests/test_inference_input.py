"""Bad input in one sentence, threads without influence, and arrays of any kind."""

import dataclasses

import joblib
import numpy as np
import pytest
from forests import make_case

from medn_edu import inference
from medn_edu.inference import Potentials
from medn_edu.kernels import maximize
from medn_edu.samples import pack

RNG = np.random.default_rng(0)

QUESTIONS = {
    "best_labelling": lambda p: inference.best_labelling(p),
    "k_best": lambda p: inference.k_best(p, 2),
    "log_partition": lambda p: inference.log_partition(p),
    "marginals": lambda p: inference.marginals(p),
    "cold marginals": lambda p: inference.marginals(p, 0.0),
    "edge_marginals": lambda p: inference.edge_marginals(p),
    "draw_labellings": lambda p: inference.draw_labellings(p, rng=RNG),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_impossible_sample_is_named(question):
    case = make_case(0, n_labels=3, n_samples=3, n_nodes=3)
    case.node[4] = -np.inf
    with pytest.raises(ValueError, match="sample 1 has no allowed labelling: -inf potentials or"):
        QUESTIONS[question](case.potentials)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_potentials_that_are_not_numbers(bad):
    case = make_case(0, n_labels=3, n_samples=3, n_nodes=3)
    node, edge = case.node.copy(), case.edge.copy()
    node[7, 1] = bad
    with pytest.raises(ValueError, match=r"node holds NaN or \+inf in sample 2"):
        Potentials(case.samples, node, case.edge)
    edge[0, 1, 1] = bad
    with pytest.raises(ValueError, match=r"edge holds NaN or \+inf"):
        Potentials(case.samples, case.node, edge)


def test_shapes_that_do_not_fit():
    case = make_case(0, n_labels=3, n_samples=3, n_nodes=3)
    with pytest.raises(ValueError, match=r"node has shape \(8, 3\); expected \(9, n_labels\)"):
        Potentials(case.samples, case.node[:-1], case.edge)
    with pytest.raises(ValueError, match="edge has shape"):
        Potentials(case.samples, case.node, case.edge[:, :2])
    with pytest.raises(ValueError, match="edge has shape"):
        Potentials(case.samples, case.node, case.edge[:0])


@pytest.mark.parametrize("epsilon", [-1.0, np.nan, np.inf])
def test_temperatures_that_are_none(epsilon):
    case = make_case(0)
    with pytest.raises(ValueError, match="epsilon is"):
        inference.marginals(case.potentials, epsilon)


def test_other_arguments_are_checked():
    case = make_case(0, n_labels=3, n_samples=2, n_nodes=3)
    samples = case.samples
    labels = np.zeros(6, dtype=int)
    with pytest.raises(ValueError, match="k is 0"):
        inference.k_best(case.potentials, 0)
    with pytest.raises(ValueError, match=r"coef has shape \(3, 2\)"):
        inference.node_potentials(samples, np.zeros((3, 2)))
    with pytest.raises(ValueError, match=r"sample_weight has shape \(1,\)"):
        inference.marginals(case.potentials, sample_weight=np.ones(1))
    with pytest.raises(ValueError, match="labels of sample 1 hold the code 3"):
        inference.labelling_scores(case.potentials, np.array([0, 0, 0, 0, 3, 0]))
    with pytest.raises(ValueError, match="labels has shape"):
        inference.labelling_scores(case.potentials, labels[:-1])
    with pytest.raises(ValueError, match="labels has shape"):
        inference.labelling_scores(case.potentials, labels.astype(float))
    with pytest.raises(ValueError, match="n_edge_types is 0"):
        inference.edge_counts(samples, labels, 3, n_edge_types=0)
    with pytest.raises(ValueError, match="transitions has shape"):
        inference.edge_potentials(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="allowed has shape"):
        inference.edge_potentials(np.zeros((1, 3, 3)), np.ones((1, 2, 2), dtype=bool))
    for n_jobs in (0, "2", np.timedelta64(1)):
        with pytest.raises((TypeError, ValueError), match=r"n_jobs is .* expected a whole number"):
            inference.best_labelling(case.potentials, n_jobs=n_jobs)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_to_sum_features_with_are_finite(bad):
    case = make_case(0, n_labels=3, n_samples=2, n_nodes=3)
    values = np.ones((6, 3))
    values[4, 1] = bad
    with pytest.raises(ValueError, match="node_values holds NaN or an infinite number in sample 1"):
        inference.feature_sums(case.samples, values)
    with pytest.raises(
        ValueError, match=r"node_values has shape \(5, 3\); expected \(6, n_labels\)"
    ):
        inference.feature_sums(case.samples, values[:-1])


def test_potentials_that_numpy_would_make_numbers_of():
    case = make_case(0, n_labels=3, n_samples=2, n_nodes=3)
    for odd in (case.node.astype(str), case.node + 1j, np.ma.array(case.node, mask=case.node > 0)):
        with pytest.raises(TypeError, match=r"node holds .*; expected real numbers"):
            Potentials(case.samples, odd, case.edge)


def test_there_are_no_more_threads_than_work(small_groups, monkeypatch):
    case = make_case(0, n_labels=3, n_samples=9, n_nodes=3)
    asked, parallel = [], joblib.Parallel
    monkeypatch.setattr(
        joblib,
        "Parallel",
        lambda n_jobs, **kw: asked.append(n_jobs) or (parallel(n_jobs=min(n_jobs, 99), **kw)),
    )
    labels, _ = inference.best_labelling(case.potentials, n_jobs=1000)
    assert asked == [small_groups(case.samples)]
    np.testing.assert_array_equal(labels, inference.best_labelling(case.potentials)[0])


def test_forbidden_labelling_scores_minus_infinity():
    case = make_case(0, n_labels=2, n_samples=1, n_nodes=2, kind="chain")
    allowed = np.ones(case.edge.shape, dtype=bool)
    allowed[:, 0, 1] = False
    potentials = Potentials(case.samples, case.node, inference.edge_potentials(case.edge, allowed))
    assert inference.labelling_scores(potentials, np.array([0, 1])) == -np.inf
    assert np.isfinite(case.edge).all()  # a copy was made


def test_add_loss_touches_wrong_labels_only():
    node = np.random.default_rng(0).normal(size=(5, 3))
    labels = np.array([0, 1, 2, 1, 0])
    loss = inference.add_loss(node, labels, 0.5) - node
    np.testing.assert_allclose(loss, 0.5 * (1 - np.eye(3)[labels]), atol=1e-15)


@pytest.mark.parametrize("labels", [[0], [0, -1], [0, 3], [0.0, 1.0], 0])
def test_add_loss_refuses_labels_that_do_not_fit(labels):
    with pytest.raises(
        ValueError, match=r"^labels are not 2 label codes from 0 to 2; expected one"
    ):
        inference.add_loss(np.zeros((2, 3)), labels)


@pytest.mark.parametrize("value", [1j, "1"])
def test_weights_that_are_not_real_numbers(value):
    with pytest.raises(TypeError, match=r"^transitions holds .*; expected real numbers"):
        inference.edge_potentials(np.full((1, 2, 2), value))
    with pytest.raises(TypeError, match=r"^coef holds .*; expected real numbers"):
        inference.node_potentials(pack([np.eye(2)]), np.full((2, 2), value))


@pytest.fixture(scope="module")
def large():
    """Enough nodes for several groups, chunks and threads."""
    return make_case(11, n_labels=5, n_samples=3000, n_nodes=7)


def test_threads_change_nothing(large):
    coef = np.random.default_rng(0).normal(size=(5, 3))
    for ask in (
        lambda n: inference.best_labelling(large.potentials, n_jobs=n),
        lambda n: [x for pair in inference.k_best(large.potentials, 2, n_jobs=n) for x in pair],
        lambda n: [inference.log_partition(large.potentials, n_jobs=n)],
        lambda n: vars(inference.marginals(large.potentials, n_jobs=n)).values(),
        lambda n: [inference.edge_marginals(large.potentials, n_jobs=n)],
        lambda n: [inference.node_potentials(large.samples, coef, n_jobs=n)],
        lambda n: [inference.feature_sums(large.samples, large.node, n_jobs=n)],
        lambda n: vars(
            inference.expected_statistics(large.samples, coef, large.edge, n_jobs=n)
        ).values(),
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


def test_read_only_and_fortran_arrays_compile_nothing_new():
    """A read-only array is another type to numba; joblib's workers get such arrays."""
    case = make_case(1, n_labels=3)
    expected, _ = inference.best_labelling(case.potentials)
    arrays = {
        name: getattr(case.samples, name).copy() for name in ("offsets", "parents", "edge_types")
    }
    for array in arrays.values():
        array.flags.writeable = False
    samples = dataclasses.replace(case.samples, **arrays)
    node = np.asfortranarray(case.node)
    node.flags.writeable = False
    signatures = getattr(maximize.best_labellings, "signatures", ())
    before = len(signatures)
    labels, _ = inference.best_labelling(
        Potentials(samples, node, case.edge.astype(np.float64, order="F"))
    )
    np.testing.assert_array_equal(labels, expected)
    assert len(getattr(maximize.best_labellings, "signatures", ())) == before


def test_read_only_samples_are_copied_once():
    """Not for each question: memory maps of joblib's workers may be large."""
    case = make_case(1, n_labels=3)
    offsets = case.samples.offsets.copy()
    offsets.flags.writeable = False
    samples = dataclasses.replace(case.samples, offsets=offsets)
    copy = samples.packed.offsets
    assert copy is not offsets
    inference.best_labelling(Potentials(samples, case.node, case.edge))
    assert samples.packed.offsets is copy
    assert samples.packed.parents is case.samples.parents  # which needed no copy
    pack(samples)  # as every fit and every prediction does
    assert samples.packed.offsets is copy


def test_samples_are_loaded_from_memory_maps(tmp_path):
    """What kernels have been given is not saved: as memory maps it would be read-only."""
    case = make_case(1, n_labels=3)
    inference.best_labelling(case.potentials)
    joblib.dump(case.samples, tmp_path / "samples")
    samples = joblib.load(tmp_path / "samples", mmap_mode="r")
    assert not samples.offsets.flags.writeable
    assert all(array.flags.writeable for array in samples.packed[:6])


@pytest.mark.parametrize("k", [10**7, 10**30])
def test_more_labellings_than_fit_into_memory(k):
    """Short samples give all they have; long ones are refused before memory is asked for."""
    case = make_case(0, n_labels=3, n_samples=2, n_nodes=3)
    assert [len(scores) for _, scores in inference.k_best(case.potentials, k)] == [27, 27]
    samples = pack([np.ones((2000, 1))])
    node, edge = np.zeros((2000, 3)), np.zeros((1, 3, 3))
    with pytest.raises(ValueError, match=rf"k is {k}, .*more than 2 GiB.*expected k up to \d+"):
        inference.k_best(Potentials(samples, node, edge), k)
