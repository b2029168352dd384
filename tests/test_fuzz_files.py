"""Files from strangers: what is read is right or is refused in one sentence, whatever was done to it."""

import functools
import io
import itertools
import json
import os
import re
import struct
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline

from medn_edu import M3N, SequenceVectorizer, load_model, save_model
from medn_edu.course.progress import RECORD, START, course_exercises, note_solved, progress
from medn_edu.estimators import loading, saving

X = [np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[0.0, 1.0]])]


def load_bytes(content: bytes, folder: Path):
    """Load a whole model from bytes, or return the sentence that says why not."""
    path = folder / "model.npz"
    path.write_bytes(content)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = load_model(path)
    except ValueError as error:
        sentence = str(error)
        assert sentence.startswith(f"{path} ")
        assert sentence.endswith(".")
        assert sentence.isprintable()
        assert len(sentence) < len(str(path)) + 400
        return sentence
    if hasattr(model, "steps"):
        assert len(model.predict([[[], []]])[0]) == 2
        assert repr(model)
        assert model[0].get_feature_names_out().shape == (model[-1].n_features_in_,)
        model = model[-1]
    n_labels, n_features = model.coef_.shape
    assert len(model.classes_) == n_labels
    (predicted,) = model.predict([np.ones((1, n_features))])
    assert predicted[0] in model.classes_.tolist()
    assert repr(model)
    assert repr(model.result_)
    if model.result_.alpha is not None:
        kept = itertools.chain.from_iterable(model.support_labellings_)
        assert all(label in model.classes_ for labels, _ in kept for label in labels)
    return model


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("files")


@pytest.fixture(scope="module")
def saved(folder):
    """Bytes of a saved model."""
    M3N(forbidden=[("b", "b")]).fit(X, ["ab", "b"]).save(folder / "saved.npz")
    return (folder / "saved.npz").read_bytes()


@pytest.fixture(scope="module")
def saved_words(folder):
    """Bytes of a saved pipeline, of 8 features: x, y, those of neighbours, BOS and EOS."""
    model = make_pipeline(SequenceVectorizer(1), M3N()).fit([[["x"], ["y"]], [["y"]]], ["ab", "b"])
    save_model(model, folder / "words.npz")
    return (folder / "words.npz").read_bytes()


@functools.cache
def members(content: bytes) -> dict[str, np.ndarray]:
    with np.load(io.BytesIO(content)) as archive:
        return dict(archive)


def header_of(content: bytes) -> dict:
    return json.loads(members(content)["header"].tobytes())


def archive_of(arrays, compression=zipfile.ZIP_DEFLATED) -> bytes:
    """Write arrays, or bytes as they are, in an archive: a list of pairs may name one twice."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", compression) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that are there twice
        for name, array in arrays:
            if not isinstance(array, bytes):
                buffer = io.BytesIO()
                np.lib.format.write_array(buffer, np.asarray(array), allow_pickle=True)
                array = buffer.getvalue()
            archive.writestr(name if "." in name else f"{name}.npy", array)
    return content.getvalue()


def changed(content: bytes, **arrays) -> bytes:
    """Replace or, by None, remove members."""
    every = members(content) | arrays
    return archive_of([(name, array) for name, array in every.items() if array is not None])


def encoded(value) -> bytes:
    return json.dumps(value).encode()


def with_header(content: bytes, header) -> bytes:
    text = header if isinstance(header, bytes) else encoded(header)
    return changed(content, header=np.frombuffer(text, np.uint8))


def test_what_is_not_damaged_is_read(saved, folder):
    """Also as other programs pack it."""
    for compression in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        again = load_bytes(archive_of(members(saved).items(), compression), folder)
        again.save(folder / "again.npz")
        assert (folder / "again.npz").read_bytes() == saved


def narrow(header: np.ndarray) -> np.ndarray:
    """The header of a model that has -1 features, so that two weights would be enough."""
    text = header.tobytes().replace(b'"n_features": 2', b'"n_features": -1')
    return np.frombuffer(text, np.uint8)


WEIGHTS = np.ones(8)
DAMAGE = {
    "object array": {"weights": np.array([None] * 8)},
    "other byte order": {"weights": WEIGHTS.astype(">f8")},
    "columns first": {"allowed": np.asfortranarray(np.ones((1, 2, 2), bool))},
    "NaN weights": {"weights": np.full(8, np.nan)},
    "infinite eta": {"eta": np.full(8, np.inf)},
    "short eta": {"eta": np.ones(3)},
    "short variance": {"variance": np.ones(3)},
    "numbers for flags": {"allowed": np.ones((1, 2, 2), np.uint8)},
    "no edge types": {"allowed": np.ones((0, 2, 2), bool), "weights": WEIGHTS[:4]},
    "empty samples": {"offsets": np.array([0, 3, 3])},
    "late offsets": {"offsets": np.array([1, 2, 3])},
    "no samples": {"offsets": np.array([0]), "labels": np.array([], int)},
    "no offsets": {"offsets": np.array([], int)},
    "offsets as a table": {"offsets": np.array([[0, 2, 3]])},
    "labels out of range": {"labels": np.array([0, 1, 2])},
    "negative labels": {"labels": np.array([0, 1, -1])},
    "wide trace": {"trace": np.ones((1, 99))},
    "alpha of no sample": {"alpha_sample": lambda old: old + 7},
    "alpha in part": {"alpha_sample": None},
    "negative alpha": {"alpha_values": lambda old: -1.0 - old},
    "alpha of other lengths": {"alpha_sample": lambda old: 0 * old},
    "alpha out of order": {
        "alpha_sample": np.array([1, 0]),
        "alpha_offsets": np.array([0, 1, 3]),
        "alpha_labels": np.array([0, 1, 0]),
        "alpha_values": np.ones(2),
    },
    "alpha of no label": {"alpha_labels": lambda old: old + 2},
    "missing weights": {"weights": None},
    "missing header": {"header": None},
    "header of floats": {"header": WEIGHTS},
    "negative width": {
        "header": narrow,
        **dict.fromkeys(("weights", "eta", "variance"), WEIGHTS[:2]),
    },
    "member with a path": {"../weights.npy": WEIGHTS},
}


@pytest.mark.parametrize("arrays", DAMAGE.values(), ids=DAMAGE)
def test_damaged_members_are_refused(arrays, saved, folder, monkeypatch):
    """Before anything that could go wrong with them is made."""
    monkeypatch.setattr(loading, "class_array", None)
    old = members(saved)
    new = {name: array(old[name]) if callable(array) else array for name, array in arrays.items()}
    assert "is not a readable model" in load_bytes(changed(saved, **new), folder)


HEADERS = {
    "number": lambda header: 3,
    "deep": lambda header: b"[" * 100_000,
    "no JSON": lambda header: b"\xff{",
    "estimator as a list": lambda header: header | {"estimator": ["M3N"]},
    "unknown estimator": lambda header: header | {"estimator": "\x1b[31m" * 1000},
    "unknown parameter": lambda header: header | {"parameters": {"a\nb": 1}},
    "no threads": lambda header: header | {"parameters": {"n_jobs": "all"}},
    "huge prior": lambda header: header | {"parameters": {"C": {"BoxPrior": {"a": 10**400}}}},
    "labels as text": lambda header: header | {"classes": "ab"},
    "missing label": lambda header: header | {"classes": ["a", float("nan")]},
    "unhashable label": lambda header: header | {"classes": ["a", {"list": []}]},
    "equal labels": lambda header: header | {"classes": [1, True]},
    "vast labels": lambda header: header | {"classes": ["a", "b" * 600]},
    "primal as text": lambda header: header | {"result": header["result"] | {"primal": "0"}},
    "vast primal": lambda header: header | {"result": header["result"] | {"primal": 10**400}},
    "many passes": lambda header: header | {"result": header["result"] | {"n_passes": 10**9}},
    "no result": lambda header: header | {"result": {}},
}


@pytest.mark.parametrize("change", HEADERS.values(), ids=HEADERS)
def test_damaged_headers_are_refused(change, saved, folder, monkeypatch):
    monkeypatch.setattr(saving, "TEXT", 1000)
    assert isinstance(load_bytes(with_header(saved, change(header_of(saved))), folder), str)


WORDS_OF = {
    "no dictionary": 3,
    "nothing": {},
    "names as text": {"names": "xy"},
    "names that are numbers": {"names": [1, 2]},
    "equal names": {"names": ["x", "x"]},
    "names out of order": {"names": ["y", "x"]},
    "a name too few": {"names": ["x"]},
    "a name too many": {"names": ["x", "y", "z"]},
    "no names": {"names": [], "window": 4},
    "neither names nor a width": {"names": None},
    "both names and a width": {"n_features": 2},
    "another width": {"names": None, "n_features": 3},
    "a width of nothing": {"names": None, "n_features": 0, "window": 4},
    "a width as text": {"names": None, "n_features": "2"},
    "no window": {"window": None},
    "another window": {"window": 2},
    "a negative window": {"window": -1},
    "a vast window": {"window": 10**400},
    "one step": {"steps": ["a"]},
    "equal steps": {"steps": ["a", "a"]},
    "steps with a dunder": {"steps": ["a", "b__c"]},
    "steps named like parameters": {"steps": ["a", "memory"]},
    "steps as a dictionary": {"steps": {"a": 1, "b": 2}},
}


@pytest.mark.parametrize("change", WORDS_OF.values(), ids=WORDS_OF)
def test_damaged_vectorizers_are_refused(change, saved_words, folder):
    header = header_of(saved_words)
    changed = header["vectorizer"] | change if isinstance(change, dict) and change else change
    sentence = load_bytes(with_header(saved_words, header | {"vectorizer": changed}), folder)
    assert "is not a readable model" in sentence


def test_a_small_file_that_unpacks_to_much_is_refused_at_once(saved, folder, monkeypatch):
    """Nothing of it is read but what each array says of itself."""
    beginning = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        beginning, {"descr": "<f8", "fortran_order": False, "shape": (10**12,)}
    )
    sentence = load_bytes(changed(saved, weights=beginning.getvalue()), folder)
    assert "its member 'weights' is not a whole array of numbers" in sentence
    # What declares its size rightly, in the list of members too, is compared with the header.
    sentence = load_bytes(changed(saved, weights=np.zeros(10**6)), folder)
    assert "its 'weights' has the wrong shape" in sentence
    monkeypatch.setattr(saving, "LITTLE", 10**5)
    sentence = load_bytes(changed(saved, labels=np.zeros(10**6, int)), folder)
    assert re.search(r"it has \d+ bytes and declares 80\d+", sentence)


def test_doubled_encrypted_and_truncated_members_are_refused(saved, folder):
    twice = [*members(saved).items(), ("weights", WEIGHTS)]
    assert "'weights.npy' does not belong there" in load_bytes(archive_of(twice), folder)
    encrypted = bytearray(saved)
    for mark, where in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        flags = encrypted.index(mark) + where
        encrypted[flags : flags + 2] = struct.pack("<H", 1)
    assert "encrypted" in load_bytes(bytes(encrypted), folder)
    squeezed = archive_of(members(saved).items(), zipfile.ZIP_BZIP2)
    assert "is not a whole array" in load_bytes(squeezed, folder)
    for length in range(0, len(saved), 97):
        assert isinstance(load_bytes(saved[:length], folder), str)


def test_what_shrinks_too_well_is_saved_as_it_is(saved, folder, monkeypatch):
    """Labels that are nearly all the same would else look like a bomb when they are loaded."""
    for name, value in {"UNPACKED": 1, "LITTLE": 0}.items():
        monkeypatch.setattr(saving, name, value)
    X = [np.eye(2)[[0, 1] + [0] * 5000]]
    model = M3N(verbose=0, tol=2.0).fit(X, [[0, 1] + [0] * 5000])
    model.save(folder / "shrinks.npz")
    loaded = load_model(folder / "shrinks.npz")
    np.testing.assert_array_equal(loaded.predict(X)[0], model.predict(X)[0])


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")
def test_what_is_no_file_is_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "circle").symlink_to("circle")
    for path in (tmp_path, tmp_path / "pipe", tmp_path / "circle", Path(os.devnull), "a\0b"):
        with pytest.raises(FileNotFoundError, match=r"is not a file; expected a model written by"):
            load_model(path)


@given(where=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255))
def test_a_flipped_byte_is_harmless(where, flip, saved, folder):
    """Read, where the byte does not matter, or refused."""
    content = bytearray(saved)
    content[int(where * len(content))] ^= flip
    again = load_bytes(bytes(content), folder)
    if not isinstance(again, str):
        assert np.array_equal(again.weights_, members(saved)["weights"])


@given(content=st.binary(max_size=200), start=st.sampled_from([b"", b"PK", b"PK\x05\x06"]))
def test_arbitrary_bytes_are_no_model(content, start, folder):
    assert "is not a readable model" in load_bytes(start + content, folder)


ARRAYS = st.one_of(
    st.lists(st.integers(-2, 4), max_size=9).map(lambda values: np.array(values, np.int64)),
    st.lists(st.floats(), max_size=9).map(lambda values: np.array(values, np.float64)),
    st.lists(st.booleans(), min_size=4, max_size=4).map(lambda v: np.array(v).reshape(1, 2, 2)),
    st.sampled_from([np.array(3), np.zeros((0, 3)), np.array(["a"]), np.zeros(8, np.float16)]),
    st.binary(max_size=200),
    st.none(),
)
NAMES = st.sampled_from([*saving.FIXED, *saving.FREE, "", "/", "\\weights.npy"])


@given(arrays=st.dictionaries(NAMES, ARRAYS, min_size=1, max_size=3))
def test_odd_members_are_harmless(arrays, saved, folder):
    load_bytes(changed(saved, **arrays), folder)


WORDS = ["l1", "M3N", "CRF", "L1M3N", 0, 1, -1, 10**400, "<b>", "\x1b[31m", "\ud800"]
KINDS = ["tuple", "list", "set", "dict", "GaussianPrior", "LinearSlack", "C"]
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
KEYS = st.text(max_size=3) | st.sampled_from(KINDS)
ODD = st.recursive(
    SCALARS | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=2),
    max_leaves=6,
)


@st.composite
def mutations(draw, value, of=ODD):
    """Replace one thing somewhere within a value, remove it, or give it a twin."""
    if isinstance(value, dict) and value and draw(st.integers(0, 5)):
        name = draw(st.sampled_from(sorted(value)))
        if draw(st.integers(0, 9)) == 0:
            return {key: item for key, item in value.items() if key != name}
        return value | {name: draw(mutations(value[name], of))}
    if isinstance(value, list) and value and draw(st.integers(0, 5)):
        at = draw(st.integers(0, len(value) - 1))
        return [*value[:at], draw(mutations(value[at], of)), *value[at + draw(st.integers(0, 1)) :]]
    return draw(of)


@given(data=st.data())
def test_odd_headers_are_harmless(data, saved, saved_words, folder):
    content = data.draw(st.sampled_from([saved, saved_words]))
    header = header_of(content)
    for _ in range(data.draw(st.integers(1, 3))):
        header = data.draw(mutations(header))
    if content is saved_words and data.draw(st.booleans()):
        header = header_of(content)
        header |= {"vectorizer": data.draw(mutations(header["vectorizer"]))}
    load_bytes(with_header(content, header), folder)


VALID = {"format": 1, "solved": {e.check: "2026-01-31" for e in course_exercises()[:3]}}
DAYS = ODD | st.dates().map(str) | st.sampled_from(["<script>", "=1", "2026-1-1", "@x", "\t=1"])
RECORDS = (st.binary(max_size=300), ODD.map(encoded), mutations(VALID, DAYS).map(encoded))


@pytest.mark.parametrize("records", RECORDS)
@given(data=st.data())
def test_a_record_is_shown_safely_or_refused_and_kept_in_either_case(records, data, folder):
    (folder / START).touch()
    (folder / RECORD).write_bytes(content := data.draw(records))
    try:
        found = progress(folder)
    except ValueError as error:
        found = None
        assert re.fullmatch(rf"{RECORD} [^\n]*; move it away to start anew\.", str(error))
    else:
        tags = {"p", "details", "summary", "table", "tr", "th", "td"}
        assert set(re.findall(r"<(?!/)(\w*)", found._repr_html_())) == tags
        assert repr(found)
        table = found.export(folder / "table.csv").read_text(encoding="utf-8")
        assert not re.search(r'(^|,)"?[=+\-@\t]', table, re.MULTILINE)
    check = course_exercises()[0].check
    if said := note_solved(check, folder):
        assert re.fullmatch(r" \(Not kept: .*\)", said)
        assert (folder / RECORD).read_bytes() == content
    else:
        assert found is not None
        assert check in progress(folder).solved
