r"""The word *axi*: a structured problem so small that everything in it can be done on paper.

There are three letters and three labels (a, x and i), which makes 27 labellings.  Two functions look at
a labelling ``y`` of the word ``x``:

* The *ink* says how well each label fits the marks on the paper, added up over the letters.
* The *habit* counts the neighbours that follow each other in the usual order of this script: x after a,
  i after x, a after i.

These two numbers are the joint features :math:`f(x, y) \in R^2`, and the score of MEDN Eq. (1) is
:math:`F(x, y; w) = w_1 \cdot \mathrm{ink} + w_2 \cdot \mathrm{habit}`.  There are only two weights, so
margins, hinge losses, half-planes and priors can all be drawn in a plane.  The second letter of *axi* is
smudged and looks like an a, so without the habit the word is read as *aai*.

Two more words, *xia* and *iax*, make a training set of three.  The last one is so badly written that its
margins cost more than they are worth unless violations are expensive.

>>> from medn_edu.theory.axi import AXI, labelling_scores, text
>>> for habit in (0, 1):
...     scores = labelling_scores(AXI, [1, habit])
...     print(habit, text(AXI.labellings[scores.argmax()]), scores.max())
0 aai 8.0
1 axi 9.0
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from medn_edu.priors import Prior
from medn_edu.samples import LabelledSamples, label_samples, pack
from medn_edu.theory.medn import EnumeratedProblem, ShippedSlack

LETTERS = "axi"
"""The labels, in the order of their codes."""

HABIT = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]], dtype=float)
"""1 where the second label (column) likes to follow the first (row)."""

_LABELLINGS = np.array(list(itertools.product(range(3), repeat=3)))


@dataclass(frozen=True, eq=False)
class TinyWord:
    """A word of three letters."""

    word: str  # what was meant
    ink: np.ndarray  # how well each label (column) fits the marks of each letter (row)

    @property
    def true(self) -> np.ndarray:
        """Codes of the true labelling, shape (3,)."""
        return np.array([LETTERS.index(letter) for letter in self.word])

    @property
    def labellings(self) -> np.ndarray:
        """All labellings, shape (27, 3), in the order of the alphabet *axi*."""
        return _LABELLINGS.copy()

    @property
    def true_row(self) -> int:
        """Row of the true labelling in `labellings`."""
        return int(np.flatnonzero((self.true == _LABELLINGS).all(axis=1))[0])

    @property
    def losses(self) -> np.ndarray:
        """Hamming loss of every labelling, shape (27,)."""
        return (self.true != _LABELLINGS).sum(axis=1).astype(float)

    @property
    def features(self) -> np.ndarray:
        """Ink and habit of every labelling, shape (27, 2): the joint features ``f(x, y)``."""
        ink = self.ink[np.arange(3), _LABELLINGS].sum(axis=1)
        habit = HABIT[_LABELLINGS[:, :-1], _LABELLINGS[:, 1:]].sum(axis=1)
        return np.column_stack([ink, habit])

    @property
    def differences(self) -> np.ndarray:
        """``f(x, y^i) - f(x, y)`` of every labelling, shape (27, 2)."""
        features = self.features
        return features[self.true_row] - features

    def marginals(self, probabilities: np.ndarray) -> np.ndarray:
        """Return the probability of each label at each letter, by summing over labellings.

        Half *axi* and half *aai*:

        >>> AXI.marginals([text(y) in ("axi", "aai") for y in AXI.labellings]) / 2
        array([[1. , 0. , 0. ],
               [0.5, 0.5, 0. ],
               [0. , 0. , 1. ]])
        """
        chosen = _LABELLINGS[:, :, None] == np.arange(len(LETTERS))
        return np.einsum("y,yta->ta", np.asarray(probabilities, dtype=float), chosen)


def _word(word: str, *ink: Sequence[float]) -> TinyWord:
    return TinyWord(word, np.array(ink, dtype=float))


AXI = _word("axi", (3, 1, 0), (2, 1, 0), (0, 1, 3))
"""The word of the course."""

WORDS = (
    AXI,
    _word("xia", (0, 3, 1), (0, 2, 1), (2, 1, 0)),
    _word("iax", (0, 1, 2), (1, 0, 1), (2, 2, 0)),
)
"""The training set of three words; the first is `AXI`."""


def text(labels: Sequence[int] | np.ndarray) -> str:
    """Return a labelling as letters."""
    return "".join(LETTERS[code] for code in labels)


def labelling_scores(word: TinyWord, w: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return the score of every labelling, MEDN Eq. (1)."""
    return word.features @ np.asarray(w, dtype=float)


def axi_problem(
    prior: Prior, slack: ShippedSlack, words: Sequence[TinyWord] = WORDS
) -> EnumeratedProblem:
    """Return P1 of MEDN on tiny words, with both weights under one prior."""
    return EnumeratedProblem(
        sample=np.repeat(np.arange(len(words)), len(_LABELLINGS)),
        labellings=[labels for word in words for labels in word.labellings],
        differences=np.concatenate([word.differences for word in words]),
        losses=np.concatenate([word.losses for word in words]),
        sample_weight=np.ones(len(words)),
        prior=prior,
        slack=slack,
    )


def axi_samples(words: Sequence[TinyWord] = WORDS) -> LabelledSamples:
    """Return words as a training set for the package's solvers; each label has its own weights.

    The features are the ink: three columns of marks.  With three labels, and a weight for every pair of
    neighbouring labels, this makes 18 weights, while `axi_problem` has two.
    """
    labels = np.concatenate([word.true for word in words])
    allowed = np.ones((1, len(LETTERS), len(LETTERS)), dtype=bool)
    return label_samples(pack([word.ink for word in words]), labels, allowed)
