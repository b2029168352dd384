"""The study of the chorales: parts, baselines, transposition, and what it says of its fits."""

from dataclasses import replace

import numpy as np
import pytest

from medn_edu.datasets import load_chorales
from medn_edu.datasets.chorales import chord_pitch
from medn_edu.studies.chorales import (
    CHORALES_STUDY,
    ORDER,
    TRIADS,
    Chords,
    InAllKeys,
    found_triads,
    lines_of,
)
from medn_edu.studies.kit.fair import NAMES
from medn_edu.studies.kit.selection import folds_of
from medn_edu.studies.kit.specs import FitSpec
from medn_edu.studies.kit.splits import N_PARTS, chorale_parts, chorale_split
from medn_edu.studies.kit.summary import numbers_text
from medn_edu.studies.kit.trained import label_error


def test_looking_up_the_notes_errs_as_is_known(require_bach):
    """31.8 %, one chorale left out at a time."""
    bach = load_chorales(download=False)
    predicted = []
    for k in range(60):
        model = Chords().fit(
            bach.data[:k] + bach.data[k + 1 :], bach.target[:k] + bach.target[k + 1 :]
        )
        predicted += model.predict(bach.data[k : k + 1])
    assert label_error(predicted, bach.target) == pytest.approx(0.318, abs=5e-4)


def test_a_table_says_the_commonest_chord_of_each_key():
    X = [np.array([[1.0, 0], [1, 0], [1, 1], [0, 1]])]
    y = [["C_M", "A_m", "A_m", "G_M"]]
    assert Chords(2).fit(X, y).predict([np.array([[1.0, 1], [0, 1], [0, 0]])])[0].tolist() == [
        "A_m", "G_M", "A_m",
    ]  # fmt: skip
    assert Chords(1).fit(X, y).predict(X)[0].tolist() == ["A_m", "A_m", "A_m", "G_M"]
    assert Chords(0).fit(X, y).predict(X)[0].tolist() == ["A_m"] * 4


def test_parts_hold_whole_tunes(require_bach):
    bach = load_chorales(download=False)
    parts = chorale_parts(bach.group, 0)
    assert sorted(np.concatenate(parts)) == list(range(60))
    assert [len(part) for part in parts] == [60 // N_PARTS] * N_PARTS
    tunes = [set(bach.group[part]) for part in parts]
    assert sum(map(len, tunes)) == len(set(bach.group))
    again, other = chorale_parts(bach.group, 0), chorale_parts(bach.group, 1)
    np.testing.assert_array_equal(parts, again)
    assert any(set(a) != set(b) for a, b in zip(parts, other, strict=True))


def test_what_trains_stands_part_by_part(require_bach):
    """So that parts, which hold whole tunes, can judge constants."""
    whole = FitSpec(f"chorales-{N_PARTS - 1}", 1, "")
    data = chorale_split(whole)
    assert len(data.X_train) + len(data.X_test) == 60
    ends = np.cumsum([0] + [12] * (N_PARTS - 1))
    folds = folds_of(len(data.X_train), N_PARTS - 1, None)
    for (train, test), start, end in zip(folds, ends, ends[1:], strict=False):
        assert test.tolist() == list(range(start, end))
        assert set(train) == set(range(len(data.X_train))) - set(test)
    fewer = chorale_split(replace(whole, data="chorales-1"))
    following = chorale_split(replace(whole, fold=2))
    assert [chords.tolist() for chords in fewer.y_train] == [c.tolist() for c in following.y_test]


def test_a_model_in_all_keys_knows_chords_it_has_never_seen():
    X = np.zeros((4, 78))
    X[:, 77] = 1
    chords = ["C_M", "C_m", "C_M", "C_m"]
    for event, chord in zip(X, chords, strict=True):
        event[[0, 4 if chord == "C_M" else 3, 7]] = 1
    moved = X.copy()
    moved[:, :12] = np.roll(X[:, :12], 2, axis=1)
    model = InAllKeys("M3N", C=12.0).fit([X], [chords])
    assert model.predict([moved])[0].tolist() == ["D_M", "D_m", "D_M", "D_m"]
    assert model.model.C == 1
    assert InAllKeys("L2-CRF", lam=0.5).model.lam == 6
    laplace = InAllKeys("LapMEDN", C=12.0, lam=3.0).set_params(share=0.5, max_iter=7)
    assert (laplace.model.C, laplace.model.lam, laplace.get_params()["max_iter"]) == (6, 3, 7)


def row(model, fold, error):
    """Return what a fit of that error leaves, with weights of the notes of triads and of one more."""
    weights = np.zeros((len(TRIADS), 12))
    for line, chord in zip(weights, TRIADS, strict=True):
        line[[0, 4 if chord[2] == "M" else 3, 7]] = 2
        line[10] = 1 - 2 * (chord_pitch(chord) % 2)
    weights[3] = 2 * np.eye(12)[1]  # C major is something else here
    weights[-1] = np.nan  # did not occur in training
    chosen = model in NAMES and model != "CRF"
    return {
        "data": "chorales-4", "fold": fold, "model": model, "n_train": 48, "n_test": 12, "error": error,
        "train_error": 0.05, "n_weights": 1000, "n_nonzero": 500, "relative_gap": 0.01,
        "error_sound": error - 0.01, "error_root": error / 2, "n_events": 1000, "n_unseen": 10,
        "triads": numbers_text(weights) if model == "M3N" and fold == 0 else None,
        "n_extended": 2 * fold if chosen else None, "at_end": False if chosen else None,
        "chosen": {"LapMEDN": "C=1 lam=3", "M3N, 12 keys": f"share={(1 + fold % 2) / 6}"}.get(
            model, "share=0.5" if model.endswith("keys") else ""
        ),
    }  # fmt: skip


@pytest.fixture
def rows():
    shift = {name: 0.01 * k for k, name in enumerate(reversed(ORDER))}
    return [row(name, fold, 0.2 + shift[name] + 0.02 * fold) for name in ORDER for fold in range(5)]


def test_means_with_intervals_for_overlapping_training_parts(rows):
    lines = {line["model"]: line for line in lines_of(rows)}
    assert list(lines) == list(ORDER)
    line, deviation = lines["L2-CRF"], 0.02 * np.sqrt(2.5)
    assert line["error"] == pytest.approx(0.24 + 0.01 * (len(ORDER) - 1 - ORDER.index("L2-CRF")))
    assert line["interval"] == pytest.approx(2.776 * deviation * np.sqrt(1 / 5 + 12 / 48), rel=1e-3)
    assert (line["against"], lines["M3N"]["against"]) == ("M3N", None)
    assert line["less"] == pytest.approx(0.01 * (ORDER.index("M3N") - ORDER.index("L2-CRF")))
    keys = lines["M3N, 12 keys"]
    assert keys["against"] == "M3N"
    assert keys["less"] == pytest.approx(-0.01 * (ORDER.index("M3N, 12 keys") - ORDER.index("M3N")))


def test_triads_are_counted_that_the_largest_weights_show(rows):
    [shown] = [row for row in rows if row["triads"]]
    n_minor_sevenths = (
        sum(chord_pitch(chord) % 2 == 0 for chord in TRIADS[:-1]) - 1
    )  # without C major
    found, n_triads, share = found_triads(shown)
    assert (found, n_triads) == (18, 19)
    assert share == pytest.approx(18 * 6 / (18 * 6 + 2 + n_minor_sevenths))


def test_report_and_figures_of_made_up_fits(rows, tmp_path):
    report = CHORALES_STUDY.report(rows, "paper")
    for text in (
        "50 of 5,000 test events (1.0 %)",
        "epsilon-M3N errs least",
        "M3N keeps",
        "over 5 folds",
    ):
        assert text in " ".join(report.caption.split())
    assert len(report.rows) == len(ORDER)
    for name, draw in CHORALES_STUDY.figures.items():
        draw(rows, tmp_path / f"{name}.png")
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000
    assert set(report.captions) == set(CHORALES_STUDY.more_figures)
