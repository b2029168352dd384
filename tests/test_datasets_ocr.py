"""The OCR loader: what it returns, and that no bad file gets past it or is left behind."""

import gzip
import hashlib
import http.server
import os
import tempfile
import threading
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medn_edu.datasets import DataError, fetch, load_ocr, remote, status

WORDS, FOLDS = ["abc", "zz", "word", "abc"], [0, 3, 9, 3]


def letter_data():
    """Return the content of a made-up ``letter.data`` with random pixels, and the pixels."""
    pixels = np.random.default_rng(0).integers(0, 2, (sum(map(len, WORDS)), 128))
    lines, number = [], 0
    for word_number, (word, fold) in enumerate(zip(WORDS, FOLDS, strict=True), 1):
        for position, letter in enumerate(word, 1):
            number += 1
            following = number + 1 if position < len(word) else -1
            fields = [number, letter, following, word_number, position, fold, *pixels[number - 1]]
            lines.append("".join(f"{field}\t" for field in fields) + "\n")
    return "".join(lines).encode(), pixels


def changed(**facts):
    """The letters' entry in the table of files, with other facts."""
    return (replace(remote.FILES["ocr"][0], **facts),)


def with_content(content):
    """The letters' entry, with ``content`` taken for the real letters."""
    return changed(sha256=hashlib.sha256(content).hexdigest(), n_bytes=len(content))


def taken_for_real(content):
    """Let the loader take ``content`` for the real letters."""
    return mock.patch.dict(remote.FILES, ocr=with_content(content))


@pytest.fixture
def made_up(monkeypatch):
    content, _ = letter_data()
    monkeypatch.setitem(remote.FILES, "ocr", with_content(content))
    return content


def put(folder, data):
    path = Path(folder) / "ocr" / "letter.data.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def everything_under(folder):
    return sorted(Path(folder).rglob("*"))


@pytest.fixture
def no_server(monkeypatch):
    url = "http://127.0.0.1:9/letter.data.gz"  # nobody answers there
    monkeypatch.setitem(remote.FILES, "ocr", changed(url=url))


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """The cache folder of a user who has set no folder of their own."""
    monkeypatch.setattr(remote.pooch, "os_cache", lambda name: tmp_path / "cache")
    monkeypatch.delenv("MEDN_EDU_DATA", raising=False)
    return tmp_path / "cache"


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
        url = f"http://127.0.0.1:{server.server_port}/letter.data.gz"
        monkeypatch.setitem(remote.FILES, "ocr", changed(url=url))
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.setenv(name, "127.0.0.1")

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def refused(call, *parts):
    """Return why a call is refused: in one sentence that holds some parts."""
    with pytest.raises(DataError) as caught:
        call()
    message = str(caught.value)
    assert message.endswith(".")
    assert "\n" not in message
    for part in parts:
        assert str(part) in message
    return message


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
    first = ocr.images[0][0]
    named = {f"pixel_{row}_{column}": first[row, column] for row, column in np.ndindex(16, 8)}
    assert dict(zip(ocr.feature_names, ocr.data[0][0], strict=True)) == named


def test_the_users_folder_comes_before_the_cache(tmp_path, monkeypatch, made_up, cache, no_server):
    own = tmp_path / "own"
    monkeypatch.setenv("MEDN_EDU_DATA", str(own))
    put(cache, gzip.compress(made_up))
    assert status().place == "cache"  # the user's folder has no such file
    path = put(own, gzip.compress(made_up))
    found = status()
    assert (found.place, found.path, found.valid) == ("MEDN_EDU_DATA", path, True)
    assert found.n_bytes == path.stat().st_size
    assert fetch() == found  # without a network: nothing to fetch
    assert load_ocr().words.tolist() == WORDS


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
def test_a_bad_file_of_the_user_is_left_alone_and_one_in_the_cache_replaced(
    kind, tmp_path, monkeypatch, made_up, cache, serve
):
    serve(gzip.compress(made_up))  # a good one could be had, but not at the cost of the user's own
    bad, own = BAD_FILES[kind](made_up), tmp_path / "own"
    path = put(own, bad)
    with monkeypatch.context() as patch:
        patch.setenv("MEDN_EDU_DATA", str(own))
        for action in (load_ocr, fetch):
            message = refused(action, path, "expected", "unset MEDN_EDU_DATA")
        found = status()
        assert (found.valid, found.n_bytes, found.problem) == (False, len(bad), message)
    assert path.read_bytes() == bad
    assert not cache.exists()
    path = put(cache, bad)
    refused(load_ocr, path, "medn-edu data fetch")
    assert fetch().valid
    assert load_ocr().words.tolist() == WORDS
    assert everything_under(cache) == [path.parent, path]


def test_files_that_cannot_be_read_or_written(tmp_path, monkeypatch, made_up, serve):
    serve(gzip.compress(made_up))
    folder, file, home = (tmp_path / name for name in ("folder", "file", "home"))
    path = folder / "ocr" / "letter.data.gz"
    path.mkdir(parents=True)
    refused(lambda: load_ocr(folder), path, "cannot be read")
    assert status(folder).n_bytes == 0
    path.rmdir()
    path.symlink_to(tmp_path / "nowhere")  # a link of the user's, not to be replaced by a download
    refused(lambda: load_ocr(folder), path, "cannot be read")
    assert path.is_symlink()
    home.write_bytes(b"")
    refused(lambda: load_ocr(home), home, "cannot be written")
    path = put(file, gzip.compress(made_up))
    denied = mock.Mock(side_effect=PermissionError(13, "Permission denied"))
    monkeypatch.setattr(remote.gzip, "open", denied)
    refused(lambda: load_ocr(file), path, "cannot be read (permission denied)")


CONTENT = letter_data()[0]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (CONTENT.replace(b"\t\n", b"\n"), "line 1 is not a letter"),
        (CONTENT.replace(b"\tz\t", b"\tZ\t"), "line 4 is not a letter"),
        (CONTENT.replace(b"\t9\t", b"\t10\t"), "line 6 is not a letter"),
        (CONTENT.replace(b"\t3\t1\t2\t0\t", b"\t3\t1\t2\t0\t0"), "line 2 is not a letter"),
        (CONTENT.replace(b"\t3\t1\t2\t0\t", b"\t3\t1\t2\t5\t"), "a word lies in two folds"),
        (CONTENT.replace(b"\t-1\t", b"\t7\t"), "the last word does not end"),
        (CONTENT.replace(b"1\t\n", b"2\t\n"), "line 1 has a broken pixel"),
        (CONTENT.replace(b"\n", b"\r\n"), "line 1 is not a letter"),
        (CONTENT[:-1], "the last line does not end"),
        (b"", "the last line does not end"),
        (b"\n\n", "line 1 is not a letter"),
        (b"\t\n" * 130, "line 1 is not a letter"),
        (b"1\ta\t-1\t1\t1\t0\t" + b"0\t" * 127 + b"\n", "line 1 is not a letter"),
    ],
)
def test_a_file_of_another_form(text, part, tmp_path):
    assert text != CONTENT
    path = put(tmp_path, gzip.compress(text))
    with taken_for_real(text):
        refused(lambda: load_ocr(tmp_path), f"{path}: {part}", "expected")


def test_without_a_network_nothing_is_left_behind(tmp_path, cache, no_server):
    for action in (load_ocr, fetch):
        refused(action, remote.FILES["ocr"][0].url, cache, "network", "load_digit_words")
    message = refused(lambda: load_ocr(download=False), "medn-edu data fetch", "load_digit_words")
    assert status().problem == message
    assert everything_under(tmp_path) == []


def test_a_download_is_kept_and_used_again(tmp_path, monkeypatch, made_up, serve, capfd):
    serve(gzip.compress(made_up))
    assert load_ocr(tmp_path).words.tolist() == WORDS
    path = tmp_path / "ocr" / "letter.data.gz"
    assert everything_under(tmp_path) == [path.parent, path]
    monkeypatch.setitem(remote.FILES, "ocr", changed(url="http://127.0.0.1:9/"))
    assert load_ocr(tmp_path).words.tolist() == WORDS
    assert fetch(tmp_path).path == path
    assert capfd.readouterr() == ("", "")


def test_fetch_shows_progress_when_asked(tmp_path, made_up, serve, capfd):
    serve(gzip.compress(made_up), headers=[("Content-Encoding", "gzip")])
    assert fetch(tmp_path / "unpacked on the way").valid
    assert capfd.readouterr() == ("", "")
    serve(gzip.compress(made_up))
    assert fetch(tmp_path, progress=True).valid
    out, err = capfd.readouterr()
    assert out == ""
    assert "100%" in err


@pytest.mark.parametrize(
    ("kind", "trouble"),
    [
        *((kind, {}) for kind in BAD_FILES if kind != "not gzip"),
        *((None, trouble) for trouble in ({"code": 404}, {"code": 500}, {"missing_bytes": 100})),
    ],
)
def test_a_bad_download_leaves_nothing_behind(kind, trouble, tmp_path, made_up, serve):
    serve(BAD_FILES.get(kind, gzip.compress)(made_up), **trouble)
    message = refused(lambda: fetch(tmp_path), remote.FILES["ocr"][0].url)
    assert ("nothing was kept" in message) == (not trouble)
    assert everything_under(tmp_path) == []


def test_an_interrupted_write_leaves_the_old_file(tmp_path, monkeypatch, made_up, serve):
    serve(gzip.compress(made_up))
    path = put(tmp_path, b"old")
    stops = [KeyboardInterrupt, OSError(28, "No space left on device")]
    monkeypatch.setattr(os, "replace", mock.Mock(side_effect=stops))
    with pytest.raises(KeyboardInterrupt):
        fetch(tmp_path)
    refused(lambda: fetch(tmp_path), path, "no space left")
    assert everything_under(tmp_path) == [path.parent, path]
    assert path.read_bytes() == b"old"


@given(st.binary(max_size=200) | st.binary(max_size=200).map(b"\x1f\x8b\x08\0".__add__))
def test_arbitrary_files_are_refused(data):
    with tempfile.TemporaryDirectory() as folder:
        path = put(folder, data)
        refused(lambda: load_ocr(folder), path, "expected")


@settings(max_examples=200)
@given(st.data())
def test_altered_content_is_refused_or_whole(data):
    content = bytearray(letter_data()[0])
    at = data.draw(st.integers(0, len(content) - 1))
    n_removed = data.draw(st.integers(0, 3))
    content[at : at + n_removed] = data.draw(st.binary(max_size=3))
    with tempfile.TemporaryDirectory() as folder, taken_for_real(bytes(content)):
        path = put(folder, gzip.compress(bytes(content)))
        try:
            bunch = load_ocr(folder, download=False)
        except DataError as error:
            assert str(path) in str(error)
            assert str(error).endswith(".")
            assert "\n" not in str(error)
            return
    assert len(bunch.data) == len(bunch.target) == len(bunch.fold) == len(bunch.words)
    assert [len(pixels) for pixels in bunch.data] == [len(word) for word in bunch.target]
    assert all(pixels.shape[1] == 128 for pixels in bunch.data)
    assert np.isin(np.concatenate(bunch.data), [0.0, 1.0]).all()
