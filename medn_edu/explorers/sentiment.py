"""A sentence as a parse tree with the sentiment of each phrase, and how one word reverses it.

The model behind it is kept as simple as possible.  A word knows only itself.  A longer phrase has no
features at all, so it knows only what its neighbours in the tree tell it through the edges.  The type of
an edge says whether the sibling holds a word such as "not" or "but".
"""

import warnings
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from medn_edu.datasets import make_opinions
from medn_edu.estimators import M3N
from medn_edu.explorers.kit import palette
from medn_edu.explorers.kit.controls import Check, Choice, Time
from medn_edu.explorers.kit.explorer import Exhibit, Explorer, Lesson
from medn_edu.explorers.kit.style import INK, MUTED, SIGNED, new_figure, styled
from medn_edu.explorers.kit.trees import step_text, tree_places
from medn_edu.inference import node_potentials
from medn_edu.samples import Forest, pack
from medn_edu.text import Parse, PhraseFeatures, SequenceVectorizer
from medn_edu.text.phrases import CUES
from medn_edu.theory.reference import Tree, max_product

SIGNS = ("−−", "−", "0", "+", "++", "?")
"""The five classes, from very negative to very positive, and a sign for none of them."""

_NAMES = ("very negative", "negative", "neutral", "positive", "very positive", "undecided")
_COLOURS = (*(SIGNED(share) for share in (0.08, 0.33, 0.5, 0.67, 0.9)), "white")
_INKS = ("white", INK, INK, INK, "white", INK)
_N_CLASSES, _NEUTRAL = 5, 2
_WIDTH = 8.6
_MOST_ROOM = 8.2  # inches for the words of a sentence that is shown
_WIDEST = 2.4  # how far the words of a short sentence move apart
_N_POOL = 200  # sentences that are kept from training, so that some of them can be shown
_N_EDGE_TYPES = 16


@dataclass(frozen=True, eq=False)
class SentimentFrame:
    """A sentence, and the best label of each phrase given what is known after a number of steps."""

    parse: Parse
    labels: np.ndarray  # codes, 0 to 4, or 5 where nothing is known
    now: int = -1  # the phrase that is computed in this step

    @property
    def root(self) -> int:
        """The label of the whole sentence."""
        return int(self.labels[0])


@dataclass(frozen=True, eq=False)
class _Model:
    """A trained model, and what makes samples of its sentences."""

    phrases: PhraseFeatures
    vectorizer: SequenceVectorizer
    network: M3N

    def film(self, parse: Parse) -> list[SentimentFrame]:
        """Return what is known at the start, on the way up to each longer phrase, and in the end."""
        with warnings.catch_warnings():  # words that training does not have
            warnings.simplefilter("ignore")
            samples = pack(self.vectorizer.transform(_forests(self.phrases, [parse]))).forests
        node = node_potentials(samples, self.network.coef_)
        edge = np.zeros((_N_EDGE_TYPES, node.shape[1], node.shape[1]))
        trained = self.network.transitions_
        edge[: len(trained)] = trained
        up, down = max_product(Tree.of(samples, node, edge, 0))
        is_word = np.array([parse.is_word(t) for t in range(parse.n_nodes)])
        labels = np.where(is_word, up.argmax(axis=1), _N_CLASSES)
        frames = [SentimentFrame(parse, labels)]
        for t in reversed(np.flatnonzero(~is_word).tolist()):
            labels = labels.copy()
            labels[t] = up[t].argmax()
            frames.append(SentimentFrame(parse, labels, t))
        return [*frames, SentimentFrame(parse, down.argmax(axis=1))]

    def root(self, parse: Parse) -> int:
        """Return the label of a whole sentence."""
        return self.film(parse)[-1].root


def _forests(phrases: PhraseFeatures, X: Sequence[Parse]) -> list[Forest]:
    """Return trees in which a word has itself as its only feature, and longer phrases have none."""
    return [
        replace(
            forest,
            features=[
                [parse.phrase(node).lower()] if parse.is_word(node) else []
                for node in range(parse.n_nodes)
            ],
        )
        for parse, forest in zip(X, phrases.transform(X), strict=True)
    ]


def _train(X: Sequence[Parse], y: Sequence[Sequence[Hashable]]) -> _Model:
    phrases, vectorizer = PhraseFeatures().fit(X, y), SequenceVectorizer()
    samples = vectorizer.fit_transform(_forests(phrases, X))
    return _Model(phrases, vectorizer, M3N(C=10.0, verbose=0).fit(samples, y))


# -- a sentence without one of its words ------------------------------------------------------------


def without(parse: Parse, word: int) -> Parse:
    """Return a tree without one of its words, whose sibling takes the place of their phrase.

    A "but" becomes an "and", because no sentence has two clauses with nothing between them.
    """
    at, parent = parse.spans[word][0], parse.parents[word]
    if parse.phrase(word).lower() == "but":
        return parse._replace(words=(*parse.words[:at], "and", *parse.words[at + 1 :]))
    if parent < 0:
        raise ValueError(
            f"{parse.words[0]!r} is the only word; expected a sentence of two or more."
        )
    gone = {word, parent} if len(parse.children()[parent]) == 2 else {word}
    kept = [node for node in range(parse.n_nodes) if node not in gone]
    number = {node: k for k, node in enumerate([-1, *kept], -1)}
    above = [parse.parents[node] for node in kept]
    return Parse(
        parse.words[:at] + parse.words[at + 1 :],
        tuple(number[parse.parents[node] if node in gone else node] for node in above),
        tuple(
            (start - (start > at), end - (end > at))
            for start, end in map(parse.spans.__getitem__, kept)
        ),
    )


def _cues(parse: Parse) -> list[tuple[int, int]]:
    """Return the words of a sentence that change what their sibling says, each with its group."""
    return [
        (node, group)
        for node in range(parse.n_nodes)
        for group, words in enumerate(CUES)
        if node > 0 and parse.is_word(node) and parse.phrase(node).lower() in words
    ]


@dataclass(frozen=True, eq=False)
class _Shown:
    """A sentence that is shown, its true labels, and the word that can be left out."""

    parse: Parse
    true: list[int]
    word: int

    @property
    def text(self) -> str:
        return " ".join(self.parse.words)

    @property
    def cue(self) -> str:
        return self.parse.phrase(self.word)


def _choose(model: _Model, pool: dict[Parse, list[int]]) -> list[_Shown]:
    """Return a negative and a positive sentence for each group of cues.

    They are those whose label changes most without the cue; of equal ones, those that hold more signs.
    """
    best: dict[tuple[int, bool], tuple[tuple[int, int], _Shown]] = {}
    for parse, true in pool.items():
        cues, root = _cues(parse), model.root(parse)
        if len(cues) != 1 or root != true[0] or root == _NEUTRAL:
            continue
        [(word, group)] = cues
        change = abs(root - model.root(without(parse, word)))
        n_signs = len(set(np.sign(np.subtract(true, _NEUTRAL))))
        rank, place = (change, n_signs), (group, root > _NEUTRAL)
        if change and (place not in best or rank > best[place][0]):
            best[place] = rank, _Shown(parse, true, word)
    return [best[place][1] for place in sorted(best)]


# -- the drawing ------------------------------------------------------------------------------------

_ROW = 0.46  # inches from a phrase to one above it


def _columns(parse: Parse) -> np.ndarray:
    """Return the inches that each word takes."""
    return np.array([max(0.45, 0.1 * len(word) + 0.14) for word in parse.words])


def _places(parse: Parse) -> np.ndarray:
    """Return where the phrases are drawn, in inches."""
    columns = _columns(parse)
    places = tree_places(parse.parents, [columns[start] for start, _ in parse.spans], _ROW)
    return places * [min(_WIDEST, _MOST_ROOM / columns.sum()), 1.0]


def _draw_tree(ax: Axes, most: int, height: float) -> Callable[[SentimentFrame, bool, int], None]:
    """Draw room for the phrases of a sentence; a word may be marked, by the number of its node."""
    box = {"boxstyle": "round,pad=0.25", "ec": MUTED, "lw": 0.8}
    look: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 10, "fontweight": "bold"}
    slots = []
    for _ in range(most):
        (line,) = ax.plot([], [], "-", zorder=0)
        sign = ax.text(0, 0, "", bbox=dict(box), zorder=3, **look)
        word = ax.text(0, 0, "", ha="center", va="center", fontsize=11)
        slots.append((line, sign, word))
    (mark,) = ax.plot([], [], "-", color=INK, lw=2)
    for k in range(_N_CLASSES):
        x = (k - 2) * 1.65 - 0.6
        ax.text(x, -0.95, SIGNS[k], bbox=box | {"fc": _COLOURS[k]}, color=_INKS[k], **look)
        name = _NAMES[k].replace(" ", "\n")  # for narrow screens
        ax.text(x + 0.3, -0.95, name, va="center", fontsize=9, color=MUTED)
    ax.set(xlim=(-_WIDTH / 2, _WIDTH / 2), ylim=(-1.2, height + 0.25), aspect="equal")
    ax.set_axis_off()

    def show(frame: SentimentFrame, edges: bool, marked: int) -> None:
        parse, places = frame.parse, _places(frame.parse)
        places[:, 1] *= height / max(places[0, 1], _ROW)
        mark.set_data([], [])
        for node, (line, sign, word) in enumerate(slots):
            here = node < parse.n_nodes
            for artist in (line, sign, word):
                artist.set_visible(here)
            if not here:
                continue
            (x, y), code, parent = places[node], frame.labels[node], parse.parents[node]
            above = places[max(parent, 0)]
            line.set_data([x, above[0]], [y, above[1]])
            heard = edges and frame.now >= 0 and parent == frame.now
            line.set(color=palette.ORANGE if heard else palette.GREY, linewidth=4 if heard else 1.8)
            line.set_linestyle("-" if edges else ":")
            sign.set(position=(x, y), text=SIGNS[code], color=_INKS[code])
            hears = edges and node == frame.now
            sign.get_bbox_patch().set(facecolor=_COLOURS[code], linewidth=2.4 if hears else 0.8)
            word.set(position=(x, y - 0.36), text=parse.phrase(node) if parse.is_word(node) else "")
            word.set_fontweight("bold" if node == marked else "normal")
            if node == marked:
                half = 0.05 * len(parse.phrase(node)) + 0.04
                mark.set_data([x - half, x + half], [y - 0.53, y - 0.53])

    return show


# -- sentence, lessons, controls --------------------------------------------------------------------

_Films = dict[tuple[str, bool], list[SentimentFrame]]  # by sentence, and whether its word is there


def _frame_of(films: _Films, step: int, sentence: str, word: bool, edges: bool) -> SentimentFrame:
    film = films[sentence, word]
    return film[min(step, len(film) - 1)] if edges else film[0]


_CAPTION = (
    "A sentence as a tree of phrases. Each phrase shows the label that is best given the words below "
    "it, and a question mark means that nothing is known yet. From step 1 on, orange edges carry the "
    "messages of the step. Step through them and watch where the label at the top comes from."
)


def sentiment(
    X: Sequence[Parse] | None = None, y: Sequence[Sequence[Hashable]] | None = None
) -> Explorer:
    """Return an explorer of sentences whose sentiment hangs on one word, such as "not".

    Some short sentences are kept from training.  Of those that the model labels right, the explorer
    shows the ones that change most without their *not*, *but* or *very*: a negative and a positive
    sentence for each of the three.

    Parameters
    ----------
    X : sequence of Parse, optional
        Parse trees, as `medn_edu.text.read_parse` returns and `medn_edu.datasets.load_sst` holds;
        without any, those of `medn_edu.datasets.make_opinions`.
    y : sequence of label sequences, optional
        A list for each tree, with a label for each phrase.  There must be five different labels, which
        from the smallest to the largest mean very negative to very positive.

    Returns
    -------
    Explorer
        The explorer: its time is ``step``, on the way up from words to the whole; ``sentence`` is the
        text shown, ``word`` whether its word is there, and ``edges`` whether phrases are told anything.

    Raises
    ------
    TypeError, ValueError
        If X holds something else than Parse, y does not fit it, there are not five labels, only one of
        X and y is given, or no sentence can be shown.
    """
    shown, model = prepared(X, y)
    films = {
        (each.text, word): model.film(each.parse if word else without(each.parse, each.word))
        for each in shown.values()
        for word in (True, False)
    }
    most = max(each.parse.n_nodes for each in shown.values())
    height = max(_places(each.parse)[0, 1] for each in shown.values())
    figure = new_figure(_WIDTH, height + 2.0)
    with styled():
        ax = figure.add_subplot()
        title = ax.set_title(" ", pad=4)
        show = _draw_tree(ax, most, height)

    def update(step: int, sentence: str, word: bool, edges: bool) -> str:
        frame, each = _frame_of(films, step, sentence, word, edges), shown[sentence]
        n_steps = len(films[sentence, word]) - 1
        show(frame, edges, each.word if word else -1)
        how = (
            f"{'with' if word else 'without'} “{each.cue}”, {'with' if edges else 'without'} edges"
        )
        at = step_text(step, n_steps)
        title.set_text(f"{how[0].upper()}{how[1:]}, {at}")
        # said in the end only: where the reader is still to guess, it would be the answer
        truth = f" (truth: {_NAMES[each.true[0]]})" if word and step >= n_steps else ""
        n_signed = int(np.isin(frame.labels, (0, 1, 3, 4)).sum())
        return (
            f"S{at[1:]}, {how}: “{' '.join(frame.parse.words)}” is "
            f"{_NAMES[frame.root]}{truth}; {n_signed} of {len(frame.labels)} phrases are positive or "
            "negative."
        )

    def alt(step: int, sentence: str, word: bool, edges: bool) -> str:
        frame = _frame_of(films, step, sentence, word, edges)
        signs = [
            f"{frame.parse.phrase(node)}: {_NAMES[label]}"
            for node, label in enumerate(frame.labels)
            if not frame.parse.is_word(node)
        ]
        return (
            f"A parse tree of {len(frame.labels)} phrases. Those of two words or more, so far: "
            f"{'; '.join(signs)}."
        )

    last = max(map(len, films.values())) - 1
    return Explorer(
        figure,
        update,
        alt,
        caption=_CAPTION,
        lessons=_lessons(shown, films, last),
        name="sentiment",
        step=Time(0, last, 1, 0, label="step", per_second=2),
        sentence=Choice(list(shown), label="sentence"),
        word=Check(True, label="keep the underlined word"),
        edges=Check(True, label="with edges"),
    )


def prepared(X: Any, y: Any) -> tuple[dict[str, _Shown], _Model]:
    """Return the sentences that are shown, by their texts, and a model that has not seen them."""
    if (X is None) != (y is None):
        raise ValueError("sentiment needs trees X with labels y, or neither of them.")
    if X is None:
        opinions = make_opinions(1200)
        X, y = opinions.data, opinions.target
    else:
        PhraseFeatures().fit(X, y)  # which says what is wrong with them
    classes: list[Any] = sorted({label for labels in y for label in labels})
    if len(classes) != _N_CLASSES:
        raise ValueError(
            f"y has {len(classes)} labels; expected 5, from very negative to very positive."
        )
    fits = [i for i, parse in enumerate(X) if _cues(parse) and _columns(parse).sum() < _MOST_ROOM]
    pool = {X[i]: [classes.index(label) for label in y[i]] for i in fits[:_N_POOL]}
    rest = [i for i, parse in enumerate(X) if parse not in pool]  # some sentences come twice
    model = _train([X[i] for i in rest], [y[i] for i in rest])
    shown = _choose(model, pool)
    if not shown:
        raise ValueError(
            "X has no sentence to show; expected short ones whose label depends on a word such as "
            '"not".'
        )
    return {each.text: each for each in shown}, model


def _lessons(shown: dict[str, _Shown], films: _Films, last: int) -> list[Lesson]:
    """Return what edges do, and what the first word of each group does."""

    def nothing_known(step: int, sentence: str, word: bool, edges: bool) -> bool:
        frame = _frame_of(films, step, sentence, word, edges)
        return frame.root == _N_CLASSES

    def turns(step: int, sentence: str, word: bool, edges: bool) -> bool:
        frame = _frame_of(films, step, sentence, word, edges)
        known = np.where(frame.labels == _N_CLASSES, _NEUTRAL, frame.labels) - _NEUTRAL
        parents = np.array(frame.parse.parents)
        return bool((known * known[parents] < 0)[parents >= 0].any())

    def changes(step: int, sentence: str, word: bool, edges: bool) -> bool:
        frame = _frame_of(films, step, sentence, word, edges)
        return frame.root not in (_N_CLASSES, films[sentence, not word][-1].root)

    first = next(iter(shown))
    move = {"step": last, "sentence": first, "word": True, "edges": True}
    fact = "Without edges only words have a sentiment. Nothing is known about longer phrases."
    lessons = [Lesson(move | {"edges": False}, fact, nothing_known)]
    if turns(last, first, True, True):
        fact = "On the way up the sign flips: a phrase gets the opposite sign of one of its parts."
        lessons.append(Lesson(move, fact, turns))
    cues: set[str] = set()
    for text, each in shown.items():
        if each.cue not in cues and len(lessons) < 5:
            cues.add(each.cue)
            fact = f"Without “{each.cue}” the whole sentence gets a different label."
            lessons.append(Lesson(move | {"sentence": text, "word": False}, fact, changes))
    return lessons


EXHIBIT = Exhibit("How “not” turns a sentence round", "trees", sentiment, 1)
