"""The Stanford Sentiment Treebank: sentences of film reviews as trees, with a sentiment on each phrase.

`medn_edu.datasets.remote` says where the files come from.  Each line is a tree with brackets, as
`medn_edu.text.read_parse` reads them.
"""

import os

import numpy as np
from sklearn.utils import Bunch

from medn_edu.datasets import remote
from medn_edu.text import Parse, read_parse

_PARTS = ("train", "dev", "test")

_DESCR = """\
Stanford Sentiment Treebank
---------------------------
8,544 / 1,101 / 2,210 sentences of film reviews (318,582 / 41,447 / 82,600 phrases) for training, for
choosing (dev) and for testing.  Each sentence is a binary tree.  Each of its phrases, down to single
words, has one of five labels: 0 (very negative), 1, 2 (neutral), 3, 4 (very positive), rounded from
what three people said about the phrase on its own.  By Richard Socher and others (Recursive deep
models for semantic compositionality over a sentiment treebank, EMNLP 2013); home:
https://nlp.stanford.edu/sentiment.  No licence is stated, so the package doesn't contain the data, and
it shows single phrases at most.

What to know before you believe a number:

* Most phrases are neutral: if you always say 2, you get two thirds of all phrases right, but only a
  fifth of whole sentences.
* The same phrase has the same label wherever it occurs.  More than half of the dev part's phrases,
  nearly all single words among them, also occur in training and can be looked up.  So next to the
  accuracy on all phrases, give the accuracy on whole sentences, on phrases of two words or more, and
  on phrases that training doesn't have.

Contents: data (list of Parse), target (lists of labels, "0" to "4", one per phrase), split ("train",
"dev" or "test", one per sentence), target_names.
"""


def load_sst(data_home: str | os.PathLike[str] | None = None, download: bool = True) -> Bunch:
    """Load the Stanford Sentiment Treebank, parse trees with a sentiment on each phrase.

    Parameters
    ----------
    data_home : str or path, optional
        Folder in which to look for ``sst/train.txt.gz``, ``dev.txt.gz`` and ``test.txt.gz``, and into
        which to download them.  The default is to look in ``$MEDN_EDU_DATA`` and then in the cache
        folder of this package, and to download to the cache.
    download : bool, default=True
        Whether to download files (0.8 MB in all) that are in neither place.

    Returns
    -------
    sklearn.utils.Bunch
        data : list of 11,855 Parse
            The trees; `medn_edu.text.PhraseFeatures` describes their phrases.
        target : list of lists of str
            The label of each phrase, ``"0"`` (very negative) to ``"4"`` (very positive).
        split : ndarray of '<U5', shape (11855,)
            Part of each sentence: ``"train"``, ``"dev"`` or ``"test"``, in this order.
        target_names : ndarray of str, shape (5,)
            The labels.
        DESCR : str
            Origin, facts and pitfalls.

    Raises
    ------
    DataError
        If a file is missing and cannot be downloaded, cannot be read, or is not the right one.

    Examples
    --------
    >>> sst = load_sst()                                            # doctest: +SKIP
    >>> train = np.flatnonzero(sst.split == "train")                # doctest: +SKIP
    >>> len(train), sst.target[0][0]                                # doctest: +SKIP
    (8544, '3')
    """
    parts = remote.load("sst", _parse, data_home, download)
    trees = [tree for part in parts for tree in part]
    return Bunch(
        data=[parse for parse, _ in trees],
        target=[labels for _, labels in trees],
        split=np.repeat(_PARTS, [len(part) for part in parts]),
        target_names=np.array(list("01234")),
        DESCR=_DESCR,
    )


def _parse(content: bytes) -> list[tuple[Parse, list[str]]]:
    """Return the trees of a file; ValueError if it is of another form."""
    # Not splitlines: words may hold characters that it takes for the end of a line.
    trees = []
    for number, line in enumerate(content.decode().split("\n"), 1):
        if line:
            try:
                trees.append(read_parse(line))
            except ValueError as error:
                raise ValueError(f"line {number}: {str(error).rstrip('.')}") from None
    return trees
