"""Data sets: real handwriting, downloaded and embedded, and data from a known model.

A structured model earns its keep where one node says too little and its neighbours say more.  Four
data sets show that from four sides:

* `load_ocr`, handwritten words of 26 letters on 16 x 8 binary pixels: the benchmark of the field.
  It is downloaded once (1.1 MB) because its authors state no licence.
* `load_digit_words`, sequences of scikit-learn's handwritten digits under a known grammar: real
  images that are already on this machine, so that everything runs without a network.  Blurred by
  noise, a digit can often be read only with the help of its neighbours.
* `load_handwriting`, the first where they are on this machine and the second otherwise, which then
  say so in a banner: for notebooks.
* `load_sentences`, short English sentences, each word with its part of speech: text, read from a file
  that comes with the package.  Its ``data`` are lists of words, which have to become features first.
* `make_chain_crf`, samples of a random conditional random field: the true weights are known, so one
  can ask what a learner finds rather than only how often it is right.

All of them come as a `sklearn.utils.Bunch` with ``data`` (a list of one ``(n_nodes, n_features)``
array per sample), ``target`` (a list of one label array per sample) and ``DESCR``, the story of the
data with what one should know before believing a number.  ``model.fit(bunch.data, bunch.target)``
works on each but the sentences.

Handwriting must be split by *words*, never by letters, and by writers where they are known: letters
of one word lean on each other, so a word cut in two would leak from training into test.

>>> from medn_edu.datasets import load_digit_words
>>> digits = load_digit_words()
>>> print(digits.words[0], digits.data[0].shape)
1245690135 (10, 64)
"""

from medn_edu.datasets.digits import load_digit_words
from medn_edu.datasets.handwriting import Handwriting, load_handwriting
from medn_edu.datasets.ocr import DataError, DataStatus, fetch, load_ocr, status
from medn_edu.datasets.sentences import load_sentences
from medn_edu.datasets.synthetic import make_chain_crf

__all__ = [
    "DataError",
    "DataStatus",
    "Handwriting",
    "fetch",
    "load_digit_words",
    "load_handwriting",
    "load_ocr",
    "load_sentences",
    "make_chain_crf",
    "status",
]
