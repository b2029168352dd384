"""One training on text in a process that does nothing else, to see how much memory it takes.

``python -m medn_edu.bench.alone LIBRARY PENALTY MODEL`` reads sentences, one per line as JSON: the names
of the features of each token, and the labels.  Both libraries are given the same lines, one at a
time, so neither is charged for the making of the sentences.  What a library then keeps in memory is
up to that library.
"""

import json
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from medn_edu.studies.kit.crfsuite import crfsuite_trainer


def peak_megabytes() -> float | None:
    """Return the largest amount of memory this process has held, in MB; None on Windows."""
    status = Path("/proc/self/status")
    if status.exists():  # ru_maxrss would count the parent's memory before exec, too
        for line in status.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 1024


def vectorized(sentences: Iterable[tuple[Any, Any]]) -> tuple[list[Any], list[Any], Any]:
    """Return samples, labels and all feature names, from sentences that arrive one by one."""
    from medn_edu import SequenceVectorizer

    y: list[list[str]] = []

    def features() -> Iterator[Any]:
        for names, labels in sentences:
            y.append(list(map(sys.intern, labels)))  # one string per label, not one per token
            yield names

    vectorizer = SequenceVectorizer()
    return vectorizer.fit_transform(features()), y, vectorizer.get_feature_names_out()


def _crfsuite(penalty: str, model: str) -> dict[str, Any]:
    trainer = crfsuite_trainer(penalty, epsilon=1e-6, delta=1e-6)
    for line in sys.stdin:
        trainer.append(*json.loads(line))
    begin = time.process_time()
    trainer.train(model)
    path = [(moment - begin, loss) for _, moment, loss in trainer.history]
    return {"path": path, "primal": path[-1][1], "passes": len(path)}


def _medn_edu(penalty: str, model: str) -> dict[str, Any]:
    from medn_edu import CRF

    X, y = vectorized(map(json.loads, sys.stdin))[:2]  # names are not needed any more
    start = time.perf_counter()
    crf = CRF(penalty, lam=1.0, verbose=0).fit(X, y)
    seconds = time.perf_counter() - start
    crf.save(model)
    result = crf.result_
    return {
        "seconds": seconds,
        "primal": result.primal,
        "gap": result.relative_gap,
        "passes": result.n_passes,
    }


if __name__ == "__main__":
    library, *arguments = sys.argv[1:]
    measured = {"crfsuite": _crfsuite, "medn_edu": _medn_edu}[library](*arguments)
    print(json.dumps({**measured, "megabytes": peak_megabytes()}))
