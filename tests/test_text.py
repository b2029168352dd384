"""Words in, samples out: the vectorizer against plain dictionaries, files, spans, saved pipelines."""

import gzip
import time
import warnings
import weakref
from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction import DictVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

from medn_edu import (
    CRF,
    M3N,
    Forest,
    Graph,
    SequenceVectorizer,
    load_model,
    read_conll,
    save_model,
    span_scores,
)
from medn_edu.datasets import status

X = [
    [{"word": "the", "first": True}, {"word": "cat"}, {"word": "sleeps", "ends": ["s", "ps"]}],
    [{"word": "she", "first": True}, {"word": "sleeps", "ends": ["s", "ps"]}],
    [["first", "capital"], {}, ("end",)],
    [{"word": "the"}, {"word": "she"}],
]
Y = [["D", "N", "V"], ["P", "V"], ["N", "V", "N"], ["D", "P"]]


def refusal(call, *arguments, **options):
    """The one sentence with which a call is refused."""
    with pytest.raises((TypeError, ValueError, OSError)) as error:
        call(*arguments, **options)
    assert "\n" not in str(error.value)
    return str(error.value)


# -- SequenceVectorizer -------------------------------------------------------------------------


def test_names_are_those_of_dict_vectorizer_and_of_nested_dictionaries():
    plain = {"f": "v", "n": 2, "t": True, "l": ["a", "b", "a"]}
    vectorizer, token = SequenceVectorizer(), plain | {"in": {"g": {"h"}}, "no": np.False_}
    (matrix,) = vectorizer.fit_transform([[token]])
    found = dict(zip(vectorizer.get_feature_names_out(), matrix.toarray()[0], strict=True))
    theirs = DictVectorizer(sparse=False)
    (row,) = theirs.fit_transform([plain])
    expected = dict(zip(theirs.feature_names_, row, strict=True))
    assert found == expected | {"in:g=h": 1, "no": 0}
    assert expected["l=a"] == 2


TOKEN = st.dictionaries(st.sampled_from("abc"), st.sampled_from([-1.0, 2.0, True]), max_size=3)


@given(
    X=st.lists(st.lists(TOKEN, min_size=1, max_size=4), min_size=1, max_size=3),
    window=st.integers(0, 3),
)
def test_a_window_is_what_dictionaries_of_the_neighbours_give(X, window):
    def expected(sentence, t):
        row = dict(sentence[t])
        for shift in {*range(-window, window + 1)} - {0}:
            end = {"<BOS>" if shift < 0 else "<EOS>": 1}
            inside = 0 <= t + shift < len(sentence)
            neighbour = sentence[t + shift] if inside else end
            row |= {f"{shift:+d}:{name}": value for name, value in neighbour.items()}
        return row

    X = [*X, [{"a": 1}]]
    vectorizer = SequenceVectorizer(window).fit(X)
    names = vectorizer.get_feature_names_out()
    assert len(set(names)) == len(names) == vectorizer.n_features_out_
    for samples in (vectorizer.transform(X), SequenceVectorizer(window).fit_transform(X)):
        for sentence, matrix in zip(X, samples, strict=True):
            assert (matrix.format, matrix.dtype) == ("csr", np.float64)
            for t, row in enumerate(matrix.toarray()):
                found = {name: value for name, value in zip(names, row, strict=True) if value}
                assert found == expected(sentence, t)


def test_hashed_features_are_as_far_apart_as_named_ones():
    """With more columns than collisions, hashing only renames features and flips signs."""
    named, hashed = (
        sp.vstack(SequenceVectorizer(1, n).fit_transform(X)).toarray() for n in (None, 2**12)
    )
    assert hashed.shape[1] == 3 * 2**12 + 2
    np.testing.assert_allclose(hashed @ hashed.T, named @ named.T)
    names = SequenceVectorizer(n_features=2).fit(X).get_feature_names_out()
    assert names.tolist() == ["hash=0", "hash=1"]


def test_unseen_features_are_ignored_and_counted_in_one_warning():
    vectorizer = SequenceVectorizer(window=1).fit(X)
    odd = [[{"word": "dog", "first": True}, ["new", "end"]], [["new"]]]
    with pytest.warns(UserWarning, match="^3 of 5 .* 2 different ones, such as 'word=dog'") as said:
        samples = vectorizer.transform(odd)
    assert len(said) == 1
    assert said[0].filename == __file__
    known = vectorizer.transform([[{"first": True}, ["end"]], [[]]])
    assert all((a != b).nnz == 0 for a, b in zip(samples, known, strict=True))
    SequenceVectorizer(n_features=8).fit(X).transform(odd)  # which knows no vocabulary


BAD = {
    "X is a str; expected a list of sentences": "the cat",
    "X is a dict; expected": X[0][0],
    "X is a int; expected": 3,
    "X holds no samples": [],
    "sample 1 of X is a str; expected a list of tokens": [X[0], "cat"],
    "sample 0 of X is a dict; expected a list of tokens": X[0],
    "sample 1 of X has no tokens": [X[0], []],
}
TOKENS = {
    "is a str; expected a dict": "cat",
    "is a NoneType; expected a dict": None,
    "is a ndarray; expected a dict": np.ones(2),
    "has 3 in its list": ["a", 3],
    "has None in its list": {"a": [None]},
    "has the feature name 1;": {1: "a"},
    "has the value None for its feature 'a'; expected a finite number": {"a": None},
    "has the value nan": {"a": {"b": np.nan}},
    "has the value -inf": {"a": -np.inf},
    "has the value 1000": {"a": 10**400},
    "has the value 1j": {"a": 1j},
    "has the value b'a'": {"a": b"a"},
    "has the value <object": {"a": object()},
    "has the value np.timedelta64": {"a": np.timedelta64(1)},
}
BAD |= {f"node 1 of sample 1 of X {said}": [X[0], [[], token]] for said, token in TOKENS.items()}


@pytest.mark.parametrize("message", BAD)
def test_bad_input_is_told_in_one_sentence(message):
    for call in (SequenceVectorizer().fit, SequenceVectorizer().fit(X).transform):
        assert refusal(call, BAD[message]).startswith(message)


def test_a_window_needs_a_chain():
    tokens = [{"word": word} for word in "abc"]
    plain = SequenceVectorizer(window=1).fit([tokens])
    for chain in (Forest(tokens), Forest(tokens, parents=[-1, 0, 1])):
        [sample] = plain.transform([chain])
        assert (sample.features != plain.transform([tokens])[0]).nnz == 0
    for odd in (Forest(tokens, parents=[-1, 0, 0]), Graph(tokens, [[0, 1], [1, 2]])):
        start = f"sample 1 of X is a {type(odd).__name__} that is not a chain, and window is 1; expected"
        for call in (SequenceVectorizer(window=1).fit, plain.transform):
            assert refusal(call, [tokens, odd]).startswith(start)
        SequenceVectorizer().fit([tokens, odd])


def test_a_generator_is_read_sentence_by_sentence():
    """Each is dropped before the next one is made, so that they never are all in memory."""
    alive = []

    class Sentence(list):
        def __init__(self, *tokens):
            super().__init__(tokens)
            alive.append(weakref.ref(self))

    def made():
        for word in "abc":
            yield Sentence({"word": word}, {"word": "the"})
            assert sum(reference() is not None for reference in alive) <= 1

    X = [[{"word": word}, {"word": "the"}] for word in "abc"]
    found = SequenceVectorizer(window=1).fit_transform(made())
    for one, other in zip(found, SequenceVectorizer(window=1).fit_transform(X), strict=True):
        assert (one != other).nnz == 0
    with pytest.raises(ValueError, match="X holds no samples"):
        SequenceVectorizer().fit(iter(()))


def test_bad_parameters_and_what_is_not_fitted():
    for name, value in (("window", -1), ("window", 0.5), ("n_features", 0), ("n_features", "8")):
        said = refusal(SequenceVectorizer(**{name: value}).fit, X)
        assert said.startswith(f"{name} is {value!r}; expected a whole number")
    assert refusal(SequenceVectorizer(window=10**9).fit, X).startswith("window is 1000000000 ")
    for call in (SequenceVectorizer().transform, SequenceVectorizer().get_feature_names_out):
        with pytest.raises(NotFittedError):
            call(X)


def test_at_home_in_scikit_learn():
    model = make_pipeline(SequenceVectorizer(), CRF(lam=0.1, verbose=0))
    assert clone(model).get_params()["sequencevectorizer__window"] == 0
    grid = GridSearchCV(model, {"sequencevectorizer__window": [0, 1], "crf__lam": [0.1, 1.0]}, cv=2)
    with pytest.warns(UserWarning, match="did not see"):
        grid.fit(X, Y)
    assert len(grid.cv_results_["params"]) == 4
    assert len(cross_val_score(model, X * 4, Y * 4, cv=2)) == 2
    fitted = model.fit(X, Y)[0]
    width = fitted.n_features_out_
    assert fitted.set_params(window=2).transform(X)[0].shape == (3, width)  # until the next fit
    with sklearn.config_context(transform_output="pandas"):
        assert isinstance(SequenceVectorizer().fit_transform(X), list)


def test_models_take_the_samples_alone_and_in_forests():
    samples = SequenceVectorizer(window=1).fit_transform(X)
    assert M3N(C=10.0, verbose=0).fit(samples, Y).score(samples, Y) == 1.0
    trees = [Forest(matrix, [-1, *[0] * (matrix.shape[0] - 1)]) for matrix in samples]
    assert CRF(lam=0.01, verbose=0).fit(trees, Y).score(trees, Y) == 1.0


def test_a_sentence_of_ten_thousand_tokens():
    sentence = [{"word": f"w{t % 97}", "digit": t % 10} for t in range(10_000)]
    (sample,) = SequenceVectorizer(window=1).fit_transform([sentence])
    assert sample.shape == (10_000, 3 * 98 + 2)
    assert sample.nnz == 3 * 20_000 - 4 + 2


@pytest.mark.alone
def test_a_quarter_of_a_million_tokens_take_seconds():
    X = [
        [{f"f{k}": f"v{(i * t + k) % 5000}" for k in range(10)} for t in range(20)]
        for i in range(12_544)
    ]
    start = time.perf_counter()
    SequenceVectorizer(window=1).fit_transform(X)
    assert time.perf_counter() - start < 20


@pytest.mark.parametrize(("c1", "c2"), [(0.2, 0.1), (0.0, 0.5)])
def test_constants_of_crfsuite_mean_the_same_here(c1, c2, tmp_path):
    """Its trainer minimises ``c1 |w|_1 + c2 |w|^2`` and the same loss, so marginals are the same."""
    pycrfsuite = pytest.importorskip("pycrfsuite")
    trainer = pycrfsuite.Trainer(verbose=False)
    for tokens, labels in zip(X, Y, strict=True):
        trainer.append(tokens, labels)
    every = {"feature.possible_states": True, "feature.possible_transitions": True}
    trainer.set_params({"c1": c1, "c2": c2, "epsilon": 1e-7, "delta": 1e-9, **every})
    trainer.train(str(tmp_path / "model"))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "model"))
    lam = c1 + 2 * c2
    model = make_pipeline(SequenceVectorizer(), CRF("elasticnet", lam, l1_ratio=c1 / lam, tol=1e-7))
    marginals = model.fit(X, Y)[-1].predict_marginals(model[0].transform(X))
    for tokens, ours in zip(X, marginals, strict=True):
        tagger.set(tokens)
        theirs = [[tagger.marginal(c, t) for c in model.classes_] for t in range(len(tokens))]
        np.testing.assert_allclose(ours, theirs, atol=1e-3)


# -- read_conll ---------------------------------------------------------------------------------


def test_columns_are_read_whatever_separates_them(tmp_path):
    spaced = "a  1 X\nb\t2 Y \n \t\n\n\nc 3   Z\r\n"
    for path, content in (
        (tmp_path / "plain.txt", spaced.encode()),
        (tmp_path / "packed.gz", gzip.compress(spaced.encode())),
        (tmp_path / "marked.txt", spaced.encode("utf-8-sig")),
    ):
        path.write_bytes(content)
        assert read_conll(path) == ([["a", "b"], ["c"]], [["X", "Y"], ["Z"]])
        assert read_conll(str(path), [1]) == ([["1", "2"], ["3"]],)
        assert read_conll(path, (-1, -3)) == ([["X", "Y"], ["Z"]], [["a", "b"], ["c"]])


def test_tabs_keep_other_space_in_tokens(tmp_path):
    path = tmp_path / "tabs.txt"
    path.write_text("New York\tB\n\u00a0\tO\n\t\nx\u00a0\u2028y\x85\tO\n#\tO", encoding="utf-16")
    words, tags = read_conll(path, encoding="utf-16")
    assert words == [["New York", "\u00a0"], ["x\u00a0\u2028y\x85", "#"]]
    assert tags == [["B", "O"], ["O", "O"]]
    assert read_conll(path, comment="#", encoding="utf-16")[0][1] == ["x\u00a0\u2028y\x85"]


def test_what_is_wrong_with_a_file_is_told_with_its_line(tmp_path):
    path, packed = tmp_path / "bad.conll", tmp_path / "bad.gz"
    for content, options, said in (
        (b"\na b\n\nc\n", {}, ", line 4: there is 1 column; expected 2, as in line 2."),
        (b"a\tb\na b\n", {}, ", line 2: there is 1 column; expected 2, as in line 1."),
        (b"a\tb\n\tb\n", {}, ", line 2: there is 1 column; expected 2, as in line 1."),
        (b"a b\n", {"columns": (0, 2)}, ", line 1: there are 2 columns, so columns cannot hold 2;"),
        (b"a,O\nb,O\n", {}, ", line 1: there is 1 column, so 0 and -1 are the same;"),
        (b"a b\n", {"columns": [-3]}, ", line 1: there are 2 columns, so columns cannot hold -3;"),
        (b"a b\nc d\n\xff e\n", {}, ", line 3: there are bytes that are not utf-8;"),
        (b"a b\n\xff e\n", {"encoding": "ascii"}, ", line 2: there are bytes that are not ascii"),
        (b"", {}, " holds no sentences"),
        (b" \n# a b\n", {"comment": "#"}, " holds no sentences"),
    ):
        path.write_bytes(content)
        assert refusal(read_conll, path, **options).startswith(f"{path}{said}")
    for name, value in (("encoding", "utf-9"), ("comment", ""), ("columns", 0), ("columns", ["a"])):
        assert refusal(read_conll, path, **{name: value}).startswith(name)
    packed.write_bytes(gzip.compress(b"a b\n" * 999)[:-9])
    assert refusal(read_conll, packed) == f"{packed} is damaged; expected a complete gzip file."
    assert refusal(read_conll, tmp_path).startswith(f"{tmp_path} is not a file")


def test_wnut17_is_read_whole(require_wnut17):
    folder = status(name="wnut17").path
    for name, n in {"train": 3394, "dev": 1009, "test": 1287}.items():
        words, tags = read_conll(folder / f"{name}.conll.gz")
        assert len(words) == len(tags) == n
        assert {tag[:2] for sentence in tags for tag in sentence} == {"O", "B-", "I-"}


# -- span_scores --------------------------------------------------------------------------------

# Tags of one sentence and its spans: type, first node, node behind the last.
SPANS = {
    "BIO": {
        "B-x I-x O B-x": "x02 x34",
        "B-x B-x I-x": "x01 x13",
        "O I-x I-x": "",
        "B-x I-y I-y": "x01",
        "B-x I-y I-x": "x01",
        "B-x O I-x": "x01",
        "B-x I-x": "x02",
        "B I O B": "_02 _34",
    },
    "BIOES": {
        "B-x I-x E-x S-y": "x03 y34",
        "B-x I-x O": "",
        "B-x B-x E-x": "x13",
        "B-x I-y E-x": "",
        "I-x E-x S-x": "x23",
        "B-x S-x E-x": "x12",
        "B-x E-x E-x": "x02",
        "B-x I-x": "",
    },
}
CASES = [(scheme, *case) for scheme, cases in SPANS.items() for case in cases.items()]


@pytest.mark.parametrize(("scheme", "tags", "spans"), CASES)
def test_spans_are_what_the_scheme_says(scheme, tags, spans):
    """Each span alone, written as it should be, is found in the tags, and nothing else is."""
    tags, spans = tags.split(), spans.split()
    for kind, first, last in spans:
        n = int(last) - int(first)
        long = ["S"] if n == 1 and scheme == "BIOES" else ["B", *"I" * (n - 1)]
        if n > 1 and scheme == "BIOES":
            long[-1] = "E"
        dash = "" if kind == "_" else f"-{kind}"
        true = ["O"] * len(tags)
        true[int(first) : int(last)] = [part + dash for part in long]
        assert span_scores([true], [tags], scheme).micro.recall == 1.0
    counts = Counter(kind for kind, *_ in spans)
    n_stray = sum(tag != "O" for tag in tags) - sum(int(b) - int(a) for *_, a, b in spans)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scores = span_scores([tags], [["O"] * len(tags)], scheme)
    assert [int(str(one.message).split()[0]) for one in caught] == [n_stray] * (n_stray > 0)
    assert {kind: row.support for kind, row in scores.types.items()} == counts
    assert scores.micro == scores.macro == (0, 0, 0, len(spans))


def test_scores_of_spans_are_those_counted_by_hand():
    y_true = np.array([["B-x", "I-x", "O"], ["B-x", "B-y", "O"], ["B-y", "O", "B-y"]])
    y_pred = [["B-x", "I-x", "I-x"], ["B-x", "B-y", "B-z"], ["B-y", "I-y", "B-y"]]
    scores = span_scores(y_true, y_pred)
    assert scores.types == {
        "x": (1 / 2, 1 / 2, 1 / 2, 2),
        "y": (2 / 3, 2 / 3, 2 / 3, 3),
        "z": (0, 0, 0, 0),
    }
    assert scores.micro == (3 / 6, 3 / 5, 6 / 11, 5)
    np.testing.assert_allclose(scores.macro, [7 / 18, 7 / 18, 7 / 18, 5])
    lines = [line.split() for line in str(scores).splitlines()]
    assert lines[0] == ["precision", "recall", "f1", "support"]
    assert lines[2] == ["y", "0.667", "0.667", "0.667", "3"]
    assert [line[0] for line in lines[1:]] == ["x", "y", "z", "micro", "macro"]


def test_tags_that_cannot_be_scored_are_named():
    for true, pred, scheme, said in (
        ([["O"]], [["O"], ["O"]], "BIO", "y_true has 1 samples and y_pred 2"),
        ([["O"], ["O"]], [["O"], []], "BIO", "sample 1 has 1 tags in y_true and 0 in y_pred"),
        ([["O", "E-x"]], [["O", "O"]], "BIO", "node 1 of sample 0 of y_true has the tag 'E-x'"),
        ([["O"]], [["B-"]], "BIO", "node 0 of sample 0 of y_pred has the tag 'B-'"),
        ([["O"]], [["O-x"]], "BIOES", "node 0 of sample 0 of y_pred has the tag 'O-x'"),
        ([[None]], [["O"]], "BIOES", "node 0 of sample 0 of y_true has the tag None"),
        (["O"], [["O"]], "BIO", "sample 0 of y_true is a str"),
        ("O", ["O"], "BIO", "y_true is a str"),
        ([["O"]], [["O"]], "IOB", "scheme is 'IOB'; expected 'BIO' or 'BIOES'"),
    ):
        assert refusal(span_scores, true, pred, scheme).startswith(said)


# -- saved with the model -----------------------------------------------------------------------


@pytest.mark.parametrize(("window", "n_features"), [(0, None), (2, None), (2, 16)])
def test_a_saved_pipeline_reads_tokens_as_before(window, n_features, tmp_path):
    model = Pipeline([("words", SequenceVectorizer(window, n_features)), ("tags", CRF(lam=0.1))])
    save_model(model.fit(X, Y), tmp_path / "model.npz")
    again = load_model(tmp_path / "model.npz")
    assert again.named_steps.keys() == {"words", "tags"}
    assert again[0].get_params() == model[0].get_params()
    assert again[1].get_params() == model[1].get_params()
    names, expected = (pipeline[0].get_feature_names_out() for pipeline in (again, model))
    np.testing.assert_array_equal(names, expected)
    for old, new in zip(model[0].transform(X), again[0].transform(X), strict=True):
        np.testing.assert_array_equal(new.toarray(), old.toarray())
    np.testing.assert_equal(list(again.predict(X)), list(model.predict(X)))
    np.testing.assert_array_equal(again[1].weights_, model[1].weights_)
    assert again.fit(X, Y).score(X, Y) == model.score(X, Y)
    save_model(model[1], tmp_path / "alone.npz")
    assert type(load_model(tmp_path / "alone.npz")) is CRF


def test_what_a_file_cannot_hold_is_said(tmp_path):
    words, other = SequenceVectorizer().fit(X), SequenceVectorizer(1).fit(X)
    tags = CRF(verbose=0).fit(words.transform(X), Y)
    for model, said in (
        ([words, FunctionTransformer(), tags], "model is a Pipeline of SequenceVectorizer, Fun"),
        ([tags], "model is a Pipeline of CRF; expected a SequenceVectorizer and one estimator"),
        ([words, DictVectorizer()], "model is or ends in a DictVectorizer; expected a trained"),
        (words, "model is or ends in a SequenceVectorizer; expected a trained"),
        ([words, CRF()], "This CRF instance is not fitted"),
        (CRF(), "This CRF instance is not fitted"),
        ([SequenceVectorizer(), tags], "This SequenceVectorizer instance is not fitted"),
        ([other, tags], "the vectorizer of this Pipeline makes 29 features, but its estimator was"),
    ):
        model = make_pipeline(*model) if isinstance(model, list) else model
        assert refusal(save_model, model, tmp_path / "model.npz").startswith(said)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("tokens", [["a", "b"], [{"w": "a"}, {"w": "b"}]])
def test_models_say_that_words_need_a_vectorizer(tokens):
    said = refusal(CRF().fit, [tokens], ["ab"])
    assert said.endswith("SequenceVectorizer makes samples of words and dictionaries.")
