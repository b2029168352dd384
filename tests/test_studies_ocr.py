"""The studies of the OCR letters: who trains and who tests, what is chosen where, what reports say."""

import itertools

import numpy as np
import pytest
from making import axes_of
from scipy import stats
from sklearn.utils import Bunch

from medn_edu import M3N
from medn_edu.explorers.kit.style import series_style
from medn_edu.studies.kit import splits
from medn_edu.studies.kit.models import MODELS, Model, make_model
from medn_edu.studies.kit.selection import Selected, blocks_of
from medn_edu.studies.kit.specs import FitSpec
from medn_edu.studies.kit.splits import ocr_outside, ocr_unseen
from medn_edu.studies.ocr import OCR_STUDY
from medn_edu.studies.ocr_full import OCR_FULL_STUDY, difference_text

FOLD = np.random.default_rng(0).permutation(np.repeat(np.arange(10), 300))


@pytest.mark.parametrize(("n_words", "seed"), [(10, 0), (50, 1)])
def test_constants_are_chosen_on_words_that_no_fit_sees(monkeypatch, n_words, seed):
    numbered = Bunch(data=np.arange(len(FOLD)), target=np.arange(len(FOLD)), fold=FOLD)
    monkeypatch.setattr(splits, "ocr_letters", lambda: numbered)
    outside = ocr_outside(FOLD, n_words, seed)
    for fold in range(10):
        split = OCR_STUDY.fit.split(FitSpec("ocr-250", fold, "M3N", seed=seed))
        assert (FOLD[split.X_train] == fold).all()
        assert set(FOLD[split.X_test]) == {*range(10)} - {fold}
        assert not {*split.X_train, *split.X_test} & set(outside)
    assert len(set(outside)) == len(outside) == 3 * n_words + 7 * 50
    for number, (train, test) in enumerate(blocks_of(len(outside), (n_words,) * 3)):
        assert (FOLD[outside[train]] == number).all()
        assert (FOLD[outside[test]] != number).all()
        assert (len(train), len(test)) == (n_words, len(outside) - n_words)


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


def test_blocks_that_cannot_be():
    wrong = {"leave some of 4 samples": (4,), r"blocks are \(3, 2\)": (3, 2), "positive": (0, 2)}
    for message, sizes in wrong.items():
        with pytest.raises(ValueError, match=message):
            blocks_of(4, sizes)


def test_the_first_block_trains_with_what_was_chosen():
    X = list(np.random.default_rng(0).normal(size=(12, 3, 2)))
    y = [["ab"[int(row[0] > 0)] for row in x] for x in X]

    def selected(blocks, n_tried=None):
        grid = (("C", (1e-9, 10.0)),)  # the first is nothing
        return Selected("M3N", grid, blocks=blocks, n_tried=n_tried).fit(X, y)

    model = selected((4, 4))
    assert model.chosen_ == {"C": 10.0}
    assert model.errors_[0] > model.errors_[1]
    first = make_model("M3N", C=10.0).fit(X[:4], y[:4])
    np.testing.assert_array_equal(model.weights_, first.weights_)
    some, one = selected((4, 4), n_tried=1).errors_, selected((4,)).errors_
    assert some.tolist() == one.tolist() != model.errors_.tolist()


@pytest.mark.parametrize(("inverse", "n_words"), [(False, 4), (True, 2)])
def test_a_path_starts_afresh_in_each_fold(inverse, n_words):
    """An earlier solution has seen what tests there; at the end an inverse choice trains on one part."""
    seen = []

    class Watched(M3N):
        def fit(self, X, y):
            seen.append((len(X), hasattr(self, "weights_")))
            return super().fit(X, y)

    watched = {"M3N": Model("M3N", lambda **constants: Watched(verbose=0, **constants), "")}
    model = Selected("M3N", (("C", (0.1, 1.0)),), watched, n_folds=3, inverse=inverse)
    model.fit([np.eye(2)] * 6, ["ab"] * 6)
    assert seen == [(n_words, False), (n_words, True)] * 3 + [(n_words if inverse else 6, False)]


def test_fits_wait_for_the_choice_at_their_own_size():
    by_key = {spec.key: spec for spec in OCR_STUDY.fits("paper", 5)}
    drawn = [spec for spec in by_key.values() if not spec.data.startswith("ocr-outside")]
    for spec in (spec for spec in drawn if spec.after):
        chooser, n_words = by_key[spec.after], spec.data.removeprefix("ocr-")
        assert chooser.data == f"ocr-outside-{n_words}"
        assert chooser.model == f"{spec.model}, chosen for {n_words} words"
        assert chooser.seed == spec.seed == 5
        model = OCR_STUDY.fit.models[chooser.model].build()
        assert model.blocks == (int(n_words),) * 3
        assert model.fixed == dict(spec.parameters)
    assert {spec.model for spec in drawn if not spec.after} & set(MODELS) == {"CRF"}
    assert {spec.model for spec in drawn} >= set(MODELS) - {"per letter"}
    assert {spec.fold for spec in drawn} == set(range(10))


def test_only_fits_without_constants_or_with_given_ones_choose_none():
    specs = OCR_FULL_STUDY.fits("paper", 0)
    free = {(s.data, s.model) for s in specs if not s.after and not s.data.endswith("-choosing")}
    assert free == {("ocr-one", "CRF"), ("ocr-rest", "CRF"), ("ocr-rest", "L1-M3N")}
    for spec in (spec for spec in specs if spec.after):
        unseen = spec.data.replace("ocr-seen", "ocr-unseen")  # no word that tests is chosen on
        assert spec.after.startswith(f"{unseen}-choosing/fold={spec.fold}/")
        model = OCR_FULL_STUDY.fit.models[spec.after.split("/")[2]].build()
        assert model.fixed == dict(spec.parameters)
        assert model.name == spec.model.removesuffix(" variational")


@pytest.mark.parametrize(("n_words", "beta"), [(100, 4.0), (250, 2.0)])
def test_the_papers_constants(n_words, beta):
    specs = [s for s in OCR_STUDY.fits("paper", 0) if (s.data, s.fold) == (f"ocr-{n_words}", 0)]
    models, given = OCR_STUDY.fit.models, [s for s in specs if not s.after]
    made = {s.model: make_model(s.model, models, **dict(s.parameters)) for s in given}
    for name in ("M3N", "LapMEDN"):
        stopped, optimum = made[f"{name} sub-gradient"], made[f"{name} at its optimum"]
        assert stopped.C == optimum.C == 200 * beta
        assert (stopped.beta, optimum.beta) == (beta, None)
        assert (stopped.solver, optimum.solver) == ("online_subgradient", "block_frank_wolfe")
        assert stopped.max_iter == 20
    assert made["LapMEDN sub-gradient"].lam == made["LapMEDN at its optimum"].lam == 36
    assert made["L1-M3N sub-gradient"].beta == beta
    assert made["L1-M3N EM"].threshold ** 2 == pytest.approx(1e-4 * made["L1-M3N EM"].lam)


def row(model, data, fold, error, parameters=""):
    return {
        "key": f"{data}/{fold}/{model}", "data": data, "fold": fold, "model": model, "error": error,
        "train_error": 0.0, "relative_gap": 0.01, "parameters": parameters, "n_train": 100,
    }  # fmt: skip


def assert_says(text, *sentences):
    """Whatever lines it is broken into."""
    for sentence in sentences:
        assert sentence in " ".join(text.split())


def test_what_the_report_says():
    rows = [row("M3N, chosen", "ocr-outside-100", 0, None)]
    for n, fold in itertools.product((100, 250), range(4)):
        error = (0.4 if n == 100 else 0.3) + 0.01 * fold
        rows.append(row("M3N", f"ocr-{n}", fold, error, "C=0.01"))
        sooner = -0.02 if fold else 0.02
        rows.append(row("LapMEDN", f"ocr-{n}", fold, error + sooner, "C=1 lam=29"))
    report = OCR_STUDY.report(rows, "quick")
    assert "M3N sub-gradient minus" not in report.text
    assert_says(
        report.text,
        "LapMEDN minus M3N: -1.0 at 100 (3 of 4), -1.0 at 250 (3 of 4).",
        "Smallest mean error, chosen constants: LapMEDN (100 words), LapMEDN (250 words).",
    )
    assert_says(
        report.caption,
        "| M3N | C=0.01* | C=0.01* |",
        "| LapMEDN | lam=29 | lam=29 |",
        "falls at every step for 2 of 2 models",
        "lam of LapMEDN variational and LapMEDN 20 values from 268 to 1.",
    )
    assert_says(
        report.caption.split("\n\n")[0],
        "the errors of M3N sub-gradient in (a) and of M3N in (b) on the same fold",
        "might be better still: M3N (C=0.01 at 100 and 250).",
    )
    lines = {(line["model"], line["n_train"]): line for line in report.rows}
    assert lines["M3N", 250]["error"] == pytest.approx(0.315)
    assert lines["M3N", 250]["fits"] == 4


def test_what_the_report_on_all_words_says():
    rows = [row("M3N", "ocr-rest", 0, 0.1, "C=0.1"), row("M3N", "ocr-one", 0, 0.2, "C=0.03")]
    rows += [row("L1-M3N", "ocr-rest", 0, 0.3, "C=0.1"), row("L1-M3N", "ocr-one", 0, 0.4, "C=0.1")]
    rows.append(row("M3N, chosen for ocr-rest", "ocr-rest-choosing", 0, None))
    for part, (error, chosen) in enumerate([(0.2, "C=0.1"), (0.35, "C=1"), (0.35, "C=1")]):
        rows.append(row("M3N", "ocr-seen", part, 0.2, "C=0.1"))
        rows.append(row("M3N", "ocr-unseen", part, error, chosen))
    report = OCR_FULL_STUDY.report(rows, "paper")
    assert_says(
        report.text,
        "M3N: 0.200 on words that trained, 0.300 on words that did not, +10.0 points",
        "worse in 2 of 3 parts",
    )
    assert_says(
        report.caption,
        "| M3N | 0.200 | C=0.03* | 0.100 | C=0.1 |",
        "| L1-M3N | 0.400 | C=0.1* | 0.300 | C=0.1 |",  # one chosen, one given
    )
    assert_says(
        report.caption.split("\n\n")[0],
        "Mean and standard deviation over 3 parts",
        "L1-M3N on folds 1-9 is given C = 0.1",
        "better still: fold 0 trains, 1-9 test: M3N (C=0.03), L1-M3N (C=0.1).",
    )
    constants = {line["data"]: line["parameters"] for line in report.rows if line["model"] == "M3N"}
    assert (constants["ocr-seen"], constants["ocr-unseen"]) == ("C=0.1", "C=0.1, C=1")


def test_grids_in_words():
    said = difference_text((("C", (0.1, 0.3)),), (("C", (0.1, 0.2, 1.0)),))
    assert said == "0.2 and 1 as well and not 0.3"
    assert not difference_text((("C", (0.1, 0.3)),), (("C", (0.3, 0.1)),))
    many = (("C", tuple(map(float, range(20, 0, -1)))),)
    assert difference_text((("C", (20.0, 1.0)),), many) == "20 values from 20 to 1"


def drawn(study, monkeypatch):
    """The axes of a figure, and the random rows in it."""
    rng = np.random.default_rng(0)
    rows = [
        row(s.model, s.data, s.fold, rng.uniform(0.2, 0.4))
        for s in study.fits("paper", 0)
        if "choosing" not in s.data and "outside" not in s.data
    ]
    return axes_of(study, rows, monkeypatch), rows


def test_both_halves_have_the_same_axes(monkeypatch):
    (above, below, *right), rows = drawn(OCR_STUDY, monkeypatch)
    for one, other in zip((above, below), right, strict=True):
        assert one.get_ylim() == other.get_ylim()
    assert below.get_ylabel() == "points more than M3N sub-gradient"
    low, high = below.get_ylim()
    shown = {bar.get_label(): bar.lines[2] for bar in right[1].containers}
    [lapmedn] = shown["LapMEDN"]
    ends = np.array(lapmedn.get_segments())[:, :, 1]
    assert ends.shape == (4, 2)
    assert ((low < ends) & (ends < high)).all()
    errors = {(r["model"], r["fold"]): r["error"] for r in rows if r["data"] == "ocr-100"}
    differences = [100 * (errors["LapMEDN", f] - errors["M3N", f]) for f in range(10)]
    interval = stats.t.interval(0.95, 9, np.mean(differences), stats.sem(differences))
    np.testing.assert_allclose(ends[0], interval)
    places = {bar.get_label(): bar.lines[0].get_xdata()[0] for bar in above.containers}
    assert -0.5 < places["M3N sub-gradient"] < places["M3N at its optimum"] < 0.5, "side by side"
    early, optimum = (series_style(f"M3N {name}") for name in ("sub-gradient", "at its optimum"))
    assert early["color"] == optimum["color"]
    assert optimum["markerfacecolor"] == "white"


def test_all_bars_have_the_same_axis(monkeypatch):
    axes, _ = drawn(OCR_FULL_STUDY, monkeypatch)
    assert len({ax.get_xlim() for ax in axes}) == 1
    assert all(len(ax.get_xticks()) > 2 for ax in axes)
    names = [(k, text.get_text()) for k, ax in enumerate(axes) for text in ax.get_yticklabels()]
    assert [name for name in names if "given" in name[1]] == [(1, "L1-M3N (C given)")]


def test_a_run_whose_other_fits_have_all_failed_is_drawn(tmp_path):
    for study in (OCR_STUDY, OCR_FULL_STUDY):
        first = study.fits("paper", 0)[0]
        study.draw([row(first.model, first.data, first.fold, 0.3)], tmp_path / "one.png")
        assert (tmp_path / "one.png").stat().st_size > 10_000
