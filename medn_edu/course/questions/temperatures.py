"""Questions of chapters 10 to 15: temperatures, bounds, studies, trees and loopy graphs."""

from medn_edu.course.questions.question import Question, nearest

# -- epsilon ---------------------------------------------------------------------------------------


def _cold() -> int:
    from medn_edu.explorers.softening import softening_frame

    cold = softening_frame(0.0, 0.75, with_loss=False)
    warm, hinge = softening_frame(1.0, 0.75, with_loss=False), softening_frame(0.0, 0.75)
    return nearest(cold.loss, warm.loss, hinge.loss, 0)


predict_cold = Question(
    asks="Take the Hamming loss away, and set the weight of habit to 0.75. Then axi is ahead of every "
    "other labelling, but only just. At ε = 1 the loss is the CRF's. What is it at ε = 0?",
    choices=(
        "Still the CRF's log-loss",
        "M3N's hinge, because the lead of axi is smaller than the margins that M3N wants",
        "Exactly 0",
    ),
    right=_cold,
    look="Untick the Hamming loss, set the weight to 0.75 and cool down to 0. Then tick it again, and "
    "see which labelling has all the probability at the end.",
    because="Without the Hamming loss nothing demands a margin. What's left is the perceptron's loss, "
    "which is 0 as soon as the truth is ahead.",
)

# -- pac-bayes -------------------------------------------------------------------------------------


def _longer() -> int:
    from medn_edu.explorers.pac_bayes import PAPERS, Setting, terms_frame

    short, long = (
        terms_frame(1_000_000, Setting(10.0, 0.1, letters, 0.05, PAPERS)).speaks_from
        for letters in (3, 6)
    )
    ratio = long / short
    return 3 if ratio < 1.95 else nearest(ratio, 26**3, 4, 2)


predict_longer = Question(
    asks="Words become twice as long, so the number of labellings is squared. How many training words "
    "does it take now before the bound falls below 1?",
    choices=("26³ times as many", "Four times as many", "Twice as many", "Less than twice as many"),
    right=_longer,
    look="Move the letters from 3 to 6, and watch the dotted line. Then halve the margin instead, and "
    "compare.",
    because="Only the logarithm of the number of labellings enters, in the paper's m. Squaring the "
    "number doubles this logarithm. But ln N, which is also in m, hardly changes.",
)

# -- synthetic-study -------------------------------------------------------------------------------


def _paired() -> int:
    from medn_edu.studies.browser import _iid_place
    from medn_edu.studies.kit.model_errors import study_errors
    from medn_edu.studies.kit.stored import stored_rows

    rows = [row for row in stored_rows("synthetic-iid") if row["data"] == "iid-10-50"]
    study = study_errors(rows, _iid_place)
    alone, less = study.interval(10, 50, "L1-CRF"), study.interval(10, 50, "L1-CRF", "M3N")
    assert alone is not None
    assert less is not None
    ratio = less.half / alone.half
    return 0 if ratio > 1.25 else 1 if ratio > 0.8 else 2


predict_paired = Question(
    asks="Ten generators, 10 relevant features, 50 training sequences. The L1-CRF's mean error has a "
    "95 % interval. Now subtract M3N's error for each generator first. How wide is the interval of "
    "the mean difference?",
    choices=(
        "Wider, because the luck of two models adds up",
        "About as wide",
        "Narrower, because most of their luck is the same",
    ),
    right=_paired,
    look="First subtract *nothing*, then M3N's errors, and compare the bars of the L1-CRF.",
    because="A generator that is hard for one model is hard for the other. What they share cancels in "
    "the difference.",
)


def _optimism() -> int:
    import numpy as np

    from medn_edu.datasets import make_chain_crf
    from medn_edu.estimators import CRF

    chains = make_chain_crf(1650, n_relevant=30, sampler="exact", random_state=0)
    X, y = chains.data[:50], chains.target[:50]
    models = [CRF("l2", lam, tol=1e-3).fit(X, y) for lam in np.geomspace(100, 0.01, 20)]
    unseen, truth = chains.data[50:], np.vstack(chains.target[50:])
    each = np.array([np.mean(np.vstack(list(m.predict(unseen))) != truth, axis=1) for m in models])
    few = each.reshape(20, -1, 5).mean(axis=2)  # of the models on test sets of five sequences
    best = few.argmin(axis=0)
    real = each.mean(axis=1)[best].mean()
    return nearest(100 * (real - few.min(axis=0).mean()), 0.0, 0.3, 3.0)


predict_optimism = Question(
    asks="We train a CRF with twenty values of λ and report the smallest of the twenty errors on a test "
    "set of 5 sequences (40 labels). By how much is this number too small, on average?",
    choices=(
        "Not at all, because nothing was trained on the test set",
        "By a few tenths of a percentage point",
        "By several percentage points",
    ),
    right=_optimism,
    look="Find the two curves at 5 test sequences, and then at 400.",
    because="The smallest of twenty noisy numbers is small partly because of its noise.",
)


def _copies() -> int:
    from medn_edu.studies.browser import _grouped_study
    from medn_edu.studies.kit.stored import stored_rows

    groups = _grouped_study(stored_rows("synthetic-correlated"))
    copied = groups.interval(groups.settings[0], 100, "L1-CRF", "L2-CRF")
    assert copied is not None
    return 0 if not copied.excludes(0) else 1 if copied.mean < 0 else 2


predict_groups = Question(
    asks="Each relevant feature now comes in three copies. An L2 penalty shares weight among them, and "
    "an L1 penalty picks one. With independent features and 100 sequences the L1-CRF was ahead of the "
    "L2-CRF. And now?",
    choices=(
        "The two can't be told apart",
        "The L1-CRF is still ahead, and the interval excludes 0",
        "The L2-CRF is ahead, because sharing beats picking",
    ),
    right=_copies,
    look="The errors of the L2-CRF are subtracted. Find the L1-CRF and its interval.",
    because="The copies hardly differ, so sharing among them gains little. The seventy useless features "
    "still cost the L2-CRF more.",
)

# -- ocr-study -------------------------------------------------------------------------------------


def _doubt() -> int:
    import numpy as np

    from medn_edu.explorers.reading import _read, _two_models

    models, words, some = _two_models()
    X, y = words.take(some)
    frames = _read(models["L2-CRF"], X, y, [words.images[i] for i in some])
    sure = np.concatenate([frame.confidence for frame in frames])
    wrong = np.concatenate([frame.wrong for frame in frames])
    return nearest(sure[wrong].mean() / sure[~wrong].mean(), 1, 0.65, 0.06)


predict_doubt = Question(
    asks="The L2-CRF gives each letter a label, and can say how probable it thinks that label is. How "
    "sure is it, on average, of the labels that are wrong?",
    choices=(
        "Just as sure as of the right ones",
        "Less sure, by about a third",
        "Hardly surer than someone who guesses one of 26 letters",
    ),
    right=_doubt,
    look="Choose the L2-CRF and go through the words. Compare the percentages under framed letters "
    "with the others.",
    because="Where the pixels fit two labels, the labels share the probability. But the gap is "
    "only a third, so a high probability is no proof that a label is right.",
)


def _constant() -> int:
    from medn_edu.studies.browser import _ocr_place
    from medn_edu.studies.kit.model_errors import study_errors
    from medn_edu.studies.kit.stored import stored_rows

    rows = [row for row in stored_rows("ocr") if row["data"] == "ocr-100"]
    study = study_errors(rows, _ocr_place)
    pairs = ("M3N at its optimum", "LapMEDN")
    found = [study.interval("all", 100, name, "M3N") for name in pairs]
    constant, model = (abs(each.mean) for each in found if each is not None)
    return 0 if constant > 2 * model else 1 if model > 2 * constant else 2


predict_constant = Question(
    asks="Take M3N with a chosen constant, trained on 100 words. Which change moves the error more: "
    "using the papers' constant in M3N, or replacing M3N with LapMEDN (with chosen constants)?",
    choices=("The constant, by far", "The model, by far", "Both about the same"),
    right=_constant,
    look="Read off LapMEDN's difference to M3N. Then set the reading to the optimum, and find M3N.",
    because="The papers' constant hardly regularises on these words, while the two models are close "
    "relatives.",
)


def _settled() -> int:
    import numpy as np

    from medn_edu.explorers.weight_images import _growing_models, _similarity

    models, _ = _growing_models()
    last = models[400]
    rows = dict(zip(models[100].classes_, models[100].coef_, strict=True))
    coef = np.array([rows.get(label, 0 * last.coef_[0]) for label in last.classes_])
    return nearest(_similarity(coef, last.coef_), 0.97, 0.68, 0.1)


predict_settled = Question(
    asks="An M3N was trained on 100 words. We compare its weights with those of an M3N that was trained "
    "on 400: 1 means the same images, and 0 that they have nothing in common. What do you expect?",
    choices=(
        "More than 0.9, because there are several hundred letters in 100 words",
        "About 0.7, because much in the images is still luck",
        "About 0.1, because most of the 400 words are other words",
    ),
    right=_settled,
    look="Set the slider to 100 words and read the similarity below the picture. Then look for images "
    "that still change from there on.",
    because="The strong pixels are there already. The many weak ones depend on which words happened to "
    "be drawn.",
)

# -- trees -----------------------------------------------------------------------------------------


def _leaf() -> int:
    import numpy as np

    from medn_edu.theory.reference import Tree, max_product

    # an element that is sure of a price, and its leaf, which leans to none
    node, edge = np.array([[0.0, 2.0], [0.5, 0.0]]), np.eye(2)[None]
    tree = Tree(node, edge, np.array([-1, 0]), np.array([0, 0]))
    alone, up, down = (int(each[1].argmax()) for each in (node, *max_product(tree)))
    return 0 if alone != up else 1 if up != down else 2


predict_leaf = Question(
    asks="At step 0 the leaf “21.95” is labelled none, but an element above it says that a price is in "
    "it. When does the leaf change its mind?",
    choices=(
        "While messages rise",
        "While labels are decided, from the top down",
        "Never, because its own features decide",
    ),
    right=_leaf,
    look="Press Play and watch both prices, “21.95” and “32.95”.",
    because="A rising message goes from a node to its parent. A leaf has nothing below it, so it gets "
    "no message on the way up. What is around it reaches it only on the way down.",
)


def _but() -> int:
    from medn_edu.datasets import make_opinions

    opinions, matches = make_opinions(200), [0, 0, 0, 0]
    for parse, labels in zip(opinions.data, opinions.target, strict=True):
        if "but" in parse.words:
            at, end = parse.words.index("but"), parse.words.index(".")
            label = {span: int(each) for span, each in zip(parse.spans, labels, strict=True)}
            first, second = label[0, at], label[at + 1, end]
            strong = max(first, second, key=lambda each: abs(each - 2))
            for place, guess in enumerate((first, second, strong, 2)):
                matches[place] += int(labels[0]) == guess
    return matches.index(max(matches))


predict_but = Question(
    asks="In “the plot is brilliant but the cast was a mess”, which clause does the whole sentence "
    "follow?",
    choices=(
        "The one before “but”",
        "The one after “but”",
        "The one with the stronger word, wherever it is",
        "Neither, because they cancel",
    ),
    right=_but,
    look="Press Play. Then replace “but” by “and”, and take the edges away.",
    because="The sentences were made by this rule. And the type of an edge says on which side of “but” "
    "a phrase is, so the model could learn the rule.",
)

# -- loopy -----------------------------------------------------------------------------------------


def _swing() -> int:
    import numpy as np

    from medn_edu.explorers.messages import N_SWEEPS, SIGNS, messages_frame

    frame = messages_frame(N_SWEEPS, 1.0, 1.0, 1.5, SIGNS[1], 1.0)
    if frame.disagreement > 0.1:
        return 2
    bold = np.mean(np.abs(frame.node - 0.5) - np.abs(frame.exact_node - 0.5))
    return 3 if np.abs(frame.node - 0.5).max() < 0.02 else 1 if bold > 0.05 else 0


predict_swing = Question(
    asks="Take Bethe's numbers (share 1) and a coupling of 1.5, and let two edges repel. How do the "
    "messages behave over 24 sweeps?",
    choices=(
        "They settle close to the exact marginals",
        "They settle on beliefs that are too bold",
        "They never settle, and beliefs swing back and forth",
        "They settle on one half at every node",
    ),
    right=_swing,
    look="First move the share from 0 to 1 while all edges attract, and watch which side of the "
    "diagonal the nodes are on. Then raise the coupling, let two edges repel, and press Play.",
    because="With two repelling edges the news that comes around a square contradicts what was sent, so "
    "each sweep corrects the one before too far. Negative counting numbers guarantee nothing.",
)


def _ink() -> int:
    import warnings

    import numpy as np

    from medn_edu.datasets import draw_image, make_noisy_images
    from medn_edu.inference import Potentials
    from medn_edu.inference.loopy import norm_product
    from medn_edu.samples import grid, pack

    true = draw_image("boat")[2:34, 20:52].astype(bool)
    x = make_noisy_images(true, "flip", random_state=1)[0][0]
    node = 0.5 * np.log(4) * x.ravel()[:, None] * [-1, 1]
    edge = 2.0 * np.array([[[1.0, -1.0], [-1.0, 1.0]]])
    potentials = Potentials(pack([grid(x)]), node, edge)
    with warnings.catch_warnings():  # Bethe's numbers promise nothing, which is well known
        warnings.simplefilter("ignore")
        beliefs = norm_product(potentials, "bethe", 1.0, max_sweeps=12).beliefs.node[:, 1]
    wrong = (beliefs.reshape(true.shape) > 0.5) != true
    ink, paper = wrong[true].mean(), wrong[~true].mean()
    return 0 if ink + paper == 0 else 2 if ink > 0.9 else 3 if paper > 0.9 else 1


predict_ink = Question(
    asks="You make the coupling stronger and stronger, up to 2. Which pixels are wrong in the end?",
    choices=(
        "None",
        "Some of those in thin lines and corners",
        "Every pixel of ink",
        "Every pixel of paper",
    ),
    right=_ink,
    look="Step the coupling up from its lowest value, and follow the mast. Then play the sweeps, and "
    "count how many are needed.",
    because="At this strength all pixels end with one label. Paper wins because each sweep visits the "
    "pixels row by row from the top, where nearly everything is paper, and carries that label down. Ink "
    "everywhere would even score higher. If you turn the image upside down, nine in ten pixels become "
    "ink.",
)


def _gap() -> int:
    from medn_edu.explorers.hardening import hardening_frame

    weak, strong = (hardening_frame(0.0, each, "two repel", "trw").gap for each in (0.5, 3.0))
    if strong < 1e-6:
        return 2
    return 1 if strong < 0.95 * weak else 3 if strong > 1.05 * weak else 0


predict_gap = Question(
    asks="With two repelling edges and evidence 0.5, a gap is left at ε = 0 between the local program "
    "and the exact value. What happens to the gap if you raise the evidence to 3?",
    choices=(
        "It stays as it is",
        "It becomes smaller, but is not closed",
        "It is closed",
        "It becomes larger",
    ),
    right=_gap,
    look="Cool down with evidence 0.5. Then raise the evidence, and at the end set it to 0.",
    because="Beliefs of one half satisfy all edges, but they give up what the nodes prefer. If the "
    "preferences are strong enough, the best labelling scores more, and here no other corner beats it.",
)
