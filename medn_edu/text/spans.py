"""Evaluation by whole spans of tokens, such as the names of people and places in a text."""

from collections import Counter
from dataclasses import dataclass
from statistics import fmean
from typing import Any, NamedTuple

from medn_edu.checks import check_choice, shown, warn_user
from medn_edu.samples.checks import as_list

_PREFIXES = {"BIO": "BI", "BIOES": "BIES"}


class Scores(NamedTuple):
    """How well spans were found: shares from 0 to 1, and how many true ones there are."""

    precision: float
    recall: float
    f1: float
    support: int


@dataclass(frozen=True)
class SpanScores:
    """Scores of spans, which print as a table.

    Attributes
    ----------
    types : dict of str to Scores
        Scores of each type of span: a named tuple of ``precision``, ``recall``, ``f1`` and ``support``,
        the number of true spans.
    micro : Scores
        Scores of all spans together.
    macro : Scores
        Unweighted means over the types.  The support is the number of all true spans.
    """

    types: dict[str, Scores]
    micro: Scores
    macro: Scores

    def __str__(self) -> str:
        rows = {**self.types, "micro": self.micro, "macro": self.macro}
        width = max(map(len, rows))
        head = " ".join(f"{name:>9}" for name in Scores._fields)
        lines = [
            f"{name:<{width}} {row.precision:9.3f} {row.recall:9.3f} {row.f1:9.3f} {row.support:9d}"
            for name, row in rows.items()
        ]
        return "\n".join([f"{'':<{width}} {head}", *lines])


def span_scores(y_true: Any, y_pred: Any, scheme: str = "BIO") -> SpanScores:
    """Score how many spans were found, strictly: only what follows the scheme is a span.

    A predicted span is right if there is a true span with the same first token, last token and type.
    What counts as a span, in ``y_true`` as in ``y_pred``:

    * BIO (also known as IOB2): a ``B-x`` and all ``I-x`` of the same type ``x`` that follow it without
      a gap.  An ``I-x`` that does not continue such a span is neither a span nor part of one.
    * BIOES: one ``S-x``; or a ``B-x``, any number of ``I-x`` and an ``E-x`` without a gap, all of one
      type.  A span that is not completed does not count.

    These are the rules of seqeval's ``mode="strict"`` with its schemes IOB2 and IOBES.  Tags without
    types, such as a plain ``B``, are of the type ``_``.  Where nothing was predicted, precision is 0;
    where there is nothing to find, recall is 0.

    Parameters
    ----------
    y_true, y_pred : sequence of tag sequences
        One list or array of tags per sentence, the true ones and those that ``predict`` returned.
    scheme : {"BIO", "BIOES"}, default="BIO"
        How spans are written.

    Returns
    -------
    SpanScores
        Precision, recall, F1 and support per type, and their micro and macro averages.

    Raises
    ------
    ValueError, TypeError
        If lengths differ or something is not a tag of the scheme; the message names the sample.

    Warns
    -----
    UserWarning
        If some true tags are part of no span, as in text that follows another scheme.

    Examples
    --------
    >>> from medn_edu import span_scores
    >>> y_true = [["B-person", "I-person", "O", "B-place"], ["O", "B-place"]]
    >>> y_pred = [["B-person", "O", "O", "B-place"], ["O", "I-place"]]
    >>> scores = span_scores(y_true, y_pred)
    >>> print(scores)
           precision    recall        f1   support
    person     0.000     0.000     0.000         1
    place      1.000     0.500     0.667         2
    micro      0.500     0.333     0.400         3
    macro      0.500     0.250     0.333         3
    >>> round(scores.types["place"].f1, 3)
    0.667
    """
    check_choice("scheme", scheme, _PREFIXES)
    true = as_list(y_true, "y_true", "one sequence of tags per sample")
    pred = as_list(y_pred, "y_pred", "one sequence of tags per sample")
    if len(true) != len(pred):
        raise ValueError(
            f"y_true has {len(true)} samples and y_pred {len(pred)}; expected equal numbers."
        )
    n_true, n_pred, n_right = Counter[str](), Counter[str](), Counter[str]()
    n_tags, n_inside = 0, 0  # true tags other than O, and how many of them are part of a span
    for i, pair in enumerate(zip(true, pred, strict=True)):
        tags = [
            as_list(sequence, f"sample {i} of {name}", "a sequence of tags")
            for sequence, name in zip(pair, ("y_true", "y_pred"), strict=True)
        ]
        if len(tags[0]) != len(tags[1]):
            raise ValueError(
                f"sample {i} has {len(tags[0])} tags in y_true and {len(tags[1])} in y_pred; expected "
                "one per node in both."
            )
        expected = _spans(tags[0], scheme, f"sample {i} of y_true")
        found = _spans(tags[1], scheme, f"sample {i} of y_pred")
        n_tags += sum(tag != "O" for tag in tags[0])
        n_inside += sum(stop - start for start, stop, _ in expected)
        n_true.update(kind for *_, kind in expected)
        n_pred.update(kind for *_, kind in found)
        n_right.update(kind for *_, kind in expected & found)
    if n_inside < n_tags:
        warn_user(
            f"{n_tags - n_inside} of {n_tags} tags of y_true other than O are part of no span by the "
            f"rules of {scheme}; if they should be, the tags follow another scheme.",
            UserWarning,
        )
    types = {
        kind: _scores(n_right[kind], n_pred[kind], n_true[kind])
        for kind in sorted(n_true.keys() | n_pred.keys())
    }
    micro = _scores(n_right.total(), n_pred.total(), n_true.total())
    rows = list(types.values()) or [micro]
    macro = Scores(
        precision=fmean(row.precision for row in rows),
        recall=fmean(row.recall for row in rows),
        f1=fmean(row.f1 for row in rows),
        support=micro.support,
    )
    return SpanScores(types, micro, macro)


def _scores(n_right: int, n_pred: int, n_true: int) -> Scores:
    return Scores(
        precision=n_right / max(n_pred, 1),
        recall=n_right / max(n_true, 1),
        f1=2 * n_right / max(n_pred + n_true, 1),
        support=n_true,
    )


def _spans(tags: list[Any], scheme: str, name: str) -> set[tuple[int, int, str]]:
    """Return first node, node behind the last, and type of each span."""
    spans = set()
    start, kind = None, ""  # of the span that is open
    for t, tag in enumerate([*tags, "O"]):
        prefix, kind_here = _split(tag, scheme, f"node {t} of {name}")
        goes_on = start is not None and prefix in "IE" and kind_here == kind
        if not goes_on:
            if start is not None and scheme == "BIO":
                spans.add((start, t, kind))
            start, kind = (t if prefix in "BS" else None), kind_here
        if start is not None and prefix in "ES":
            spans.add((start, t + 1, kind))
            start = None
    return spans


def _split(tag: Any, scheme: str, place: str) -> tuple[str, str]:
    """Return prefix and type of a tag."""
    if isinstance(tag, str):
        prefix, dash, kind = tag.partition("-")
        if tag == "O":
            return "O", ""
        if len(prefix) == 1 and prefix in _PREFIXES[scheme] and bool(kind) == bool(dash):
            return prefix, kind or "_"
    prefixes = ", ".join(_PREFIXES[scheme])
    raise ValueError(
        f"{place} has the tag {shown(tag)}; expected O, or one of {prefixes} with a dash and a type, "
        f"as in {scheme}."
    )
