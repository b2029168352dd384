"""Chains from a known CRF: features, weights and labels are distributed as they should be."""

import itertools

import numpy as np
import pytest

from medn_edu.datasets import make_chain_crf


def labelling_probabilities(bunch):
    """Return all labellings of a chain and their probability for each sample, by enumeration."""
    n_labels, length = len(bunch.coef), len(bunch.target[0])
    labellings = np.array(list(itertools.product(range(n_labels), repeat=length)))
    node = np.stack(bunch.data) @ bunch.coef.T
    scores = node[:, np.arange(length), labellings].sum(axis=-1)
    scores += bunch.transitions[0][labellings[:, :-1], labellings[:, 1:]].sum(axis=1)
    scores -= scores.max(axis=1, keepdims=True)
    p = np.exp(scores)
    return labellings, p / p.sum(axis=1, keepdims=True)


def test_defaults_are_those_of_the_paper():
    bunch = make_chain_crf(n_sweeps=1)
    assert len(bunch.data) == len(bunch.target) == 1000
    assert bunch.data[0].shape == (8, 100)
    assert bunch.target[0].dtype == np.int64
    assert set(np.concatenate(bunch.target)) == {0, 1}
    assert bunch.coef.size == 200
    assert bunch.transitions.shape == (1, 2, 2)
    assert bunch.relevant.tolist() == [True] * 30 + [False] * 70
    assert (bunch.groups == -1).all()
    assert "1 Gibbs sweeps" in bunch.DESCR


def test_weights():
    bunch = make_chain_crf(
        n_samples=1, n_features=2000, n_relevant=1500, n_labels=3, sampler="exact"
    )
    assert (bunch.coef[:, 1500:] == 0).all()
    relevant = bunch.coef[:, :1500].ravel()
    assert (relevant != 0).all()
    assert relevant.mean() == pytest.approx(0, abs=4 / np.sqrt(4500))
    assert relevant.std() == pytest.approx(1, abs=0.05)
    many = [
        make_chain_crf(1, 1, 0, n_labels=9, length=1, sampler="exact", random_state=seed)
        for seed in range(30)
    ]
    transitions = np.concatenate([bunch.transitions.ravel() for bunch in many])
    assert transitions.mean() == pytest.approx(0, abs=4 / np.sqrt(len(transitions)))
    assert transitions.std() == pytest.approx(1, abs=0.06)


@pytest.mark.parametrize(
    ("correlated", "noise"), [(False, 0.05), (True, 0.0), (True, 0.05), (True, 1.0)]
)
def test_features_are_normal_and_share_their_groups_value(correlated, noise):
    bunch = make_chain_crf(2000, 10, 6, correlated=correlated, noise=noise, sampler="exact")
    assert bunch.groups.tolist() == ([0, 0, 0, 1, 1, 1] if correlated else [-1] * 6) + [-1] * 4
    X, grouped = np.concatenate(bunch.data), bunch.groups >= 0
    expected = ((bunch.groups[:, None] == bunch.groups) & grouped).astype(float)
    np.fill_diagonal(expected, np.where(grouped, 1 + noise**2, 1))
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=0.04)
    np.testing.assert_allclose(np.cov(X.T), expected, atol=0.08 if correlated else 0.05)
    if correlated:
        difference = (X[:, 0] - X[:, 1]).std()
        assert difference == pytest.approx(noise * np.sqrt(2), rel=0.05, abs=1e-12)
    assert (bunch.coef[:, 6:] == 0).all()


@pytest.mark.parametrize("sampler", ["exact", "gibbs"])
@pytest.mark.parametrize("n_labels", [2, 3])
def test_labels_follow_the_model(sampler, n_labels):
    bunch = make_chain_crf(
        4000, 3, 1, n_labels=n_labels, length=4, sampler=sampler, n_sweeps=100, random_state=3
    )
    labellings, p = labelling_probabilities(bunch)
    place = n_labels ** np.arange(3, -1, -1)
    counts = np.bincount(np.stack(bunch.target) @ place, minlength=len(labellings))
    # Each sample has features of its own: the counts are sums of independent indicators.
    z = (counts - p.sum(axis=0)) / np.sqrt((p * (1 - p)).sum(axis=0))
    assert np.abs(z).max() < 4.5


def test_best_labels_are_the_most_probable_ones():
    drawn, best = (
        make_chain_crf(50, 3, 2, n_labels=3, length=4, sampler=sampler, n_sweeps=1, random_state=3)
        for sampler in ("gibbs", "best")
    )
    np.testing.assert_array_equal(np.stack(best.data), np.stack(drawn.data))
    labellings, p = labelling_probabilities(best)
    np.testing.assert_array_equal(np.stack(best.target), labellings[p.argmax(axis=1)])
    assert "best labellings" in best.DESCR


@pytest.mark.parametrize("correlated", [False, True])
def test_errors_of_the_generating_model(correlated):
    """It mistakes few labels, far from the half that the paper mentions, but in many sequences."""
    label_errors, sequence_errors = [], []
    for seed in range(10):
        bunch = make_chain_crf(correlated=correlated, sampler="exact", random_state=seed)
        labellings, p = labelling_probabilities(bunch)
        marginals = np.einsum("sy,yta->sta", p, np.eye(2)[labellings])
        label_errors.append(1 - marginals.max(axis=-1).mean())
        wrong = marginals.argmax(axis=-1) != np.stack(bunch.target)
        assert wrong.mean() == pytest.approx(label_errors[-1], abs=0.015)
        sequence_errors.append(wrong.any(axis=1).mean())
    assert np.mean(label_errors) == pytest.approx(0.07, abs=0.015)
    assert np.mean(sequence_errors) == pytest.approx(0.43, abs=0.06)


def test_the_seed_settles_everything():
    rng = np.random.default_rng(6)
    first, again, other, next_one = (
        make_chain_crf(30, 8, 4, n_sweeps=20, random_state=state) for state in (5, 5, rng, rng)
    )
    np.testing.assert_array_equal(np.stack(first.data), np.stack(again.data))
    np.testing.assert_array_equal(np.stack(first.target), np.stack(again.target))
    assert (first.coef != other.coef).any()
    assert (next_one.coef != other.coef).any()  # the generator has moved on
    fresh = [make_chain_crf(3, 8, 4, sampler="exact", random_state=None) for _ in range(2)]
    assert (fresh[0].coef != fresh[1].coef).any()
    more = make_chain_crf(60, 8, 4, sampler="exact", random_state=5)
    np.testing.assert_array_equal(more.coef, first.coef)
    np.testing.assert_array_equal(more.transitions, first.transitions)


@pytest.mark.parametrize(
    ("name", "values"),
    {
        "n_samples": [0],
        "n_features": [0],
        "n_relevant": [-1, 101],
        "n_labels": [1],
        "length": [0, "8"],
        "correlated": ["yes"],
        "group_size": [0, 4],
        "noise": [-1.0, float("inf")],
        "sampler": ["metropolis"],
        "n_sweeps": [0],
        "random_state": [-3],
    }.items(),
)
def test_bad_arguments_are_named(name, values):
    for value in values:
        with pytest.raises((TypeError, ValueError), match=rf"^{name} is .*; expected [^\n]*\.$"):
            make_chain_crf(**{"correlated": True, name: value})


@pytest.mark.parametrize("n_relevant", [0, 5])
def test_the_smallest_chains(n_relevant):
    bunch = make_chain_crf(1, 5, n_relevant, length=1, correlated=True, group_size=1, n_sweeps=1)
    assert bunch.data[0].shape == (1, 5)
    assert bunch.target[0].shape == (1,)
