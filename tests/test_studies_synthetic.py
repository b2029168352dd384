"""The synthetic studies: what trains and what tests, and figures and reports on planted rows."""

import itertools
import re

import numpy as np
import pytest
from making import axes_of
from sklearn.utils import Bunch

from medn_edu.datasets import make_chain_crf
from medn_edu.estimators import M3N
from medn_edu.explorers import series_style
from medn_edu.studies.kit import splits
from medn_edu.studies.kit.fair import COMPARED, SIX_LAM
from medn_edu.studies.kit.runner import evaluate
from medn_edu.studies.kit.selection import Selected
from medn_edu.studies.kit.specs import FitSpec
from medn_edu.studies.kit.summary import groups, numbers, numbers_text, values
from medn_edu.studies.registry import STUDIES
from medn_edu.studies.stopped import PASSES, printed_models
from medn_edu.studies.synthetic_correlated import average_weights, true_weights
from medn_edu.studies.synthetic_iid import PRINTED

IID, CORRELATED = STUDIES["synthetic-iid"], STUDIES["synthetic-correlated"]
STOPPED = ("M3N 20 passes", "LapMEDN 20 passes")
MODELS = COMPARED


def test_the_protocol_of_independent_features():
    specs = IID.fits("paper", 0)
    assert {spec.model for spec in specs} == {*COMPARED, *PRINTED}
    assert len({(spec.data, spec.fold) for spec in specs}) == 150
    assert len(specs) == 150 * (len(COMPARED) + len(PRINTED))


def test_each_data_set_chooses_with_its_first_part_which_then_tests_nothing(monkeypatch):
    by_key = {spec.key: spec for spec in CORRELATED.fits("paper", 0)}
    for spec in by_key.values():
        if spec.fold > 0 and spec.model not in ("CRF", *SIX_LAM):
            chooser = by_key[spec.after]
            assert (chooser.data, chooser.fold) == (spec.data, 0)
            assert isinstance(CORRELATED.fit.build(chooser), Selected)
            assert chooser.model == re.sub(r"(\d+ passes|at its optimum)", "20 passes", spec.model)
    shown = [spec for spec in by_key.values() if spec.model == "M3N"]
    assert len(shown) == 10 * (20 + 10 + 7 + 5 + 4)
    readings = {spec.model for spec in by_key.values()} - {*COMPARED, *SIX_LAM}
    assert len(readings) == 2 * (2 * len(PASSES) + 1), "optima where C is the price of the mean"

    inside = {spec for spec in by_key.values() if spec.model in SIX_LAM}
    assert len(inside) == 2 * (10 * 5 * 4 + 6), "four parts choose, or ten, each inside itself"
    assert not any(spec.after or spec.parameters for spec in inside)

    numbered = Bunch(data=np.arange(1000), target=np.arange(1000))
    monkeypatch.setattr(splits, "correlated_chains", lambda seed, number: numbered)
    for fold in (0, 3):
        split = splits.correlated_split(FitSpec("correlated-10-2", fold, "M3N"))
        assert split.X_train == list(range(100 * fold, 100 * fold + 100))
        assert set(split.X_test) == set(range(300, 1000)) - set(split.X_train)
    chooser = next(spec for spec in by_key.values() if spec.model == "M3N")
    assert dict(chooser.parameters) == {"blocks": 50}
    split = CORRELATED.fit.split(chooser)
    assert split.X_train == list(range(250)), "50 train, 200 judge"


def test_validation_sequences_neither_train_nor_test(monkeypatch):
    numbered = Bunch(data=np.arange(1000), target=np.arange(1000))
    monkeypatch.setattr(splits, "iid_chains", lambda n_relevant, number, seed: numbered)
    [spec] = [s for s in IID.fits("quick", 0) if (s.data, s.model) == ("iid-10-30", "LapMEDN")]
    small, plain = IID.fit.split(spec), IID.fit.split(FitSpec("iid-10-30", 0, "CRF"))
    train, left = small.X_train[:30], small.X_train[30:]
    assert plain.X_train == train
    assert len(left) == 200
    assert {*train, *left, *small.X_test} == set(range(1000))
    large = IID.fit.split(FitSpec("iid-10-150", 0, "CRF"))
    assert large.X_train[:30] == train
    assert not set(left) & {*large.X_train, *large.X_test}


@pytest.mark.filterwarnings("ignore:.*reached a relative gap")
def test_the_price_of_the_mean_slack_is_that_of_the_sum_for_one_sample():
    """With N samples it is C / N of the sum's."""
    X, y = [np.eye(2), 1 - np.eye(2)], [["a", "b"], ["b", "b"]]
    models = {name: model.build(beta=1.0) for name, model in printed_models("M3N").items()}
    mean, half = models["M3N at its optimum, mean slack"], M3N(C=100.0, tol=1e-2, verbose=0)
    np.testing.assert_allclose(mean.fit(X, y).weights_, half.fit(X, y).weights_)
    assert mean.predict(X)[0].tolist() == ["a", "b"]
    assert models["M3N 5 passes"].fit(X, y).result_.n_passes == 5
    medn = printed_models("LapMEDN")["LapMEDN 5 passes, mean slack"].build(beta=2.0, lam=9.0)
    assert medn.fit(X, y).C == 400
    assert np.isfinite(medn.posterior_variance_).all()


def test_rows_have_what_the_truth_gets_wrong_and_weights_of_the_first_data_set():
    [row] = evaluate(FitSpec("iid-10-30", 0, "CRF"), IID)
    assert row["failure"] == ""
    assert 0 < 2 * row["truth_error"] < row["truth_sequences"] < 1
    after = FitSpec("correlated-10-0", 4, "LapMEDN", after="some fit")
    [row] = evaluate(after, CORRELATED, (("C", 1.0), ("lam", 36.0)))
    assert row["failure"] == ""
    assert numbers(row["weights"]).shape == (200,)
    assert numbers(row["variances"]).shape == (100,)
    assert (numbers(row["variances"]) > 0).all()
    assert "weights" not in CORRELATED.fit.measure(FitSpec("correlated-10-1", 4, "CRF"), None)


def test_every_model_can_be_made():
    for study in (IID, CORRELATED):
        for name, model in study.fit.models.items():
            assert model.build() is not None, name


def planted(row, name, hard, rank, rng):
    """Errors that fall with the number of sequences; model by model they grow."""
    error = 0.1 + 2 / row["n_train"] + 0.01 * rank + hard + rng.normal(0, 1e-3)
    common = {"seed": 0, "chosen": "lam=4", "parameters": "", "truth_sequences": 0.4}
    return {**row, **common, "model": name, "error": error, "truth_error": 0.05 + hard}


@pytest.fixture
def iid_rows():
    rng = np.random.default_rng(0)
    hard = rng.normal(0, 0.03, 10)
    return [
        planted({"data": f"iid-{r}-{n}", "fold": k, "n_train": n}, name, hard[k], rank, rng)
        for r in (10, 30)
        for n in (30, 150)
        for k in range(10)
        for rank, name in enumerate(MODELS)
    ]


@pytest.fixture
def correlated_rows():
    rng = np.random.default_rng(0)
    hard = rng.normal(0, 0.03, 10)
    truth = true_weights([{"seed": 0}]).reshape(-1, 2).T.ravel()
    copies = np.exp(np.repeat(rng.normal(size=10), 3))
    rows = []
    for n_parts, number, fold in itertools.product((20, 10), range(4), range(3)):
        where = {"data": f"correlated-{n_parts}-{number}", "fold": fold, "n_train": 1000 // n_parts}
        for rank, name in enumerate((*MODELS, *STOPPED)):
            row = planted(where, name, hard[number], rank, rng)
            if where["data"] == "correlated-10-0":
                row["weights"] = numbers_text(truth + rank)
                if name.startswith("LapMEDN"):
                    row["variances"] = numbers_text(np.r_[copies, np.ones(70)])
            rows.append(row)
    return rows


def test_report_of_independent_features(iid_rows, tmp_path):
    report = IID.report(iid_rows, "paper")
    assert len(report.rows) == 2 * 2 * len(MODELS)
    [line] = groups(report.rows, "relevant", "n_train", "model")[30, 150, "LapMEDN"]
    errors = values(groups(iid_rows, "data", "model")["iid-30-150", "LapMEDN"], "error")
    assert line["error"] == pytest.approx(np.mean(errors))
    assert line["interval"] == pytest.approx(2.262 * np.std(errors, ddof=1) / 10**0.5, rel=1e-3)
    assert line["to_m3n"] == pytest.approx(0.04, abs=2e-3)
    assert line["to_m3n_interval"] < 0.1 * line["interval"], "what is hard for both cancels"
    assert "Smallest mean error in 4 settings: CRF in 4." in report.caption.replace("\n", " ")
    assert "10 CRFs" in report.caption.replace("\n", " ")
    IID.draw(iid_rows, tmp_path / "figure.png")
    IID.draw([row for row in iid_rows if row["fold"] == 0], tmp_path / "one.png")
    assert all(path.stat().st_size > 10_000 for path in tmp_path.iterdir())


def test_parts_of_a_data_set_count_once(correlated_rows):
    report = CORRELATED.report(correlated_rows, "paper")
    assert {line["units"] for line in report.rows} == {4}
    caption = report.caption.replace("\n", " ")
    assert "4 data sets" in caption
    assert "LapMEDN 0.00" in caption.split("Variances")[1], "groups agree in the planted rows"
    found, truth = average_weights(correlated_rows), true_weights(correlated_rows)
    assert next(iter(found)) == "CRF"
    for rank, name in enumerate((*MODELS, *STOPPED)):
        weights, n = found[name]
        np.testing.assert_allclose(weights, truth + rank, atol=1e-3)
        assert n == 3
    chains = make_chain_crf(n_samples=2, correlated=True, sampler="exact", random_state=0)
    np.testing.assert_array_equal(truth, chains.coef.T.ravel(), "labels of a feature side by side")


def test_caption_tells_how_far_from_optima_and_at_which_ends(correlated_rows):
    ways = ("5 passes", "20 passes", "60 passes", "200 passes", "at its optimum")
    ways = [f"{way}, mean slack" for way in ways]
    rows = [
        {"data": f"correlated-20-{k}", "fold": 0, "n_train": 50, "model": f"M3N {way}", "error": 0.1,
         "truth_error": 0.0, "truth_sequences": 0.0, "relative_gap": 0.2 * k,
         "at_end": k < 3 if way == ways[1] else None}
        for k, way in itertools.product(range(4), ways)
    ]  # fmt: skip
    rows = [row for row in correlated_rows if row["model"] not in STOPPED] + rows
    caption = CORRELATED.report(rows, "paper").caption.replace("\n", " ")
    assert "M3N 10.0, 10.0, 10.0, 10.0 % and 10.0 % (largest gap 60 %)." in caption
    assert (
        "1 or 60, so that a better one may lie beyond: M3N 20 passes, mean slack 3 of 4." in caption
    )


def test_every_further_figure_has_a_paragraph(correlated_rows, tmp_path):
    """Where a single repetition has nothing to show it says so."""
    for row in correlated_rows:
        if row.get("weights") and row["model"] == "LapMEDN 20 passes":
            row["weights"] = numbers_text(1e7 * numbers(row["weights"]))
    captions = CORRELATED.report(correlated_rows, "paper").captions
    found = average_weights(correlated_rows)
    reach = {name: np.abs(weights).max() for name, (weights, _) in found.items()}
    assert f"CRF ±{reach['CRF']:.2g}, " in captions["weights"]
    mantissa = f"{reach['LapMEDN 20 passes'] / 1e8:.1f}"
    assert f"LapMEDN 20 passes ±{mantissa} · 10⁸ are what C = 200 beta" in captions["weights"]
    one = [row for row in correlated_rows if row["data"] == "correlated-20-1"]
    report = CORRELATED.report(one, "quick")
    assert "±" not in report.text
    assert set(captions) == set(report.captions) == set(CORRELATED.more_figures)
    for name, draw in CORRELATED.more_figures.items():
        assert "\n\n" not in captions[name]
        assert "3 training parts of 100 sequences" in captions[name]
        assert report.captions[name].startswith("No model has ")
        for rows in (correlated_rows, one):
            draw(rows, tmp_path / f"{name}-{len(rows)}.png")
    CORRELATED.draw(one, tmp_path / "figure.png")
    assert len(list(tmp_path.iterdir())) == 5


def test_close_curves_can_be_told_apart(correlated_rows, monkeypatch):
    left, _ = axes_of(CORRELATED, correlated_rows, monkeypatch)
    mean = np.mean([row["truth_error"] for row in correlated_rows])
    drawn = {line.get_label(): line for line in left.get_lines()}
    assert 0 < left.get_ylim()[0] < drawn["generating model"].get_ydata().min()
    assert drawn["generating model"].get_ydata() == pytest.approx(mean)
    for name in STOPPED:
        styles = [series_style(n) for n in (name, name.removesuffix(" 20 passes"))]
        assert styles[0]["color"] == styles[1]["color"]
        assert styles[0]["linestyle"] != styles[1]["linestyle"]
