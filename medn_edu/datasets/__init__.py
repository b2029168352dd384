"""Data sets: real handwriting and real text, and data made by known rules.

A structured model pays off where a node alone says too little and its neighbours say more.  These data
sets show this in different ways:

* `load_ocr`, handwritten words of 26 letters on 16 x 8 binary pixels: the benchmark of the field.
  It is downloaded once (1.1 MB) because its authors state no licence.
* `load_digit_words`, sequences of scikit-learn's handwritten digits under a known grammar: real
  images that are already on this machine, so that everything runs without a network.  Blurred by
  noise, a digit can often be read only with the help of its neighbours.
* `load_handwriting`, for notebooks: the OCR words if they are on this machine, and digit words
  otherwise, with a banner that says so.
* `load_sentences`, short English sentences, each word with its part of speech: text, read from a file
  that comes with the package.
* `make_chain_crf`, samples of a random conditional random field: the true weights are known, so you
  can ask what a learner finds, and not only how often it is right.
* `load_wnut17`, sentences from social media (0.8 MB, downloaded like the letters).  The task is to find
  people, places and other entities, most of which the training set never names.
* `load_chorales`, Bach's chorales (33 kB, downloaded too).  The notes that sound at each moment are
  given, and the task is to name the chord.  There are more weights than events, so the prior matters.
  `transpose_chorales` moves the chorales to all twelve keys.
* `load_sst`, sentences of film reviews as parse trees (downloaded, 0.8 MB), with a sentiment on each of
  their phrases.  `make_opinions` makes a few such trees by rules, without a file.
* `make_pages`, product pages of 37 made-up shops.  They are trees of HTML, with marks that say what is a
  name, an image, a price or a description.
* `make_text`, sentences of made-up words, which need no file.  They have the tens of thousands of
  rare features that real text has, so they show how long training on text takes.
* `draw_image`, binary images of our own, `make_noisy_images`, noisy copies of them, and
  `make_random_images`, images that are new each time: for models on grids.

Images come as plain arrays, `load_handwriting` returns a `Handwriting`, and `make_pages` returns texts.
All the others come as a `sklearn.utils.Bunch` with ``data`` and ``target`` (lists with one entry per
sample) and ``DESCR``, which tells the story of the data and what you should know before you believe a
number.  If nodes are images or vectors, an entry of ``data`` is an
array ``(n_nodes, n_features)``, and ``model.fit(bunch.data, bunch.target)`` works at once.  If nodes are
words, an entry is a list of strings.  `token_features` turns it into one dictionary of features per
word, and `medn_edu.SequenceVectorizer` turns these dictionaries into samples.

Split handwriting by *words*, never by letters, and by writers where they are known.  The letters of a
word depend on each other, so a word cut in two would leak from the training set into the test set.

>>> from medn_edu.datasets import load_digit_words
>>> digits = load_digit_words()
>>> print(digits.words[0], digits.data[0].shape)
1245690135 (10, 64)
"""

from medn_edu.datasets.chorales import load_chorales, transpose_chorales
from medn_edu.datasets.digits import load_digit_words
from medn_edu.datasets.drawn import DENOISING_IMAGES, draw_image
from medn_edu.datasets.handwriting import Handwriting, load_handwriting
from medn_edu.datasets.images import NOISES, Noise, make_noisy_images, make_random_images
from medn_edu.datasets.made_up import make_text, token_features
from medn_edu.datasets.ocr import load_ocr
from medn_edu.datasets.opinions import make_opinions
from medn_edu.datasets.pages import make_pages
from medn_edu.datasets.remote import DataError, DataStatus, fetch, status
from medn_edu.datasets.sentences import load_sentences
from medn_edu.datasets.sst import load_sst
from medn_edu.datasets.synthetic import make_chain_crf
from medn_edu.datasets.wnut17 import load_wnut17

__all__ = [
    "DENOISING_IMAGES",
    "NOISES",
    "DataError",
    "DataStatus",
    "Handwriting",
    "Noise",
    "draw_image",
    "fetch",
    "load_chorales",
    "load_digit_words",
    "load_handwriting",
    "load_ocr",
    "load_sentences",
    "load_sst",
    "load_wnut17",
    "make_chain_crf",
    "make_noisy_images",
    "make_opinions",
    "make_pages",
    "make_random_images",
    "make_text",
    "status",
    "token_features",
    "transpose_chorales",
]
