"""The fair protocol: every model chooses among as many constants, on the same samples.

Each model gets a budget of 24 points on a logarithmic scale: one path of 24 constants where it has one
constant, four paths of six where it has two.

==============================  =====================================  ==============
models                          shapes                                 strengths
==============================  =====================================  ==============
L2-CRF, L1-CRF                  one                                    24 ``lam``
M3N, L1-M3N                     one                                    24 ``C``
elastic CRF                     ``l1_ratio`` of 0.05, 0.2, 0.5, 0.9    6 ``lam`` each
elastic M3N                     the same                               6 ``C`` each
epsilon-M3N                     ``epsilon`` of 0.1, 0.3, 1, 3          6 ``C`` each
LapMEDN, exact and variational  ``C`` of 0.1, 1, 10, 100               6 ``lam`` each
==============================  =====================================  ==============

**Which samples judge.**  Each model trains at each point with the whole training set, and is judged on
samples of the same data set that neither train nor test: 200 sequences of the same random CRF, or the
words of a fold that are in no draw.  If there are no such samples, a part of the training set judges.

**Why LapMEDN needs two.**  With ``alpha = C a`` its dual is
``C [sum a loss + (1/C) sum log(1 - (C^2 / lam) z^2)]``, so ``C`` is the shape.  As ``C`` goes to 0 with
``c = 2 C / lam`` fixed it becomes the M3N with ``C = c``.  As ``C`` grows with ``c = C / (2 sqrt(lam))``
fixed it becomes the L1-M3N with ``C = c``.  Its ``lam = 2 C / c_2 + (C / (2 c_1))^2``, where ``c_2`` and
``c_1`` go through the constants of M3N and of L1-M3N, cover both limits.

A path whose best point is one of its ends grows until that point lies inside, by at most `EXTEND`
points.  Shapes are not extended, because the models beyond their ends are part of the comparison
anyway.  If fits close to the L1 norm would take too long, LapMEDN leaves out ``C`` of 100 and tries
eight ``lam`` with each of the other ``C``.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from medn_edu.estimators import CRF, L1M3N, M3N
from medn_edu.studies.kit.models import MODELS, Model
from medn_edu.studies.kit.selection import TRIED, Path, Selected
from medn_edu.studies.kit.specs import FitSpec, Split
from medn_edu.studies.kit.summary import Row, groups, read_constants
from medn_edu.studies.kit.texts import counted, listed

N_POINTS, N_SHAPES = 24, 4
"""How many points each model may try, and in how many shapes those with two constants."""

EXTEND = 10
"""The most points that are added to paths."""

RATIOS = (0.05, 0.2, 0.5, 0.9)
"""Shares of the magnitudes in elastic nets."""

TEMPERATURES = (0.1, 0.3, 1.0, 3.0)
"""``epsilon`` of the family between M3N and CRF."""

PRICES = (0.1, 1.0, 10.0, 100.0)
"""``C`` of LapMEDN, the shape of its prior."""


def _elastic_crf(**parameters: Any) -> CRF:
    return CRF(penalty="elasticnet", tol=1e-3, verbose=0, **{"l1_ratio": 0.5, **parameters})


def _elastic_m3n(**parameters: Any) -> M3N:
    return M3N(tol=1e-2, verbose=0, **{"l1_ratio": 0.5, **parameters})


def _l1_m3n(**parameters: Any) -> L1M3N:
    return L1M3N(solver="proximal", tol=2e-2, verbose=0, **parameters)


FAIR_MODELS: dict[str, Model] = {
    **MODELS,
    **{
        model.name: model
        for model in (
            Model("elastic CRF", _elastic_crf, "CRF with squares and magnitudes"),
            Model("elastic M3N", _elastic_m3n, "M3N with squares and magnitudes"),
            Model("L1-M3N", _l1_m3n, "M3N with an L1 norm, to a gap of 2 %"),
        )
    },
}
"""All models that may choose, by name."""

COMPARED = (
    "CRF", "L2-CRF", "L1-CRF", "elastic CRF", "M3N", "L1-M3N", "elastic M3N", "LapMEDN variational",
    "LapMEDN",
)  # fmt: skip
"""The models that studies compare, in the order of tables and legends."""

NAMES = (*COMPARED, "epsilon-M3N")
"""The same and epsilon-M3N, which is ours and takes part on real data."""


@dataclass(frozen=True)
class Ranges:
    """The constants from strong to weak that paths cover in one kind of data."""

    l2_crf: tuple[float, float]  # ``lam``
    l1_crf: tuple[float, float]  # ``lam``
    m3n: tuple[float, float]  # ``C``
    l1_m3n: tuple[float, float]  # ``C``
    prices: tuple[float, ...] = PRICES  # shapes of LapMEDN


def _elastic_strengths(
    squares: tuple[float, float], magnitudes: tuple[float, float], ratio: float, n: int
) -> np.ndarray:
    """Return constants of an elastic net, between those of squares and those of magnitudes.

    The strongest one is where weights begin to move: magnitudes alone keep them at zero up to a
    constant, which is in proportion to their share.
    """
    is_price = squares[0] < squares[1]  # C grows as regularisation gets weaker, and lam falls
    scale = ratio if is_price else 1 / ratio
    first = (max if is_price else min)(squares[0], scale * magnitudes[0])
    return np.geomspace(first, squares[1] ** (1 - ratio) * magnitudes[1] ** ratio, n)


def fair_paths(model: str, ranges: Ranges) -> tuple[Path, ...]:
    """Return the paths that a model may try."""
    n = N_POINTS // N_SHAPES
    if model in ("L2-CRF", "L1-CRF"):
        lams = ranges.l2_crf if model == "L2-CRF" else ranges.l1_crf
        return (_path("lam", np.geomspace(*lams, N_POINTS)),)
    if model in ("M3N", "per letter"):
        return (_path("C", np.geomspace(*ranges.m3n, N_POINTS)),)
    if model == "L1-M3N":
        return (_path("C", np.geomspace(*ranges.l1_m3n, N_POINTS)),)
    if model == "elastic CRF":
        return tuple(
            _path("lam", _elastic_strengths(ranges.l2_crf, ranges.l1_crf, r, n), l1_ratio=r)
            for r in RATIOS
        )
    if model == "elastic M3N":
        return tuple(
            _path("C", _elastic_strengths(ranges.m3n, ranges.l1_m3n, r, n), l1_ratio=r)
            for r in RATIOS
        )
    if model == "epsilon-M3N":
        return tuple(_path("C", np.geomspace(*ranges.m3n, n), epsilon=e) for e in TEMPERATURES)
    if model in ("LapMEDN", "LapMEDN variational"):
        n = N_POINTS // len(ranges.prices)
        return tuple(_path("lam", laplace_strengths(C, ranges, n), C=C) for C in ranges.prices)
    return ()  # the CRF without a penalty has nothing to choose


def fair_grids(ranges: Ranges, names: Sequence[str] = COMPARED) -> dict[str, tuple[Path, ...]]:
    """Return the paths of each model that has something to choose."""
    found = {name: fair_paths(name, ranges) for name in names}
    return {name: paths for name, paths in found.items() if paths}


def laplace_strengths(C: float, ranges: Ranges, n: int) -> np.ndarray:
    """Return ``lam`` of LapMEDN, from strong to weak, so that both limits of ``C`` are covered."""
    c_2, c_1 = np.geomspace(*ranges.m3n, n), np.geomspace(*ranges.l1_m3n, n)
    return 2 * C / c_2 + (C / (2 * c_1)) ** 2


def _path(name: str, values: np.ndarray, **shape: float) -> Path:
    return Path(name, tuple(float(f"{value:.4g}") for value in values), tuple(shape.items()))


def fair_models(
    ranges: Ranges,
    names: Sequence[str] = COMPARED,
    models: Mapping[str, Model] = FAIR_MODELS,
    **choice: Any,
) -> dict[str, Model]:
    """Return models that choose their constants under the fair protocol.

    ``choice`` says on which samples: ``n_folds`` or ``blocks``, as `Selected` takes them.
    """
    grids = fair_grids(ranges, names)
    return {
        name: fair_model(name, grids[name], models, **choice) if name in grids else models[name]
        for name in names
    }


def fair_model(
    name: str, paths: tuple[Path, ...], models: Mapping[str, Model] = FAIR_MODELS, **choice: Any
) -> Model:
    """Return a model that chooses among its paths, which grow where the best point is an end."""
    build = partial(Selected, name, paths, models, extend=EXTEND, **choice)
    return Model(name, build, models[name].summary)


def once(name: str, given: Model, chooses: Model) -> Model:
    """Return a model that is trained with constants if it has some, and otherwise chooses them."""

    def build(**parameters: float) -> Any:
        return (chooses if "blocks" in parameters else given).build(**parameters)

    return Model(name, build, given.summary)


def ending_after(n_passes: int) -> dict[str, Model]:
    """Return the models of `FAIR_MODELS`, with a limit on the number of passes in LapMEDN's fits.

    Close to the L1 norm (``C`` of 100) fits may take a thousand passes and many minutes.
    """
    short = {
        name: Model(name, partial(MODELS[name].build, max_iter=n_passes), FAIR_MODELS[name].summary)
        for name in ("LapMEDN", "LapMEDN variational")
    }
    return FAIR_MODELS | short


PRINTED_LAMS = Path("lam", (16.0, 9.0, 4.0, 1.0, 0.1, 0.01))
"""The constants of penalised CRFs in the papers (MEDN 7.1.1)."""

SIX_LAM = {f"{name}, six lam": name for name in ("L2-CRF", "L1-CRF")}
"""CRFs that choose as the papers' do: the models they are, by name."""


def six_lam_crfs(tol: float = 2e-2) -> dict[str, Model]:
    """Return CRFs that choose among the papers' constants, by 5-fold CV inside the training part.

    While they choose, they are trained to gaps of ``tol`` in at most 100 iterations.  At ``lam`` of
    0.01 gaps close late, long after the errors have settled.
    """
    choice = partial(Selected, n_folds=5, tol=tol, max_iter=100)
    return {
        name: Model(
            name,
            partial(choice, base, (PRINTED_LAMS,), FAIR_MODELS),
            FAIR_MODELS[base].summary,
        )
        for name, base in SIX_LAM.items()
    }


def choosing(model: str, n_train: int, scale: str) -> tuple[tuple[str, float], ...]:
    """Return the parameters of a model that chooses: how many samples train while the others judge."""
    return () if model == "CRF" else (("blocks", n_train), *TRIED[scale])


def split_and_validate(split: Callable[..., Split]) -> Callable[[FitSpec], Split]:
    """Give models that choose the samples to choose on: ``split(spec, validate=True)``."""
    return partial(_split, split)


def _split(split: Callable[..., Split], spec: FitSpec) -> Split:
    return split(spec, validate=any(name == "blocks" for name, _ in spec.parameters))


CHOICE_COLUMNS = ("n_extended", "at_end")
"""What `measure_choice` fills."""


def measure_choice(spec: FitSpec, model: Any) -> dict[str, Any]:
    """Note how many points were added, and whether the best point was still at an end."""
    del spec
    if not isinstance(model, Selected):
        return {}
    return {"n_extended": model.n_extended_, "at_end": model.at_end_}


def grids_text(grids: Mapping[str, Sequence[Path]]) -> str:
    """Say for a caption between which ends models choose; of several shapes, at the first and last."""
    found: dict[str, dict[tuple[Path, ...], list[str]]] = {}
    for name, paths in grids.items():
        found.setdefault(paths[0].name, {}).setdefault(tuple(paths), []).append(name)
    texts = []
    for constant, alike in found.items():
        ends = [f"of {listed(names)} {_ends_text(paths)}" for paths, names in alike.items()]
        texts.append(f"{constant} {', '.join(ends)}")
    return "; ".join(texts)


def _ends_text(paths: Sequence[Path]) -> str:
    texts: dict[str, list[str]] = {}
    for path in dict.fromkeys((paths[0], paths[-1])):
        low, high = map(_number_text, sorted((path.values[0], path.values[-1])))
        shape = [f"{'' if texts else f'{name} = '}{value:g}" for name, value in path.shape]
        texts.setdefault(f"from {low} to {high}", []).extend(shape)
    return listed([f"{ends} at {listed(at)}" if at else ends for ends, at in texts.items()])


def _number_text(value: float) -> str:
    return f"{float(f'{value:.3g}'):,.12g}"


def choices_text(rows: Iterable[Row]) -> str:
    """Say for a caption how many choices went beyond their 24 points, and which end at an end."""
    made = [row for row in rows if row.get("n_extended") is not None]
    if not made:
        return ""
    longer = [row["n_extended"] for row in made if row["n_extended"]]
    beyond = f"{len(longer):,}" if longer else "none"
    text = f"Of {counted(len(made), 'choice')} {beyond} went beyond their grid"
    text += f", by at most {counted(max(longer), 'point')}" if longer else ""
    ends = Counter(row["model"] for row in made if row["at_end"])
    if not ends:
        return f"{text}, and all lie inside their paths."
    models = ", ".join(f"{name} {n}" for name, n in ends.most_common())
    return f"{text}; {sum(ends.values()):,} still lie at an end ({models})."


def ends_text(rows: Iterable[Row]) -> str:
    """Say for a caption how often CRFs choose the largest or the least of the papers' six constants."""
    ends, texts = (PRINTED_LAMS.values[0], PRINTED_LAMS.values[-1]), []
    for name, group in groups(rows, "model").items():
        if name in SIX_LAM:
            at_end = sum(
                dict(read_constants(row.get("chosen"))).get("lam") in ends for row in group
            )
            texts.append(f"{name}, {at_end} times in {len(group)}")
    return f"An end of the six was chosen by {listed(texts)}." if texts else ""


def shapes_text(rows: Iterable[Row]) -> str:
    """Say for a caption how often models with two constants chose each shape."""
    texts = []
    for name, group in groups(rows, "model").items():
        chosen = [dict(read_constants(row.get("chosen"))) for row in group]
        shapes = [next(iter(constants.items())) for constants in chosen if len(constants) > 1]
        counts = sorted(Counter(shapes).items())
        if counts:
            parts = ", ".join(f"{value:g} ({n})" for (_, value), n in counts)
            texts.append(f"{name} {counts[0][0][0]} = {parts}")
    return f"Shapes chosen, and how often: {'; '.join(texts)}." if texts else ""
