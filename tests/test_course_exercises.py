"""The checks of exercises: never raise, know the right answer, and tell mistakes apart."""

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import sem

from medn_edu import M3N, load_digit_words
from medn_edu.course.exercises import CHECKS, l1_m3n
from medn_edu.course.exercises.declarations import NOTHING_RETURNED, Function, Number, agrees
from medn_edu.course.exercises.exact import faulty_run
from medn_edu.course.exercises.variational import rising_run
from medn_edu.priors import LaplacePrior
from medn_edu.problems import weight_bounds
from medn_edu.studies.border import fits_of, less
from medn_edu.studies.kit.model_errors import mean_interval
from medn_edu.studies.kit.stored import stored_rows
from medn_edu.theory import reference
from medn_edu.theory.axi import AXI, HABIT, WORDS, text

Array = np.ndarray


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Callable[[str, Any], str]:
    def call(name: str, answer: Any) -> str:
        CHECKS[name](answer)
        text = capsys.readouterr().out
        assert text.endswith("\n"), name
        assert text.count("\n") == 1, name
        return text.strip()

    return call


class Hostile:
    """Raises whatever is done to it."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError("leave me alone")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("leave me alone")

    __hash__ = None  # type: ignore[assignment]


class SilentError(Exception):
    """An exception that cannot even be printed."""

    def __str__(self) -> str:
        raise RuntimeError("no")


def fails(*_: Any) -> None:
    raise SilentError


ODD_ANSWERS = [
    *("", "text", b"b", [], {}, {1}, float("nan"), float("inf"), 1j, True, int, object(), 10**400),
    *(np.zeros(0), np.zeros((2, 2)), Hostile(), lambda: 1, lambda *a: None, lambda *a: a[0]),
    *(lambda *a: [[1], [2, 3]], lambda *a: 1 / 0, lambda *a: "text", lambda *a: exit(1), fails),
]


def test_an_odd_answer_is_not_quite_right_and_an_untouched_stub_not_yet(said: Any) -> None:
    for name, check in CHECKS.items():
        assert repr(check) == f"{name}: {check.asks}"  # and does not tell the answer
        assert said(name, None).startswith("Not yet"), name
        for number, answer in enumerate(ODD_ANSWERS):
            verdict = said(name, answer)
            if verdict != f"Not yet: {NOTHING_RETURNED}":
                assert verdict.startswith("Not quite: "), (name, number)


def test_words_that_do_not_fit_a_declaration_name_it() -> None:
    words: dict[str, Any] = {"asks": "a number", "praise": "yes.", "hints": {"2": "too much."}}
    check = Number(right=1)
    check.give_words("check_one", words)
    assert check.planted == [(2.0, "too much.")]
    for mistakes, changed, message in (
        ({}, {"hint": {}}, "check_one: expected asks, praise and perhaps others of"),
        ({}, {"praise": None}, "check_one: expected asks"),
        ({}, {"hints": {"double": "too much."}}, "check_one: mistakes and hints do not match"),
        ({"double": 2.0}, {}, "check_one: mistakes and hints do not match: 'double'"),
    ):
        given = {key: value for key, value in {**words, **changed}.items() if value is not None}
        with pytest.raises(ValueError, match=message):
            Number(right=1, mistakes=mistakes).give_words("check_one", given)


def test_right_answers_mistakes_and_what_is_a_little_off_get_their_verdict(said: Any) -> None:
    for name, check in CHECKS.items():
        assert said(name, check.right) == f"Right: {check.praise}"
        verdicts = [said(name, mistake) for mistake, _ in check.planted]
        for verdict, (_, hint) in zip(verdicts, check.planted, strict=True):
            assert verdict.startswith(("Not quite: ", "Not yet: your function")), name
            assert hint is None or verdict == f"Not quite: {hint}", name
        assert len(set(verdicts)) == len(verdicts) >= 3, name
        if isinstance(check, Number):
            assert said(name, float(f"{check.right:.4g}")).startswith("Right"), name
            for mistake, hint in check.planted:
                assert said(name, float(f"{mistake:.4g}")) == f"Not quite: {hint}"
            far = check.too_large if check.right > 0 else "check the sign first."
            assert said(name, 1e200) == said(name, 10**400) == f"Not quite: {far}", name
        elif isinstance(check, Function):
            off = said(name, lambda *case, right=check.right: np.multiply(right(*case), 1.001))
            assert off == f"Not quite: {check.nearly or check.otherwise}", name


def test_rounding_counts_where_it_changes_little() -> None:
    assert [agrees(0.19, 0.193), agrees(0.01, 0.014)] == [True, False]


def test_answers_found_by_an_experiment_are_what_it_gives() -> None:
    wide = load_digit_words(border=8)
    X, y = ([part[i] for i in wide.train[:40]] for part in (wide.data, wide.target))
    inside = np.pad(np.ones((8, 8), dtype=bool), 8).ravel()
    assert np.concatenate(X)[:, ~inside].mean() == pytest.approx(0.16, abs=0.005)
    painted = [np.where(inside, wide.data[i], 0.16) for i in wide.test]
    right = M3N(C=0.1, tol=1e-4).fit(X, y).score(painted, [wide.target[i] for i in wide.test])
    assert CHECKS["check_painted_border"].right == pytest.approx(1 - right, rel=0.004)


def test_the_table_of_the_border_says_what_the_hints_of_shrinkage_say() -> None:
    fits = fits_of(stored_rows("border"))
    pairs = {"a": ("LapMEDN", "M3N"), "b": ("L1-M3N", "LapMEDN"), "d": ("L1-CRF", "L1-M3N")}
    pairs["c"] = ("LapMEDN", "L2-CRF")  # the first has less weight on the border
    verdicts = {}
    for letter, (less_border, other) in pairs.items():
        shares = [np.mean([r["border_share"] for r in fits[8, m]]) for m in (less_border, other)]
        assert shares[0] < shares[1]
        difference = less(fits, 8, less_border, other)
        verdicts[letter] = 0 if abs(difference.value) < difference.half else difference.value
    assert verdicts["b"] == 0
    assert verdicts["a"] < 0 > verdicts["d"]
    assert verdicts[CHECKS["check_border_claim"].right] == pytest.approx(0.029, abs=5e-4)


# Right answers where the solution in the notebook is close to the declaration: written in another way.
# Solutions that differ from it are tested with the notebooks.


def chain(node: Array, edge: Array) -> reference.Tree:
    return reference.Tree(node, edge[None], np.arange(len(node)) - 1, np.zeros(len(node), int))


def score_and_spoil(node: Array, edge: Array, labels: Array) -> float:
    total = reference.score(chain(node, edge), labels)
    node[:], edge[:], labels[:] = 0, 0, 0
    return total


def soft_hinge(node: Array, edge: Array, y: Array, epsilon: float) -> float:
    with_loss = chain(node + 1 - np.eye(node.shape[1])[y], edge)
    truth = reference.score(chain(node, edge), y)
    return reference.enumerated_log_partition(with_loss, epsilon) - truth


def cheapest(a: Array, margin: float, lam: float) -> Array:
    prior, end = LaplacePrior(lam), np.sqrt(lam) / np.abs(a).max()
    t = brentq(lambda t: a @ prior.mean(t * a) - margin, 0, end * (1 - 1e-12), xtol=1e-15)
    return prior.mean(t * a)


def decode(beliefs: Array, tables: Array, ends: Array) -> list[int]:
    best = [set(np.flatnonzero(row >= row.max() - 1e-6).tolist()) for row in beliefs]
    decided = {v: min(labels) for v, labels in enumerate(best) if len(labels) == 1}
    for v in sorted(set(range(len(best))) - set(decided)):
        near = [
            (t, decided[u])
            for t, (w, u) in zip(tables, ends, strict=True)
            if w == v and u in decided
        ]
        near += [
            (t.T, decided[u])
            for t, (u, w) in zip(tables, ends, strict=True)
            if w == v and u in decided
        ]
        decided[v] = max(sorted(best[v]), key=lambda a, near=near: sum(t[a, b] for t, b in near))
    return [decided[v] for v in range(len(best))]


def best_with(node: Array, edge: Array, parents: Array) -> Array:
    tree = reference.Tree(node, edge[None], parents, np.zeros(len(node), int))
    scores, labellings = reference.all_scores(tree), reference.labellings(tree)
    labels = range(node.shape[1])
    return np.array([[scores[each == label].max() for label in labels] for each in labellings.T])


def early_stopping(errors: list[float], patience: int) -> int:
    best = [errors.index(min(errors[: i + 1])) for i in range(len(errors))]
    return next((b for i, b in enumerate(best) if i - b == patience), best[-1])


def room(eta: Array, d: Array, lam: float) -> float:
    ways = [(math.copysign(lam**0.5, b) - a) / b for a, b in zip(eta, d, strict=True) if b]
    return min(ways)


def kl_slope(mu: float, lam: float) -> float:
    return (np.sqrt(1 + lam * mu**2) - 1) / (np.sqrt(lam) * mu) if mu else 0.0


def paired_interval(a: Array, b: Array, t: float) -> tuple[float, float]:
    return np.mean(a - b) - t * sem(a - b), np.mean(a - b) + t * sem(a - b)


def algorithm_1(program: Any, n_weights: int, lam: float, n_programs: int) -> list[Array]:
    means, variance = [], np.ones(n_weights)
    while len(means) < n_programs:
        means.append(program(variance))
        variance = 1 / np.sqrt(lam / (means[-1] ** 2 + variance))
    return means


RIGHT = {
    "check_algorithm_1": algorithm_1,
    "check_best_alpha": lambda C, q: np.minimum(C, 1 / q),
    "check_cheapest_mean": cheapest,
    "check_decode": decode,
    "check_early_stopping": early_stopping,
    "check_honest_error": lambda v, t: min(zip(v, t, strict=True))[1],
    "check_kl_slope": kl_slope,
    "check_labelling_score": score_and_spoil,
    "check_max_marginals": best_with,
    "check_multiplier": lambda m, b, v, C: np.clip((m - b) / v, 0, C),
    "check_paired_interval": paired_interval,
    "check_room": room,
    "check_soft_hinge": soft_hinge,
    "check_viterbi": lambda node, edge: reference.best_labelling(chain(node, edge))[0],
}


def test_another_way_of_writing_it_is_right(said: Any) -> None:
    for name, answer in RIGHT.items():
        assert said(name, answer) == f"Right: {CHECKS[name].praise}", name


@pytest.mark.parametrize(
    ("name", "answer", "verdict"),
    [
        ("check_count_labellings", 99_999, "too small"),
        ("check_count_labellings", -(10**5), "only the sign is wrong"),
        ("check_count_labellings", 10 ^ 5, "a power is written `**`"),
        ("check_count_labellings", "10**5", "without quotes"),
        ("check_count_labellings", (100, 0), "with a comma that is 2 numbers"),
        ("check_count_labellings", math.inf, "divided by 0"),
        ("check_count_labellings", len, "expected a number."),
        ("check_posterior_mean", 66.7, "looks like per cent"),
        ("check_posterior_mean", 0.68, "keep more digits"),
        ("check_posterior_mean", -0.3, "check the sign first"),
        ("check_wrong_pair", 3, "expected two weight vectors of two numbers each"),
        ("check_posterior_mean", np.array([2 / 3]), "without brackets"),
        ("check_tilted_coin", 0.43, "0.6 / (0.8 + 0.6)"),  # two places of 0.4286
        ("check_words_right", 0.0281, "0.64^8"),
        ("check_many_small", "B ", "Right"),
        ("check_exact_zero", [0, -3, 2], "Right"),
        ("check_as_good", ("l1-m3n", "Elastic CRF", "elastic M3N"), "Right"),
        ("check_worse_in_pairs", ([1, 2, 3, 4, 5], (9, 8, 7, 6, 5)), "Right"),
        ("check_exact_zero", (2, 1, 1e-9), "tiny, but it isn't 0"),
        ("check_late_prior", [(-4, 0.001), (-1, 0.499), (1, 0.499), (4, 0.001)], "Right"),
        ("check_late_prior", [(-1, 0.5), (1, 0.5)], "it holds the weight back all the way"),
        (
            "check_late_prior",
            [(-1, 0.05), (0, 0.9), (1, 0.05)],
            "it lets the weight grow too early",
        ),
        ("check_late_prior", [(0, 0.5), (1, 0.5)], "Make the prior symmetric"),
        ("check_wrong_pair", [[3, 0], [-2, 5]], "Right"),
        ("check_wrong_pair", [[1, 0], [0, 0.2]], "under the second vector axi and another"),
        ("check_tags", ["ADP", "DET", "NOUN", "PRON", "VERB", "NOUN", "PUNCT"], "Right"),
        (
            "check_kl_slope",
            lambda mu, lam: 1 / (mu - 0.5),
            "your function stopped with ZeroDivisionError",
        ),
        ("check_kl_slope", lambda mu, lam: 1 / (mu - 0.5), "The arguments were 0.5, 4.0."),
        ("check_kl_slope", fails, "your function stopped with SilentError. The arguments"),
        ("check_kl_slope", lambda mu, lam: None, "returns None"),
        ("check_kl_slope", 1.0, "hand over its name"),
        (
            "check_kl_slope",
            lambda mu, lam: np.array([kl_slope(mu, lam)]),
            "the numbers are right, but yours come in an array of shape (1,)",
        ),
        ("check_multiplier", lambda m, b, v, C: -min(max((m - b) / v, 0), C), "only the sign"),
        (
            "check_room",
            lambda eta, d, lam: d,
            "expected a number, but your function returns an array",
        ),
        ("check_room", lambda eta, d, lam: "d", "returns a str that can't be read as numbers"),
        ("check_room", lambda eta, d, lam: abs, "returns a function; call it to get its value."),
        ("check_kl_slope", lambda mu, lam: np.log(-lam), "your function returns nan: was 0"),
        ("check_cross_validation", lambda *_: None, "returns None"),
        ("check_shape", lambda word: "x", "shape('Lisbon') is 'Xx', but yours is 'x'"),
    ],
)
def test_answers_of_many_kinds(said: Any, name: str, answer: Any, verdict: str) -> None:
    assert verdict in said(name, answer)


def test_the_bound_of_the_faulty_run_rises() -> None:
    lines = rising_run().splitlines()
    bounds = [float(line.split()[-1]) for line in lines]
    assert min(bounds) == bounds[1] < bounds[-1]
    variances = [line.split("variance ")[1].split(",")[0].split()[1] for line in lines]
    assert variances[:3] == ["1.000", "0.500", "0.250"], "its hints and its solution say these"


def test_verdicts_name_what_was_given_and_keep_the_solution(
    said: Callable[[str, Any], str],
) -> None:
    assert "a number, but your function returns True" in said(
        "check_early_stopping", lambda errors, patience: True
    )
    assert "“19”" not in said("check_cut", [])
    assert "my_page has neither" in said("check_page", "<p></p>")
    assert "aax violates its margin most, by 0.42: it needs more" in said(
        "check_own_certificate", {"aax": 1.1, "axi": 1.9}
    )
    assert "aax has too much" in said("check_own_certificate", {"aax": 1.4, "axi": 1.6})
    assert "1 product is marked" in said("check_page", '<p data-medn="record">A lamp</p>')


def test_tables_that_structured_prediction_shows_and_speaks_of() -> None:
    node, edge = AXI.ink, HABIT

    def lines(
        turned: bool = False, only_best: bool = False, inks: tuple[int, ...] = (1, 1, 1)
    ) -> list[list[float]]:
        found = [node[0]]
        for here, weight in zip(node[1:], inks[1:], strict=True):
            offers = found[-1][:, None] + (edge.T if turned else edge)
            if only_best:
                offers = offers[[found[-1].argmax()]]
            found.append(weight * here + offers.max(axis=0))
        return [line.tolist() for line in found]

    assert lines() == [[3, 1, 0], [5, 5, 3], [5, 7, 9]]
    assert lines(turned=True) == [[3, 1, 0], [5, 4, 4], [5, 6, 9]], "the table of the exercise"
    assert lines(only_best=True)[1] == [5, 5, 3], "what its hints say"
    assert lines(inks=(1, 0, 1))[1] == [3, 4, 3]
    xia, iax = WORDS[1:]
    assert xia.ink.tolist() == [[0, 3, 1], [0, 2, 1], [2, 1, 0]]
    assert iax.ink.tolist() == [[0, 1, 2], [1, 0, 1], [2, 2, 0]]
    rival = [text(y) for y in iax.labellings].index("xia")
    assert iax.differences[rival].tolist() == [1, 0]
    violations = iax.losses[:, None] - iax.differences @ [[1.0] * 6, np.linspace(0.5, 3, 6)]
    np.testing.assert_allclose(violations.max(axis=0), 2)


@pytest.mark.parametrize("c", [0.4, 0.6, 0.9, 1.1])
def test_an_invented_word_is_judged_as_its_hints_say(c: float, said: Any) -> None:
    right = said("check_invented_word", c * np.eye(3)).startswith("Right")
    assert right == (0.5 < c < 1)


def test_the_faulty_run_of_exact_shows_its_mistake() -> None:
    values = re.findall(r"dual ([\d.]+), primal ([\d.]+)", faulty_run())
    crossed = [float(dual) > float(primal) for dual, primal in values]
    assert crossed == sorted(crossed)
    assert sum(crossed) == 3


def test_the_exercises_of_l1_m3n_are_what_happens() -> None:
    notebook = Path(__file__).resolve().parent.parent / "notebooks" / "09-l1-m3n.ipynb"
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    assert any(l1_m3n.faulty_rounds() in "".join(cell["source"]) for cell in cells)
    a, tau = np.ones(2), np.ones(2)
    for _ in range(50):  # EM with two copies of one feature
        w = tau * a / (tau @ a**2)
        tau = 2 * np.abs(w) / np.abs(w).sum()
    assert w.tolist() == [0.5, 0.5]
    bounds = weight_bounds(0.02, np.array([0.5, 0.4, 0.1]))
    assert (bounds > 0.1).tolist() == [True, True, False]


def test_the_table_that_synthetic_study_chooses_from() -> None:
    rows = [row for row in stored_rows("synthetic-iid") if row["data"] == "iid-10-150"]

    def errors(model: str) -> Array:
        found = {row["fold"]: row["error"] for row in rows if row["model"] == model}
        return np.array([found[fold] for fold in sorted(found)])

    names = ("elastic CRF", "L1-M3N", "elastic M3N", "LapMEDN", "L2-CRF", "CRF", "M3N")
    less = {name: mean_interval(errors(name) - errors("L1-CRF")) for name in names}
    assert CHECKS["check_as_good"].right == [name for name in names if not less[name].excludes(0)]
    assert all(each.mean > 0 for each in less.values())
