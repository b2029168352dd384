"""All studies at quick scale, run once by the command line with two workers."""

import math
import re
import time

import numpy as np
import pytest

from medn_edu.solvers import M3N_SOLVERS
from medn_edu.studies.kit.gallery import PUBLISHED
from medn_edu.studies.kit.stored import stored_rows
from medn_edu.studies.kit.summary import groups, values
from medn_edu.studies.kit.tables import read_csv
from medn_edu.studies.l1_table import ALGORITHMS, table_1
from medn_edu.studies.registry import STUDIES
from medn_edu.studies.solvers import solver_title, summaries

pytestmark = pytest.mark.slow

BUDGET = 420  # loops of `yardstick`, each half a second: two minutes on two processors
ABOUT_TIMES = {"l1m3n-algorithms"}  # studies whose tables have times; elsewhere they would differ


def folder_of(quick_studies, name):
    return quick_studies.folder / (f"{name}-quick" if STUDIES[name].scaled else name)


def table(quick_studies, name, file="results"):
    text = (folder_of(quick_studies, name) / f"{file}.csv").read_text(encoding="utf-8")
    return read_csv(text)


def yardstick():
    """Return how long this processor, as busy as it is, takes for ten million square roots in Python."""
    start = time.process_time()
    assert sum(math.sqrt(number) for number in range(10_000_000)) > 0
    return time.process_time() - start


def test_how_long_it_takes(quick_studies, record_property):
    """By the processor, as other tests may keep it from this one; on two of them a few minutes."""
    runs = {name: table(quick_studies, name, "runs")[0] for name in STUDIES}
    lines = [f"{'seconds':>8} {'processor':>9}"]
    lines += [f"{r['seconds']:8.1f} {r['cpu_seconds']:9.1f}  {name}" for name, r in runs.items()]
    together = sum(run["cpu_seconds"] for run in runs.values())
    lines.append(f"{quick_studies.seconds:8.1f} {together:9.1f}  all, with figures and tables")
    loops = together / yardstick()
    lines.append(f"as long as {loops:.0f} loops of ten million square roots; at most {BUDGET}")
    record_property("summary", "\n".join(lines))
    assert loops <= BUDGET, "\n".join(lines)


def test_every_fit_is_there_and_said_so(quick_studies):
    """The exit code is that of success: no fit has failed."""
    assert quick_studies.code == 0, quick_studies.text
    assert "failed" not in quick_studies.text.replace("line search failed", "")  # that is a result
    for name, study in STUDIES.items():
        assert f"{name} is published in" in quick_studies.text
        rows = table(quick_studies, name)
        keys = [spec.key for spec in study.fits("quick", 0)]
        assert list(dict.fromkeys(row["key"] for row in rows)) == sorted(keys)
        for row in rows:
            assert row["failure"] is None
            assert not study.trains or row["error"] is None or 0 <= row["error"] < 1


def test_figures_captions_and_published_tables_are_there(quick_studies):
    for name, study in STUDIES.items():
        folder = folder_of(quick_studies, name)
        for figure in study.figures:
            assert (folder / f"{figure}.png").stat().st_size > 10_000
        caption = (folder / "caption.md").read_text(encoding="utf-8")
        scale = " --scale quick" if study.scaled else ""
        assert f"Made by `medn-edu reproduce {name}{scale}`" in " ".join(caption.split())
        assert len(caption.split("\n\n")[0]) > 60
        rows = stored_rows(name, quick_studies.figures)
        assert rows
        assert (quick_studies.figures / f"{name}.md").exists()
        if study.trains:
            assert set(PUBLISHED) <= set(rows[0])
            assert all(row["seconds"] >= 0 for row in rows)
            [summary, *_] = stored_rows(f"{name}-summary", quick_studies.figures)
            assert any("seconds" in column for column in summary) == (name in ABOUT_TIMES)
    page = (quick_studies.figures / "README.md").read_text(encoding="utf-8")
    shown = {link for link in re.findall(r"\]\((.*?)\)", page) if link.endswith(".png")}
    assert shown == {path.name for path in quick_studies.figures.glob("*.png")}
    assert shown >= {f"{name}.png" for name in STUDIES}


def test_errors_of_handwriting_are_those_that_are_known(quick_studies):
    expected = {("ocr-100", model): 0.37 for model in ("M3N", "L2-CRF")}
    expected |= {("ocr-rest", model): 0.14 for model in ("M3N", "L2-CRF")}
    rows = table(quick_studies, "ocr") + table(quick_studies, "ocr-full")
    for place, error in expected.items():
        found = [row["error"] for row in rows if (row["data"], row["model"]) == place]
        assert np.mean(found) == pytest.approx(error, abs=0.03), place
    exact = [row for row in rows if row["model"] in ("M3N", "L2-CRF")]
    assert all(row["relative_gap"] <= 0.01 for row in exact)


def test_l1_algorithms_find_the_pattern(quick_studies):
    lines = table_1(stored_rows("l1m3n-algorithms", quick_studies.figures))
    assert all(line["cpu_seconds"] > 0 for line in lines)
    found = groups(lines, "data", "algorithm")
    assert {name for data, name in found if data == "ocr-100"} == {*ALGORITHMS} - {"cutting plane"}
    found = {name: found["chains-correlated", name] for name in ALGORITHMS}
    for name in ("cutting plane", "path"):
        counts = [line["irrelevant"] for line in found[name]]
        assert counts[0] == 0
        assert counts == sorted(counts)
        assert counts[-1] > 20
        assert all(line["largest_gap"] <= 2e-3 for line in found[name])
    exact = zip(found["cutting plane"], found["path"], strict=True)
    assert all(a["l1_norm"] == pytest.approx(b["l1_norm"], rel=0.05) for a, b in exact)
    em = [line["irrelevant"] for line in found["EM"]]
    assert em == sorted(em, reverse=True)
    assert em[-1] < 20 < em[0]
    # Small weights: few in batch, a tail online.
    batch, online = found["sub-gradient"], found["online sub-gradient"]
    assert all(a["irrelevant"] + 20 < b["irrelevant"] for a, b in zip(batch, online, strict=True))


def test_every_solver_is_watched(quick_studies, tmp_path):
    folder = folder_of(quick_studies, "solvers")
    assert {path.name for path in folder.iterdir()} == {
        "results.csv", "timings.csv", "table.csv", "figure.png", "caption.md", "runs.csv",
    }  # fmt: skip
    text = {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.csv")}
    # As every fit of a study without models is kept.
    traces, times = (read_csv(text[name], exact=True) for name in ("results", "timings"))
    whole = read_csv(text["table"])
    assert "seconds" not in text["results"].partition("\n")[0]
    assert [row["key"] for row in traces] == [row["key"] for row in times]
    best = min(row["primal"] for row in traces)
    assert max(row["dual"] for row in traces) <= best * (1 + 1e-9)
    joined = [{**row, **time_of_row} for row, time_of_row in zip(traces, times, strict=True)]
    by_solver, told = groups(joined, "solver"), groups(whole, "solver")
    assert set(by_solver) == set(told) == set(M3N_SOLVERS)
    for name, rows in by_solver.items():
        assert rows[-1]["relative_gap"] <= 0.01 or rows[-1]["n_passes"] >= 200
        assert rows[-1]["relative_gap"] < rows[0]["relative_gap"]
        for column in ("n_passes", "cpu_seconds"):
            np.testing.assert_allclose(values(told[name], column), values(rows, column), rtol=1e-6)
    STUDIES["solvers"].draw(whole, tmp_path / "figure.svg")
    drawing = (tmp_path / "figure.svg").read_text(encoding="utf-8")
    texts = set(re.findall(r"<!-- (.*?) -->", drawing))  # drawn as shapes, noted beside them
    assert texts >= set(map(solver_title, M3N_SOLVERS)), "each has a panel of errors"
    last = {row["solver"]: row for row in summaries(whole)}
    assert all(line["relative_gap"] < 1 for line in last.values()), "the panel of gaps ends at 1.5"
    assert last["block_frank_wolfe"]["passes_to_0.01"] <= 20
    assert last["block_frank_wolfe"]["error"] == pytest.approx(0.115, abs=0.02)
    assert "block Frank-Wolfe" in quick_studies.text


def test_temperatures_and_noises_do_what_is_known(quick_studies):
    of = {(r["data"], r["model"]): r for r in table(quick_studies, "epsilon")}
    stuck, cold = of["cup", "Fig. 1, epsilon = 0"], of["cup", "epsilon = 0.01"]
    assert stuck["error"] > 0.15 > 0.06 > max(cold["error"], of["cup", "epsilon = 0"]["error"])
    assert of["cup", "in turn, epsilon = 0"]["primal"] < 0.1 * stuck["primal"]
    at_1, *_, at_0 = (int(word) for word in cold["wrong_at"].split())
    assert at_1 > 3 * cold["n_wrong"] > at_0
    assert of["key", "shared"]["error"] > 3 * of["key", "epsilon = 1"]["error"]
    of = {(r["data"], r["model"]): r for r in table(quick_studies, "denoising")}
    for noise in ("gaussian", "bimodal"):
        assert of[f"{noise}-cup", "ours, C = 0.1"]["n_wrong"] == 0
        alone = of[f"{noise}-new-16", "pixels alone"]["error"]
        assert alone > 2 * of[f"{noise}-new-16", "epsilon = 1"]["error"]


def test_a_posterior_predicts_best_by_its_mean(quick_studies):
    of = {(r["data"], r["model"]): r for r in table(quick_studies, "predictors")}
    chains, letters = "iid-10-50", "ocr-100"
    for data, base in ((chains, "LapMEDN"), (chains, "M3N"), (letters, "M3N")):
        assert of[data, f"{base} mean"]["error"] == of[data, base]["error"]
        assert of[data, f"{base} Gibbs"]["error"] > of[data, base]["error"] + 0.03
    sparse = of[chains, "L1-M3N"]
    assert of[chains, "LapMEDN thresholded"]["n_nonzero"] == sparse["n_nonzero"] < 100
    assert of[f"{chains}-argmax", "L1-CRF"]["error"] < of[chains, "L1-CRF"]["error"] - 0.03
    assert of[chains, "L2-CRF"]["ece"] < of[chains, "epsilon = 0.1"]["ece"]


def test_chains_and_other_keys_help_with_chords(quick_studies):
    found = groups(table(quick_studies, "chorales"), "model")
    errors = {name: np.mean([row["error"] for row in rows]) for name, rows in found.items()}
    assert errors["M3N, 12 keys"] < errors["M3N"] - 0.02 < errors["notes"] - 0.05
    assert errors["commonest chord"] > 0.9
    [weights] = [row["triads"] for row in found["M3N"] if row["triads"]]
    assert len(weights.split()) == 240


def test_the_map_from_m3n_to_l1_m3n_has_both_limits(quick_studies):
    lines = table(quick_studies, "shape-strength", "table")
    cells = [line for line in lines if line["kind"] == "iid" and line["strength"] is not None]
    of = {(line["model"], line["strength"], line["C"]): line for line in cells}
    for name, C in (("M3N", 0.01), ("L1-M3N", 100.0)):
        for line in cells:
            if line["model"] == f"{name} along C":
                cell = of["LapMEDN along C", line["strength"], C]
                assert cell["error"] == pytest.approx(line["error"], abs=0.015)
    [best] = [line for line in cells if line["best"]]
    assert best["C"] > 1, "the first edition had C = 1"
