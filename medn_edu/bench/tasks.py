"""The measurements of the benchmark, each made in its own process.

``python -m medn_edu.bench.tasks TASK DATA SEED`` prints one line of JSON.  With its own process, each
measurement has one thread from the start and no caches warmed by earlier measurements.  Its peak memory
belongs to a single training.

On text the optimum is not known beforehand, because the sentences are new each time.  So both CRFs are
trained until they stop improving, and the time and the objective of each pass are recorded.  Then
`medn_edu.bench.rows` looks up when each CRF came close to the best objective that was found.
"""

import functools
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from medn_edu.bench.alone import peak_megabytes, vectorized
from medn_edu.studies.kit.crfsuite import crfsuite_trainer

_CLOSENESS = 1e-4  # relative distance to the optimum at which CRF training counts as done
TARGETS = {
    ("ocr", "l2"): 18067.45 * (1 + _CLOSENESS),
    ("ocr", "l1"): 17218.0,  # the optimum is 17214.25
}
"""Objectives of CRFs with ``lam = 1`` at which training counts as done: optima to all digits shown."""

_GOES = 5  # how often to repeat what takes less than a second; the best time counts
_WINDOWS = {"ocr": 2.0, "digits": 2.0, "few": 0.2}  # seconds over which speeds are measured
_DIGIT_WORDS = {"digits": (1500, 500), "few": (150, 50)}  # to train on and to test; few for tests
_N_SENTENCES = {"text-2000": 2000, "text-12000": 12_000}
_FEW = {"text-2000": 20, "text-12000": 40, "wnut17": 100}  # sentences for tests
_TOLERANCES = {"l2": 1e-6, "l1": 2e-4}  # certified gaps to which CRFs are trained on text,
_PATIENCE = 900.0  # at most so many seconds
_N_FIRST = 50  # samples to fit first, to load the kernels: enough to choose the same solver


def _data(name: str) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    """Return training samples and labels, then all samples and labels."""
    from medn_edu.datasets import load_digit_words, load_ocr

    if name == "ocr":
        bunch = load_ocr(download=False)
        train = np.flatnonzero(bunch.fold != 0)
    else:
        n_train, n_test = _DIGIT_WORDS[name]
        bunch = load_digit_words(n_train=n_train, n_test=n_test)
        train = bunch.train
    X, y = bunch.data, bunch.target
    return [X[i] for i in train], [y[i] for i in train], X, y


def _packed(name: str) -> tuple[Any, list[Any]]:
    """Return packed training samples and their labels; nothing else stays in memory."""
    from medn_edu.samples import pack

    X, y, _, _ = _data(name)
    return pack(X), [labels.copy() for labels in y]


def _n_loaded() -> int:
    """Return how many variants of kernels this process has compiled or loaded so far."""
    rooms = [room for name, room in sys.modules.items() if name.startswith("medn_edu.kernels.")]
    found = {id(item): item for room in rooms for item in vars(room).values()}
    kernels = [item for item in found.values() if not isinstance(item, type)]
    return sum(len(getattr(item, "signatures", ())) for item in kernels)


def _timed_fit(model: Any, X: Any, y: list[Any], n_goes: int = 1) -> dict[str, Any]:
    """Fit a model whose kernels are loaded, and say what the best go took."""
    from sklearn.base import clone

    few = np.arange(5)
    clone(model).fit(X.take(few), [y[i] for i in few])  # to the end: solvers change on the way
    n_loaded, times = _n_loaded(), []
    for _ in range(n_goes):
        start, begin = time.perf_counter(), time.process_time()
        result = model.fit(X, y).result_
        times.append((time.perf_counter() - start, time.process_time() - begin))
    seconds, processor_seconds = min(times)
    return {
        "seconds": seconds,
        "processor_seconds": processor_seconds,
        "goes": n_goes,
        "loaded": _n_loaded() - n_loaded,
        "primal": result.primal,
        "dual": result.dual,
        "gap": result.relative_gap,
        "passes": result.n_passes,
        "megabytes": peak_megabytes(),
    }


def _crf(name: str, penalty: str, tol: float) -> dict[str, Any]:
    from medn_edu import CRF

    X, y = _packed(name)
    target = _crf_target(name, penalty)
    model = CRF(penalty, lam=1.0, tol=tol, verbose=0)
    found = _timed_fit(model, X, y)
    overhead = found["seconds"] - model.result_.seconds  # checking the labels
    reached = [p.seconds for p in model.result_.trace if p.objective_estimate <= target]
    to_target = overhead + min(reached) if reached else None
    return {**found, "to_target": to_target, "target": target}


@functools.cache
def _crf_target(name: str, penalty: str) -> float:
    """Return the objective at which training counts as done."""
    if (name, penalty) in TARGETS:
        return TARGETS[name, penalty]
    from medn_edu import CRF

    model = CRF(penalty, lam=1.0, tol=1e-6 if penalty == "l2" else 1e-3, verbose=0)
    return float(model.fit(*_packed(name)).result_.primal) * (1 + _CLOSENESS)


def _m3n(name: str, C: float) -> dict[str, Any]:
    from medn_edu import M3N

    return _timed_fit(M3N(C=C, tol=1e-2, verbose=0), *_packed(name))


def _epsilon(name: str) -> dict[str, Any]:
    from medn_edu import EpsilonMarkovNetwork

    model = EpsilonMarkovNetwork(C=0.1, epsilon=0.1, tol=1e-2, verbose=0)
    return _timed_fit(model, *_packed(name))


def _laplace(name: str, method: str) -> dict[str, Any]:
    from medn_edu import LaplaceMEDN

    model = LaplaceMEDN(C=1.0, lam=36.0, method=method, n_iterations=3, tol=1e-2, verbose=0)
    return {**_timed_fit(model, *_packed(name)), "bound": min(model.bounds_, default=None)}


def _l1_path(name: str, C: float, tol: float) -> dict[str, Any]:
    from medn_edu import L1M3N

    return _timed_fit(L1M3N(C=C, solver="path", tol=tol, verbose=0), *_packed(name))


def _l1_small(name: str, C: float, solver: str, tol: float) -> dict[str, Any]:
    """Train on a hundred words of one fold, as the study ``ocr`` draws them."""
    from medn_edu import L1M3N
    from medn_edu.samples import pack

    if name == "ocr":
        from medn_edu.studies.kit.specs import FitSpec
        from medn_edu.studies.registry import STUDIES

        split = STUDIES["ocr"].fit.split(FitSpec("ocr-100", 0, "", (), 0))
        X, y = split.X_train, split.y_train
    else:
        X, y, _, _ = _data(name)
        X, y = X[:100], y[:100]
    model = L1M3N(C=C, solver=solver, tol=tol, verbose=0)
    return _timed_fit(model, pack(X), y)


def _synthetic(name: str, lam: float) -> dict[str, Any]:
    """Train on the papers' synthetic sequences, whatever the other data are."""
    del name
    from medn_edu import LaplaceMEDN
    from medn_edu.datasets import make_chain_crf
    from medn_edu.samples import pack

    chains = make_chain_crf(n_samples=150)
    model = LaplaceMEDN(C=1.0, lam=lam, tol=1e-2, verbose=0)
    return _timed_fit(model, pack(chains.data), chains.target, _GOES)


def _speed(name: str, work: Callable[[], Any], n_letters: int) -> dict[str, Any]:
    """Repeat some work for a while and return letters per second of its best go."""
    work()
    best, n_goes, begin = np.inf, 0, time.perf_counter()
    while n_goes < 3 or time.perf_counter() - begin < _WINDOWS[name]:
        start = time.perf_counter()
        work()
        best, n_goes = min(best, time.perf_counter() - start), n_goes + 1
    return {"letters_per_second": n_letters / best}


def _inference(name: str, question: str) -> dict[str, Any]:
    from medn_edu import inference
    from medn_edu.samples import encode_labels, pack

    _, _, X, y = _data(name)
    samples = pack(X)
    codes, classes = encode_labels(y, samples)
    # Speed hardly depends on the weights; centroids make them plausible.
    counts = np.bincount(codes, minlength=len(classes))[:, None]
    coef = inference.feature_sums(samples, np.eye(len(classes))[codes]) / counts
    edge = np.zeros((1, len(classes), len(classes)))

    def work() -> Any:
        node = inference.node_potentials(samples, coef)
        return getattr(inference, question)(inference.Potentials(samples, node, edge))

    return _speed(name, work, samples.n_nodes)


def _hmmlearn(name: str, question: str) -> dict[str, Any]:
    from hmmlearn.base import BaseHMM

    _, _, X, y = _data(name)
    stacked, labels = np.vstack(X), np.concatenate(y)
    classes = np.unique(labels)
    coef = np.stack([stacked[labels == c].mean(axis=0) for c in classes])

    class Linear(BaseHMM):
        """Hidden Markov model with emission scores of features times weights, as in our models."""

        def _compute_log_likelihood(self, X: np.ndarray) -> np.ndarray:
            return X @ coef.T

        def _compute_likelihood(self, X: np.ndarray) -> np.ndarray:
            scores = X @ coef.T
            return np.exp(scores - scores.max(axis=1, keepdims=True))

    model = Linear(n_components=len(classes), implementation="scaling")
    model.startprob_ = np.full(len(classes), 1 / len(classes))
    model.transmat_ = np.full((len(classes), len(classes)), 1 / len(classes))
    model.n_features = stacked.shape[1]
    ask = getattr(model, question)
    lengths = [len(word) for word in X]
    # The peer pays for each sequence, and for each letter of a long one: take what suits it better.
    word_by_word = _speed(name, lambda: ask(stacked, lengths), len(stacked))
    in_one_go = _speed(name, lambda: ask(stacked), len(stacked))
    return max(word_by_word, in_one_go, key=lambda found: found["letters_per_second"])


def _crfsuite_items(X: list[Any]) -> list[Any]:
    from pycrfsuite import ItemSequence
    from scipy.sparse import csr_matrix

    names = [f"f{k}" for k in range(X[0].shape[1])]

    def items(sample: Any) -> Any:
        rows = csr_matrix(sample)
        pairs = list(zip((names[k] for k in rows.indices), rows.data.tolist(), strict=True))
        return ItemSequence([dict(pairs[start:end]) for start, end in pairwise(rows.indptr)])

    return [items(sample) for sample in X]


def _crfsuite_trainer(name: str, penalty: str = "l2", **settings: Any) -> Any:
    """Return a trainer that has the data."""
    X, y, _, _ = _data(name)
    trainer = crfsuite_trainer(penalty, **settings)
    for items, labels in zip(_crfsuite_items(X), y, strict=True):
        trainer.append(items, [str(label) for label in labels])
    return trainer


def _crfsuite_train(name: str, penalty: str) -> dict[str, Any]:
    target = _crf_target(name, penalty)
    # For L1 this is OWL-QN.  On the OCR letters iteration 426 is the first below the target.
    most = 500 if penalty == "l1" else 1000
    trainer = _crfsuite_trainer(name, penalty, max_iterations=most, epsilon=1e-6, delta=1e-6)
    start = time.perf_counter()
    with _temporary_model() as path:
        trainer.train(path)
    history = trainer.history
    reached = [moment - start for moment, _, loss in history if loss <= target]
    return {
        "seconds": time.perf_counter() - start,
        "to_target": min(reached) if reached else None,
        "primal": history[-1][2],
        "passes": len(history),
        "megabytes": peak_megabytes(),
    }


def _crfsuite_decode(name: str) -> dict[str, Any]:
    import pycrfsuite

    _, _, X, _ = _data(name)
    trainer = _crfsuite_trainer(name, max_iterations=3)
    with _temporary_model() as path:
        trainer.train(path)
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        items = _crfsuite_items(X)
        try:
            return _speed(name, lambda: [tagger.tag(word) for word in items], sum(map(len, X)))
        finally:
            tagger.close()


def _temporary_model() -> Any:
    import tempfile
    from contextlib import contextmanager

    @contextmanager
    def place() -> Any:
        with tempfile.TemporaryDirectory() as folder:
            yield str(Path(folder) / "model.crfsuite")

    return place()


def _import(name: str) -> dict[str, Any]:
    """Time the import in fresh processes, and name heavy libraries that it loads."""
    del name
    import statistics

    code = (
        "import time; start = time.perf_counter(); import medn_edu; "
        "seconds = time.perf_counter() - start; import sys, json; "
        "heavy = [m for m in ('numba', 'matplotlib', 'ipywidgets', 'pandas') if m in sys.modules]; "
        "print(json.dumps([seconds, heavy]))"
    )
    found = [
        json.loads(subprocess.check_output([sys.executable, "-c", code], text=True))
        for _ in range(5)
    ]
    return {"seconds": statistics.median(seconds for seconds, _ in found), "loads": found[0][1]}


def _first_fit(name: str) -> dict[str, Any]:
    del name
    from medn_edu import CRF, M3N
    from medn_edu.datasets import load_digit_words

    words = load_digit_words()
    X, y = words.data, words.target
    start = time.perf_counter()
    M3N(verbose=0).fit(X[:10], y[:10])
    first_m3n = time.perf_counter() - start
    start = time.perf_counter()
    CRF(verbose=0).fit(X[:10], y[:10])
    return {"seconds": max(first_m3n, time.perf_counter() - start)}


def _warm(name: str) -> dict[str, Any]:
    del name
    start, begin = time.perf_counter(), time.process_time()
    from medn_edu.bench.warmup import warm_up

    done = warm_up()
    return {
        "seconds": time.perf_counter() - start,
        "processor_seconds": time.process_time() - begin,
        "compiled": done.n_compiled,
    }


# -- text -----------------------------------------------------------------------------------------


def _sentences(text: str, name: str, seed: int) -> Iterator[tuple[list[list[str]], list[str]]]:
    """Yield sentences to train on: the names of the features of each token, and the labels."""
    from medn_edu.datasets import load_wnut17, make_text, token_features

    n_most = _FEW[text] if name == "few" else None
    if text == "wnut17":
        bunch = load_wnut17(download=False)
        train = np.flatnonzero(bunch.split == "train")[:n_most]
    else:
        bunch = make_text(n_most or _N_SENTENCES[text], random_state=seed)
        train = np.arange(len(bunch.data))
    for i in train:
        tokens = token_features(bunch.data[i])
        names = [[f"{name}={value}" for name, value in token.items()] for token in tokens]
        yield names, list(map(str, bunch.target[i]))


class _Text:
    """Sentences to train on, and what judges weights on them."""

    def __init__(self, text: str, name: str, seed: int) -> None:
        self.X, self.y, names = vectorized(_sentences(text, name, seed))
        self.columns = {name: column for column, name in enumerate(names)}

    def objective(self, penalty: str, coef: np.ndarray, transitions: np.ndarray) -> float:
        """Return the objective at these weights, with labels in sorted order."""
        from scipy.sparse import vstack

        from medn_edu.bench.objective import crf_objective

        lengths = np.array([len(labels) for labels in self.y])
        _, codes = np.unique(np.concatenate(self.y), return_inverse=True)
        X = vstack(self.X, format="csr")
        return crf_objective(X, lengths, codes, coef, transitions, **{penalty: 1.0})


def _text_crf(penalty: str, text: str, name: str, seed: int) -> dict[str, Any]:
    """Train as far as it goes; what the weights of each pass are worth is found off the clock."""
    from medn_edu import CRF
    from medn_edu.results import run
    from medn_edu.samples import pack

    class Watched(CRF):
        """A CRF that records the processor seconds and the objective of each pass."""

        def _run(self, iterates: Any, problem: Any) -> Any:
            spent, since = 0.0, begin

            def record(_: int, iterate: Any) -> None:
                nonlocal spent, since
                spent += time.process_time() - since
                path.append((spent, problem.primal(iterate.weights)))
                since = time.process_time()

            return run(
                iterates, problem, tol=self.tol, max_iter=100_000, record=record,
                callback=lambda point: point.seconds > _PATIENCE,
            )  # fmt: skip

    path: list[tuple[float, float]] = []
    data = _Text(text, name, seed)
    model = Watched(penalty, lam=1.0, tol=_TOLERANCES[penalty], verbose=0)
    X, begin = pack(data.X), time.process_time()
    few = np.arange(min(_N_FIRST, len(data.y)))
    model.fit(X.take(few), [data.y[i] for i in few])  # loads the kernels
    path.clear()
    begin = time.process_time()
    result = model.fit(X, data.y).result_
    return {
        "path": path,
        "primal": result.primal,
        "gap": result.relative_gap,
        "passes": result.n_passes,
        "evaluated": data.objective(penalty, model.coef_, model.transitions_[0]),
    }


def _text_alone(library: str, penalty: str, model: str, sentences: Iterable[Any]) -> dict[str, Any]:
    """Train in a process that is given the sentences and does nothing else; it leaves its model."""
    done = subprocess.run(
        [sys.executable, "-m", "medn_edu.bench.alone", library, penalty, model],
        input="\n".join(map(json.dumps, sentences)),
        capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return json.loads(done.stdout.splitlines()[-1])


def _text_crfsuite(penalty: str, text: str, name: str, seed: int) -> dict[str, Any]:
    import pycrfsuite

    with _temporary_model() as path:
        found = _text_alone("crfsuite", penalty, path, _sentences(text, name, seed))
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        info = tagger.info()
        tagger.close()
    data = _Text(text, name, seed)
    labels = {label: a for a, label in enumerate(sorted(set().union(*data.y)))}
    coef = np.zeros((len(labels), len(data.columns)))
    for (feature, label), weight in info.state_features.items():
        coef[labels[label], data.columns[feature]] = weight
    transitions = np.zeros((len(labels), len(labels)))
    for (a, b), weight in info.transitions.items():
        transitions[labels[a], labels[b]] = weight
    return {**found, "evaluated": data.objective(penalty, coef, transitions)}


def _text_memory(text: str, name: str, seed: int) -> dict[str, Any]:
    with _temporary_model() as path:
        return _text_alone("medn_edu", "l2", path, _sentences(text, name, seed))


def _text_m3n(text: str, name: str, seed: int) -> dict[str, Any]:
    from medn_edu import M3N
    from medn_edu.samples import pack

    data = _Text(text, name, seed)
    return _timed_fit(M3N(C=0.1, tol=1e-2, verbose=0), pack(data.X), data.y)


# -- grids ----------------------------------------------------------------------------------------


def _noisy_grids(noise: str, centre: float, name: str) -> tuple[Any, list[Any]]:
    """Return 40 noisy copies of an image with weights for each pixel and edge, and its labels."""
    from medn_edu import grid
    from medn_edu.datasets import draw_image, make_noisy_images
    from medn_edu.samples import pack

    image, n_copies = draw_image("boat"), 40
    if name == "few":
        image, n_copies = image[:8, :8], 5
    X, y = make_noisy_images(image, noise, n_copies)
    return pack([grid(x - centre, share=False) for x in X]), [labels.ravel() for labels in y]


def _grid_training(noise: str, centre: float, C: float, tol: float, name: str) -> dict[str, Any]:
    """Train 12,160 weights; ``C`` is the paper's, the price of the weights."""
    from medn_edu import EpsilonMarkovNetwork

    model = EpsilonMarkovNetwork(C=1.0 / C, edge_table="ising", tol=tol, verbose=0)
    found = _timed_fit(model, *_noisy_grids(noise, centre, name))
    return {**found, "primal": C * found["primal"], "dual": C * found["dual"]}


def _grid_sweep(numbers: str, name: str) -> dict[str, Any]:
    """Time a sweep of messages, of ten in a row, over all copies."""
    from medn_edu import inference
    from medn_edu.inference.loopy.counting import CountingNumbers
    from medn_edu.inference.loopy.graphs import GraphPotentials, equal_graphs
    from medn_edu.inference.loopy.messages import MessageState

    samples, _ = _noisy_grids("gaussian", 0.5, name)
    pixels = samples.features.sum(axis=1).A1
    edge = np.tile(0.3 * np.array([[1.0, -1.0], [-1.0, 1.0]]), (samples.n_edge_kinds, 1, 1))
    potentials = inference.Potentials(samples, 2.0 * np.outer(pixels, [-1.0, 1.0]), edge)
    graphs = equal_graphs(samples)[0]
    phi = GraphPotentials.of(graphs, potentials)
    state = MessageState(phi, CountingNumbers.of(numbers, graphs), 1.0, phi.zero_messages())
    state.sweep(10)
    times = []
    for _ in range(4 * _GOES):
        start, begin = time.perf_counter(), time.process_time()
        state.sweep(10)
        times.append(((time.perf_counter() - start) / 10, (time.process_time() - begin) / 10))
    seconds, processor_seconds = min(times)
    return {"seconds": seconds, "processor_seconds": processor_seconds, "goes": len(times)}


TASKS: dict[str, Callable[[str], dict[str, Any]]] = {
    "warm": _warm,
    "crf": lambda name: _crf(name, "l2", _CLOSENESS),
    "crf-l1": lambda name: _crf(name, "l1", 1e-2),  # the target comes long before that gap
    "m3n-1": lambda name: _m3n(name, 1.0),
    "m3n-0.1": lambda name: _m3n(name, 0.1),
    "epsilon": _epsilon,
    "laplace": lambda name: _laplace(name, "exact"),
    "laplace-variational": lambda name: _laplace(name, "variational"),
    "l1-path": lambda name: _l1_path(name, 0.1, 2e-2),
    "l1-path-0.1": lambda name: _l1_small(name, 0.1, "path", 1e-2),
    "l1-path-0.3": lambda name: _l1_small(name, 0.3, "path", 2e-2),
    "l1-cutting-plane": lambda name: _l1_small(name, 0.1, "cutting_plane", 1e-2),
    "grid-bethe": partial(_grid_sweep, "bethe"),
    "grid-ones": partial(_grid_sweep, "ones"),
    "grid-gaussian": partial(_grid_training, "gaussian", 0.5, 1.0, 1e-5),
    "grid-bimodal": partial(_grid_training, "bimodal", 0.3775, 0.01, 1e-3),
    "laplace-1": lambda name: _synthetic(name, 1.0),
    "laplace-36": lambda name: _synthetic(name, 36.0),
    "laplace-268": lambda name: _synthetic(name, 268.0),
    "viterbi": lambda name: _inference(name, "best_labelling"),
    "marginals": lambda name: _inference(name, "marginals"),
    "import": _import,
    "first-fit": _first_fit,
    "crfsuite-train": lambda name: _crfsuite_train(name, "l2"),
    "crfsuite-l1": lambda name: _crfsuite_train(name, "l1"),
    "crfsuite-viterbi": _crfsuite_decode,
    "hmmlearn-viterbi": lambda name: _hmmlearn(name, "decode"),
    "hmmlearn-marginals": lambda name: _hmmlearn(name, "predict_proba"),
}
"""The measurements by name; each takes the name of the data, ``"ocr"`` or ``"digits"``."""

_ON_TEXT: dict[str, Callable[..., dict[str, Any]]] = {
    "l2": partial(_text_crf, "l2"),
    "l2-crfsuite": partial(_text_crfsuite, "l2"),
    "l1": partial(_text_crf, "l1"),
    "l1-crfsuite": partial(_text_crfsuite, "l1"),
    "m3n": _text_m3n,
    "memory": _text_memory,
}
TEXT_TASKS: dict[str, Callable[[str, int], dict[str, Any]]] = {
    f"{text}-{what}": partial(measure, text) for text in _FEW for what, measure in _ON_TEXT.items()
}
"""Those on text, whatever the other data are, but on few sentences if they are ``"few"``."""


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    from medn_edu import DataError

    try:
        task, name, seed = sys.argv[1:]
        on_text = TEXT_TASKS.get(task)
        print(json.dumps(on_text(name, int(seed)) if on_text else TASKS[task](name)))
    except ModuleNotFoundError as error:
        if error.name not in ("pycrfsuite", "hmmlearn"):
            raise
        print(json.dumps({"missing": error.name}))
    except DataError as error:
        print(json.dumps({"no_data": str(error)}))
