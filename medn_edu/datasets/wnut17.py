"""WNUT17: emerging entities in text that people wrote on the web, a hard benchmark for taggers.

Each of the three files holds one word per line, followed by a tab and its tag.  A line without a word
ends a sentence; it is empty or holds a tab.  `medn_edu.datasets.remote` says where the files come
from.
"""

import os

import numpy as np
from sklearn.utils import Bunch

from medn_edu.datasets import remote

_PARTS = ("train", "dev", "test")
_KINDS = ("corporation", "creative-work", "group", "location", "person", "product")

_DESCR = """\
WNUT17: novel and emerging entities
-----------------------------------
3,394 / 1,009 / 1,287 sentences (62,730 / 15,733 / 23,394 words) for training, for choosing (dev) and
for testing.  Labels are BIO tags of six kinds of entities: corporation, creative-work, group,
location, person and product.  B- begins an entity, I- continues it, and O is outside, which makes 13
labels.  By Leon Derczynski, Eric Nichols, Marieke van Erp and Nut Limsopatham (Results of the WNUT2017
Shared Task on Novel and Emerging Entity Recognition, W-NUT 2017), CC BY 4.0; home:
https://github.com/leondz/emerging_entities_17.

What to know before you believe a number:

* The parts differ on purpose.  The task is to find entities that nobody has seen before: of the 836
  entities of the dev part and the 1,079 of the test part, 96 and 98 % do not occur in the training
  part.  So errors on dev and test are far higher than cross-validation on the training part suggests.
* 95.0, 92.1 and 92.6 % of the words are O, and 64, 38 and 46 % of the sentences hold no entity at all.
  A tagger that always says O gets more than 92 % of the words right and finds nothing, so count
  entities (precision, recall and F1 of whole spans), not words.
* This is what people wrote in tweets, comments and forums, so expect real names, misspellings and rude
  words.  Use it to measure, but don't show it in class.

Contents: data and words (the same lists of str, one per sentence), target (lists of tags), split
("train", "dev" or "test", one per sentence), target_names.
"""


def load_wnut17(data_home: str | os.PathLike[str] | None = None, download: bool = True) -> Bunch:
    """Load WNUT17, sentences of social media whose words are tagged with novel entities.

    Parameters
    ----------
    data_home : str or path, optional
        Folder in which to look for ``wnut17/train.conll.gz``, ``dev.conll.gz`` and
        ``test.conll.gz``, and into which to download them.  The default is to look in
        ``$MEDN_EDU_DATA`` and then in the cache folder of this package, and to download to the cache.
    download : bool, default=True
        Whether to download files (0.8 MB in all) that are in neither place.

    Returns
    -------
    sklearn.utils.Bunch
        data : list of 5,690 lists of str
            The words of each sentence; `token_features` turns one into features.
        target : list of lists of str
            Their tags.
        split : ndarray of '<U5', shape (5690,)
            Part of each sentence: ``"train"``, ``"dev"`` or ``"test"``, in this order.
        words : list of lists of str
            The same lists as ``data``.
        target_names : ndarray of str, shape (13,)
            The tags, O first.
        DESCR : str
            Origin, facts and pitfalls.

    Raises
    ------
    DataError
        If a file is missing and cannot be downloaded, cannot be read, or is not the right one.

    Examples
    --------
    >>> wnut = load_wnut17()                                        # doctest: +SKIP
    >>> train = np.flatnonzero(wnut.split == "train")               # doctest: +SKIP
    >>> len(train), wnut.target_names[:2]                           # doctest: +SKIP
    (3394, array(['O', 'B-corporation'], dtype='<U15'))
    """
    parts = remote.load("wnut17", _parse, data_home, download)
    sentences = [sentence for part in parts for sentence in part]
    words = [[word for word, _ in sentence] for sentence in sentences]
    return Bunch(
        data=words,
        target=[[tag for _, tag in sentence] for sentence in sentences],
        split=np.repeat(_PARTS, [len(part) for part in parts]),
        words=words,
        target_names=np.array(["O", *(f"{b}-{kind}" for kind in _KINDS for b in "BI")]),
        DESCR=_DESCR,
    )


def _parse(content: bytes) -> list[list[tuple[str, str]]]:
    """Return the sentences of a file as pairs of word and tag; ValueError if it is of another form."""
    sentences: list[list[tuple[str, str]]] = [[]]
    # Not splitlines: a tweet may hold characters that it takes for the end of a line.
    for number, line in enumerate(content.decode().split("\n"), 1):
        match line.split("\t"):
            case [""] | ["", ""]:
                sentences.append([])
            case [word, tag] if word and tag:
                sentences[-1].append((word, tag))
            case _:
                raise ValueError(
                    f"line {number} is not a word with its tag; expected the two with a tab between"
                )
    return [sentence for sentence in sentences if sentence]
