"""Text: words and their tags from a file, features from dictionaries, scores of whole spans.

Models take samples of numbers, but texts are words.  This package turns one into the other:

* `read_conll` reads words and tags from a file with one word per line;
* `SequenceVectorizer` turns the features of each word, written as a dictionary, into the samples that
  models take, a sparse matrix per sentence;
* `parse_page` reads a web page into a tree of elements, texts and images, a `Page`, and
  `page_to_sample` turns a page into a sample in one step;
* `read_parse` reads a parse tree, and `PhraseFeatures` describes its phrases as tokens in a tree;
* `span_scores` counts how many names, phrases or other spans of words a model has found.

>>> from sklearn.pipeline import make_pipeline
>>> from medn_edu import CRF, SequenceVectorizer
>>> X = [[{"word": "Ada", "capital": True}, {"word": "sleeps"}], [{"word": "she"}, {"word": "reads"}]]
>>> model = make_pipeline(SequenceVectorizer(), CRF(lam=0.1)).fit(X, [["noun", "verb"]] * 2)
>>> model.predict([[{"word": "Ada"}, {"word": "reads"}]])[0].tolist()
['noun', 'verb']
"""

from medn_edu.text.conll import read_conll
from medn_edu.text.pages import (
    ATTRIBUTES,
    INNER_LABELS,
    LEAF_LABELS,
    MARK,
    NOTHING,
    Page,
    page_to_sample,
    parse_page,
)
from medn_edu.text.parses import Parse, read_parse
from medn_edu.text.phrases import PhraseFeatures
from medn_edu.text.spans import SpanScores, span_scores
from medn_edu.text.vectorizer import SequenceVectorizer

__all__ = [
    "ATTRIBUTES",
    "INNER_LABELS",
    "LEAF_LABELS",
    "MARK",
    "NOTHING",
    "Page",
    "Parse",
    "PhraseFeatures",
    "SequenceVectorizer",
    "SpanScores",
    "page_to_sample",
    "parse_page",
    "read_conll",
    "read_parse",
    "span_scores",
]
