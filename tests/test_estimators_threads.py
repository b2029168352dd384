"""Models keep BLAS to one thread per thread of theirs, and put its limit back."""

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from medn_edu import CRF, M3N
from medn_edu.estimators import base

X, Y = [np.eye(3), np.ones((2, 3))] * 3, [["a", "b", "a"], ["b", "b"]] * 3


def blas_threads():
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


def set_threads(number):
    """Set them in a thread that ends, because threadpoolctl goes by the first one that lives."""
    setting = threading.Thread(target=threadpool_limits, args=(number, "blas"))
    setting.start()
    setting.join()


@pytest.fixture(autouse=True)
def two_threads():
    """Let BLAS have two threads, whatever the machine and the environment say."""
    before = max(blas_threads())
    set_threads(2)
    if blas_threads() != {2}:
        pytest.skip("this BLAS has no threads")
    yield
    set_threads(before)


def watch(monkeypatch, name, look):
    """Call ``look`` after each pass of `run`, or of `critical_constant`."""
    original = getattr(base, name)

    def watched(*arguments, callback, **options):
        return original(*arguments, callback=lambda *point: look() or callback(*point), **options)

    monkeypatch.setattr(base, name, watched)


@pytest.mark.parametrize("model", [M3N(verbose=0), CRF(n_jobs=2, verbose=0)])
def test_blas_has_one_thread_during_a_fit_and_its_own_number_after_it(monkeypatch, model):
    seen = []
    watch(monkeypatch, "run", lambda: seen.append(blas_threads()))
    model.fit(X, Y).predict(X)
    assert len(seen) > 1
    assert all(threads == {1} for threads in seen)
    assert blas_threads() == {2}


def test_blas_has_one_thread_while_a_constant_is_found(monkeypatch):
    seen = []
    watch(monkeypatch, "critical_constant", lambda: seen.append(blas_threads()))
    M3N(l1_ratio=0.5, verbose=0).critical_constant(X, Y)
    assert seen
    assert all(threads == {1} for threads in seen)
    assert blas_threads() == {2}


def test_the_limit_is_put_back_after_an_error(monkeypatch):
    def fail():
        assert blas_threads() == {1}
        raise ZeroDivisionError

    watch(monkeypatch, "run", fail)
    with pytest.raises(ZeroDivisionError):
        M3N(verbose=0).fit(X, Y)
    assert blas_threads() == {2}


def test_the_last_of_two_fits_at_a_time_puts_the_limit_back(monkeypatch):
    """The first to begin ends first; had it restored its own, the other would restore one thread."""
    inside, go_on, seen = threading.Event(), threading.Event(), []

    def wait():
        if threading.current_thread() is second:
            inside.set()
            go_on.wait(10)
            seen.append(blas_threads())
        elif not second.ident:
            second.start()
            inside.wait(10)

    watch(monkeypatch, "run", wait)
    second = threading.Thread(target=lambda: M3N(verbose=0).fit(X, Y))
    M3N(verbose=0).fit(X, Y)
    go_on.set()
    second.join()
    assert seen[0] == {1}, "the first fit has ended"
    assert blas_threads() == {2}
