"""Short English sentences whose words have part-of-speech tags: text that needs no download.

The sentences and their tags were written for this course, so they may be shown, changed and passed
on.  They are few and plain, but full of words that need their neighbours to reveal the tag: "a light
blue light", "they can fish" and "in this factory they can fish".
"""

from importlib.resources import files

import numpy as np
from sklearn.utils import Bunch

_DESCR = """\
Tagged sentences: 300 short English sentences with parts of speech
------------------------------------------------------------------
Everyday sentences of 6 to 12 tokens (2,550 tokens in all, punctuation marks included), 20 on each of
15 topics: statements, questions, requests, with numbers and names.  We wrote the sentences and tags by
hand for this course (CC BY 4.0, like the course's text).  One person tagged them and checked them
twice; nobody has measured how often a second person would disagree.

The tags are universal part-of-speech tags (universaldependencies.org/u/pos), 15 of the 17:

    NOUN    noun, also today, tonight       ADP     in, of; also up in "give up"
    PROPN   name, day of the week, month    PART    to before a verb, not, 's of a possessor
    PRON    I, this, who; also my, her      SCONJ   because, if; that in "I think that"
    DET     the, every; this in "this day"  CCONJ   and, or, but
    ADJ     adjective, also many, first     NUM     number word
    ADV     well, here, back, very          INTJ    please, yes, oh
    VERB    verb                            PUNCT   punctuation mark
    AUX     every form of be; can, will, must; do and have if they help another verb

Where dictionaries disagree, these are the rules.  when and before are SCONJ if a clause follows.
where, why and how are ADV.  so between two clauses is SCONJ.  like before a noun phrase is ADP.
up, down, off, on, out after a verb are ADP, with or without an object; back, home, away are ADV.
half before an article is DET, otherwise NOUN.  not is PART.

What to know before you believe a number.  We put in ambiguous words on purpose: 132 of 769 words have
more than one tag, which is more than in a newspaper.  Half of the words occur only once.  Sentences on
one topic share words, so split by topic (group), not by sentence.

Contents: data (list of lists of words), target (list of lists of tags), group (the topic of each
sentence), target_names (the tags), filename (the file, in three columns: word, topic, tag).
"""


def load_sentences() -> Bunch:
    """Load 300 short English sentences with their part-of-speech tags; no network needed.

    Returns
    -------
    sklearn.utils.Bunch
        data : list of lists of str
            The words of each sentence, punctuation marks included.
        target : list of lists of str
            The tag of each word.
        group : ndarray of str, shape (300,)
            The topic of each sentence: 15 topics of 20 sentences, one after the other.
        target_names : ndarray of str
            The tags, in alphabetical order.
        filename : str
            Path of the file.  Each line holds the word, topic and tag of a token, and each sentence
            ends with an empty line.
        DESCR : str
            The story of the data, with the meaning of the tags.

    Examples
    --------
    >>> sentences = load_sentences()
    >>> print(*sentences.data[0])
    Can you cook dinner for six tonight ?
    >>> print(*sentences.target[0])
    AUX PRON VERB NOUN ADP NUM NOUN PUNCT
    >>> print(len(sentences.data), sentences.group[0])
    300 kitchen
    """
    path = files("medn_edu.datasets") / "sentences.conll"
    blocks = path.read_text(encoding="utf-8").strip().split("\n\n")
    rows = [[line.split("\t") for line in block.split("\n")] for block in blocks]
    target = [[tag for _, _, tag in sentence] for sentence in rows]
    return Bunch(
        data=[[word for word, _, _ in sentence] for sentence in rows],
        target=target,
        group=np.array([sentence[0][1] for sentence in rows]),
        target_names=np.unique(np.concatenate(target)),
        filename=str(path),
        DESCR=_DESCR,
    )
