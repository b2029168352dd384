"""The loader of Bach's chorales, and their transposition."""

import gzip
import hashlib
import io
import zipfile
from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pooch
import pytest

from medn_edu.datasets import DataError, load_chorales, remote, status, transpose_chorales
from medn_edu.datasets.chorales import PITCH_NAMES, chord_pitch


def line(chorale, number, notes, bass, metre, chord):
    sounds = ["YES" if name in notes.split() else " NO" for name in PITCH_NAMES]
    return ",".join([chorale, str(number), *sounds, bass, str(metre), f" {chord}"])


LINES = (
    line("  003006b_", 1, "D F# A", "D", 3, "D_M"),  # the blanks are in the real file, too
    line("003006b_", 2, "C# E A", "C#", 2, "A_M"),
    line("000408b_", 1, "Eb F# Bb", "D#", 5, "D#m7"),
)
CONTENT = "".join(f"{each}\n" for each in LINES).encode()
ROWS = "\n".join(each.replace(" ", "") for each in LINES).encode()


@pytest.fixture
def home(monkeypatch):
    """Let the loader take the lines above for the real ones; returns what the home sends, to be set."""
    facts = {"sha256": hashlib.sha256(ROWS).hexdigest(), "n_bytes": len(CONTENT)}
    file = replace(remote.FILES["bach"][0], **facts)
    monkeypatch.setitem(remote.FILES, "bach", (file,))
    sent = {}

    def send(self, url, buffer, _):
        assert url == file.url
        buffer.write(sent["data"])

    monkeypatch.setattr(pooch.HTTPDownloader, "__call__", send)
    return sent


def zipped(content, name="jsbach_chorals_harmony.data"):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as files:
        files.writestr("jsbach_chorals_harmony.names", "about the data")
        files.writestr(name, content)
    return archive.getvalue()


def put(folder, content):
    path = folder / "bach" / "jsbach_chorals_harmony.data.gz"
    path.parent.mkdir()
    path.write_bytes(gzip.compress(content))
    return path


def test_events_are_read_as_they_were_written(tmp_path, home):
    put(tmp_path, CONTENT)
    bach = load_chorales(tmp_path, download=False)
    assert bach.chorales.tolist() == ["003006b_", "000408b_"]
    assert bach.group.tolist() == ["003006", "000408"]
    assert [chords.tolist() for chords in bach.target] == [["D_M", "A_M"], ["D#m7"]]
    assert bach.target_names.tolist() == ["A_M", "D#m7", "D_M"]
    found = [
        {bach.feature_names[k] for k in np.flatnonzero(event)} for x in bach.data for event in x
    ]
    sounds = [
        {"pitch_D", "pitch_F#", "pitch_A", "bass_D"},
        {"pitch_C#", "pitch_E", "pitch_A", "bass_C#"},
    ]
    assert found == [
        {*sounds[0], *(f"next_{name}" for name in sounds[1]), "metre_3", "constant"},
        {*sounds[1], *(f"previous_{name}" for name in sounds[0]), "metre_2", "constant"},
        {"pitch_Eb", "pitch_F#", "pitch_Bb", "bass_Eb", "metre_5", "constant"},
    ]
    assert set(np.unique(np.concatenate(bach.data))) == {0.0, 1.0}


@pytest.mark.parametrize(
    "content", [CONTENT, CONTENT.replace(b"\n", b"\r\n"), CONTENT.rstrip(), ROWS]
)
def test_rows_decide_not_line_ends_or_blanks(content, tmp_path, home):
    home["data"] = zipped(content)
    assert load_chorales(tmp_path).chorales.tolist() == ["003006b_", "000408b_"]
    del home["data"]
    assert status(tmp_path, name="bach").valid
    assert len(load_chorales(tmp_path).data) == 2, "kept and used again"


@pytest.mark.parametrize(
    "data",
    [
        zipped(CONTENT.replace(b"D_M", b"D_m")),
        zipped(CONTENT + CONTENT),
        zipped(CONTENT, "other.data"),
        zipped(CONTENT)[:-30],
        gzip.compress(CONTENT, mtime=0),
        b"",
    ],
    ids=["a note", "twice", "no such member", "cut short", "gzip", "empty"],
)
def test_a_bad_download_leaves_nothing_behind(data, tmp_path, home):
    home["data"] = data
    with pytest.raises(
        DataError, match=r"is not the Bach chorales .*of the rows.*nothing was kept.*\.$"
    ):
        load_chorales(tmp_path)
    assert list(tmp_path.rglob("*")) == []


@pytest.mark.parametrize(
    "bad",
    [
        "", LINES[1].replace("YES", "yes"), LINES[1].replace(",C#,2", ",C#,6"), LINES[1] + ",",
        LINES[1].replace(",C#,2", ",Cb,2"), LINES[1].replace("A_M", "AM"),
        LINES[1].replace("A_M", "A_M9"),
    ],
)  # fmt: skip
def test_a_file_of_another_form(bad, tmp_path, monkeypatch):
    content = f"{LINES[0]}\n{bad}\n{LINES[2]}\n".encode()
    facts = {
        "sha256": hashlib.sha256(content).hexdigest(),
        "n_bytes": len(content),
        "by_rows": False,
    }
    monkeypatch.setitem(remote.FILES, "bach", (replace(remote.FILES["bach"][0], **facts),))
    put(tmp_path, content)
    with pytest.raises(
        DataError, match=r"data.gz: line 2 is not an event; expected 17 fields .*\.$"
    ):
        load_chorales(tmp_path)


def chorale(*chords):
    """Return a chorale of which nothing sounds but the roots of its chords."""
    X = np.zeros((len(chords), 78))
    for event, chord in zip(X, chords, strict=True):
        event[chord_pitch(chord)] = event[77] = 1
    return X, np.array(chords)


def test_roots_move_as_in_a_score():
    X, y = chorale("D_M", "G_M", "A_M7", "C#d", "B_m")
    moved_X, moved_y = transpose_chorales([X], [y])
    names = [" ".join(chords) for chords in moved_y]
    assert names[0] == "D_M G_M A_M7 C#d B_m"
    assert names[1] == "EbM AbM BbM7 D_d C_m"
    assert names[2] == "E_M A_M B_M7 D#d C#m"
    assert names[4] == "F#M B_M C#M7 F_d D#m", "E# has no name there"
    for semitones, (events, chords) in enumerate(zip(moved_X, moved_y, strict=True)):
        roots = [chord_pitch(chord) for chord in chords]
        assert roots == [(chord_pitch(chord) + semitones) % 12 for chord in y]
        assert events[:, :12].argmax(axis=1).tolist() == roots
        assert [chord[2:] for chord in chords] == [chord[2:] for chord in y]
        assert (events[:, 77] == 1).all()
    back_X, back_y = transpose_chorales(moved_X[5:6], moved_y[5:6], [7, -5])
    for events, chords in zip(back_X, back_y, strict=True):
        np.testing.assert_array_equal(events, X)
        assert chords.tolist() == y.tolist()


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (
            [],
            [["D_M"]],
            "X has 0 chorales but y has 1; expected a list of chords for each chorale.",
        ),
        (
            [np.zeros((1, 77))],
            [["D_M"]],
            r"X\[0\] has shape \(1, 77\); expected \(1, 78\), the .*\.",
        ),
        (
            [np.zeros((2, 78))],
            [["D_M", "H_M"]],
            r"y\[0\] holds 'H_M'; expected chords such as .*A#\.",
        ),
    ],
)
def test_what_cannot_be_transposed(X, y, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        transpose_chorales(X, y)


def test_facts_of_the_real_chorales(require_bach):
    bach = load_chorales(download=False)
    lengths = [len(chords) for chords in bach.target]
    chords, events = np.concatenate(bach.target), np.concatenate(bach.data)
    assert (len(lengths), sum(lengths), min(lengths), max(lengths)) == (60, 5665, 40, 207)
    assert len(set(bach.chorales)) == 60
    assert {"002908ch", "003006b_"} < set(bach.chorales)
    assert Counter(Counter(bach.group).values()) == {1: 51, 2: 3, 3: 1}
    counts = Counter(chords.tolist())
    assert sorted(counts) == bach.target_names.tolist()
    assert (len(counts), sum(n < 5 for n in counts.values())) == (102, 34)
    assert sum(n == 1 for n in counts.values()) == 8
    sounds = Counter((chord_pitch(name), name[2:]) for name in counts)
    assert sum(n > 1 for n in sounds.values()) == 12
    assert events.shape == (5665, 78)
    assert (events[:, 12:24].sum(axis=1) == 1).all()
    assert int(((events[:, :12] * events[:, 12:24]).sum(axis=1) == 0).sum()) == 54
    found = defaultdict(set)
    for event, chord in zip(events, chords, strict=True):
        found[event[:12].tobytes()].add(chord)
    assert (len(found), sum(len(names) > 1 for names in found.values())) == (325, 201)


COPIES = {"003907b": 9, "012606b": 10, "014505b": 10}  # semitones up


def test_the_same_notes_in_two_keys(require_bach):
    """Three chorales are there twice; by them the transposition is checked, and the expert."""
    bach = load_chorales(download=False)
    at = {name: k for k, name in enumerate(bach.chorales)}
    n_events = n_other = 0
    for name, semitones in COPIES.items():
        first, second = at[f"{name}_"], at[f"{name}v"]
        assert bach.group[first] == bach.group[second]
        [X], [y] = transpose_chorales([bach.data[first]], [bach.target[first]], [semitones])
        np.testing.assert_array_equal(X[:, :12], bach.data[second][:, :12])
        pairs = zip(y, bach.target[second], strict=True)
        n_other += sum((chord_pitch(a), a[2:]) != (chord_pitch(b), b[2:]) for a, b in pairs)
        n_events += len(y)
    assert (n_other, n_events) == (28, 322)
