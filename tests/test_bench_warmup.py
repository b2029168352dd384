"""Warming up: after it nothing that a user may do waits for the compiler."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from medn_edu.bench.warmup import kernel_cache, warm_up

COLD = '''
import importlib, pkgutil, sys, warnings
warnings.simplefilter("ignore")
import numpy as np
import scipy.sparse as sp
from medn_edu import CRF, M3N, MEDN, EpsilonMarkovNetwork, LaplaceMEDN, kernels, priors, slacks
from medn_edu.cli import main
from medn_edu.bench.warmup import compiled_files, kernel_cache
from medn_edu.samples import Forest

main(["warmup"])
print("----")
before = compiled_files(kernel_cache())
for info in pkgutil.iter_modules(kernels.__path__, "medn_edu.kernels."):
    for name, item in vars(importlib.import_module(info.name)).items():
        here = getattr(item, "__module__", None) == info.name
        if here and hasattr(item, "py_func") and not item.signatures:
            print("never called:", info.name, name)


class Own(priors.NormalGammaPrior):
    """A prior that kernels do not know."""


def told(what):
    """Say whether something has just been compiled."""
    global before
    now = compiled_files(kernel_cache())
    if now > before:
        print("compiled later:", what)
    before = now


tree = Forest(np.ones((3, 3), int), [-1, 0, 0])
X = [np.eye(3, dtype=np.float32), sp.csr_matrix(np.ones((2, 3))), tree]
y = [["a", "b", "c"], ["b", "a"], ["c", "c", "a"]]
few = {"max_iter": 3, "verbose": 0, "warm_start": True}
models = [
    LaplaceMEDN(C=1, lam=4, **few), LaplaceMEDN(method="variational", **few),
    M3N(C=1, **few), M3N(C=np.float32(0.3), forbidden=[("b", "b")], **few),
    CRF("l2", lam=1, **few), CRF("l1", lam=1, **few), CRF(None, **few),
    CRF("l1", solver="online_exponentiated_gradient", label_costs={}, **few),
    EpsilonMarkovNetwork(epsilon=0, **few), EpsilonMarkovNetwork(epsilon=1, **few),
    EpsilonMarkovNetwork(epsilon=0.01, **few), EpsilonMarkovNetwork(loss=None, **few),
]
gallery = [getattr(priors, name) for name in priors.__all__ if name.endswith("Prior")]
gallery = [prior() for prior in gallery if prior is not priors.Prior]
gallery += [priors.GaussianPrior(2), priors.GaussianPrior(np.arange(1, 19))]
gallery += [priors.LaplacePrior(4), Own(2, 4)]
for prior in gallery:
    for slack in (slacks.LinearSlack(1), slacks.QuadraticSlack(1), slacks.ExponentialSlack(1)):
        models.append(MEDN(prior, slack, **few))
for model in models:
    model.fit(X, y, sample_weight=[1, 2, 3]).fit(X, y)
    model.predict(X), model.decode(X, 2), model.predict_marginals(X), model.margins(X, y)
    told(model)
print("models", len(models))
'''


@pytest.mark.slow
def test_nothing_is_compiled_later(tmp_path: Path) -> None:
    """All kernels are called, and by their only types: no prior, slack or number adds a variant."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", COLD]
    said = subprocess.check_output(command, env=environment, text=True)
    told, after = said.split("----\n")
    assert told.startswith("Compiled ")
    assert str(tmp_path) in told
    assert after == "models 48\n"
    command = [sys.executable, "-m", "medn_edu.cli", "warmup"]
    assert "compiled already" in subprocess.check_output(command, env=environment, text=True)
    pass_on(tmp_path / kernel_cache().name)


def pass_on(compiled: Path) -> None:
    """Spare the tests that follow what has just been compiled and they have not; all takes a minute.

    numba keeps an index per function next to the code of its variants, which must be there first.
    """
    for index in compiled.rglob("*.nbi"):
        place = kernel_cache() / index.parent.relative_to(compiled)
        if not (place / index.name).exists():
            place.mkdir(exist_ok=True)
            for path in (*index.parent.glob(f"{index.stem}.*.nbc"), index):
                half = place / f"{path.name}.half"
                shutil.copyfile(path, half)
                half.replace(place / path.name)


def test_progress_names_every_step() -> None:
    told: list[tuple[int, int, str]] = []
    done = warm_up(lambda *step: told.append(step))
    numbers, totals, names = zip(*told, strict=True)
    assert numbers == tuple(range(totals[0] + 1))
    assert len(set(names)) == len(names)
    assert names[-1] == ""
    assert done.seconds > 0
