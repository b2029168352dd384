"""The OCR loader: what it returns, and that no bad file gets past it or is left behind."""

import contextlib
import gzip
import hashlib
import http.server
import os
import socket
import tempfile
import threading
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from medn_edu.datasets import DataError, fetch, load_ocr, ocr, status

WORDS, FOLDS = ["abc", "zz", "word", "abc"], [0, 3, 9, 3]


def letter_data(words=WORDS, folds=FOLDS, seed=0):
    """Return the content of a made-up ``letter.data`` with random pixels, and the pixels."""
    pixels = np.random.default_rng(seed).integers(0, 2, (sum(map(len, words)), 128))
    lines, number = [], 0
    for word_number, (word, fold) in enumerate(zip(words, folds, strict=True), 1):
        for position, letter in enumerate(word, 1):
            number += 1
            following = number + 1 if position < len(word) else -1
            fields = [number, letter, following, word_number, position, fold, *pixels[number - 1]]
            lines.append("".join(f"{field}\t" for field in fields) + "\n")
    return "".join(lines).encode(), pixels


@contextlib.contextmanager
def taken_for_real(content):
    """Let the loader take ``content`` for the real letters."""
    digest = hashlib.sha256(content).hexdigest()
    with mock.patch.multiple(ocr, SHA256=digest, N_BYTES=len(content)):
        yield


@pytest.fixture
def made_up():
    content, _ = letter_data()
    with taken_for_real(content):
        yield content


def put(folder, data):
    path = Path(folder) / "ocr" / "letter.data.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def everything_under(folder):
    return sorted(path for path in Path(folder).rglob("*"))


def refuse(*args, **kwargs):
    raise OSError("no network in this test")


@pytest.fixture
def no_network(monkeypatch):
    for name in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture
def serve(monkeypatch):
    """Serve given bytes from this machine in place of the data set's home."""
    servers = []

    def start(body, *, code=200, missing_bytes=0, headers=()):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(code)
                self.send_header("Content-Length", str(len(body) + missing_bytes))
                for header in headers:
                    self.send_header(*header)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        servers.append(server)
        monkeypatch.setattr(ocr, "URL", f"http://127.0.0.1:{server.server_port}/letter.data.gz")
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.setenv(name, "127.0.0.1")

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def assert_one_sentence(message, *parts):
    assert message.endswith(".")
    assert "\n" not in message
    for part in parts:
        assert str(part) in message


# ------------------------------------------------------------------------------- the right file


def test_a_file_is_read_as_it_was_written(tmp_path, made_up):
    _, pixels = letter_data()
    put(tmp_path, gzip.compress(made_up))
    bunch = load_ocr(tmp_path, download=False)
    assert bunch.words.tolist() == WORDS
    assert ["".join(labels) for labels in bunch.target] == WORDS
    assert bunch.fold.tolist() == FOLDS
    np.testing.assert_array_equal(np.concatenate(bunch.data), pixels)
    np.testing.assert_array_equal(np.concatenate(bunch.images), pixels.reshape(-1, 16, 8))
    assert bunch.data[0].dtype == np.float64
    assert bunch.target[0].dtype == np.dtype("<U1")
    assert np.shares_memory(bunch.data[2], bunch.images[2])


def test_facts_of_the_real_letters(ocr):
    lengths = np.array([len(letters) for letters in ocr.target])
    assert (len(lengths), lengths.sum()) == (6877, 52152)
    assert np.bincount(ocr.fold).tolist() == [626, 704, 684, 698, 693, 651, 739, 717, 690, 675]
    assert set(lengths) == {3, *range(5, 15)}
    assert np.unique(np.concatenate(ocr.target)).tolist() == ocr.target_names.tolist()
    assert ocr.words[0] == "ommanding"
    assert all(len(set(ocr.words[ocr.fold == fold])) == 55 for fold in range(10))
    pixels = np.concatenate(ocr.data)
    assert pixels.shape == (52152, 128)
    assert set(np.unique(pixels)) == {0.0, 1.0}
    assert [len(image) for image in ocr.images] == lengths.tolist()
    assert ocr.images[0].shape[1:] == (16, 8)
    assert len(ocr.feature_names) == 128


def test_the_users_folder_comes_before_the_cache(tmp_path, monkeypatch, made_up, no_network):
    own, cache = tmp_path / "own", tmp_path / "cache"
    monkeypatch.setattr(ocr.pooch, "os_cache", lambda name: cache)
    monkeypatch.setenv("MEDN_EDU_DATA", str(own))
    put(cache, gzip.compress(made_up))
    assert status().place == "cache"  # the user's folder has no such file
    path = put(own, gzip.compress(made_up))
    found = status()
    assert (found.place, found.path, found.valid) == ("MEDN_EDU_DATA", path, True)
    assert found.n_bytes == path.stat().st_size
    assert fetch() == found  # without a network: nothing to fetch
    assert load_ocr().words.tolist() == WORDS


# ------------------------------------------------------------------------------------ bad files


def flip_a_pixel(content):
    return content[:40] + (b"1" if content[40:41] == b"0" else b"0") + content[41:]


BAD_FILES = {
    "cut short": lambda content: gzip.compress(content)[:-40],
    "only its head": lambda content: gzip.compress(content)[:6],
    "empty": lambda content: b"",
    "not gzip": lambda content: content,
    "a web page": lambda content: b"<html>404 Not Found</html>",
    "damaged inside": lambda content: gzip.compress(content)[:60] + b"\xff" * 9,
    "something after it": lambda content: gzip.compress(content) + b"rubbish",
    "tampered": lambda content: gzip.compress(flip_a_pixel(content)),
    "longer": lambda content: gzip.compress(content + content),
    "another file": lambda content: gzip.compress(b"1,2,3\n"),
}


@pytest.mark.parametrize("kind", BAD_FILES)
def test_a_bad_file_of_the_user_is_named_and_left_alone(
    kind, tmp_path, monkeypatch, made_up, serve
):
    serve(gzip.compress(made_up))  # a good one could be had, but not at the cost of the user's own
    monkeypatch.setattr(ocr.pooch, "os_cache", lambda name: tmp_path / "cache")
    monkeypatch.setenv("MEDN_EDU_DATA", str(tmp_path / "own"))
    bad = BAD_FILES[kind](made_up)
    path = put(tmp_path / "own", bad)
    for action in (load_ocr, fetch):
        with pytest.raises(DataError) as caught:
            action()
        assert_one_sentence(str(caught.value), path, "expected", "unset MEDN_EDU_DATA")
    found = status()
    assert (found.valid, found.n_bytes) == (False, len(bad))
    assert found.problem == str(caught.value)
    assert path.read_bytes() == bad
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("kind", BAD_FILES)
def test_fetch_replaces_a_bad_file_in_the_cache(kind, tmp_path, monkeypatch, made_up, serve):
    serve(gzip.compress(made_up))
    monkeypatch.setattr(ocr.pooch, "os_cache", lambda name: tmp_path)
    monkeypatch.delenv("MEDN_EDU_DATA", raising=False)
    path = put(tmp_path, BAD_FILES[kind](made_up))
    with pytest.raises(DataError, match="medn-edu data fetch"):
        load_ocr()
    assert fetch().valid
    assert load_ocr().words.tolist() == WORDS
    assert everything_under(tmp_path) == [path.parent, path]


def test_a_folder_in_place_of_the_file(tmp_path):
    path = tmp_path / "ocr" / "letter.data.gz"
    path.mkdir(parents=True)
    with pytest.raises(DataError) as caught:
        load_ocr(tmp_path)
    assert_one_sentence(str(caught.value), path, "cannot be read")
    assert status(tmp_path).n_bytes == 0


def test_a_file_that_may_not_be_read(tmp_path, monkeypatch, made_up):
    path = put(tmp_path, gzip.compress(made_up))

    def denied(*args):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(ocr.gzip, "open", denied)
    with pytest.raises(DataError) as caught:
        load_ocr(tmp_path)
    assert_one_sentence(str(caught.value), path, "cannot be read (permission denied)")


@pytest.mark.parametrize(
    ("before", "after", "part"),
    [
        (b"\t\n", b"\n", "line 1"),
        (b"\tz\t", b"\tZ\t", "line 4"),
        (b"\t9\t", b"\t10\t", "line 6"),
        (b"\t-1\t", b"\t7\t", "last word"),
        (b"\t3\t1\t2\t0\t", b"\t3\t1\t2\t5\t", "two folds"),
        (b"1\t\n", b"2\t\n", "broken pixel"),
        (b"\n", b"\r\n", "line 1"),
    ],
)
def test_a_file_of_another_form(before, after, part, tmp_path):
    content, _ = letter_data()
    text = content.replace(before, after)
    assert text != content
    put(tmp_path, gzip.compress(text))
    with taken_for_real(text), pytest.raises(DataError) as caught:
        load_ocr(tmp_path)
    assert_one_sentence(str(caught.value), part, "expected", tmp_path)


@pytest.mark.parametrize("text", [b"", b"\n\n", letter_data()[0][:-1]])
def test_a_file_without_whole_lines(text, tmp_path):
    put(tmp_path, gzip.compress(text))
    with taken_for_real(text), pytest.raises(DataError, match="line"):
        load_ocr(tmp_path)


# ------------------------------------------------------------------------------------ downloads


def test_without_a_network_nothing_is_left_behind(tmp_path, monkeypatch, no_network):
    monkeypatch.delenv("MEDN_EDU_DATA", raising=False)
    monkeypatch.setattr(ocr.pooch, "os_cache", lambda name: tmp_path / "cache")
    for action in (load_ocr, fetch):
        with pytest.raises(DataError) as caught:
            action()
        assert_one_sentence(
            str(caught.value), ocr.URL, tmp_path / "cache", "network", "load_digit_words"
        )
    with pytest.raises(DataError) as caught:
        load_ocr(download=False)
    assert_one_sentence(str(caught.value), "medn-edu data fetch", "load_digit_words")
    assert status().problem == str(caught.value)
    assert everything_under(tmp_path) == []


def test_a_download_is_kept_and_used_again(tmp_path, monkeypatch, made_up, serve, capfd):
    serve(gzip.compress(made_up))
    assert load_ocr(tmp_path).words.tolist() == WORDS
    path = tmp_path / "ocr" / "letter.data.gz"
    assert everything_under(tmp_path) == [path.parent, path]
    monkeypatch.setattr(ocr, "URL", "http://127.0.0.1:9/")  # nobody answers there
    assert load_ocr(tmp_path).words.tolist() == WORDS
    assert fetch(tmp_path).path == path
    assert capfd.readouterr() == ("", "")


def test_fetch_shows_progress_when_asked(tmp_path, made_up, serve, capfd):
    serve(gzip.compress(made_up))
    fetch(tmp_path, progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert "100%" in err


def test_a_download_that_is_unpacked_on_the_way(tmp_path, made_up, serve):
    serve(gzip.compress(made_up), headers=[("Content-Encoding", "gzip")])
    assert fetch(tmp_path).valid


@pytest.mark.parametrize("kind", [kind for kind in BAD_FILES if kind != "not gzip"])
def test_a_bad_download_leaves_nothing_behind(kind, tmp_path, made_up, serve):
    serve(BAD_FILES[kind](made_up))
    with pytest.raises(DataError) as caught:
        fetch(tmp_path)
    assert_one_sentence(str(caught.value), ocr.URL, "nothing was kept")
    assert everything_under(tmp_path) == []


@pytest.mark.parametrize("trouble", [{"code": 404}, {"code": 500}, {"missing_bytes": 100}])
def test_a_failing_server_leaves_nothing_behind(trouble, tmp_path, made_up, serve):
    serve(gzip.compress(made_up), **trouble)
    with pytest.raises(DataError) as caught:
        fetch(tmp_path)
    assert_one_sentence(str(caught.value), ocr.URL)
    assert everything_under(tmp_path) == []


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_an_interrupted_write_leaves_the_old_file(stop, tmp_path, monkeypatch, made_up, serve):
    serve(gzip.compress(made_up))
    path = put(tmp_path, b"old")

    def interrupted(*args):
        raise stop

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises((KeyboardInterrupt, DataError)) as caught:
        fetch(tmp_path)
    if isinstance(stop, OSError):
        assert_one_sentence(str(caught.value), path, "no space left")
    assert everything_under(tmp_path) == [path.parent, path]
    assert path.read_bytes() == b"old"


def test_a_cache_that_cannot_be_written(tmp_path, made_up, serve):
    serve(gzip.compress(made_up))
    home = tmp_path / "a_file"
    home.write_bytes(b"")
    with pytest.raises(DataError) as caught:
        load_ocr(home)
    assert_one_sentence(str(caught.value), home, "cannot be written")


# ------------------------------------------------------------------------------ arbitrary input


def load_from(data, content=None):
    """Load a file with these bytes; return the Bunch, or None if it was refused properly."""
    trusted = contextlib.nullcontext() if content is None else taken_for_real(content)
    with tempfile.TemporaryDirectory() as folder, trusted:
        path = put(folder, data)
        try:
            return load_ocr(folder, download=False)
        except DataError as error:
            assert_one_sentence(str(error).replace("\\n", ""), path, "expected")
            return None


@given(st.binary(max_size=400))
@example(b"\x1f\x8b")
@example(b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\xff\xff")
def test_arbitrary_files_are_refused(data):
    assert load_from(data) is None


@given(st.binary(max_size=400))
@example(b"\n")
@example(b"\t\n" * 130)
@example(b"1\ta\t-1\t1\t1\t0\t" + b"0\t" * 127 + b"\n")
def test_arbitrary_content_is_refused(content):
    assert load_from(gzip.compress(content), content) is None


@settings(max_examples=200)
@given(st.data())
def test_altered_content_is_refused_or_whole(data):
    content = bytearray(letter_data()[0])
    at = data.draw(st.integers(0, len(content) - 1))
    n_removed = data.draw(st.integers(0, 3))
    content[at : at + n_removed] = data.draw(st.binary(max_size=3))
    bunch = load_from(gzip.compress(bytes(content)), bytes(content))
    if bunch is not None:
        assert len(bunch.data) == len(bunch.target) == len(bunch.fold) == len(bunch.words)
        assert [len(pixels) for pixels in bunch.data] == [len(word) for word in bunch.target]
        assert all(pixels.shape[1] == 128 for pixels in bunch.data)
        assert np.isin(np.concatenate(bunch.data), [0.0, 1.0]).all()
