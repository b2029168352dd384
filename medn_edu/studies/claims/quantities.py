"""What findings may ask of the tables: the methods of `Quantities`.

Errors are in per cent of labels, differences of errors in points.  What a table lacks is a
`LookupError`, and the finding is not shown.
"""

import fnmatch
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from medn_edu.intervals import deviation
from medn_edu.studies.claims.algorithms import CHAINS, algorithm_rows
from medn_edu.studies.claims.claim import NAMES
from medn_edu.studies.claims.judging import Judgement, Tables
from medn_edu.studies.claims.rules import Row, mean_of, rule_of
from medn_edu.studies.claims.scores import Scores, scores_of, total
from medn_edu.studies.claims.verdicts import Verdict
from medn_edu.studies.claims.weights import (
    GROUP,
    N_RELEVANT,
    PARTS,
    average_weights,
    contrast_distance,
    true_weights,
)

_GROUPS = "synthetic-correlated"


class Quantities:
    """Functions of the tables, for the numbers of findings."""

    NAMES: tuple[str, ...]

    def __init__(self, tables: Tables, judged: Mapping[str, Judgement]) -> None:
        self._tables = tables
        self._judged = judged
        self._scores: dict[tuple[str, str, str], Scores] = {}

    def all(self) -> dict[str, Callable[..., Any]]:
        """Return the functions by name."""
        return {name: getattr(self, name) for name in self.NAMES}

    def _scores_of(self, study: str, against: str = "n_train", data: str = "") -> Scores:
        if (key := (study, against, data)) not in self._scores:
            rows = [row for row in self._tables[study] if data in ("", row["data"])]
            self._scores[key] = scores_of(rows, against=against)
        return self._scores[key]

    # errors

    def compared(self, study: str, ending: str = "") -> list[str]:
        """Return the models of the fair protocol that a table has, where names end like that."""
        from medn_edu.studies.kit.fair import FAIR_MODELS  # which imports all models

        trained = {row["model"] for row in self._tables[study]}
        return _some([name for name in FAIR_MODELS if name + ending in trained])

    def error(
        self, study: str, model: str, *, relevant: int | None = None, size: float | None = None
    ) -> float:
        """Return the mean over settings of a model's mean error."""
        means = [
            mean_of(units)
            for (n_relevant, n_train), units in self._scores_of(study)[model].items()
            if relevant in (None, n_relevant) and size in (None, n_train)
        ]
        return self.mean(means)

    def gap(self, study: str, worse: str, better: str, *, relevant: int | None = None) -> float:
        """Return how many points a model errs more than another one, on average."""
        ours, theirs = (self.error(study, name, relevant=relevant) for name in (worse, better))
        return ours - theirs

    def sizes(self, study: str, first: str, second: str) -> list[float]:
        """Return the sizes of training sets at which both models were trained."""
        scores = self._scores_of(study)
        return sorted({size for _, size in scores[first]} & {size for _, size in scores[second]})

    def gaps(self, study: str, worse: str, better: str) -> list[float]:
        """Return how many points a model errs more than another one, at each of these sizes."""
        return [
            self.error(study, worse, size=size) - self.error(study, better, size=size)
            for size in self.sizes(study, worse, better)
        ]

    def deviation_left(self, study: str, model: str) -> float:
        """Return the deviation over folds with most training data, relative to that with least."""
        sizes = sorted(scores := self._scores_of(study)[model])
        before, after = (
            deviation([total(score) for score in scores[size].values()])
            for size in (sizes[0], sizes[-1])
        )
        if not before or after is None or len(sizes) < 2:
            raise LookupError(f"too few folds or sizes of {model}, or no deviation")
        return after / before

    def n_folds(self, study: str, model: str) -> int:
        """Return how many folds there are with least training data, or with most."""
        sizes = sorted(scores := self._scores_of(study)[model])
        return min(len(scores[sizes[0]]), len(scores[sizes[-1]]))

    def by_constant(self, study: str, model: str, data: str = "") -> dict[float, float]:
        """Return a model's mean errors on some data by its constant, which grows."""
        scores = self._scores_of(study, "constant", data)[model]
        return {constant: mean_of(units) for (_, constant), units in sorted(scores.items())}

    # columns

    def column(self, study: str, name: str, model: str = "*", data: str = "*") -> list[Any]:
        """Return the values of a column, of a model and of data whose names are like that."""
        return _some(
            [
                row[name]
                for row in self._tables[study]
                if row.get(name) is not None
                and fnmatch.fnmatchcase(row.get("model", ""), model)
                and fnmatch.fnmatchcase(row.get("data", ""), data)
            ]
        )

    def verdict(self, study: str, **fields: Any) -> Verdict:
        """Return the verdict of a rule, which is written as in ``claims.toml``."""
        verdict = rule_of(fields, NAMES).decide(self._tables[study])
        if verdict.effect is None:
            raise LookupError(verdict.note)
        return verdict

    def verdicts(self, study: str, ending: str = "", **fields: Any) -> dict[str, Verdict]:
        """Return that about each model of the fair protocol of which the table has enough."""
        models = {name: name + ending for name in self.compared(study, ending)}
        rules = {
            name: rule_of({**fields, "models": model}, NAMES) for name, model in models.items()
        }
        found = {name: rule.decide(self._tables[study]) for name, rule in rules.items()}
        return {name: each for name, each in found.items() if each.effect is not None}

    def judged(self, claim: str, reading: str = "") -> Verdict:
        """Return the verdict on a claim under a reading, or under the one that the page shows."""
        found = self._judged[claim]
        verdict = found.readings[reading] if reading else found.shown
        if verdict.effect is None:
            raise LookupError(verdict.note)
        return verdict

    # algorithms

    def fits(self, algorithm: str, data: str) -> list[Row]:
        """Return means over folds of an algorithm, a row for each constant, which grows."""
        return _some(algorithm_rows(self._tables["l1m3n-algorithms"], algorithm, data))

    def times(self, algorithm: str, data: str) -> list[float]:
        """Return the processor seconds of these."""
        return [row["cpu_seconds"] for row in self.fits(algorithm, data)]

    def off_counts(self, algorithm: str) -> list[tuple[int, str, float]]:
        """Return how far counts are from those printed, of what weights and where, largest first."""
        apart = [
            (row[kind] - row[f"paper_{kind}"], words, row["printed"])
            for row in self.fits(algorithm, CHAINS)
            for kind, words in (("irrelevant", "irrelevant weights"), ("total", "all weights"))
        ]
        return sorted(apart, key=lambda item: -abs(item[0]))

    # weights

    def _average(self, model: str) -> np.ndarray:
        weights = average_weights(self._tables[_GROUPS], model)
        if weights is None:
            raise LookupError(f"no weights of {model}")
        return np.asarray(weights.mean(axis=0))

    def weights(self, model: str) -> np.ndarray:
        """Return the average weights of relevant features."""
        return self._average(model)[:, :N_RELEVANT].ravel()

    def sums(self, model: str) -> np.ndarray:
        """Return label 1's weights minus label 0's, summed over the copies of each relevant value."""
        average = self._average(model)[:, :N_RELEVANT]
        return np.asarray((average[1] - average[0]).reshape(-1, GROUP).sum(axis=1))

    def size(self, model: str, part: str) -> float:
        """Return the mean size of average weights, of relevant, irrelevant or all features."""
        return float(self.all_sizes(model, part).mean())

    def all_sizes(self, model: str, part: str = "all") -> np.ndarray:
        """Return these sizes themselves."""
        return np.abs(self._average(model)[:, PARTS[part]]).ravel()

    def zeros(self, model: str) -> list[int]:
        """Return how many weights are zero in each single fit, fewest first."""
        weights = average_weights(self._tables[_GROUPS], model)
        return sorted(int((fit == 0).sum()) for fit in _some(() if weights is None else weights))

    def n_large(self, model: str, share: float) -> int:
        """Return how many average weights are a part of the largest, or more."""
        sizes = np.abs(self._average(model))
        return int((sizes >= share * sizes.max()).sum())

    def from_truth(self, model: str, *, contrasts: bool = False) -> float:
        """Return how far average weights are from the true ones, in per cent; or what data teach."""
        truth = true_weights(int(self._tables[_GROUPS][0].get("seed") or 0))
        average = self._average(model)
        if contrasts:
            return contrast_distance(average, truth)
        return 100 * float(np.linalg.norm(average - truth) / np.linalg.norm(truth))

    # of what the others return

    @staticmethod
    def mean(values: Sequence[float]) -> float:
        """Return the mean."""
        return float(np.mean(_some(values)))

    @staticmethod
    def median(values: Sequence[float]) -> float:
        """Return the median."""
        return float(np.median(_some(values)))

    @staticmethod
    def correlation(first: np.ndarray, second: np.ndarray) -> float:
        """Return the correlation."""
        return float(np.corrcoef(first, second)[0, 1])

    @staticmethod
    def best(fits: Sequence[Row]) -> Row:
        """Return the row with the smallest error."""
        return min(fits, key=lambda row: row["error"])

    @staticmethod
    def worst(fits: Sequence[Row]) -> Row:
        """Return the row with the largest error."""
        return max(fits, key=lambda row: row["error"])

    @staticmethod
    def span(fits: Sequence[Row]) -> float:
        """Return how many points more the worst of them errs than the best."""
        errors = [row["error"] for row in fits]
        return 100 * float(max(errors) - min(errors))

    @staticmethod
    def slowest(fits: Sequence[Row]) -> Row:
        """Return the row with the longest time."""
        return max(fits, key=lambda row: row["cpu_seconds"])

    @staticmethod
    def rises(values: Sequence[float]) -> bool:
        """Say whether there are several values, none of which is below the one before."""
        return len(values) > 1 and list(values) == sorted(values)

    @staticmethod
    def trend(times: Sequence[float]) -> float:
        """Return the rank correlation of times with the constants, which grow along the list."""
        if len(times) < 3:
            raise LookupError("too few constants for a trend")
        return float(np.corrcoef(np.argsort(np.argsort(times)), range(len(times)))[0, 1])

    @staticmethod
    def lowest(errors: Mapping[float, float]) -> float:
        """Return the constant with the smallest error."""
        return min(errors, key=errors.__getitem__)


Quantities.NAMES = tuple(
    name for name in vars(Quantities) if not name.startswith("_") and name not in ("NAMES", "all")
)


def _some(values: Any) -> Any:
    if not len(values):
        raise LookupError("nothing there")
    return values
