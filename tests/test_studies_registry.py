"""The studies: what trains and what tests; test_quick_studies.py runs them."""

from dataclasses import replace

import numpy as np

from medn_edu.explorers import series_style
from medn_edu.studies.kit.models import MODELS, make_model, sparsity
from medn_edu.studies.kit.selection import TRIED
from medn_edu.studies.kit.specs import FitSpec
from medn_edu.studies.kit.stored import stored_rows, stored_studies
from medn_edu.studies.registry import STUDIES

ABOUT_TIMES = {"l1m3n-algorithms"}
"""Studies whose tables have times, which they are about."""


def words(samples):
    """The memory of each sample, which tells which word of the data set it is."""
    return {sample.__array_interface__["data"][0] for sample in samples}


def test_specs_have_keys_of_their_own():
    for study in STUDIES.values():
        assert study.summary
        for scale in ("quick", "paper"):
            specs = study.fits(scale, 0)
            assert len({spec.key for spec in specs}) == len(specs) > 0


def test_summaries_have_no_times():
    """They differ from run to run."""
    trained = {f"{name}-summary": name for name, study in STUDIES.items() if study.trains}
    published = trained.keys() & set(stored_studies())
    assert len(published) >= 9
    for table in published:
        [row, *_] = stored_rows(table)
        name = trained[table]
        assert any("seconds" in column for column in row) == (name in ABOUT_TIMES)


def test_studies_are_found_in_the_order_of_the_page():
    names = list(STUDIES)
    assert (names[0], names[15]) == ("shrinkage", "theorems")
    places = [study.place for study in STUDIES.values()]
    assert places == sorted(set(places))
    trains = [study.trains for study in STUDIES.values()]
    assert trains[:16] == [False] * 4 + [True] * 9 + [False] * 3


def test_the_seed_is_part_of_the_key():
    study = STUDIES["ocr"]
    assert not {s.key for s in study.fits("quick", 0)} & {s.key for s in study.fits("quick", 1)}


def test_quick_is_a_part_of_paper():
    """But for the choice of constants, in which fewer parts of the data have their turn."""

    def with_all_parts(spec):
        parameters = () if spec.parameters == TRIED["quick"] else spec.parameters
        return replace(spec, parameters=parameters, after=spec.after.replace("/n_tried=1", ""))

    for study in (study for study in STUDIES.values() if study.trains):
        quick = {with_all_parts(spec) for spec in study.fits("quick", 0)}
        assert quick <= set(study.fits("paper", 0))


def test_drawn_words(ocr):
    split = STUDIES["ocr"].fit.split
    small, large = (split(FitSpec(f"ocr-{n}", 3, "M3N")) for n in (100, 250))
    assert (len(small.X_train), len(small.X_test)) == (100, 900)
    assert (len(large.X_train), len(large.X_test)) == (250, 2250)
    assert not words(small.X_train) & words(small.X_test)
    assert words(small.X_train) < words(large.X_train)
    in_fold = words([ocr.data[i] for i in np.flatnonzero(ocr.fold == 3)])
    assert len(words(split(FitSpec("ocr-100", 3, "M3N", seed=1)).X_train)) == 100
    assert len(in_fold) > 250
    other = split(FitSpec("ocr-100", 3, "M3N", seed=1))
    assert words(other.X_train) != words(small.X_train)


def test_all_words(ocr):
    split = STUDIES["ocr-full"].fit.split
    rest, one = split(FitSpec("ocr-rest", 0, "M3N")), split(FitSpec("ocr-one", 0, "M3N"))
    assert (len(rest.X_train), len(rest.X_test)) == (6251, 626)
    assert (len(one.X_train), len(one.X_test)) == (626, 6251)


def test_models_look_different():
    styles = [series_style(name) for name in MODELS]
    for key in ("color", "linestyle", "marker"):
        assert len({style[key] for style in styles}) == len(MODELS)


def test_counts_of_weights_and_support_labellings():
    X, y = [np.eye(3), np.eye(3)[::-1]], ["abc", "cba"]
    for name, model in MODELS.items():
        fitted = make_model(name, **dict(model.parameters)).fit(X, y)
        counts = sparsity(fitted)
        sizes = np.sort(np.abs(fitted.weights_))
        assert counts["n_nonzero"] == (sizes > 0).sum()
        assert (sizes[-counts["n_large"] :] >= sizes[-1] / 100).all()
        assert (sizes[: -counts["n_large"]] < sizes[-1] / 100).all()
        if counts["n_support"] is not None:
            alpha = fitted.result_.alpha
            words = np.split(alpha.labels, alpha.offsets[1:-1])
            true = [[0, 1, 2], [2, 1, 0]]
            wrong = [list(w) != true[i] for w, i in zip(words, alpha.sample, strict=True)]
            assert counts["n_support"] == np.sum(wrong & (alpha.values > 0)) / 2 > 0
