"""Fits made by the workers of a Dask scheduler: two processes of this machine."""

import sys

import pytest
from test_studies_runner import CHOICE, CHOOSING, LATER, SPECS, run, tables

from medn_edu.studies.kit import runner
from medn_edu.studies.kit.results import ResultStore

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
    told = {"scheduler": scheduler, "progress": lambda n_done, *_: seen.append(n_done)}
    rows = run(tmp_path / "2", EVERYTHING, CHOOSING, **told)
    assert not any(row["failure"] for row in rows)
    assert seen == list(range(len(EVERYTHING) + 1))
    run(tmp_path / "1", EVERYTHING, CHOOSING)
    assert tables(tmp_path / "1") == tables(tmp_path / "2")


def raising(spec, study, constants):
    raise RuntimeError(f"no more workers for {spec.key}")


def test_a_fit_that_no_worker_can_make_is_a_failed_fit(scheduler, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "evaluate", raising)
    rows = run(tmp_path, SPECS, CHOOSING, scheduler=scheduler)
    assert len(rows) == len(SPECS)
    for row in rows:
        assert row["failure"] == f"WorkerError: no more workers for {row['key']}."


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nonsense://x", "a b"])
def test_no_scheduler_answers(distributed, tmp_path, monkeypatch, address):
    monkeypatch.setattr(runner, "PATIENCE", 0.3)
    said = r"no Dask scheduler answers at '.*; expected an addr"
    with pytest.raises(ConnectionError, match=said):
        run(tmp_path, SPECS, CHOOSING, scheduler=address)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("workers", "error", "said"),
    [
        ({"n_workers": 0}, ConnectionError, r"`dask worker tcp://\S+ --nthreads 1` adds one"),
        (
            {"n_workers": 1, "threads_per_worker": 2},  # fits would share the limits of its threads
            ValueError,
            r"has 2 threads, .*; start every worker with `dask worker tcp://\S+ --nthreads 1`\.$",
        ),
    ],
)
def test_no_worker_or_one_with_several_threads(
    distributed, tmp_path, monkeypatch, workers, error, said
):
    monkeypatch.setattr(runner, "PATIENCE", 0.3)
    here = {"processes": False, "protocol": "tcp://", "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(**workers, **here, host="127.0.0.1") as cluster,
        pytest.raises(error, match=said),
    ):
        run(tmp_path, SPECS, CHOOSING, scheduler=cluster.scheduler_address)
    assert not list(tmp_path.iterdir())


def test_workers_with_several_threads_that_come_later_are_refused(scheduler, tmp_path, monkeypatch):
    """What they may have made is not kept."""
    threads = iter([1, 1, 4])

    def nthreads(client):
        return {"tcp://first:1": 1, "tcp://other:1": next(threads)}

    monkeypatch.setattr("distributed.Client.nthreads", nthreads)
    with pytest.raises(ValueError, match="has 4 threads"):
        run(tmp_path, SPECS, CHOOSING, scheduler=scheduler)
    assert len(ResultStore.open(tmp_path, CHOOSING).rows) == 1


def test_without_the_library(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ValueError, match=r"pip install 'medn_edu\[distributed\]' brings it"):
        run(tmp_path, SPECS, CHOOSING, scheduler="tcp://x:1")
