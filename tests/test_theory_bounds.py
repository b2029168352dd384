"""PAC-Bayes bounds: every term against its formula, optima against brute force, chances against sums."""

import math

import numpy as np
import pytest
from enumerated import KINDS, RICH, make_data
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, norm

from medn_edu import priors
from medn_edu.inference import Potentials, best_labelling, labelling_scores
from medn_edu.samples import label_samples, pack
from medn_edu.slacks import LinearSlack
from medn_edu.theory.bounds import (
    KLTerms,
    MarginSample,
    Terms,
    averaging_factor,
    binary_kl,
    gaussian_bounds,
    gibbs_bound,
    gibbs_errors,
    gibbs_losses,
    kl_inverse,
    largest_score,
    log_n_labellings,
    margin_sample,
    mcallester_bound,
    observed_margins,
    sampled_risk,
    score_bound,
    seeger_bound,
    theorem_8,
    theorem_8_kl,
    theorem_8_m,
)
from medn_edu.theory.medn import enumerate_problem

SHARES = st.floats(0, 1)
BUDGETS = st.floats(1e-6, 5)
BOUNDS = {"McAllester": theorem_8, "Seeger": theorem_8_kl}
FREE = np.ones((1, 2, 2), dtype=bool)


def random_sample(seed: int, n: int = 40) -> MarginSample:
    rng = np.random.default_rng(seed)
    return MarginSample(rng.uniform(-0.5, 2.0, n), 1.0, math.log(8), rng.integers(1, 3000, n))


@given(SHARES, SHARES, BUDGETS)
def test_divergence_of_coins_and_its_inverse(p, other, budget):
    assert binary_kl(p, other) >= 2 * (p - other) ** 2 - 1e-12  # Pinsker
    q = float(kl_inverse(p, budget))
    assert p <= q <= 1
    assert q <= p + math.sqrt(budget / 2) + 1e-9
    if q < 1 - 1e-9:
        assert binary_kl(p, q) == pytest.approx(budget, rel=1e-5)


@pytest.mark.parametrize("q", [0.01, 0.2, 0.5, 0.9])
@pytest.mark.parametrize("n", [5, 60, 1000])
def test_what_both_bounds_rest_on_holds_in_exact_sums(q, n):
    """Chernoff: the chance that the certified risk is below the true one, over all outcomes.

    Maurer: the mean of exp(n kl(seen, true)) is at most 2 sqrt(n), and not much less.
    """
    k = np.arange(n + 1)
    for delta in (0.3, 0.05, 1e-4):
        misled = kl_inverse(k / n, math.log(1 / delta) / n) < q
        assert binom.pmf(k, n, q)[misled].sum() <= delta
        bare = k / n < q  # without its price it is misled nearly every other time
        assert binom.pmf(k, n, q)[bare].sum() > 0.04
    mean = np.sum(np.exp(binom.logpmf(k, n, q) + n * binary_kl(k / n, q)))
    assert mean <= 2 * math.sqrt(n)
    assert mean > math.sqrt(n) / 2  # so that half of the constant would be too little


@pytest.mark.parametrize("kind", [*KINDS, *RICH])
@pytest.mark.parametrize("seed", range(3))
def test_margins_errors_and_scores_are_those_of_enumeration(kind, seed):
    data, rng = make_data(kind, seed), np.random.default_rng(seed)
    problem = enumerate_problem(data, priors.GaussianPrior(), LinearSlack())
    assert log_n_labellings(data) == pytest.approx(math.log(np.bincount(problem.sample).max()))
    rivals = problem.losses > 0
    draws = rng.normal(size=(10, problem.n_weights))
    for error, w in zip(gibbs_errors(data, draws), draws, strict=True):
        leads, margins = problem.differences @ w, np.full(problem.n_samples, np.inf)
        np.minimum.at(margins, problem.sample[rivals], leads[rivals])
        assert observed_margins(data, w) == pytest.approx(margins)
        assert error == pytest.approx(np.mean(margins < 0))
        potentials = Potentials.of_weights(
            data.samples, *data.weight_shape.split(w), data.allowed, mask=data.allowed_labels
        )
        scores = labelling_scores(potentials, data.labels)[problem.sample] - leads
        assert largest_score(data, w) == pytest.approx(np.abs(scores).max())
        assert largest_score(data, 0.7 * np.sign(w)) <= score_bound(data, 0.7) * (1 + 1e-12)


def test_a_single_labelling_has_an_infinite_margin():
    allowed = np.array([[[True, False], [False, False]]])
    data = label_samples(pack([np.ones((2, 1))]), np.array([0, 0]), allowed)
    assert observed_margins(data, np.ones(6)) == np.inf
    assert log_n_labellings(data) == pytest.approx(0.0)
    assert margin_sample(data, np.ones(6), c=9.0).loss(np.array([18.0])) == 0


def test_the_bound_on_scores_is_reached():
    data = label_samples(pack([np.array([[1.0, -2.0], [3.0, 0.0]])]), np.array([0, 1]), FREE)
    w = np.array([1.0, -1.0, 1.0, 1.0, 0, 1.0, 0, 0]) * 0.5
    assert score_bound(data, 0.5) == pytest.approx(3.5)
    assert largest_score(data, w) == pytest.approx(3.5)


def test_counts_are_samples_that_share_a_margin():
    margins = np.array([0.3, -1.0, 0.3, 0.7, 0.3])
    one, two = MarginSample(margins, 1.0, 1.0), MarginSample([0.3, -1, 0.7], 1.0, 1.0, [3, 1, 1])
    assert one.n_samples == two.n_samples == 5
    gamma = np.array([-2.0, -1.0, 0.0, 0.3, np.nextafter(0.3, 0), 0.7, 1.0])
    expected = [np.mean(margins <= g) for g in gamma]
    assert one.loss(gamma) == pytest.approx(expected) == two.loss(gamma)
    assert theorem_8(one, 0.4) == theorem_8(two, 0.4)


@given(st.integers(0, 20), st.floats(0, 50), st.floats(0.01, 2), st.integers(1, 10**5))
def test_the_formula_at_the_end_of_the_papers_proof(seed, kl, gamma, m):
    """With |Y| itself; Seeger's last step instead of the paper's is never looser."""
    sample, delta = random_sample(seed), 0.1
    n, c = sample.n_samples, sample.c
    bound = theorem_8(sample, kl, gamma=gamma, m=m, delta=delta)
    loss = sample.counts[sample.margins <= gamma].sum() / n
    averaging = math.exp(sample.log_n_labellings) * math.exp(-m * gamma**2 / (32 * c**2))
    inside = m * kl + math.log(n) + 3 * math.log((m + 1) / delta) + 2
    root = math.sqrt(inside / (2 * n - 1))
    assert bound.value == pytest.approx(loss + averaging + root)
    terms = (bound.margin_loss, bound.averaging, bound.complexity)
    assert terms == pytest.approx((loss, averaging, root), rel=1e-6)
    assert bound.divergence + bound.sampling + bound.union + 2 == pytest.approx(inside, rel=1e-6)
    assert (bound.gamma, bound.m, bound.n_samples) == (gamma, m, n)
    tight = theorem_8_kl(sample, kl, gamma=gamma, m=m, delta=delta)
    inside = m * kl + math.log(2 * math.sqrt(n)) + math.log(m * (m + 1) ** 2 / delta)
    assert tight.divergence + tight.sampling + tight.union == pytest.approx(inside, rel=1e-9)
    one_rival = math.exp(-m * gamma**2 / (32 * c**2))
    drawn = float(kl_inverse(loss + averaging - one_rival, inside / n))
    assert tight.value == pytest.approx(min(one_rival + drawn, 1.0))
    assert tight.value <= bound.value + 1e-9
    assert seeger_bound(loss, kl, m) <= mcallester_bound(loss, kl, m) + 1e-9


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize(("seed", "kl"), [(0, 0.0), (1, 0.3), (2, 4.0)])
def test_the_best_is_what_brute_force_finds(name, seed, kl):
    """All thresholds that matter, and so many draws that the next one changes nothing."""
    sample, bound = random_sample(seed, n=8), BOUNDS[name]
    best = bound(sample, kl)
    ms = np.unique(np.geomspace(1, 2e5, 200).astype(int))
    gammas = [np.nextafter(margin, 0) for margin in sample.margins if margin > 0] + [2.0]
    grid = [bound(sample, kl, gamma=gamma, m=int(m)).value for gamma in gammas for m in ms]
    assert best.value <= min(grid) + 1e-12
    assert best.value == pytest.approx(min(grid), rel=1e-3)
    around = [bound(sample, kl, gamma=best.gamma, m=max(1, best.m + d)).value for d in (-1, 1)]
    assert best.value <= min(around) + 1e-12


@pytest.mark.parametrize("name", BOUNDS)
def test_long_words_overflow_nothing(name):
    """A thousand letters have 26 ** 1000 labellings, beyond every float."""
    sample = MarginSample(np.linspace(0.1, 1, 50), 1.0, 1000 * math.log(26))
    with np.errstate(all="raise", under="ignore"):
        best, few = BOUNDS[name](sample, 1.0), BOUNDS[name](sample, 1.0, gamma=0.5, m=10)
    assert best.is_vacuous
    assert np.isfinite(best.value)
    assert few.averaging == math.inf
    many = MarginSample(np.ones(10), 1.0, 1000 * math.log(26), np.full(10, 10**9))
    assert not BOUNDS[name](many, 1.0).is_vacuous


def test_the_papers_m_makes_the_averaging_term_what_the_proof_needs():
    sample, kl = random_sample(1), 2.0
    for gamma in (0.1, 0.5, 1.5):
        m = theorem_8_m(sample, kl, gamma)
        averaging = theorem_8(sample, kl, gamma=gamma, m=m).averaging
        assert averaging <= math.sqrt((kl + 1) / sample.n_samples)
        assert theorem_8(sample, kl).value <= theorem_8(sample, kl, gamma=gamma, m=m).value


def test_bounds_that_say_nothing():
    """Nothing but errors; or an averaging term above 1, to which Seeger's step adds nothing."""
    bound = theorem_8(MarginSample(-np.ones(50), 1.0, 1.0), 1.0)
    assert bound.margin_loss == 1
    assert bound.is_vacuous
    bound = theorem_8_kl(random_sample(0), 1.0, gamma=0.01, m=1)
    assert bound.averaging > 1
    assert (bound.value, bound.complexity) == (1.0, 0.0)


def test_a_gibbs_bound_is_made_of_its_steps():
    errors = np.random.default_rng(0).uniform(0, 0.3, 500)
    bound = gibbs_bound(errors, 3.0, 2000, delta=0.1)
    assert bound.observed == pytest.approx(errors.mean())
    assert bound.certified == sampled_risk(errors, delta=0.02)
    assert bound.value == seeger_bound(bound.certified, 3.0, 2000, delta=0.08)
    assert bound.observed < bound.certified < bound.value
    assert gibbs_bound(errors, 3.0, 2000, delta=0.1, n_choices=10).value > bound.value


def test_ties_are_errors():
    """Else twice the Gibbs bound would be below the error of the average."""
    x = np.array([1.0, 2.0, 0.0, 0.0])[:, None, None]  # the last two say nothing
    data = label_samples(pack(list(x)), np.zeros(4, int), FREE)
    w = np.array([1.0, -1.0, 0, 0, 0, 0])
    assert np.mean(observed_margins(data, w) <= 0) == 0.5
    assert gibbs_errors(data, np.stack([w, -w, 1e-3 * w])) == pytest.approx([0.5, 1.0, 0.5])
    bounds = gaussian_bounds(data, w, [3.0], np.random.default_rng(0))
    assert 2 * bounds[0].value >= 0.5


@pytest.mark.parametrize(
    "prior",
    [
        priors.GaussianPrior(),
        priors.LaplacePrior(4.0),
        priors.BoxPrior(1.2),
        priors.ExponentialPrior(2.0),
        priors.NormalGammaPrior(shape=1.5, lam=4.0),
    ],
    ids=repr,
)
@pytest.mark.parametrize("seed", range(3))
def test_where_the_average_errs_so_do_enough_draws(prior, seed):
    """Sums of tilted weights are at or below their mean with probability 1 / k."""
    rng = np.random.default_rng(seed)
    eta = rng.uniform(-1.6, 1.6, 6)
    leads = rng.normal(size=6)
    draws = prior.draw(eta, rng, 40_000) @ leads
    share = np.mean(draws <= prior.mean(eta) @ leads)
    assert share >= 1 / averaging_factor(prior) - 4 * 0.5 / 200


def test_the_factor_e_cannot_be_smaller():
    """One exponential weight that counts against the truth is below its mean just so often."""
    rng = np.random.default_rng(0)
    draws = -priors.ExponentialPrior(2.0).draw(np.array([0.5]), rng, 200_000)[:, 0]
    assert np.mean(draws <= draws.mean()) == pytest.approx(1 / math.e, abs=0.005)


def test_two_classes_have_a_formula():
    """A single node, two labels: a drawn model errs with a normal probability."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(300, 1, 2))
    truth = (x[:, 0, 0] + 0.3 * rng.normal(size=300) > 0).astype(int)
    data = label_samples(pack(list(x)), truth, FREE)
    mean = np.array([-0.5, 0.1, 0.5, -0.1, 0, 0, 0, 0])
    scales = [0.5, 3.0]
    bounds = gaussian_bounds(data, mean, scales, rng, n_draws=2000)
    margins = observed_margins(data, mean)
    spread = np.sqrt(2) * np.linalg.norm(x[:, 0], axis=1)  # of the difference of two scores
    for bound, scale in zip(bounds, scales, strict=True):
        exact = norm.cdf(-scale * margins / spread).mean()
        assert bound.observed == pytest.approx(exact, abs=0.01)
        assert exact < bound.certified < bound.value
        assert bound.divergence == pytest.approx(scale**2 * (mean @ mean) / 2)
    means = np.outer(scales, mean)
    for losses, scale in zip(gibbs_losses(data, means, rng), scales, strict=True):
        exact = norm.cdf(-scale * margins / spread)
        assert set(losses.tolist()) == {0.0, 1.0}  # one node, right or wrong
        assert abs(losses.mean() - exact.mean()) < 4 * np.sqrt(np.sum(exact * (1 - exact))) / 300


@pytest.mark.parametrize("kind", [*KINDS, *RICH])
def test_losses_of_models_of_their_own_are_shares_of_wrong_nodes(kind):
    """Means so long that no noise matters: the losses of the mean model, whatever the seed."""
    data, rng = make_data(kind, 0), np.random.default_rng(0)
    means = 1e9 * rng.normal(size=(2, data.weight_shape.size))
    for losses, mean in zip(gibbs_losses(data, means, rng), means, strict=True):
        coef, transitions = data.weight_shape.split(mean)
        found = Potentials.of_weights(
            data.samples, coef, transitions, data.allowed, mask=data.allowed_labels
        )
        wrong = best_labelling(found)[0] != data.labels
        assert losses == pytest.approx([np.mean(part) for part in data.samples.cut(wrong)])


def refused(message, call, *arguments, **more):
    with pytest.raises(ValueError, match=message):
        call(*arguments, **more)


def test_margin_samples_and_arguments_of_theorem_8_are_checked():
    refused("c is 1, but there is a margin of size 2.5", MarginSample, [2.5], 1.0, 1.0)
    refused("c is 1, but there is a margin of size inf", MarginSample, [-np.inf], 1.0, 1.0)
    refused("margins has NaN", MarginSample, [np.nan], 1.0, 1.0)
    refused("expected one count for each of at least one", MarginSample, [], 1.0, 1.0)
    refused("expected one count for each", MarginSample, [0.5], 1.0, 1.0, [1, 2])
    refused("c is 0.0; expected a finite number > 0", MarginSample, [0.5], 0.0, 1.0)
    for log_n in (-3.0, np.nan):
        refused(f"log_n_labellings is {log_n}", MarginSample, [0.5], 1.0, log_n)
    for counts in ([5, -2], [0.7, 0.7]):
        refused("counts holds something else", MarginSample, [0.5, 0.1], 1.0, 1.0, counts)
    messages = {
        "divergence is -1.0": {"divergence": -1.0},
        "divergence is inf": {"divergence": np.inf},
        "delta is 1.0; expected a probability": {"delta": 1.0},
        "delta is 0.0": {"delta": 0.0},
        "gamma is 0.0": {"gamma": 0.0},
        "gamma is 1e-200; expected at least a millionth of c": {"gamma": 1e-200},
        "m is 0": {"m": 0},
    }
    for message, bad in messages.items():
        for bound in BOUNDS.values():
            refused(message, bound, random_sample(0), **{"divergence": 1.0, **bad})
    good = {"margin_loss": 0.1, "ratio": 0.5, "log_n_labellings": 1.0, "divergence": 1.0}
    assert np.isfinite(Terms(100, **good, delta=0.1).value(50))
    for bad in ({"n_samples": 0}, {"ratio": -0.1}, {"delta": -1}, {"margin_loss": np.nan}):
        refused(f"{next(iter(bad))} is", KLTerms, **{"n_samples": 100, **good, "delta": 0.1, **bad})


def test_risks_weights_and_priors_are_checked():
    refused("p or budget is negative or NaN", kl_inverse, -0.1, 1.0)
    refused("p or budget is negative or NaN", kl_inverse, 0.1, -1.0)
    refused("q is not between 0 and 1", binary_kl, 0.1, 1.2)
    refused("p is not between 0 and 1", binary_kl, np.nan, 0.2)
    refused("risk is -1.0; expected a number between 0 and 1", mcallester_bound, -1.0, 1.0, 10)
    refused("risk is nan", seeger_bound, np.nan, 1.0, 10)
    refused("divergence is -1.0", seeger_bound, 0.1, -1.0, 10)
    for errors in ([], [1.1], [np.nan]):
        refused("expected one share per draw", sampled_risk, np.array(errors))
    data = label_samples(pack([np.ones((2, 2))]), np.array([0, 1]), FREE)
    for weights in (np.ones(4), np.full(12, np.nan)):
        wrong = r"weights have shape .* expected 8 finite numbers"
        refused(wrong, observed_margins, data, weights)
        refused(wrong, largest_score, data, weights)
        refused(wrong, gibbs_errors, data, weights[None])
        refused("draws have shape", gibbs_errors, data, weights)
        refused(wrong, gibbs_losses, data, weights[None], np.random.default_rng(0))
        refused("means have shape", gibbs_losses, data, weights, np.random.default_rng(0))
    refused("scales is empty", gaussian_bounds, data, np.zeros(8), [], np.random.default_rng(0))
    for prior in (
        priors.TwoPointPrior(),
        priors.SpikeSlabPrior(pi=0.1),
        priors.NormalInverseGaussianPrior(alpha=1.0, delta=1.0),
        priors.NormalGammaPrior(shape=0.5, lam=4.0),
    ):
        refused("need be neither symmetric nor log-concave", averaging_factor, prior)
