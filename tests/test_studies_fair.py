"""Choosing constants: paths that grow, folds and blocks, and equal budgets under the fair protocol."""

import numpy as np
import pytest

from medn_edu.datasets import make_chain_crf
from medn_edu.estimators import M3N
from medn_edu.samples import pack
from medn_edu.studies.kit.fair import (
    COMPARED,
    FAIR_MODELS,
    N_POINTS,
    Ranges,
    choices_text,
    ending_after,
    ends_text,
    fair_grids,
    fair_model,
    fair_models,
    fair_paths,
    grids_text,
    once,
    shapes_text,
)
from medn_edu.studies.kit.models import Model, make_model
from medn_edu.studies.kit.selection import Path, Selected, blocks_of, folds_of, paths_of
from medn_edu.studies.kit.trained import label_error

RANGES = Ranges(l2_crf=(10, 0.1), l1_crf=(5, 0.05), m3n=(0.01, 10), l1_m3n=(0.02, 2))


class Planted:
    """A model whose error is known: it predicts the wrong label for that share of the nodes."""

    def __init__(self, error):
        self.error, self.constants, self.seen = error, {}, []

    def get_params(self, deep=True):
        return {"warm_start": False, "tol": 1.0}

    def set_params(self, **parameters):
        self.constants |= {k: v for k, v in parameters.items() if k in ("C", "shape")}
        return self

    def fit(self, X, y):
        self.seen.append(dict(self.constants))
        return self

    def predict(self, X):
        wrong = round(1000 * self.error(**self.constants))
        return [np.repeat([1, 0], [wrong, 1000 - wrong]) for _ in X]


def planted(error, paths, **options):
    made = []

    def build(**constants):
        made.append(Planted(error).set_params(**constants))
        return made[-1]

    options = {"n_folds": 2, "extend": 5, **options}
    model = Selected("planted", paths, {"planted": Model("planted", build, "")}, **options)
    X, y = [np.zeros((1000, 1))] * 4, [np.zeros(1000, dtype=int)] * 4
    return model.fit(X, y), made


def test_paths_of_a_grid_and_beyond_their_ends():
    paths = paths_of((("lam", (4.0, 1.0)), ("C", (1.0, 2.0, 8.0))))
    assert [path.shape for path in paths] == [(("lam", 4.0),), (("lam", 1.0),)]
    assert paths[1].point(1) == {"lam": 1.0, "C": 2.0}
    assert paths[0].longer(at_start=True).values == (0.5, 1.0, 2.0, 8.0)
    assert paths[0].longer(at_start=False).values == (1.0, 2.0, 8.0, 32.0)
    assert paths_of(()) == ()


@pytest.mark.parametrize("best", [2.0**-3, 2.0**7, 4.0])
def test_a_path_grows_until_its_best_point_lies_inside(best):
    def error(C):
        return 0.1 + 0.01 * abs(np.log2(C / best))

    model, made = planted(error, (Path("C", (1.0, 2.0, 4.0, 8.0, 16.0)),))
    assert model.chosen_ == {"C": best}
    assert not model.at_end_
    beyond = max(-np.log2(best), np.log2(best / 16.0))
    assert model.n_extended_ == (beyond + 1 if beyond > 0 else 0)
    assert made[-1].seen == [{"C": best}], "the last model is trained with what was chosen"


def test_a_path_that_cannot_grow_enough_says_so():
    model, _ = planted(lambda C: 0.5 / C, (Path("C", (1.0, 2.0)),), extend=3)
    assert (model.chosen_, model.n_extended_, model.at_end_) == ({"C": 16.0}, 3, True)
    model, _ = planted(lambda C: 0.5 / C, (Path("C", (1.0, 2.0)),), extend=0)
    assert (model.chosen_, model.n_extended_, model.at_end_) == ({"C": 2.0}, 0, True)


def test_a_plateau_at_the_start_is_no_reason_to_go_on():
    """Weights that are all zero err alike, however strong the penalty."""
    model, _ = planted(lambda C: 0.1 if C < 3 else 0.2, (Path("C", (1.0, 2.0, 4.0)),))
    assert (model.chosen_, model.n_extended_, model.at_end_) == ({"C": 1.0}, 0, False)


def test_only_the_path_of_the_best_point_grows_and_shapes_do_not():
    paths = paths_of((("shape", (1.0, 2.0)), ("C", (1.0, 2.0, 4.0))))
    model, _ = planted(lambda C, shape: 0.4 / shape + 0.01 * abs(np.log2(C) - 3), paths)
    assert model.chosen_ == {"shape": 2.0, "C": 8.0}
    assert [len(trial.path.values) for trial in model.trials_] == [3, 5]


def test_every_third_point_covers_the_same_range():
    model, _ = planted(lambda C: 0.1, (Path("C", tuple(range(1, 25))),), every=3)
    assert model.trials_[0].path.values == tuple(range(2, 24, 3))


def test_each_fold_starts_afresh_and_goes_on_along_its_path():
    """An earlier solution has seen what tests there."""
    seen = []

    class Watched(M3N):
        def fit(self, X, y):
            seen.append((len(X), self.C, hasattr(self, "weights_")))
            return super().fit(X, y)

    watched = {"M3N": Model("M3N", lambda **constants: Watched(verbose=0, **constants), "")}
    model = Selected("M3N", (Path("C", (0.1, 1.0)),), watched, n_folds=3)
    model.fit([np.eye(2)] * 6, ["ab"] * 6)
    assert seen == [(4, 0.1, False), (4, 1.0, True)] * 3 + [(6, model.chosen_["C"], False)]


def test_only_trials_end_early_and_with_looser_gaps():
    seen = []

    class Watched(M3N):
        def fit(self, X, y):
            seen.append((self.tol, self.max_iter))
            return super().fit(X, y)

    watched = {"M3N": Model("M3N", lambda **constants: Watched(verbose=0, **constants), "")}
    model = Selected("M3N", (Path("C", (0.1, 1.0)),), watched, n_folds=2, tol=0.1, max_iter=7)
    model.fit([np.eye(2)] * 4, ["ab"] * 4)
    own = M3N()
    assert seen == [(0.1, 7)] * 4 + [(own.tol, own.max_iter)]
    assert model.get_params()["path_max_iter"] == 7


def test_only_labels_that_are_judged_count():
    """Half of the nodes are right whatever the constant, the others wrong with a small one."""

    class Halves(Planted):
        def predict(self, X):
            return [np.repeat(["a", "b" if self.constants["C"] > 1 else "a"], 500) for _ in X]

    X, y = [np.zeros((1000, 1))] * 4, [np.repeat(["a", "b"], 500)] * 4
    errors = {}
    for judged in (None, ("a",), ("b",)):
        models = {"halves": Model("halves", lambda **_: Halves(None), "")}
        path = Path("C", (1.0, 2.0))
        model = Selected("halves", (path,), models, n_folds=2, judged=judged).fit(X, y)
        errors[judged] = model.errors_.tolist()
        assert ("judged" in model.get_params()) == (judged is not None)
    assert errors == {None: [0.5, 0.0], ("a",): [0.0, 0.0], ("b",): [1.0, 0.0]}


def test_models_are_given_constants_or_choose_them_and_lapmedn_ends_early():
    given = ending_after(7)
    assert given["LapMEDN"].build(C=1.0, lam=2.0).max_iter == 7
    assert given["LapMEDN variational"].build().method == "variational"
    assert given["M3N"] is FAIR_MODELS["M3N"]
    chooses = fair_model("M3N", (Path("C", (0.1, 1.0)),), given)
    model = once("M3N", given["M3N"], chooses)
    assert model.build(C=3.0).C == 3
    assert model.build(blocks=5).blocks == (5,)


def test_blocks_that_cannot_be():
    wrong = {"leave some of 4 samples": (4,), r"blocks are \(3, 2\)": (3, 2), "positive": (0, 2)}
    for message, sizes in wrong.items():
        with pytest.raises(ValueError, match=message):
            blocks_of(4, sizes)
    with pytest.raises(
        ValueError, match="n_folds is 5; expected from 2 to the number of samples, 4"
    ):
        folds_of(4, 5, seed=0)


def test_the_first_block_trains_with_what_was_chosen():
    X = list(np.random.default_rng(0).normal(size=(12, 3, 2)))
    y = [["ab"[int(row[0] > 0)] for row in x] for x in X]

    def selected(blocks, n_tried=None, X=X):
        paths = (Path("C", (1e-9, 10.0)),)  # the first is nothing
        return Selected("M3N", paths, blocks=blocks, n_tried=n_tried).fit(X, y)

    model = selected((4, 4))
    assert model.chosen_ == {"C": 10.0}
    assert model.n_train_ == 4
    assert model.errors_[0] > model.errors_[1]
    first = make_model("M3N", C=10.0).fit(X[:4], y[:4])
    np.testing.assert_array_equal(model.weights_, first.weights_)
    packed = selected((4, 4), X=pack(X))
    assert packed.errors_.tolist() == model.errors_.tolist()
    np.testing.assert_array_equal(packed.weights_, model.weights_)
    some, one = selected((4, 4), n_tried=1).errors_, selected((4,)).errors_
    assert some.tolist() == one.tolist() != model.errors_.tolist()


@pytest.mark.parametrize("model", [*COMPARED[1:], "epsilon-M3N", "per letter"])
def test_every_model_has_the_same_budget(model):
    paths = fair_paths(model, RANGES)
    assert sum(len(path.values) for path in paths) == N_POINTS
    weak_is_large = paths[0].name == "C"
    for path in paths:
        assert (np.diff(path.values) > 0).all() == weak_is_large, "from strong to weak"
    assert len({path.shape for path in paths}) == len(paths)


def test_the_paths_of_lapmedn_cover_both_of_its_limits():
    paths = {dict(path.shape)["C"]: np.array(path.values) for path in fair_paths("LapMEDN", RANGES)}
    as_m3n, as_l1 = 2 * 0.1 / paths[0.1], 100 / (2 * np.sqrt(paths[100.0]))
    assert as_l1[[0, -1]] == pytest.approx(RANGES.l1_m3n, rel=0.03)
    wide = Ranges((1, 1), (1, 1), m3n=RANGES.m3n, l1_m3n=(20, 2000))  # where M3N's part counts
    [path] = [p for p in fair_paths("LapMEDN", wide) if dict(p.shape)["C"] == 0.1]
    assert 2 * 0.1 / np.array(path.values)[[0, -1]] == pytest.approx(RANGES.m3n, rel=1e-2)
    assert (as_m3n < RANGES.m3n[1]).all()


def test_all_models_choose_and_beat_guessing():
    bunch = make_chain_crf(n_samples=40, n_features=10, n_relevant=5, random_state=0)
    X, y = bunch.data, bunch.target
    for name, model in fair_models(RANGES, n_folds=2, n_tried=1, every=3).items():
        found = model.build().fit(X[:20], y[:20])
        assert label_error(found.predict(X[20:]), y[20:]) < 0.4, name
        assert isinstance(found, Selected) == (name != "CRF")


def test_what_captions_say_of_choices():
    rows = [
        {"model": "M3N", "chosen": "C=1", "n_extended": 0, "at_end": False},
        {"model": "LapMEDN", "chosen": "C=10 lam=3", "n_extended": 2, "at_end": False},
        {"model": "LapMEDN", "chosen": "C=10 lam=9", "n_extended": 10, "at_end": True},
        {"model": "CRF", "chosen": None, "n_extended": None, "at_end": None},
    ]
    assert choices_text(rows) == (
        "Of 3 choices 2 went beyond their grid, by at most 10 points; 1 still lie at an end (LapMEDN 1)."
    )
    assert choices_text(rows[:1]).endswith(
        "Of 1 choice none went beyond their grid, and all lie inside their paths."
    )
    assert shapes_text(rows) == "Shapes chosen, and how often: LapMEDN C = 10 (2)."
    assert choices_text(rows[3:]) == shapes_text(rows[3:]) == ""


def test_what_captions_say_of_grids():
    names = ("CRF", "L2-CRF", "M3N", "per letter", "LapMEDN", "epsilon-M3N")
    assert grids_text(fair_grids(RANGES, names)) == (
        "lam of L2-CRF from 0.1 to 10, of LapMEDN from 0.0206 to 26.2 at C = 0.1 and from 645 to "
        "6,270,000 at 100; C of M3N and per letter from 0.01 to 10, of epsilon-M3N from 0.01 to 10 at "
        "epsilon = 0.1 and 3"
    )
    assert grids_text({"one": (Path("C", (2.0, 1.0), (("rho", 0.5),)),)}) == (
        "C of one from 1 to 2 at rho = 0.5"
    )


def test_settings_name_the_paths():
    """So that another grid makes all fits anew."""
    model = fair_model("M3N", (Path("C", (1.0, 2.0)),)).build()
    assert model.get_params()["paths"] == (Path("C", (1.0, 2.0)),)
    assert "C" not in model.get_params()
    assert FAIR_MODELS["L1-M3N"].build().solver == "proximal"


def test_what_captions_say_of_the_ends_of_six_constants():
    rows = [{"model": "L2-CRF, six lam", "chosen": f"lam={lam}"} for lam in (16, 9, 0.01, 1)]
    said = "An end of the six was chosen by L2-CRF, six lam, 2 times in 4."
    assert ends_text([*rows, {"model": "M3N", "chosen": "C=1"}]) == said
    assert ends_text([{"model": "M3N", "chosen": "C=1"}]) == ""
