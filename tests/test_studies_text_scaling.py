"""The study of text by size: what is summed up, and that CRFsuite is left out where it is missing."""

import pytest

from medn_edu.studies import text_scaling

STUDY = text_scaling.TEXT_SCALING


def planted(sentences, model, seconds):
    row = {"sentences": sentences, "model": model, "training_seconds": seconds, "features": 9}
    return {**row, "tokens": 18 * sentences, "n_passes": 5, "relative_gap": 1e-4}


def test_the_report_says_how_time_grows():
    models = ("L2-CRF", "L1-CRF", "M3N")
    rows = [
        planted(n, model, (k + 1) * n / 1000)
        for n in (1000, 10_000) for k, model in enumerate(models)
    ]  # fmt: skip
    report = STUDY.report([*rows, planted(1000, "CRFsuite", 7.5)], "paper")
    caption = " ".join(report.caption.split())
    assert "10 times as many, L2-CRF takes 10 times as long, L1-CRF takes 10 times" in caption
    assert "CRFsuite takes" not in caption, "it has only few"
    assert "| 1,000 | 9 | 1 | 2 | 3 | 7.5 |" in caption
    assert "| 10,000 | 9 | 10 | 20 | 30 | – |" in caption
    assert set(report.columns) == set(rows[0])


def test_crfsuite_trains_where_it_is_installed_and_on_few(monkeypatch):
    monkeypatch.setattr(text_scaling, "find_spec", lambda name: name)
    sizes = [spec.parameters[0][1] for spec in STUDY.fits("paper", 0) if spec.model == "CRFsuite"]
    assert sizes == [1000, 3000, 10_000]
    monkeypatch.setattr(text_scaling, "find_spec", lambda name: None)
    assert {spec.model for spec in STUDY.fits("paper", 0)} == {"L2-CRF", "L1-CRF", "M3N"}


@pytest.mark.parametrize("model", ["M3N", "CRFsuite"])
def test_a_fit_is_timed_without_its_data(model, capsys):
    if model == "CRFsuite":
        pytest.importorskip("pycrfsuite")
    [spec] = [s for s in STUDY.fits("quick", 3) if s.model == model and s.parameters[0][1] == 50]
    row = STUDY.fit(spec)
    assert set(row) == set(STUDY.columns)
    assert row["sentences"] == 50
    assert 0 < row["training_seconds"] < 60
    assert row["relative_gap"] is None or row["relative_gap"] <= 0.01
    assert not capsys.readouterr().out
