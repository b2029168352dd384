"""Fits made by the workers of a Dask scheduler: two processes of this machine."""

import builtins

import pytest
from test_studies_runner import CHOICE, CHOOSING, LATER, SPECS, tables

from medn_edu.studies.kit import runner
from medn_edu.studies.kit.runner import ResultStore, run_study

EVERYTHING = [*SPECS, CHOICE, *LATER]


@pytest.fixture(scope="module")
def scheduler(distributed):
    """Address of a scheduler with two workers."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", host="127.0.0.1"
    ) as cluster:
        yield cluster.scheduler_address


def test_a_cluster_makes_the_same_tables(scheduler, tmp_path):
    """Fits that wait for the choice of another included."""
    seen = []
    alone, together = (ResultStore.open(tmp_path / name, CHOOSING) for name in ("1", "2"))
    rows = run_study(
        CHOOSING, EVERYTHING, together, scheduler=scheduler,
        progress=lambda n_done, n_all, what: seen.append(n_done),
    )  # fmt: skip
    assert not any(row["failure"] for row in rows)
    assert seen == list(range(len(EVERYTHING) + 1))
    run_study(CHOOSING, EVERYTHING, alone)
    assert tables(tmp_path / "1") == tables(tmp_path / "2")


def raising(spec, study, constants):
    raise RuntimeError(f"no more workers for {spec.key}")


def test_a_fit_that_no_worker_can_make_is_a_failed_fit(scheduler, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "evaluate", raising)
    rows = run_study(CHOOSING, SPECS, ResultStore.open(tmp_path, CHOOSING), scheduler=scheduler)
    assert len(rows) == len(SPECS)
    for row in rows:
        assert row["failure"] == f"WorkerError: no more workers for {row['key']}."


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nonsense://x", "a b"])
def test_no_scheduler_answers(distributed, tmp_path, monkeypatch, address):
    monkeypatch.setattr(runner, "PATIENCE", 0.3)
    with pytest.raises(
        ConnectionError, match=r"no Dask scheduler answers at '.*; expected an addr"
    ):
        run_study(CHOOSING, SPECS, ResultStore.open(tmp_path, CHOOSING), scheduler=address)
    assert not list(tmp_path.iterdir())


def test_a_scheduler_without_workers(distributed, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "PATIENCE", 0.3)
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=":0", host="127.0.0.1") as cluster,
        pytest.raises(ConnectionError, match=r"`dask worker tcp://\S+ --nthreads 1` adds one"),
    ):
        run_study(
            CHOOSING, SPECS, ResultStore.open(tmp_path, CHOOSING),
            scheduler=cluster.scheduler_address,
        )  # fmt: skip


def test_workers_with_several_threads_are_refused(distributed, tmp_path):
    """Fits in one process would share the limits of its threads."""
    expected = r"has 2 threads, .*; start every worker with `dask worker tcp://\S+ --nthreads 1`\.$"
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, protocol="tcp://",
            dashboard_address=":0", host="127.0.0.1",
        ) as cluster,
        pytest.raises(ValueError, match=expected),
    ):  # fmt: skip
        run_study(
            CHOOSING, SPECS, ResultStore.open(tmp_path, CHOOSING),
            scheduler=cluster.scheduler_address,
        )  # fmt: skip
    assert not list(tmp_path.iterdir())


def test_workers_with_several_threads_that_come_later_are_refused(scheduler, tmp_path, monkeypatch):
    """What they may have made is not kept."""
    found = iter([1, 1, 4])

    def nthreads(client):
        return {"tcp://first:1": 1, "tcp://other:1": next(found)}

    monkeypatch.setattr("distributed.Client.nthreads", nthreads)
    store = ResultStore.open(tmp_path, CHOOSING)
    with pytest.raises(ValueError, match="has 4 threads"):
        run_study(CHOOSING, SPECS, store, scheduler=scheduler)
    assert len(ResultStore.open(tmp_path, CHOOSING).rows) == 1


def test_without_the_library(tmp_path, monkeypatch):
    def refuse(name, *rest, **more):
        if name.startswith("distributed"):
            raise ImportError(name)
        return original(name, *rest, **more)

    original = builtins.__import__
    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ValueError, match=r"pip install 'medn_edu\[distributed\]' brings it"):
        run_study(CHOOSING, SPECS, ResultStore.open(tmp_path, CHOOSING), scheduler="tcp://x:1")
