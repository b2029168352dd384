"""The studies of the OCR letters: who trains and who tests, what is chosen where, what reports say."""

import itertools

import numpy as np
import pytest
from making import axes_of
from sklearn.utils import Bunch

from medn_edu.explorers.kit.style import series_style
from medn_edu.studies.kit import splits
from medn_edu.studies.kit.fair import NAMES
from medn_edu.studies.kit.models import make_model
from medn_edu.studies.kit.selection import Selected
from medn_edu.studies.kit.specs import FitSpec, Split
from medn_edu.studies.kit.splits import ocr_unseen, word_errors
from medn_edu.studies.kit.summary import numbers
from medn_edu.studies.kit.trained import label_error, measured
from medn_edu.studies.ocr import OCR_STUDY, PRINTED
from medn_edu.studies.ocr_full import OCR_FULL_STUDY, error_table

FOLD = np.random.default_rng(0).permutation(np.repeat(np.arange(10), 300))


@pytest.mark.parametrize(("n_words", "seed"), [(100, 0), (250, 1)])
def test_constants_are_chosen_on_words_that_no_fit_trains_on_or_is_tested_on(
    monkeypatch, n_words, seed
):
    numbered = Bunch(data=np.arange(len(FOLD)), target=np.arange(len(FOLD)), fold=FOLD)
    monkeypatch.setattr(splits, "ocr_letters", lambda: numbered)

    def split(fold, name):
        [spec] = [
            spec
            for spec in OCR_STUDY.fits("paper", seed)
            if (spec.data, spec.fold, spec.model) == (f"ocr-{n_words}", fold, name)
        ]
        return OCR_STUDY.fit.split(spec)

    given = [split(fold, "M3N 20 passes") for fold in range(10)]
    used = {word for one in given for word in (*one.X_train, *one.X_test)}
    for fold in (0, 7):
        chosen, one = split(fold, "M3N"), given[fold]
        judges = chosen.X_train[n_words:]
        assert chosen.X_train[:n_words] == one.X_train
        assert chosen.X_test == one.X_test
        assert (FOLD[chosen.X_train] == fold).all()
        assert set(FOLD[one.X_test]) == {*range(10)} - {fold}
        assert len(set(judges)) == len(judges) == 50
        assert not used & set(judges)


@pytest.mark.parametrize("seed", [0, 3])
def test_words_that_never_train(seed):
    """Of eleven letters, each in two words at least, each word in each fold four times."""
    steps = itertools.product(range(10), (1, 3))
    words = {"".join("abcdefghij"[(k + j * step) % 10] for j in range(4)) for k, step in steps}
    words |= {"kabc", "kdef"}  # which are dealt into one part, at first, by the second seed
    text = np.repeat(sorted(words), 40)
    fold = np.tile(np.arange(10), len(text) // 10)
    letters = Bunch(target=[list(word) for word in text], fold=fold)
    tested = []
    for part in range(5):
        train, test = ocr_unseen(letters, part, seed)
        also, same = ocr_unseen(letters, part, seed, seen=True)
        assert not set(text[train]) & set(text[test])
        assert set("".join(text[test])) <= set("".join(text[train]))
        assert not fold[train].any()
        assert not fold[also].any()
        np.testing.assert_array_equal(test, same)
        assert len(also) == len(train) == len(set(also))
        assert set(text[also]) & set(text[test])
        tested += [*test]
    assert sorted(tested) == np.flatnonzero(fold).tolist()


@pytest.mark.parametrize("study", [OCR_STUDY, OCR_FULL_STUDY], ids=lambda study: study.name)
def test_every_model_chooses_for_itself_among_24_points(study):
    specs = study.fits("paper", 5)
    made = {
        spec: make_model(spec.model, study.fit.models, **dict(spec.parameters)) for spec in specs
    }
    assert not any(spec.after for spec in specs)
    for spec, model in made.items():
        if spec.model in NAMES:
            assert isinstance(model, Selected) == (spec.model != "CRF"), spec
        if spec.model in NAMES and spec.model != "CRF":
            assert sum(len(path.values) for path in model.paths) == 24
            assert model.last_on_all == (study is OCR_FULL_STUDY)
            sizes = {"ocr-rest": 2000, "ocr-one": 420, "ocr-seen": 330, "ocr-unseen": 330}
            assert model.blocks == (sizes.get(spec.data) or int(spec.data.split("-")[1]),)
    for data in {spec.data for spec in specs}:
        assert {spec.model for spec in specs if spec.data == data} >= set(NAMES)


def toy(n_words):
    """Words of two letters that a feature tells, but for the last half, whose letters are random."""
    rng = np.random.default_rng(0)
    X = list(rng.normal(size=(n_words, 2, 2)))
    y = [["ab"[int(row[0] > 0)] for row in x] for x in X[: n_words // 2]]
    return X, y + [list(rng.choice(["a", "b"], 2)) for _ in X[n_words // 2 :]]


@pytest.mark.parametrize(("last_on_all", "n_train"), [(False, 10), (True, 20)])
def test_the_training_error_is_that_of_the_words_that_trained(last_on_all, n_train):
    X, y = toy(20)
    model = OCR_STUDY.fit.models["M3N"].build(blocks=10, every=3, last_on_all=last_on_all).fit(X, y)
    found = measured(model, Split(X, y, X, y))
    assert found["n_train"] == n_train
    assert found["train_error"] == label_error(model.predict(X[:n_train]), y[:n_train])
    assert (found["train_error"] == found["error"]) == last_on_all


@pytest.mark.parametrize("kind", [list, np.array])
def test_errors_are_counted_label_by_label(kind):
    true = [kind(["a", "b"]), kind(["b"])]
    assert label_error([kind(["a", "a"]), kind(["b"])], true) == pytest.approx(1 / 3)
    for wrong in ([kind(["a"]), kind(["b"])], [kind(["a", "b"])]):
        with pytest.raises(ValueError):
            label_error(wrong, true)


def test_wrong_letters_are_counted_word_by_word(monkeypatch):
    words = ["ba", "ab", "ab", "ba", "ca", "ab"]  # the first two train
    letters = Bunch(
        data=list(range(6)), target=[list(w) for w in words], fold=np.array([0, 0, 1, 1, 1, 1])
    )
    monkeypatch.setattr(splits, "ocr_letters", lambda: letters)
    splits.different_words.cache_clear()

    class Always:
        def predict(self, X):
            return [np.array(["a", "a"])] * len(X)

    found = word_errors(FitSpec("ocr-one", 0, "any"), Always())["word_errors"]
    splits.different_words.cache_clear()
    assert numbers(found).tolist() == [2, 1, 1]  # of ab, ba, ca


@pytest.mark.parametrize(("n_words", "beta"), [(100, 4.0), (250, 2.0)])
def test_the_papers_constants(n_words, beta):
    specs = [s for s in OCR_STUDY.fits("paper", 0) if (s.data, s.fold) == (f"ocr-{n_words}", 0)]
    made = {
        s.model: make_model(s.model, PRINTED, **dict(s.parameters))
        for s in specs
        if s.model in PRINTED
    }
    assert set(made) == set(PRINTED)
    for name, slack in itertools.product(("M3N", "LapMEDN"), ("", ", mean slack")):
        optimum = made[f"{name} at its optimum{slack}"].get_params()
        for passes in (5, 20, 60, 200):
            stopped = made[f"{name} {passes} passes{slack}"].get_params()
            assert stopped["C"] == optimum["C"] == 200 * beta
            assert (stopped["beta"], optimum["beta"]) == (beta, None)
            assert (stopped["solver"], stopped["max_iter"]) == ("online_subgradient", passes)
            assert ("sample_weight" in stopped) == bool(slack)
            assert name == "M3N" or stopped["lam"] == optimum["lam"] == 36
    ball = made["L1-M3N 60 passes"]
    assert (ball.beta, ball.radius, ball.max_iter) == (beta, 289, 60)
    for name, rounds in (("L1-M3N EM", 15), ("L1-M3N EM, 3 rounds", 3)):
        em = made[name]
        assert em.blocks == (n_words,)
        ratios = [point.C / (2 * np.sqrt(point.lam)) for point in points(em)]
        assert ratios == pytest.approx(2 * [0.05, 0.1, 0.2, 0.4])
        assert all(point.threshold**2 == pytest.approx(1e-4 * point.lam) for point in points(em))
        assert {point.n_iterations for point in points(em)} == {rounds}
    for name in ("L1-CRF, six lam", "L2-CRF, six lam"):
        assert made[name].blocks is None
        assert (made[name].n_folds, made[name].extend) == (5, 0)
        assert [point.lam for point in points(made[name])] == [16, 9, 4, 1, 0.1, 0.01]


def points(model):
    """All models among which another chooses."""
    return [
        make_model(model.name, model.models, seed=0).set_params(**path.point(k))
        for path in model.paths
        for k in range(len(path.values))
    ]


def row(model, data, fold, error, **more):
    n_train = int(data.split("-")[1]) if data[-1] == "0" else 626
    return {
        "key": f"{data}/{fold}/{model}", "data": data, "fold": fold, "model": model, "error": error,
        "train_error": 0.0, "relative_gap": 0.01, "n_train": n_train, **more,
    }  # fmt: skip


def assert_says(text, *sentences):
    """Whatever lines it is broken into."""
    for sentence in sentences:
        assert sentence in " ".join(text.split())


def test_what_the_report_says():
    rows = []
    for n, fold in itertools.product((100, 250), range(4)):
        error = (0.4 if n == 100 else 0.3) + 0.01 * fold
        rows.append(row("M3N", f"ocr-{n}", fold, error, n_extended=fold, at_end=False))
        rows.append(row("M3N 20 passes", f"ocr-{n}", fold, error + 0.1))
        sooner = -0.02 if fold else 0.02
        chosen = {"chosen": "C=10 lam=29", "n_extended": 0, "at_end": fold == 3}
        rows.append(row("LapMEDN", f"ocr-{n}", fold, error + sooner, **chosen))
    report = OCR_STUDY.report(rows, "quick")
    assert_says(
        report.text,
        "Smallest mean error, chosen constants: LapMEDN (100 words), LapMEDN (250 words).",
        "Smallest mean error, papers' constants: M3N 20 passes (100 words),",
    )
    assert_says(
        report.caption,
        "| chosen | LapMEDN | -1.0 (-4.2 to +2.2) | -1.0 (-4.2 to +2.2) |",  # Student's, of 4 folds
        "| papers' | M3N 20 passes | +10.0 (+10.0 to +10.0) |",
        "Of 16 choices 6 went beyond their grid, by at most 3 points;",
        "2 still lie at an end (LapMEDN 2).",
        "LapMEDN C = 10 (8)",
    )
    lines = {(line["model"], line["n_train"]): line for line in report.rows}
    assert lines["M3N", 250]["error"] == pytest.approx(0.315)
    assert [lines["M3N", 250][name] for name in ("fits", "n_extended", "at_end")] == [4, 3, 0]


def test_what_the_report_on_all_words_says():
    rows = [
        row("M3N", "ocr-rest", 0, 0.1, chosen="C=0.1", at_end=False),
        row("M3N", "ocr-one", 0, 0.2, chosen="C=0.03", at_end=True),
        row("CRF", "ocr-one", 0, 0.3),
    ]
    for part, (error, chosen) in enumerate([(0.2, "C=0.1"), (0.35, "C=1"), (0.35, "C=1")]):
        rows.append(row("M3N", "ocr-seen", part, 0.2, chosen="C=0.1"))
        rows.append(row("M3N", "ocr-unseen", part, error, chosen=chosen))
    report = OCR_FULL_STUDY.report(rows, "paper")
    assert_says(
        report.text,
        "M3N: 0.200 on words that trained, 0.300 on words that did not, +10.0 points",
        "worse in 2 of 3 parts",
    )
    assert_says(
        report.caption,
        "| M3N | 0.200 | C=0.03* | 0.100 | C=0.1 |",
        "| CRF | 0.300 | | – | – |",
        "Means over 3 parts",
    )
    constants = {line["data"]: line["chosen"] for line in report.rows if line["model"] == "M3N"}
    assert (constants["ocr-seen"], constants["ocr-unseen"]) == ("C=0.1", "C=0.1, C=1")
    few = [row("M3N", "ocr-100", fold, error) for fold, error in enumerate((0.3, 0.4))]
    table = error_table([*few, row("M3N 20 passes", "ocr-100", 0, 0.5)], rows)
    assert table.splitlines()[-1] == "| M3N | 0.350 ± 0.071 | – | 0.100 |"


def drawn(study, monkeypatch):
    """The axes of a figure, and the random rows in it."""
    rng = np.random.default_rng(0)
    rows = [row(s.model, s.data, s.fold, rng.uniform(0.2, 0.4)) for s in study.fits("paper", 0)]
    return axes_of(study, rows, monkeypatch), rows


def test_errors_against_passes_and_differences_to_m3n(monkeypatch):
    axes, rows = drawn(OCR_STUDY, monkeypatch)
    first, right = axes[0], axes[8]
    for line in (axes[:4], axes[4:8], axes[8:]):
        assert len({(ax.get_xlim(), ax.get_ylim()) for ax in line}) == 1, "columns are compared"
    assert right.get_xlabel() == "above M3N (points)"
    errors = {(r["model"], r["fold"]): 100 * r["error"] for r in rows if r["data"] == "ocr-100"}

    def mean_of(model):
        return np.mean([errors[model, fold] for fold in range(10)])

    curve = {line.get_label(): line.get_ydata() for line in first.lines}
    passes = [mean_of(f"LapMEDN {n} passes, mean slack") for n in (5, 20, 60, 200)]
    np.testing.assert_allclose(curve["LapMEDN, mean slack"], passes)
    np.testing.assert_allclose(curve["M3N of (b)"], mean_of("M3N"))
    names = [text.get_text() for text in right.get_yticklabels()]
    bars = {
        name: bar.lines[0].get_xdata()[0] for name, bar in zip(names, right.containers, strict=True)
    }
    assert set(bars) == set(NAMES) - {"CRF", "M3N"}
    assert bars["LapMEDN"] == pytest.approx(mean_of("LapMEDN") - mean_of("M3N"))
    early, optimum = (series_style(f"M3N {name}") for name in ("20 passes", "at its optimum"))
    assert early["color"] == optimum["color"]
    assert optimum["markerfacecolor"] == "white"


def test_all_panels_have_the_same_axis_and_whole_folds_their_numbers(monkeypatch):
    axes, rows = drawn(OCR_FULL_STUDY, monkeypatch)
    errors = {r["model"]: f"{100 * r['error']:.1f}" for r in rows if r["data"] == "ocr-rest"}
    shown = [text.get_text() for text in axes[1].texts]
    assert shown == [errors[name] for name in ("per letter", *NAMES)]
    assert len({ax.get_xlim() for ax in axes}) == 1
    assert all(len(ax.get_xticks()) > 2 for ax in axes)


def test_a_run_whose_other_fits_have_all_failed_is_drawn(tmp_path):
    for study in (OCR_STUDY, OCR_FULL_STUDY):
        first = study.fits("paper", 0)[0]
        study.draw([row(first.model, first.data, first.fold, 0.3)], tmp_path / "one.png")
        assert (tmp_path / "one.png").stat().st_size > 10_000
