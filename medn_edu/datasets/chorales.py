"""Bach's chorales, event by event: which notes sound, and the chord that an expert heard in them.

The file holds one event per line, in 17 fields separated by commas: the chorale, the number of the
event in it, YES or NO for each of the twelve pitch classes from C to B, the name of the bass note, the
metre and the chord.  `medn_edu.datasets.remote` says where it comes from.
"""

import os
from collections.abc import Sequence

import numpy as np
from sklearn.utils import Bunch

from medn_edu.datasets import remote

PITCH_NAMES = ("C", "C#", "D", "Eb", "E", "F", "F#", "G", "Ab", "A", "Bb", "B")
"""A name for each pitch class, as in the names of features."""

# Each is a fifth above the one before: the 16 names of notes that the file has.
_FIFTHS = (
    "Db", "Ab", "Eb", "Bb", "F", "C", "G", "D", "A", "E", "B", "F#", "C#", "G#", "D#", "A#",
)  # fmt: skip
_MIDDLE = (len(_FIFTHS) - 1) / 2
_PITCH = {name: (1 + 7 * place) % 12 for place, name in enumerate(_FIFTHS)}
_BLOCKS = ("pitch", "bass", "previous_pitch", "previous_bass", "next_pitch", "next_bass")
_METRES = ("1", "2", "3", "4", "5")
_N_FEATURES = 12 * len(_BLOCKS) + len(_METRES) + 1
_N_FIELDS = 17
_PITCHES, _BASS, _METRE, _CHORD = slice(2, 14), 14, 15, 16
_QUALITIES = ("M", "m", "d")
_ADDED = ("", "4", "6", "7")
# Two settings of one hymn: up to transposition 45 of 93 events agree, in runs of four or more.
_SAME_TUNE = {"003206": "003907"}

_DESCR = """\
Bach's chorales: which chord sounds?
------------------------------------
60 chorales by J. S. Bach, cut into 5,665 events (40 to 207 per chorale), each with one of 102 chord
labels.  By Daniele P. Radicioni and Roberto Esposito (2014), Bach Choral Harmony, UCI Machine Learning
Repository, https://doi.org/10.24432/C5B61F, CC BY 4.0.  They describe it in BREVE: an
HMPerceptron-based chord recognition system (Advances in Music Information Retrieval, Springer 2010).
The notes come from MIDI files, the metre from a program, and the chords from a human expert.

A label is a root in two characters ("F_", "F#", "Bb"), then M, m or d (major, minor, diminished), then
4, 6 or 7 if such a note is added: "D_M" is D major, "F#m7" is F sharp minor with a seventh.

There are 78 features, all 0 or 1: the 12 pitch classes that sound, the bass note, both again for the
previous and for the next event (0 at the ends of a chorale), the metre from 1 (weak) to 5 (strong), and
a constant.

What to know before you believe a number:

* Leave out whole chorales, never events, because neighbouring events share notes and chords.  Leave out
  all chorales of a group together.  BWV 39.7, 126.6, 145.5 and 148.6 are there twice, in two keys (the
  name of the second ends in v), and half of the events of BWV 32.6 are those of 39.7.
* 34 of the labels occur fewer than five times, 8 only once.  A chorale that is left out may hold a
  label that no other chorale has.
* A root has the name that the score gives it, so one chord may have two labels: 12 pairs, such as
  C#M (39 times) and DbM (21), differ in name only.  Nothing is merged here.
* The notes that sound don't settle the chord: 201 of the 325 different sets of pitch classes occur
  with several labels.  If you look up the commonest label of each set, 31.8 % of events are wrong when
  one chorale is left out at a time.
* Even the expert hears the same notes differently.  Three of the four pairs of copies (all but BWV
  148.6) agree in every note, but 28 of their 322 chords differ (8.7 %), not counting names.
* In 54 events the bass isn't among the notes that sound.  The names of bass notes are lost here.
* In the file one event each of BWV 29.8 and 30.6 has blanks before the chorale's name, which makes 62
  names.  Here they are parts of their chorales.  UCI's page counts 101 labels.

Contents: data (list of (n, 78) float64), target (list of labels), chorales (names: four digits of the
BWV number, two of the movement), group (the tune of each), target_names, feature_names.
"""


def load_chorales(data_home: str | os.PathLike[str] | None = None, download: bool = True) -> Bunch:
    """Load the Bach chorales, whose events are labelled with chords.

    Parameters
    ----------
    data_home : str or path, optional
        Folder in which to look for ``bach/jsbach_chorals_harmony.data.gz`` and into which to download
        it.  The default is to look in ``$MEDN_EDU_DATA`` and then in the cache folder of this package,
        and to download to the cache.
    download : bool, default=True
        Whether to download the file (33 kB) if it is in neither place.

    Returns
    -------
    sklearn.utils.Bunch
        data : list of 60 float64 arrays of shape (n_events, 78)
            Features of each chorale's events, 0 or 1.
        target : list of '<U4' arrays of shape (n_events,)
            The chords.
        chorales : ndarray of str, shape (60,)
            Names of the chorales, in the order of the file.
        group : ndarray of str, shape (60,)
            The tune of each chorale.  Keep chorales with the same tune in the same part of a split.
        target_names : ndarray of '<U4', shape (102,)
            All labels, in alphabetical order.
        feature_names : list of 78 str
            ``pitch_C``, ``bass_F#``, ``previous_pitch_Bb``, ``metre_5``, ``constant`` and so on.
        DESCR : str
            Origin, licence, facts and pitfalls.

    Raises
    ------
    DataError
        If the file is missing and cannot be downloaded, cannot be read, or is not the right one.

    See Also
    --------
    transpose_chorales : The same chorales in all twelve keys.

    Examples
    --------
    >>> bach = load_chorales()                              # doctest: +SKIP
    >>> print(bach.chorales[0], bach.target[0][:3])         # doctest: +SKIP
    000106b_ ['F_M' 'C_M' 'C_M']
    >>> bach.data[0].shape                                  # doctest: +SKIP
    (162, 78)
    """
    return remote.load("bach", _parse, data_home, download)[0]


def transpose_chorales(
    X: Sequence[np.ndarray], y: Sequence[Sequence[str]], semitones: Sequence[int] = range(12)
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Move chorales to other keys, by default each to all twelve.

    Pitch classes and bass notes are rotated.  Roots move along the line of fifths from Db to A#, all
    roots of a chorale by the same distance, as in a score: what was G in D major becomes Ab in Eb major.
    Two distances give the same sound, and the function takes the one that puts the chorale's mean root
    nearer to the middle of the line.  A root that would leave the line gets the name that the same sound
    has at the other end.

    Parameters
    ----------
    X : list of arrays of shape (n_events, 78)
        Chorales as `load_chorales` returns them.
    y : list of arrays of str
        Their chords.
    semitones : sequence of int, default=range(12)
        By how many semitones to move each chorale up; 0 leaves it as it is.

    Returns
    -------
    X, y : list of arrays
        The transposed chorales: all of the first number of semitones in the order given, then all of the
        second, and so on.

    Raises
    ------
    ValueError
        If X and y do not belong together, or are not chorales.

    Examples
    --------
    >>> import numpy as np
    >>> d_major = np.zeros((1, 78))
    >>> d_major[0, [2, 6, 9, 12 + 2]] = 1    # D, F# and A, with D in the bass
    >>> X, y = transpose_chorales([d_major], [["D_M"]], semitones=[1, 2])
    >>> print(y[0], y[1], np.flatnonzero(X[0]))
    ['EbM'] ['E_M'] [ 3  7 10 15]
    """
    if len(X) != len(y):
        raise ValueError(
            f"X has {len(X)} chorales but y has {len(y)}; expected a list of chords for each chorale."
        )
    for number, (events, chords) in enumerate(zip(X, y, strict=True)):
        _check_chorale(number, events, chords)
    moved = [
        (_rotated(events, number), _renamed(chords, number))
        for number in semitones
        for events, chords in zip(X, y, strict=True)
    ]
    return [events for events, _ in moved], [chords for _, chords in moved]


def chord_pitch(chord: str) -> int:
    """Return the pitch class of a chord's root, 0 for C."""
    return _PITCH[_root(chord)]


def _check_chorale(number: int, events: np.ndarray, chords: Sequence[str]) -> None:
    if np.shape(events) != (len(chords), _N_FEATURES):
        raise ValueError(
            f"X[{number}] has shape {np.shape(events)}; expected ({len(chords)}, {_N_FEATURES}), the "
            f"features of load_chorales for each chord of y[{number}]."
        )
    for chord in chords:
        if _root(chord) not in _PITCH:
            raise ValueError(
                f"y[{number}] holds {str(chord)!r}; expected chords such as 'D_M' or 'F#m7', with a "
                f"root among {', '.join(_FIFTHS)}."
            )


def _root(chord: str) -> str:
    return chord[:2].rstrip("_")


def _rotated(events: np.ndarray, semitones: int) -> np.ndarray:
    n_rotated = 12 * len(_BLOCKS)
    moved = events.copy()
    blocks = events[:, :n_rotated].reshape(len(events), len(_BLOCKS), 12)
    moved[:, :n_rotated] = np.roll(blocks, semitones, axis=2).reshape(len(events), n_rotated)
    return moved


def _renamed(chords: Sequence[str], semitones: int) -> np.ndarray:
    if semitones % 12 == 0:
        return np.asarray(chords)
    places = np.array([_FIFTHS.index(_root(chord)) for chord in chords])
    up = 7 * semitones % 12
    distance = min(up, up - 12, key=lambda way: abs(places.mean() + way - _MIDDLE))
    places = places + distance
    places = np.where(
        places < 0, places + 12, np.where(places >= len(_FIFTHS), places - 12, places)
    )
    return np.array(
        [f"{_FIFTHS[k]:_<2}{chord[2:]}" for k, chord in zip(places, chords, strict=True)]
    )


def _parse(content: bytes) -> Bunch:
    """Turn the file into a Bunch; ValueError if it is not of that form."""
    rows = [_row(number, line) for number, line in enumerate(content.decode().splitlines(), 1)]
    if not rows:
        raise ValueError("the file is empty; expected one event per line")
    names = np.array([row[0] for row in rows])
    starts = np.flatnonzero(np.append(True, names[1:] != names[:-1]))
    parts = [slice(*ends) for ends in zip(starts, [*starts[1:], len(rows)], strict=True)]
    sounds = np.array([[field == "YES" for field in row[_PITCHES]] for row in rows], dtype=float)
    basses = np.eye(12)[[_PITCH[row[_BASS]] for row in rows]]
    metres = np.eye(len(_METRES))[[_METRES.index(row[_METRE]) for row in rows]]
    chords = np.array([row[_CHORD] for row in rows])
    pitched = np.hstack([sounds, basses])
    return Bunch(
        data=[_features(pitched[part], metres[part]) for part in parts],
        target=[chords[part] for part in parts],
        chorales=names[starts],
        group=np.array([_SAME_TUNE.get(name[:6], name[:6]) for name in names[starts]]),
        target_names=np.unique(chords),
        feature_names=[
            *(f"{block}_{name}" for block in _BLOCKS for name in PITCH_NAMES),
            *(f"metre_{metre}" for metre in _METRES),
            "constant",
        ],
        DESCR=_DESCR,
    )


def _row(number: int, line: str) -> list[str]:
    """Return the fields of a line."""
    row = [field.strip() for field in line.split(",")]
    if not (
        len(row) == _N_FIELDS
        and set(row[_PITCHES]) <= {"YES", "NO"}
        and row[_BASS] in _PITCH
        and row[_METRE] in _METRES
        and _root(row[_CHORD]) in _PITCH
        and row[_CHORD][2:3] in _QUALITIES
        and row[_CHORD][3:] in _ADDED
    ):
        raise ValueError(
            f"line {number} is not an event; expected {_N_FIELDS} fields between commas: a chorale, a "
            "number, 12 times YES or NO, a note, a metre from 1 to 5, and a chord such as F#m7"
        )
    return row


def _features(pitched: np.ndarray, metres: np.ndarray) -> np.ndarray:
    """Put the notes of each event next to those of its neighbours, its metre and a constant."""
    beyond = np.zeros_like(pitched[:1])
    previous, following = np.vstack([beyond, pitched[:-1]]), np.vstack([pitched[1:], beyond])
    return np.hstack([pitched, previous, following, metres, np.ones((len(pitched), 1))])
