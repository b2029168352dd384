"""The loader of the Stanford Sentiment Treebank."""

import gzip
import hashlib
import io
import zipfile
from dataclasses import replace

import numpy as np
import pooch
import pytest

from medn_edu.datasets import DataError, load_sst, load_wnut17, remote

CONTENT = {
    "train": "(3 (2 A) (4 joy))\n\n(1 dull)\n",
    "dev": "(2 (2 1\u00a01/2) (2 \u2028x))",
    "test": "(0 awful)\n",
}


@pytest.fixture
def home(monkeypatch):
    """Let the loader take the trees above for the real ones, and their archive for the home's."""
    made_up = []
    for file in remote.FILES["sst"]:
        content = CONTENT[file.name.removesuffix(".txt")].encode()
        facts = {"sha256": hashlib.sha256(content).hexdigest(), "n_bytes": len(content)}
        made_up.append(replace(file, **facts))
    monkeypatch.setitem(remote.FILES, "sst", tuple(made_up))
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as files:
        for part, content in CONTENT.items():
            files.writestr(f"trees/{part}.txt", content)

    def send(self, url, buffer, _):
        assert url.endswith("trainDevTestTrees_PTB.zip")
        buffer.write(archive.getvalue())

    monkeypatch.setattr(pooch.HTTPDownloader, "__call__", send)


def test_trees_come_from_the_archive(home, tmp_path):
    bunch = load_sst(tmp_path)
    assert [parse.words for parse in bunch.data] == [
        ("A", "joy"), ("dull",), ("1\u00a01/2", "\u2028x"), ("awful",),
    ]  # fmt: skip
    assert bunch.target == [["3", "2", "4"], ["1"], ["2", "2", "2"], ["0"]]
    assert bunch.split.tolist() == ["train", "train", "dev", "test"]
    assert load_sst(tmp_path, download=False).target == bunch.target


def test_content_of_another_form_is_named(home, tmp_path, monkeypatch):
    load_sst(tmp_path)
    content = b"(2 film)\n(2 a film)\n"
    (train, *others) = remote.FILES["sst"]
    facts = {"sha256": hashlib.sha256(content).hexdigest(), "n_bytes": len(content)}
    monkeypatch.setitem(remote.FILES, "sst", (replace(train, **facts), *others))
    (tmp_path / "sst" / "train.txt.gz").write_bytes(gzip.compress(content))
    with pytest.raises(
        DataError,
        match=r"train\.txt\.gz: line 2: text is not a tree, because it goes on with 'film\)'",
    ):
        load_sst(tmp_path)


def test_what_is_no_folder_is_named():
    for load in (load_sst, load_wnut17):
        with pytest.raises(TypeError, match=r"^data_home is 5; expected a path, or None"):
            load(5)


@pytest.mark.usefixtures("require_sst")
def test_the_treebank_is_what_its_story_says():
    bunch = load_sst(download=False)
    parts, counts = np.unique(bunch.split, return_counts=True)
    assert dict(zip(parts, counts, strict=True)) == {"train": 8544, "dev": 1101, "test": 2210}
    n_nodes = dict.fromkeys(parts, 0)
    for parse, labels, part in zip(bunch.data, bunch.target, bunch.split, strict=True):
        n_nodes[part] += parse.n_nodes
        assert len(labels) == parse.n_nodes
        assert all(len(below) in (0, 2) for below in parse.children())
        assert set(labels) <= set(bunch.target_names)
    assert n_nodes == {"train": 318_582, "dev": 41_447, "test": 82_600}
    test = bunch.split == "test"
    labels = np.concatenate([bunch.target[i] for i in np.flatnonzero(test)])
    roots = np.array([bunch.target[i][0] for i in np.flatnonzero(test)])
    assert round(np.mean(labels == "2"), 3) == 0.685
    assert round(np.mean(roots == "2"), 3) == 0.176
    label_of = {}
    for parse, labels in zip(bunch.data, bunch.target, strict=True):
        for node, label in enumerate(labels):
            label_of.setdefault(parse.phrase(node), set()).add(label)
    assert np.mean([len(found) == 1 for found in label_of.values()]) > 0.999
