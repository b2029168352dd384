"""The study ``shape-strength``: its paths, what it keeps of them, and the limits its maps run into."""

import numpy as np
import pytest

from medn_edu import M3N, LaplaceMEDN
from medn_edu.studies.kit.runner import evaluate
from medn_edu.studies.kit.specs import FitSpec
from medn_edu.studies.kit.summary import numbers
from medn_edu.studies.registry import STUDIES
from medn_edu.studies.shape_strength import (
    KINDS,
    N_STRENGTHS,
    SHAPES,
    Along,
    cells,
    kind_of,
    split_of,
    strengths,
)

STUDY = STUDIES["shape-strength"]


def test_fits():
    """Each repetition has a fit per line of the map, both strips, and three models that choose."""
    specs = STUDY.fits("paper", 0)
    assert len({spec.key for spec in specs}) == len(specs)
    n_units = sum(len(kind.units) for kind in KINDS.values())
    assert len(specs) == n_units * (N_STRENGTHS + 2 + 3)
    lines = {dict(spec.parameters).get("strength") for spec in specs}
    assert lines == {None, *range(N_STRENGTHS)}


@pytest.mark.parametrize("name", KINDS)
def test_strengths_cover_both_limits(name):
    kind = KINDS[name]
    c_2 = 2 * SHAPES[0] / strengths(kind, SHAPES[0])
    c_1 = SHAPES[-1] / (2 * np.sqrt(strengths(kind, SHAPES[-1])))
    np.testing.assert_allclose(c_2, np.geomspace(*kind.ranges.m3n, N_STRENGTHS), rtol=0.6)
    np.testing.assert_allclose(c_1, np.geomspace(*kind.ranges.l1_m3n, N_STRENGTHS), rtol=0.3)


def test_a_path_keeps_the_model_of_each_point():
    """Each is trained to its own gap, and later points do not change it."""
    data = split_of(FitSpec("iid-10-50", 0, ""))
    X, y = data.X_train[:20], data.y_train[:20]
    points = [{"C": C, "lam": 2 * C / 0.05} for C in (0.01, 0.1, 1.0)]
    path = Along("LapMEDN", points, tol=1e-5).fit(X, y)
    for point, model in zip(points, path.models_, strict=True):
        alone = LaplaceMEDN(**point, tol=1e-5, verbose=0).fit(X, y)
        assert model.result_.relative_gap <= 1e-5
        np.testing.assert_allclose(model.weights_, alone.weights_, atol=0.02 * alone.weights_.max())
    limit = M3N(C=0.05, tol=1e-5, verbose=0).fit(X, y).weights_
    far = [np.abs(model.weights_ - limit).max() for model in path.models_]
    assert far[0] < 0.1 * far[-1], "a small C is M3N"


def test_cells():
    """Strips stand on the lines of the map, and what rows keep is what the models err."""
    specs = [spec for spec in STUDY.fits("quick", 0) if spec.data == "iid-10-50"]
    along = [spec for spec in specs if spec.model.endswith("along C")]
    rows = [row for spec in along for row in evaluate(spec, STUDY)]
    assert not any(row["failure"] for row in rows)
    for row in rows:
        assert numbers(row["errors"])[-1] == pytest.approx(row["error"], rel=1e-5)
        assert numbers(row["n_larges"])[-1] == row["n_large"]
        assert numbers(row["gaps"]).max() <= kind_of(row["data"]).tol
    found = cells(rows)
    lines = {name: {c["strength"] for c in found if c["model"].startswith(name)} for name in
             ("M3N", "LapMEDN", "L1-M3N")}  # fmt: skip
    assert lines["M3N"] == lines["LapMEDN"] == lines["L1-M3N"] == {1, 4, 7, 10}
    on_map = [cell for cell in found if cell["model"].startswith("LapMEDN")]
    [best] = [cell for cell in on_map if cell["best"]]
    assert best["error"] == min(cell["error"] for cell in on_map)
    at = {(cell["model"], cell["strength"], cell["C"]): cell for cell in found}
    for k in (1, 4, 7, 10):
        left = next(c for c in found if c["model"] == "M3N along C" and c["strength"] == k)
        right = next(c for c in found if c["model"] == "L1-M3N along C" and c["strength"] == k)
        first, last = at["LapMEDN along C", k, 0.01], at["LapMEDN along C", k, 100.0]
        assert first["error"] == pytest.approx(left["error"], abs=0.015)
        assert last["error"] == pytest.approx(right["error"], abs=0.03)
        assert last["n_large"] < first["n_large"]


def test_cells_within_a_standard_error():
    """It is that of the mean difference: what makes data hard for all cells does not count."""
    errors = {0: "0.10 0.11 0.13", 1: "0.20 0.2101 0.17", 2: "0.30 0.3099 0.32"}
    rows = [
        {"data": "iid-10-50", "fold": fold, "model": "LapMEDN along C", "n_weights": 10,
         "parameters": "strength=0", "prices": "1 3 10", "lams": "4 5 6", "errors": text,
         "n_larges": "5 5 5", "gaps": "0.01 0.01 0.01"}
        for fold, text in errors.items()
    ]  # fmt: skip
    found = cells(rows)
    assert [cell["best"] for cell in found] == [True, False, False]
    assert [bool(cell["near"]) for cell in found] == [True, False, True]
