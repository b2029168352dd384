"""Text: words and their tags from a file, features from dictionaries, scores of whole spans.

Models take samples of numbers, and texts are words.  This package leads from one to the other:

* `read_conll` reads words and tags from a file with one word per line;
* `SequenceVectorizer` turns the features of each word, written as a dictionary, into the samples that
  models take, a sparse matrix per sentence;
* `span_scores` says how many of the names, phrases or other spans of words a model has found.

>>> from sklearn.pipeline import make_pipeline
>>> from medn_edu import CRF, SequenceVectorizer
>>> X = [[{"word": "Ada", "capital": True}, {"word": "sleeps"}], [{"word": "she"}, {"word": "reads"}]]
>>> model = make_pipeline(SequenceVectorizer(), CRF(lam=0.1)).fit(X, [["noun", "verb"]] * 2)
>>> model.predict([[{"word": "Ada"}, {"word": "reads"}]])[0].tolist()
['noun', 'verb']
"""

from medn_edu.text.conll import read_conll
from medn_edu.text.spans import SpanScores, span_scores
from medn_edu.text.vectorizer import SequenceVectorizer

__all__ = ["SequenceVectorizer", "SpanScores", "read_conll", "span_scores"]
