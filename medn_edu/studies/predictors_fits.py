"""The fits of the study ``predictors``: data, models, specs, and what is measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np

from medn_edu.inference import Potentials, best_labelling
from medn_edu.samples import pack
from medn_edu.studies import ocr, synthetic_correlated, synthetic_iid
from medn_edu.studies.kit.fair import (
    CHOICE_COLUMNS,
    EXTEND,
    FAIR_MODELS,
    N_POINTS,
    choosing,
    fair_model,
    fair_models,
    fair_paths,
    measure_choice,
)
from medn_edu.studies.kit.models import Model, make_model
from medn_edu.studies.kit.selection import Path, Selected
from medn_edu.studies.kit.specs import FitSpec, Row, Split
from medn_edu.studies.kit.splits import (
    FOLDS,
    N_VALIDATION,
    correlated_chains,
    correlated_split,
    iid_chains,
    ocr_split,
    word_errors,
)
from medn_edu.studies.kit.summary import numbers_text
from medn_edu.studies.kit.trained import Trained
from medn_edu.studies.posterior import (
    AveragedMarginals,
    GibbsDraws,
    PosteriorMean,
    Thresholded,
    ThresholdedMean,
)

# -- data -----------------------------------------------------------------------------------------

IID, CORRELATED, OCR = "iid-10-50", "correlated-50", "ocr-100"
"""Ten random CRFs with 10 relevant features, ten with 30 in groups of three, and OCR100."""

ARGMAX, CONSTANTS = "-argmax", "-constants"
"""End the names of data whose labels are the best ones, and of fits along a constant."""

FLIPPED = (5, 10, 20)
"""Training labels that are flipped, in per cent: data named ``iid-10-50-flipped-PERCENT``."""

PARTS = "correlated-10-0"
"""The data whose average weights the papers show: ten parts of 100 sequences train in turn."""

N_TRAIN = {IID: 50, CORRELATED: 50, OCR: 100}
"""Sequences that train."""


def kind_of(data: str) -> str:
    """Return which of the three kinds data are, whatever was done to their labels."""
    return OCR if data.startswith("ocr") else IID if data.startswith("iid") else CORRELATED


def truth_of(data: str, fold: int, seed: int) -> Any:
    """Return the random CRF of made-up data, with all its sequences; None of OCR words."""
    sampler = "best" if data.endswith(ARGMAX) else "gibbs"
    if kind_of(data) == OCR:
        return None
    if kind_of(data) == IID:
        return iid_chains(_N_RELEVANT[IID], fold, seed, sampler)
    return correlated_chains(seed, 0 if data.startswith(PARTS) else fold, sampler)


_N_RELEVANT = {IID: 10, CORRELATED: 30}


def split_of(spec: FitSpec, *, validate: bool = False) -> Split:
    """Return the data of a fit, cut as those of the studies ``synthetic-iid`` and ``ocr`` are.

    With ``validate`` the samples that constants are chosen on stand behind those that train.
    ``-constants`` at the end of the name of data makes no difference.
    """
    name, kind = spec.data.removesuffix(CONSTANTS), kind_of(spec.data)
    if kind == OCR:
        return ocr_split(replace(spec, data=name), validate=validate)
    if name == PARTS:
        return correlated_split(replace(spec, data=name))
    bunch, place = truth_of(name, spec.fold, spec.seed), [spec.seed, _N_RELEVANT[kind], spec.fold]
    order = np.random.default_rng([*place, 1]).permutation(len(bunch.data))
    first, left = np.split(order, [-N_VALIDATION])
    n = N_TRAIN[kind]
    X, y = _take(bunch, np.concatenate([first[:n], left if validate else left[:0]]))
    if "-flipped-" in name:
        share = int(name.rpartition("-")[2]) / 100
        rng = np.random.default_rng([*place, 2])  # for all shares, so that they are nested
        y = [np.where(rng.random(len(labels)) < share, 1 - labels, labels) for labels in y]
    return Split(X, y, *_take(bunch, first[n:]))


def _take(bunch: Any, which: np.ndarray) -> tuple[list[Any], list[Any]]:
    return [bunch.data[i] for i in which], [bunch.target[i] for i in which]


# -- models ---------------------------------------------------------------------------------------

LOSSES = {"epsilon = 1": 1.0, "epsilon = 0.5": 0.5, "epsilon = 0.1": 0.1, "epsilon = 0.03": 0.03}
"""Between L2-CRF, which has no margin, and M3N, which is ``epsilon = 0``, with the same penalty."""

CHOSEN = ("M3N", "LapMEDN", "L1-M3N", "L2-CRF", "L1-CRF")
"""Models that choose their constants on all data."""

POSTERIORS = ("LapMEDN", "M3N")
_HOW: dict[str, type[PosteriorMean]] = {
    "mean": PosteriorMean, "marginals": AveragedMarginals, "Gibbs": GibbsDraws,
}  # fmt: skip
THRESHOLDED = "thresholded"
PREDICTORS = tuple(
    f"{base} {how}" for base in POSTERIORS for how in ("mean", THRESHOLDED, "marginals", "Gibbs")
)
"""What the posteriors of LapMEDN and M3N predict with: ``LapMEDN mean`` and so on."""

VARIANCES = (1.0, 0.1, 0.01, 0.001)
"""Of M3N's prior, with a C that leaves the mean as it is."""

LAMS = (1.0, 9.0, 25.0, 49.0, 81.0)
"""``lam`` of LapMEDN with C = 1, as in MEDN's Fig. 9, which has nine."""

PENALTIES = tuple(float(f"{lam:.4g}") for lam in np.geomspace(64, 0.5, N_POINTS))
"""``lam`` of L1-CRF along its path."""


# With a smaller C, L1-M3N errs on more than half of the letters; with a larger one it takes its time.
_LETTERS = replace(ocr.RANGES, l1_m3n=(0.15, 0.6))
RANGES = {IID: synthetic_iid.RANGES, CORRELATED: synthetic_correlated.RANGES, OCR: _LETTERS}
"""Constants of the fair protocol, before paths are extended."""


@cache
def models_of(kind: str) -> Mapping[str, Model]:
    """Return all models by name, with the constants that a kind of data asks for."""
    ranges = RANGES[kind]
    models = fair_models(ranges, CHOSEN)
    prices = tuple(float(f"{C:.4g}") for C in np.geomspace(*ranges.m3n, N_POINTS))
    for name, epsilon in LOSSES.items():
        path = Path("C", prices, (("epsilon", epsilon),))
        models[name] = replace(fair_model("epsilon-M3N", (path,)), name=name)
    for base in POSTERIORS:
        for how, made in _HOW.items():
            name = f"{base} {how}"
            models[name] = Model(name, partial(made, base), "a use of the posterior")
        name = f"{base} {THRESHOLDED}"
        choice = (base, fair_paths(base, ranges), FAIR_MODELS)
        build = partial(Thresholded, *choice, extend=EXTEND)
        models[name] = Model(name, build, "the largest weights of the mean")
    return models


_ALONG = {
    model.name: model
    for model in (
        FAIR_MODELS["LapMEDN"],
        FAIR_MODELS["L1-CRF"],
        Model(f"LapMEDN {THRESHOLDED}", ThresholdedMean, "the largest weights of the mean"),
        Model("M3N Gibbs", partial(GibbsDraws, "M3N"), "a use of the posterior"),
    )
}
"""The models that are tried along a constant, and so do not choose it."""


@dataclass(frozen=True, eq=False)
class Fits(Trained):
    """Fits whose models depend on the data: which constants they try, and whether they choose."""

    def build(self, spec: FitSpec) -> Any:
        """Return the model of a fit, not trained yet."""
        models = _ALONG if spec.data.endswith(CONSTANTS) else models_of(kind_of(spec.data))
        return make_model(spec.model, models, seed=spec.seed, **dict(spec.parameters))


# -- fits -----------------------------------------------------------------------------------------


def specs(scale: str, seed: int) -> list[FitSpec]:
    """Return all fits; at quick scale the slow ones are left out."""
    quick = scale == "quick"
    folds = range(1) if quick else FOLDS
    few = ("M3N", "L2-CRF") if quick else CHOSEN
    models: dict[str, tuple[str, ...]] = {
        IID: (*CHOSEN, *LOSSES),
        CORRELATED: (*few, *LOSSES),
        OCR: (*few, *LOSSES),
        f"{IID}{ARGMAX}": CHOSEN,
        f"{CORRELATED}{ARGMAX}": few,
        **{f"{IID}-flipped-{percent}": CHOSEN for percent in FLIPPED[2 * quick :]},
    }
    first = {
        (data, fold, name): FitSpec(
            data, fold, name, choosing(name, N_TRAIN[kind_of(data)], scale), seed
        )
        for data, names in models.items()
        for fold in folds
        for name in names
    }
    return [*first.values(), *_given(first, seed), *_along(first, seed, 3 if quick else 1)]


_First = Mapping[tuple[str, int, str], FitSpec]
"""The fits that choose, by data, fold and model."""


def _given(first: _First, seed: int) -> list[FitSpec]:
    """Return the uses of posteriors, which are given the constants of their model."""
    found = []
    for (data, fold, name), spec in first.items():
        if data in (IID, OCR) and name in POSTERIORS:
            for how in _HOW:
                found.append(FitSpec(data, fold, f"{name} {how}", (), seed, spec.key))
            sparse = first.get((data, fold, "L1-M3N"))
            if sparse:
                model, tried = f"{name} {THRESHOLDED}", spec.parameters
                found.append(FitSpec(data, fold, model, tried, seed, sparse.key))
    return found


def _along(first: _First, seed: int, every: int) -> list[FitSpec]:
    """Return the fits along a constant."""
    found = []
    for (data, fold, name), spec in first.items():
        along = f"{data}{CONSTANTS}"
        if data in (IID, OCR) and name == "M3N":
            for variance in VARIANCES[::every]:
                given = (("variance", variance),)
                found.append(FitSpec(along, fold, "M3N Gibbs", given, seed, spec.key))
        if data == OCR and name == "M3N":
            for lam in LAMS[every // 2 :: every]:
                at = ("lam", lam)
                found.append(FitSpec(along, fold, "LapMEDN", (("C", 1.0), at), seed))
                found.append(FitSpec(along, fold, f"LapMEDN {THRESHOLDED}", (at,), seed))
        if data == IID and name == "L1-CRF":
            for lam in PENALTIES[::every]:
                for where in (along, f"{PARTS}{CONSTANTS}"):
                    found.append(FitSpec(where, fold, "L1-CRF", (("lam", lam),), seed))
    return found


# -- measures -------------------------------------------------------------------------------------

N_BINS = 20
"""Bins of confidence, of equal width."""

MEASURED = (
    "ece", "log_loss", "bins", "truth_error", "truth_cosine", "plotted_cosine",
    "reachable_cosine", "n_relevant", "n_irrelevant", "word_errors", *CHOICE_COLUMNS,
)  # fmt: skip


def measure(spec: FitSpec, model: Any) -> Row:
    """Return how well marginals are calibrated, how near made-up weights are, wrong letters per word."""
    data, truth = split_of(spec), truth_of(spec.data, spec.fold, spec.seed)
    row: Row = measure_choice(spec, model)
    probabilities = _probabilities(model, spec.model, data.X_test)
    if probabilities is not None:
        row |= calibration(np.concatenate(probabilities), model.classes_, data.y_test)
    if truth is not None:
        row |= _against_truth(model, data, truth)
    return row | word_errors(replace(spec, data=spec.data.removesuffix(CONSTANTS)), model)


def _probabilities(model: Any, name: str, X: list[Any]) -> list[np.ndarray] | None:
    """Return the marginals of a model that has any, at its own temperature."""
    if isinstance(model, Selected):
        model = model.model_
    if name in LOSSES:
        return list(model.predict_marginals(X, LOSSES[name]))
    if name in ("L2-CRF", "L1-CRF") or name.endswith((" mean", " marginals")):
        return list(model.predict_marginals(X))
    return None


def calibration(probabilities: np.ndarray, classes: np.ndarray, y: Iterable[Any]) -> Row:
    """Compare marginals with the labels: expected calibration error, log-loss, and bins of confidence.

    A cell ``bins`` has for each bin how many nodes there are, the sum of their confidences, and how many
    of them are right.  The log-loss is that of nodes whose label training has seen: any other has
    probability 0.
    """
    true = np.concatenate([np.asarray(list(labels)) for labels in y])
    found, confidence = probabilities.argmax(axis=1), probabilities.max(axis=1)
    right = classes[found] == true
    place = np.minimum((confidence * N_BINS).astype(int), N_BINS - 1)
    count, sums, hits = (
        np.bincount(place, weights, N_BINS) for weights in (None, confidence, right)
    )
    seen = np.isin(true, classes)
    p = probabilities[seen, np.searchsorted(classes, true[seen])]
    return {
        "ece": float(np.abs(hits - sums).sum() / len(true)),
        "log_loss": float(-np.log(np.maximum(p, np.finfo(float).tiny)).mean()),
        "bins": numbers_text(np.concatenate([count, sums, hits]), ".7g"),
    }


def _against_truth(model: Any, data: Split, truth: Any) -> Row:
    """Compare a model of made-up data with the CRF behind them.

    The papers plot the weights of both labels, ``plotted_cosine``.  Only their difference matters to a
    labelling, so that models with symmetric penalties learn opposite weights; ``reachable_cosine`` is
    what such weights reach at best.  ``truth_cosine`` compares the differences, summed over each group.
    """
    node = np.vstack(data.X_test) @ truth.coef.T
    found, _ = best_labelling(Potentials(pack(data.X_test), node, truth.transitions))
    coef = model.weights_[: truth.coef.size].reshape(truth.coef.shape)
    relevant = int(np.count_nonzero(coef[:, truth.relevant]))
    symmetric = truth.coef - truth.coef.mean(axis=0)
    return {
        "truth_error": float(np.mean(found != np.concatenate(data.y_test))),
        "truth_cosine": _cosine(
            _differences(coef, truth.groups), _differences(truth.coef, truth.groups)
        ),
        "plotted_cosine": _cosine(coef.ravel(), truth.coef.ravel()),
        "reachable_cosine": _cosine(symmetric.ravel(), truth.coef.ravel()),
        "n_relevant": relevant,
        "n_irrelevant": int(np.count_nonzero(coef)) - relevant,
    }


def _differences(coef: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Return by how much the second label's weights exceed the first's, summed over each group."""
    difference = coef[1] - coef[0]
    sums = np.bincount(group[group >= 0], difference[group >= 0])
    return np.concatenate([sums, difference[group < 0]])


def _cosine(first: np.ndarray, second: np.ndarray) -> float | None:
    """Return the cosine of the angle between two vectors; None if one of them is zero."""
    lengths = float(np.linalg.norm(first) * np.linalg.norm(second))
    return float(first @ second) / lengths if lengths else None
