"""The chapters of the course: the one list from which maps, navigation, routes and guides are made.

A chapter is a notebook, named ``NN-slug.ipynb``.  Notation and errata, in which readers look things up,
have no number.  Text elsewhere names chapters by their slugs, because numbers may move.
"""

from dataclasses import dataclass

REPOSITORY = "medn-edu/medn_edu"
"""Owner and name on GitHub, from which Binder builds the course and Pages serves the book.

Whoever moves the repository changes it here and runs `python -m medn_edu.course.build`.
"""


@dataclass(frozen=True)
class Chapter:
    """One notebook of the course."""

    slug: str
    number: int | None  # None for what is no lesson
    minutes: int
    assumes: tuple[str, ...]  # slugs of the chapters it builds on
    afterwards: str  # what the learner can do then; goes on after "you can"

    @property
    def file(self) -> str:
        """Name of the notebook."""
        place = "" if self.number is None else f"{self.number:02d}-"
        return f"{place}{self.slug}.ipynb"


CHAPTERS = (
    Chapter(
        "start-here", 0, 20, (),
        "run a notebook, train on real handwriting, and say what goes wrong with few training words",
    ),
    Chapter(
        "structured-prediction", 1, 40, ("start-here",),
        "score a three-letter word, run Viterbi on paper, say what a margin is",
    ),
    Chapter(
        "two-losses", 2, 45, ("structured-prediction",),
        "go from logistic regression to a CRF and to M3N, and write down M3N's dual",
    ),
    Chapter(
        "toolbox", 3, 40, ("two-losses",),
        "tilt a distribution; read a log moment generating function, its slope and its conjugate",
    ),
    Chapter(
        "medn", 4, 40, ("two-losses", "toolbox"),
        "derive the MaxEnDNet: P1, Theorem 2 and the dual D1",
    ),
    Chapter(
        "shrinkage", 5, 35, ("medn",),
        "predict what a prior does to the weights, tell its scale from its shape, and define your own",
    ),
    Chapter("kl-norm", 6, 35, ("shrinkage",), "tell pseudo-sparsity from sparsity"),
    Chapter(
        "variational", 7, 35, ("medn", "kl-norm"), "write the papers' Algorithm 1 and say what it bounds"
    ),
    Chapter(
        "exact", 8, 35, ("medn", "variational"),
        "solve the exact dual by Frank–Wolfe steps and read a duality gap",
    ),
    Chapter(
        "l1-m3n", 9, 40, ("kl-norm", "exact"),
        "compare four algorithms for sparse weights and say what proves that a weight is zero",
    ),
    Chapter("epsilon", 10, 35, ("two-losses", "exact"), "see CRF and M3N as the two ends of one curve"),
    Chapter(
        "pac-bayes", 11, 35, ("medn",),
        "compute Theorem 8's bound, say why it is vacuous, and find one that isn't",
    ),
    Chapter(
        "synthetic-study", 12, 40, ("l1-m3n",),
        "design a fair comparison of models and read a study's tables critically",
    ),
    Chapter(
        "ocr-study", 13, 40, ("l1-m3n",),
        "train on handwritten letters; read errors, over-fitting, weights, and what the data hide",
    ),
    Chapter(
        "trees", 14, 40, ("structured-prediction", "two-losses"),
        "run max-product on a tree, label web pages and parse trees, and say when a tree is worth it",
    ),
    Chapter(
        "loopy", 15, 45, ("two-losses", "epsilon"),
        "run messages on a grid, say what counting numbers do, and train on graphs with cycles",
    ),
    Chapter(
        "your-data", 16, 40, ("ocr-study",),
        "bring text or other sequences of your own, split, fit, tune, add rules, save; do the capstone",
    ),
    Chapter(
        "verdict", 17, 15, ("ocr-study",),
        "say which of the papers' headline claims hold, by how much, and what to try first",
    ),
    Chapter("notation", None, 5, (), "look up a symbol or a word, and the chapter that explains it"),
    Chapter(
        "errata", None, 15, ("medn",),
        "check the papers' slips numerically, without taking our word for it",
    ),
)  # fmt: skip
"""All chapters, in reading order."""


@dataclass(frozen=True)
class Route:
    """A way through the course for a certain time."""

    name: str
    hours: int  # discussions and breaks included
    slugs: tuple[str, ...]


ROUTES = (
    Route("workshop", 2, ("start-here", "structured-prediction", "shrinkage")),
    Route(
        "one week", 6,
        (
            "start-here", "structured-prediction", "two-losses", "toolbox", "medn", "shrinkage",
            "ocr-study",
        ),
    ),
    Route("full course", 14, tuple(each.slug for each in CHAPTERS if each.number is not None)),
)  # fmt: skip
"""The routes a lecturer may take."""


def chapter(slug: str) -> Chapter:
    """Return the chapter with a given name."""
    for each in CHAPTERS:
        if each.slug == slug:
            return each
    known = ", ".join(each.slug for each in CHAPTERS)
    raise ValueError(f"there is no chapter {slug!r}; the course has {known}.")


def binder_link(file: str) -> str:
    """Return the address that opens a notebook on Binder."""
    return f"https://mybinder.org/v2/gh/{REPOSITORY}/HEAD?urlpath=lab/tree/notebooks/{file}"


def book_link() -> str:
    """Return the address of the book."""
    owner, name = REPOSITORY.split("/")
    return f"https://{owner}.github.io/{name}/"
