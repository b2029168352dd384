"""The WNUT17 loader, and data sets of several files."""

import gzip
import hashlib
from collections import Counter
from dataclasses import replace
from unittest import mock

import numpy as np
import pooch
import pytest

from medn_edu.datasets import DataError, fetch, load_wnut17, remote, status
from medn_edu.datasets import token_features as features_of

# A word may hold what str.splitlines takes for the end of a line; sentences end in two ways.
CONTENT = {
    "train": "Ann\tB-person\nsings\tO\n\t\n\t\nin\tO\nOslo\tB-location\n\n",
    "dev": "a\u2028b\tO\n\x85\tO",
    "test": "\nhi\tO\n\n",
}


@pytest.fixture
def made_up(monkeypatch):
    """Let the loader take the content above for the real one; returns the home's files by address."""

    def entry(file):
        content = CONTENT[file.name.removesuffix(".conll")].encode()
        facts = {"sha256": hashlib.sha256(content).hexdigest(), "n_bytes": len(content)}
        return replace(file, **facts), content

    entries = [entry(file) for file in remote.FILES["wnut17"]]
    monkeypatch.setitem(remote.FILES, "wnut17", tuple(file for file, _ in entries))
    return {file.url: content for file, content in entries}


@pytest.fixture
def downloads(made_up, monkeypatch):
    """Which addresses were asked, in place of the network."""
    asked = []

    def send(self, url, buffer, _):
        asked.append(url)
        buffer.write(made_up[url])

    monkeypatch.setattr(pooch.HTTPDownloader, "__call__", send)
    return asked


def test_sentences_are_read_as_they_were_written(tmp_path, downloads):
    bunch = load_wnut17(tmp_path)
    assert bunch.data == [["Ann", "sings"], ["in", "Oslo"], ["a\u2028b", "\x85"], ["hi"]]
    assert bunch.target == [["B-person", "O"], ["O", "B-location"], ["O", "O"], ["O"]]
    assert bunch.split.tolist() == ["train", "train", "dev", "test"]
    assert bunch.words is bunch.data
    assert [url.rpartition("/")[2] for url in downloads] == [
        "wnut17train.conll", "emerging.dev.conll", "emerging.test.annotated",
    ]  # fmt: skip
    assert load_wnut17(tmp_path, download=False).data == bunch.data
    assert len(downloads) == 3, "kept and used again"


def test_a_data_set_of_several_files_is_here_when_all_are(tmp_path, downloads):
    command = "medn-edu data fetch wnut17"
    found = status(tmp_path, name="wnut17")
    assert (found.path, found.valid) == (None, False)
    assert "train.conll.gz" in found.problem
    assert command in found.problem
    assert "make_text()" in found.problem
    folder = tmp_path / "wnut17"
    found = fetch(tmp_path, name="wnut17")
    n_bytes = sum(path.stat().st_size for path in folder.iterdir())
    assert (found.path, found.valid, found.n_bytes) == (folder, True, n_bytes)
    (folder / "dev.conll.gz").write_bytes(b"damaged")
    found = status(tmp_path, name="wnut17")
    assert (found.path, found.valid, found.n_bytes) == (folder / "dev.conll.gz", False, 7)
    with pytest.raises(DataError) as caught:
        load_wnut17(tmp_path)
    assert str(caught.value) == found.problem
    assert "expected the WNUT17 sentences (dev.conll, " in found.problem
    assert fetch(tmp_path, name="wnut17").valid
    assert len(downloads) == 4, "only the damaged one again"
    with pytest.raises(
        ValueError, match=r"^name is 'mnist'; expected one of 'ocr', 'wnut17', 'bach' or 'sst'\.$"
    ):
        fetch(name="mnist")


@pytest.mark.parametrize("line", ["word", "word tag", "word\t", "\ttag", "a\tb\tc"])
def test_a_file_of_another_form(line, tmp_path, made_up, monkeypatch):
    content = f"hi\tO\n{line}\n".encode()
    digest = hashlib.sha256(content).hexdigest()
    file = replace(remote.FILES["wnut17"][0], sha256=digest, n_bytes=len(content))
    path = tmp_path / "wnut17" / "train.conll.gz"
    path.parent.mkdir()
    path.write_bytes(gzip.compress(content))
    with (
        mock.patch.dict(remote.FILES, wnut17=(file,)),
        pytest.raises(DataError, match=r"^\S*train.conll.gz: line 2 is not .* expected .*\.$"),
    ):
        load_wnut17(tmp_path)


def test_facts_of_the_real_sentences(require_wnut17):
    wnut = load_wnut17(download=False)
    for part, (n_sentences, n_words, share) in {
        "train": (3394, 62_730, 0.950), "dev": (1009, 15_733, 0.921), "test": (1287, 23_394, 0.926),
    }.items():  # fmt: skip
        chosen = np.flatnonzero(wnut.split == part)
        tags = Counter(tag for i in chosen for tag in wnut.target[i])
        assert (len(chosen), tags.total()) == (n_sentences, n_words)
        assert tags["O"] / n_words == pytest.approx(share, abs=5e-4)
        assert set(tags) == set(wnut.target_names)
    assert [len(words) for words in wnut.data] == [len(tags) for tags in wnut.target]
    assert all(features_of(words) for words in wnut.data)
