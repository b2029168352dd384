"""The slips of the papers once more by hand, in plain numpy, as the notebook errata shows them.

The numbers of `medn_edu.theory.errata` come from general solvers and from the package's own objects.
Here a grid, an enumeration or a line of algebra finds each of them again.
"""

from pathlib import Path

import nbformat
import numpy as np
from scipy.optimize import root

from medn_edu.priors import NormalGammaPrior
from medn_edu.theory.errata import SLIPS
from medn_edu.theory.projection import project_l1_ball

NOTEBOOK = Path(__file__).resolve().parent.parent / "notebooks" / "errata.ipynb"
NUMBERS = {slip.id: slip.numbers() for slip in SLIPS}

# One node with three labels and two features; the first label is true.
FEATURES, LOSS = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.5]]), np.array([0.0, 1.0, 1.0])

# A chain of three nodes with two labels each, enumerated.
_y = np.array(list(np.ndindex(2, 2, 2)))
_score = _y @ [1, -2, 1] + 2 * (_y[:, 0] == _y[:, 1]) + 3 * (_y[:, 1] == _y[:, 2])
CHAIN = (np.exp(_score) / np.exp(_score).sum()).reshape(2, 2, 2)


def entropy(p):
    return -np.sum(p * np.log(p))


def middle(times):
    """Belief of the chain's middle node, if a factor's own message is divided out so often."""
    phi, pair = np.exp([[0, 1], [0, -2], [0, 1]]), np.exp([2 * np.eye(2), 3 * np.eye(2)])
    m = np.ones((2, 2, 2))  # from factor a to its left or right node
    for _ in range(200):
        for a, end in np.ndindex(2, 2):
            at = {0: m[0, 0], 1: m[0, 1] * m[1, 0], 2: m[1, 1]}  # all of N(v)
            n = phi[a + 1 - end] * at[a + 1 - end] / m[a, 1 - end] ** times
            m[a, end] = pair[a] @ n / np.sum(pair[a] @ n)
    return phi[1] * m[0, 1] * m[1, 0]


def test_forced_total():
    def d1(alpha):
        return alpha - 8 * alpha**2 / 2  # one wrong labelling, |Delta f|^2 = 8

    C = 1.0
    found = NUMBERS["forced-total"]
    assert np.isclose(found["printed"], d1(C))  # alpha = C
    assert np.isclose(found["corrected"], d1(min(C, 1 / 8)))  # the best alpha of at most C
    t = np.linspace(0, 1, 100_001)  # P1, weights t (1, -1) / sqrt(2): a grid
    p1 = t**2 / 2 + C * np.maximum(1 - np.sqrt(8) * t, 0)
    assert np.isclose(found["truth"], p1.min(), atol=1e-4)


def test_forced_out_of_the_domain():
    lam, C = 1.0, 1.0
    found = NUMBERS["forced-out-of-the-domain"]
    eta = np.array([2.0, -2.0])  # times alpha
    assert found["printed"] == -np.inf
    assert np.any((C * eta) ** 2 >= lam)  # alpha = C: outside the domain
    assert found["alpha"] < C
    assert np.all((found["alpha"] * eta) ** 2 < lam)  # alpha <= C: inside
    mu = np.linspace(0, 1, 100_001)  # P1, means (mu, -mu), Corollary 6: a grid
    root = np.sqrt(1 + lam * mu**2)
    p1 = 2 * (root - np.log((root + 1) / 2) - 1) + C * np.maximum(1 - 4 * mu, 0)
    assert np.isclose(found["truth"], p1.min(), atol=1e-4)


def test_no_minimiser():
    found = NUMBERS["no-minimiser"]
    C, steepest = 10.0, found["largest mean of a tilt"]
    log_mgf = 1 - found["corrected"]  # Lambda(1), where the domain ends
    best_tilt = steepest - log_mgf + C * (1 - steepest)  # KL of Eq. (3)'s best, and its slack
    assert np.isclose(found["printed"], best_tilt)
    assert (
        found["corrected"] < found["truth"] < found["within 10,000 of 0"] < found["within 100 of 0"]
    )


def test_normalisation_sign():
    found = NUMBERS["normalisation-sign"]
    log_z = -found["truth"]  # at the optimum
    c = -1 + log_z  # B.1's own last formula
    assert c < 0
    assert np.isclose(c, found["c"])
    assert np.isclose(found["corrected"], -np.exp(-1 - c + log_z) - c)
    assert np.isclose(found["printed"], -np.exp(-1 - 0 + log_z) - 0)  # the nearest c >= 0


def test_primal_sparse():
    found = NUMBERS["primal-sparse"]  # weights other than 0, of ten; "printed":
    assert found["printed"] < found["corrected"] == 10  # those of L1-M3N, which is primal sparse
    assert found["smallest mean"] > 0


def test_scale_for_shape():
    eta = 0.1
    found = NUMBERS["scale-for-shape"]  # mean over eta
    assert np.isclose(found["printed"], 2 / (4 - eta**2))  # Laplace, variance 1/2, against N(0, 1)
    assert np.isclose(found["corrected"], 2 / (2 - eta**2))  # Laplace, variance 1
    assert found["corrected"] > 1  # no shrinkage at all


def test_laplace_to_l1():
    lam = 1e8  # one weight, one row: w >= 1 - xi
    found = NUMBERS["laplace-to-l1"]

    def slope(mu):  # of sqrt(lam) |mu|_KL
        return lam * mu / (np.sqrt(1 + lam * mu**2) + 1)

    assert np.isclose(slope(found["printed"]), 0.6)  # slack is cheaper than any larger weight
    assert slope(1.0) < 2 * 0.6 * np.sqrt(lam)  # at 2 C sqrt(lam) the margin is worth it
    assert np.isclose(slope(found["corrected, C = 0.4"]), 2 * 0.4 * np.sqrt(lam))
    assert found["corrected, C = 0.4"] < 0.001  # ... but not at C = 0.4: the factor is 2
    w = np.linspace(0, 2, 20_001)  # L1-M3N, on a grid
    for C, name in ((0.6, "truth"), (0.4, "truth, C = 0.4")):
        assert np.isclose(found[name], w[np.argmin(w / 2 + C * np.maximum(1 - w, 0))])


def test_what_q_approximates():
    lam, moment = 4.0, 9.0  # <w^2> = 9
    found = NUMBERS["what-q-approximates"]  # the mean of tau
    assert np.isclose(found["printed"], 2 / lam)  # of the hyper-prior
    assert np.isclose(found["corrected"], np.sqrt(moment / lam) + 1 / lam)  # of Step 2's q


def test_irrelevant_variances():
    lam, variance = 4.0, 1.0
    found = NUMBERS["irrelevant-variances"]
    for _turn in range(1, 7):
        variance = np.sqrt(variance / lam)  # Step 2 with mean 0
    assert np.isclose(found["corrected"], np.sqrt(found["corrected"] / lam))  # a fixed point
    assert np.isclose(found["exact posterior"], 2 / lam)  # without Algorithm 1: the prior's


def test_divergence_of_averages():
    m, F, q, q0 = 3, np.array([0.5, -0.5]), np.array([0.9, 0.1]), np.array([0.5, 0.5])
    found = NUMBERS["divergence-of-averages"]
    aye, aye0 = q @ (1 + F) / 2, q0 @ (1 + F) / 2  # chance of a vote for, with c = 1
    one = aye * np.log(aye / aye0) + (1 - aye) * np.log((1 - aye) / (1 - aye0))
    assert np.isclose(found["printed"], m * q @ np.log(q / q0))
    assert np.isclose(found["corrected"], m * one)
    assert found["corrected"] <= found["printed"]


def test_dual_of_l1_m3n():
    found = NUMBERS["dual-of-l1-m3n"]
    alpha = np.array([-1e6, 1e6 + 0.5])  # both labellings: Delta f = 1
    assert abs(alpha @ [1, 1]) <= 0.5  # as printed, feasible
    assert alpha.sum() <= 1
    assert alpha @ [1, 2] > 1e6  # losses 1 and 2: a fortune
    assert np.isclose(found["corrected"], 0.5 * 2)  # with a sign: half a unit on the second
    w = np.linspace(0, 3, 30_001)  # L1-M3N itself, C = 1: a grid
    assert np.isclose(found["truth"], np.min(w / 2 + np.maximum(np.maximum(1 - w, 2 - w), 0)))


def test_other_root():
    lam, mu = 4.0, 1e-3
    NUMBERS["other-root"]  # the lower root
    for sign in (1, -1):
        eta = (-1 + sign * np.sqrt(1 + lam * mu**2)) / mu
        assert abs(mu * eta**2 + 2 * eta - lam * mu) < 1e-9  # B.4's equation


def test_log_convex():
    lam, a, b = 4.0, -1.0, 2.0
    found = NUMBERS["log-convex"]  # excess of the middle over the chord

    def log_p0(w):
        return np.log(np.sqrt(lam) / 2) - np.sqrt(lam) * np.abs(w)

    assert np.isclose(found["corrected"], log_p0((a + b) / 2) - (log_p0(a) + log_p0(b)) / 2)
    assert found["truth"] > found["printed"]  # log-convex would be: at most 0


def test_kinks_of_norms():
    def kink(regulariser, w, d, t=1e-7):  # slope forth plus slope back
        return (regulariser(w + t * d) + regulariser(w - t * d) - 2 * regulariser(w)) / t

    NUMBERS["kinks-of-norms"]  # at 0
    zero, apart, axis = np.zeros(2), np.array([1.0, 0.0]), np.array([0.0, 1.0])
    assert np.isclose(kink(np.linalg.norm, zero, axis), 2)
    assert abs(kink(lambda w: w @ w, zero, axis)) < 1e-6  # the square has none
    assert abs(kink(np.linalg.norm, apart, axis)) < 1e-6  # L2: only where all weights are 0
    assert np.isclose(
        kink(lambda w: np.abs(w).sum(), apart, axis), 2
    )  # L1: wherever one weight is 0


def test_vector_cost():
    mu, v = np.array([2.0, 0.0]), np.array([0.0, 3.0])  # w = (2, -3)
    assert np.size(mu + v) == 2  # "|w|_1 = mu + v"
    assert np.isclose(np.sum(mu + v), np.abs(mu - v).sum())  # with the sum
    NUMBERS["vector-cost"]  # nan: not a number


def test_same_estimate():
    C, lam, K = 0.4, 0.2, 2
    found = NUMBERS["same-estimate"]  # L1 norms
    other = C * K / (4 * lam * found["truth"])  # C'
    assert np.isclose(other, found["other constant"])
    assert other != C
    assert found["printed"] == 0  # at C itself L1-M3N buys nothing
    a, s = (
        np.array([1.0, 0.5]),
        np.linspace(0, K / lam, 201),
    )  # P2 on a grid: scales (s, K / lam - s),
    k = np.linspace(0, 1, 1001)[:, None]  # weights k tau a, with margin k G
    G = s * a[0] ** 2 + (K / lam - s) * a[1] ** 2
    cost = k**2 * G + C * np.maximum(1 - k * G, 0)
    i, j = np.unravel_index(cost.argmin(), cost.shape)
    assert np.isclose(found["truth"], k[i, 0] * (s[j] * a[0] + (K / lam - s[j]) * a[1]), atol=1e-2)


def test_em_fixed_points():
    a, C, lam, K = np.array([1.0, 2.0]), 5.0, 3.0, 2  # the second weight is the better buy
    found = NUMBERS["em-fixed-points"]

    def value(w):  # of P4
        return lam / K * np.abs(w).sum() ** 2 + C * max(0.0, 1 - a @ w)

    tau = np.array([K / lam, 0.0])  # its scale starts at 0
    w = tau * a * min(C / 2, 1 / (a @ (tau * a)))  # Step 1
    assert np.allclose(K * np.abs(w) / (lam * np.abs(w).sum()), tau)  # Step 2 changes nothing
    assert np.isclose(found["printed"], value(w))
    assert np.isclose(found["corrected"], value(np.array([0.0, 0.5])))


def test_em_start():
    K, lam = 6, 4.0
    found = NUMBERS["em-start"]  # the sum of beta^2
    assert np.isclose(found["printed"], K * np.sqrt(lam) ** 2)  # beta = sqrt(lambda)
    assert np.isclose(found["corrected"], K * 1.0**2)  # beta = 1


def test_multiplier_signs():
    a, C, lam = 2.0, 1.0, 0.5
    found = NUMBERS["multiplier-signs"]
    alpha = np.linspace(0, 3 * C, 300_001)
    dual = alpha - (alpha * a) ** 2 / (4 * lam)  # P3's, one row and one weight
    assert np.isclose(found["printed"], dual[alpha >= C].max())
    assert np.isclose(found["corrected"], dual[alpha <= C].max())


def test_condition_at_zero():
    a, C, lam, K = np.array([1.0, 2.0]), 5.0, 3.0, 2
    found = NUMBERS["condition-at-zero"]
    assert np.isclose(found["printed"], C)  # w = 0: "or w_k = 0" for every k
    assert np.any(np.abs(C * a) > 2 * lam / K * 0)  # but the inequality fails there
    w = np.array([0.0, 0.5])
    alpha = 2 * lam / K * np.abs(w).sum() / a[1]  # from the weight that is not 0
    assert np.abs(alpha * a[0]) <= 2 * lam / K * np.abs(w).sum()  # and here it holds
    assert np.isclose(found["corrected"], lam / K * np.abs(w).sum() ** 2)


def test_one_letter():
    a, lam, K = np.array([1.0, 2.0]), 3.0, 2
    found = NUMBERS["one-letter"]  # the radius
    assert found["printed"] == lam
    alpha = 2 * lam / K / a.max() ** 2  # P4's multiplier, as above
    assert np.isclose(found["corrected"], K / (2 * lam) * alpha * a.max())


def test_hinge_label():
    score, loss = np.array([1.0, 0.6, -1.0]), np.array([0.0, 1.0, 1.0])  # the first label is true
    found = NUMBERS["hinge-label"]
    violation = loss + score - score[0]
    assert np.isclose(found["printed"], violation[score.argmax()])  # at the label predicted
    assert np.isclose(found["corrected"], violation.max())  # at the worst label


def test_regulariser_slope():
    theta, C = np.array([0.8, -0.5]), 0.5  # one node; the first label is true
    found = NUMBERS["regulariser-slope"]
    p = np.exp(LOSS + FEATURES @ theta)
    slope = p @ FEATURES / p.sum() - FEATURES[0]
    assert np.isclose(found["printed"], (slope + theta)[0])
    assert np.isclose(found["corrected"], (slope + C * theta)[0])

    def eq_3(theta):
        exact = np.log(np.exp(LOSS + FEATURES @ theta).sum()) - FEATURES[0] @ theta
        return exact + C / 2 * theta @ theta

    step = np.array([1e-6, 0.0])  # the slope, by differences
    assert np.isclose(found["truth"], (eq_3(theta + step) - eq_3(theta - step)) / 2e-6)


def test_bethe_entropy():
    found, p = NUMBERS["bethe-entropy"], CHAIN  # 1 - |N(v)| is 0, -1, 0
    factors, middle = entropy(p.sum(axis=2)) + entropy(p.sum(axis=0)), entropy(p.sum(axis=(0, 2)))
    assert np.isclose(found["printed"], factors - (-1) * middle)
    assert np.isclose(found["corrected"], factors + (-1) * middle)
    assert np.isclose(found["truth"], entropy(p))
    assert found["printed"] > np.log(8)


def test_left_out_factor():
    found = NUMBERS["left-out-factor"]  # the middle node's second label
    wrong, right = middle(2), middle(1)  # left out and divided; divided
    assert np.isclose(found["printed"], wrong[1] / wrong.sum(), atol=1e-4)
    assert np.isclose(found["corrected"], right[1] / right.sum())
    assert np.isclose(found["truth"], CHAIN.sum(axis=(0, 2))[1])


def test_power_of_the_product():
    found = NUMBERS["power-of-the-product"]
    for key, power in (("printed", 1 / -1), ("corrected", 1 / 1)):  # c_v and hat c_v, epsilon = 1
        belief = middle(1) ** power
        assert np.isclose(found[key], belief[1] / belief.sum())
    assert np.isclose(found["truth"], CHAIN.sum(axis=(0, 2))[1])


def test_soft_max_conjugate():
    epsilon, q = 0.5, np.array([0.8, 0.2])
    found = NUMBERS["soft-max-conjugate"]
    assert np.isclose(found["printed"], epsilon * entropy(q))
    assert np.isclose(found["corrected"], -epsilon * entropy(q))


def test_lagrangian_weights():
    C = 0.5
    found = NUMBERS["lagrangian-weights"]  # the first weight
    theta = np.zeros(2)
    for _ in range(500):
        p_hat = np.exp(LOSS + FEATURES @ theta)
        z = p_hat @ FEATURES / p_hat.sum() - FEATURES[0]
        theta = theta - 0.3 * (z + C * theta)  # down the slope of Eq. (3)
    assert np.isclose(found["printed"], z[0] / C)
    assert np.isclose(found["corrected"], -z[0] / C)
    assert np.isclose(found["truth"], theta[0])  # where Eq. (3) is least


def test_prior():
    epsilon, losses = 0.5, np.array([0.0, 1.0, 1.0, 1.0])  # the first label is true
    found = NUMBERS["prior"]  # its probability without features
    for key, sign in (("printed", -1), ("corrected", 1)):
        assert np.isclose(found[key], 1 / np.exp(sign * losses / epsilon).sum())
    q = np.linspace(1e-4, 1 - 1e-4, 99_999)  # Claim 1 without features, on a grid
    claim_1 = -epsilon * (q * np.log(q) + (1 - q) * np.log((1 - q) / 3)) + 1 - q
    assert np.isclose(found["truth"], q[claim_1.argmax()], atol=1e-4)


def test_regulariser_sign():
    C = 0.5
    found = NUMBERS["regulariser-sign"]
    assert found["printed, at 100 times the weights"] < found["printed"]  # and on, without end

    def value(theta, sign):  # the same with one node
        exact = np.log(np.exp(LOSS + FEATURES @ theta).sum()) - FEATURES[0] @ theta
        return exact + sign * C / 2 * theta @ theta

    far = np.array([100.0, 0.0])
    assert value(far, -1) < -1000
    assert value(far, 1) > 1000
    u = np.linspace(1e-4, 1, 500, endpoint=False)  # one node: the dual (Claim 1), on a grid
    q = np.array([(x, y, 1 - x - y) for x in u for y in u if x + y < 1 - 1e-9])
    z = q @ FEATURES - FEATURES[0]
    dual = -np.sum(q * np.log(q), axis=1) + q @ LOSS - np.sum(z**2, axis=1) / (2 * C)
    first, second = np.linspace(0, 2, 101), np.linspace(-2, 2, 201)
    least = min(value(np.array([s, t]), 1) for s in first for t in second)
    assert np.isclose(dual.max(), least, atol=1e-3)


def test_zero_counting_number():
    phi_v = np.array([0.0, 1.0])
    mu = np.log(np.exp([[0.0, 0.0], [1.5, 0.5]]).sum(axis=1))  # epsilon = 1, c_alpha = 1, c_v = 0
    found = NUMBERS["zero-counting-number"]
    for key, c_v in (("printed", 1.0), ("corrected", 0.0)):  # "any c_v > 0": say 1
        lam = (phi_v + mu) / (c_v + 1) - mu  # Lemma 3
        cost = np.max(phi_v - lam) + np.log(np.exp(mu + lam).sum())  # of the node's block
        assert np.isclose(found[key], cost)
    x = np.linspace(-3, 3, 60_001)  # all messages (0, x)
    block = np.maximum(phi_v[0], phi_v[1] - x) + np.log(np.exp(mu[0]) + np.exp(mu[1] + x))
    assert np.isclose(found["truth"], block.min(), atol=1e-4)


def test_left_out_temperature():
    phi_v = np.array([0.0, 1.0])
    epsilon = 0.25  # and now c_v = 1
    mu = np.log(np.exp(np.array([[0.0, 0.0], [1.5, 0.5]]) / epsilon).sum(axis=1))
    found = NUMBERS["left-out-temperature"]
    for key, message in (("printed", mu), ("corrected", epsilon * mu)):
        lam = (phi_v + message) / 2 - message
        costs = [
            epsilon * np.log(np.exp(x / epsilon).sum()) for x in (phi_v - lam, epsilon * mu + lam)
        ]
        assert np.isclose(found[key], sum(costs))


def test_step_sizes():
    found = NUMBERS["step-sizes"]
    assert found["largest increase"] < 1e-9  # no step went up
    x, step, costs = 1.0, 0.02, [1.0]  # the same for x^2
    for _ in range(60):
        x, step = x - step * 2 * x, step / 2
        costs.append(x**2)
    assert np.all(np.diff(costs[:40]) < 0)  # always down
    assert x > 0.9  # and never there


# -- what the notebook says besides ---------------------------------------------------------------


def slope(theta, price):
    p = np.exp(LOSS + FEATURES @ theta)
    return p @ FEATURES / p.sum() - FEATURES[0] + price * theta


def test_printouts_of_four_programs():
    """The table of exercise 3: right, without C, with 1 / C, with C squared."""
    text = "\n".join(cell.source for cell in nbformat.read(NOTEBOOK, as_version=4).cells)
    prices = {"a": lambda C: C, "b": lambda C: 1.0, "c": lambda C: 1 / C, "d": lambda C: C**2}
    for letter, price in prices.items():
        lengths = []
        for C in (0.1, 0.5, 1.0, 2.0):
            found = root(slope, np.zeros(2), args=(price(C),))
            assert np.abs(slope(found.x, price(C))).max() < 1e-9
            lengths.append(f"{np.linalg.norm(found.x):.2f}")
        assert f"| **{letter}** | {' | '.join(lengths)} |" in text


def test_a_norm_of_the_slacks_needs_no_multiplier():
    """B.1: a plain sum of slacks pays for wide margins, a norm does not."""
    w, x = np.linspace(0, 5, 100_001), np.array([3.0, 0.4])
    needed = 1 - np.outer(w, x)
    xi = np.linspace(-16, 1, 1701)
    best = [np.abs(xi[xi >= least - 1e-9]).min() for least in needed[::1000].ravel()]
    assert np.allclose(best, np.maximum(needed[::1000].ravel(), 0), atol=0.01)
    assert np.isclose(w[np.argmin(w**2 / 2 + needed.sum(axis=1))], x.sum(), atol=1e-4)
    assert np.isclose(w[np.argmin(w**2 / 2 + np.maximum(needed, 0).sum(axis=1))], x[1], atol=1e-4)


def test_votes_imitate_the_mean_of_the_clipped_score():
    h, c, rng = 1.5, 2.0, np.random.default_rng(0)
    F, threshold = h + rng.normal(size=1_000_000), rng.uniform(-c, c, size=1_000_000)
    g, box = np.where(threshold < F, c, -c), np.clip(F, -c, c)
    assert abs(g.mean() - box.mean()) < 0.01
    assert abs(g.mean() - h) > 0.1
    assert abs(np.where(threshold < box, c, -c).mean() - box.mean()) < 0.01


def test_the_nearest_point_in_l1_is_not_the_only_one():
    rng = np.random.default_rng(0)
    for _ in range(200):
        outside = rng.normal(size=6) * 3
        euclid, scaled = project_l1_ball(outside, 1.0), outside / np.abs(outside).sum()
        least = np.abs(outside).sum() - 1  # no point of the ball is nearer
        assert np.isclose(np.abs(outside - euclid).sum(), least)
        assert np.isclose(np.abs(outside - scaled).sum(), least)


def test_the_bound_is_convex_and_its_optimum_belongs_to_another_prior():
    lam, rng = 4.0, np.random.default_rng(0)
    mu, sigma = rng.normal(size=100_000) * 3, rng.exponential(size=100_000)
    cubed = np.sqrt(lam * (mu**2 + sigma**2)) ** 3
    H11, H22 = lam**2 * sigma**2 / cubed, 1 / sigma**2 + lam**2 * mu**2 / cubed
    H12 = -(lam**2) * mu * sigma / cubed
    assert np.all(H11 > 0)
    assert np.all(H11 * H22 - H12**2 > 0)
    eta, variance = 1.2, 1.0
    for _ in range(200):
        variance = np.sqrt((variance + (variance * eta) ** 2) / lam)
    assert np.isclose(variance * eta, eta / (lam - eta**2))
    mean = NormalGammaPrior(shape=0.5, lam=lam).mean(np.array([eta]))[0]
    assert np.isclose(variance * eta, mean)


def test_237_constants_have_three_radii():
    a, w = np.array([1.0, 0.3]), np.linspace(0, 5, 5001)
    hinge = np.maximum(1 - np.outer(w, a), 0).sum(axis=1)
    radii = [w[np.argmin(w / 2 + C * hinge)] for C in np.linspace(0.05, 3, 237)]
    assert len(np.unique(radii)) == 3


def test_three_logarithms_are_paid_and_one_is_enough():
    for m, delta in ((1, 0.5), (100, 0.05), (10_000, 0.001)):
        exact, paid = np.log(m * (m + 1) ** 2 / delta), 3 * np.log((m + 1) / delta)
        assert exact < 3 * np.log(m + 1) - np.log(delta) < paid


def test_the_extracted_formula_of_figure_2_is_no_divergence():
    lam, w = 4.0, np.linspace(-1.5, 1.5, 301)
    square_root = np.sqrt(lam * w**2 + 1)
    meant = square_root - np.log(square_root / 2 + 1 / 2) - 1
    extracted = square_root - np.log(np.sqrt(lam * w**2 + 1 / 2) + 1 / 2) - 1
    x = (square_root + 1) / 2
    assert np.allclose(meant, 2 * x - np.log(x) - 2)  # footnote 5's equation
    assert np.isclose(meant.min(), 0)
    assert extracted.min() < -0.18
    x = (np.sqrt(lam * w**2 + 1 / 2) + 1 / 2) / 2
    assert np.ptp(extracted - (2 * x - np.log(x))) > 0.1
