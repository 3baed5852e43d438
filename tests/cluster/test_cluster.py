"""`cluster.map`: the same results in the same order whoever finds them, nothing lost with a worker, nothing left."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import cluster_tasks as tasks
import numpy as np
import pytest

import cajole as cj
from cajole import cluster
from waiting import PATIENCE

TESTS = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """The address of a Dask scheduler with two worker processes."""
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0") as local:
        yield local.scheduler_address


@pytest.fixture(params=["processes:2", "tcp"])
def where(request: pytest.FixtureRequest) -> str:
    """Local processes, or that scheduler."""
    return request.param if request.param != "tcp" else request.getfixturevalue("scheduler")


@pytest.fixture
def pool() -> Iterator[Executor]:
    with ThreadPoolExecutor(2) as executor:
        yield executor


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def left_over() -> list[str]:
    """Processes started by this one, but for those of the scheduler that several tests share."""
    return [child.name for child in multiprocessing.active_children() if "Dask" not in child.name]


# --- the same results


def test_order_identity(pool: Executor, tmp_path: Path) -> None:
    """Results stand where their items stood, though the second is found before the first."""
    for number, where in enumerate((2, pool)):
        items = [(item, str(tmp_path / str(number))) for item in range(40)]
        assert cluster.map(tasks.first_last, items, cluster=where) == list(range(40))
    assert cluster.map(tasks.double, range(40)) == list(range(0, 80, 2))
    assert cluster.map(tasks.double, iter([3, 1, 2])) == [6, 2, 4]
    assert cluster.map(tasks.double, []) == cluster.map(tasks.double, [], cluster="processes") == []


def test_bitwise_identity(where: str) -> None:
    """Numbers of BLAS, of the sparse solver and of a whole simulation do not depend on who computes them."""
    items = [1, 2, 3]
    for one, other in zip(cluster.map(tasks.numbers, items), cluster.map(tasks.numbers, items, cluster=where)):
        assert len(one) == len(other) == 2
        for mine, theirs in zip(one, other):
            assert np.ptp(mine) > 0
            np.testing.assert_array_equal(mine, theirs)


def test_executors_identity(pool: Executor) -> None:
    here = cluster.map(tasks.swing, [0.5, -3.0])
    np.testing.assert_array_equal(cluster.map(tasks.swing, [0.5, -3.0], cluster=pool), here)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as processes:
        np.testing.assert_array_equal(cluster.map(tasks.swing, [0.5, -3.0], cluster=processes), here)
        assert processes.submit(tasks.double, 4).result() == 8  # it is the caller's, and still open


def test_one_thread_each_identity(pool: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread in every task; afterwards the caller's process is as it was."""
    monkeypatch.setenv("CAJOLE_THREADS", "2")
    before = tasks.threads(0)
    for where in (None, 1, pool):
        assert cluster.map(tasks.threads, range(3), cluster=where) == [(1, 1)] * 3
    assert tasks.threads(0) == before
    assert os.environ["CAJOLE_THREADS"] == "2"


def test_stream_takes_few_ahead_identity() -> None:
    """Items are asked for as they are needed, and results come before the last item is touched."""
    asked: list[int] = []

    class Items(list[int]):
        def __getitem__(self, index: Any) -> Any:
            asked.append(index)
            return super().__getitem__(index)

    here = cluster.stream(tasks.double, Items(range(100)))
    assert next(here) == 0
    assert asked == [0]
    asked.clear()
    there = cluster.stream(tasks.double, Items(range(100)), cluster=1)
    assert [next(there), next(there)] == [0, 2]
    assert max(asked) < 10
    there.close()  # type: ignore[attr-defined]
    assert left_over() == []


# --- workers that die


def test_killed_worker_loses_nothing_claim(where: str, tmp_path: Path) -> None:
    """Every second task ends its process at the first try, and all results arrive."""
    items = [(number, str(tmp_path / "died")) for number in range(6)]
    assert cluster.map(tasks.dies_at_first, items, cluster=where) == list(range(6))
    assert len(list(tmp_path.iterdir())) == 3


def test_killed_from_outside_claim(tmp_path: Path) -> None:
    """A worker that someone else kills loses nothing either."""
    killed: list[int] = []
    release = tmp_path / "release"

    def watch(*_: object) -> None:
        for child in multiprocessing.active_children():
            if not killed and child.pid and (tmp_path / str(child.pid)).exists():
                child.kill()
                killed.append(child.pid)
                release.write_text("")

    assert cluster.map(tasks.waits, [(str(tmp_path), str(release))] * 3, cluster=2, progress=watch) == [None] * 3
    assert len(killed) == 1


def test_deadly_item_bad_input() -> None:
    with pytest.raises(cj.SolveError, match=r"item 2 \(2\): its process died 4 times, the last with exit code 7"):
        cluster.map(tasks.dies_at_two, range(4), cluster=2)
    assert left_over() == []


def test_deadly_item_of_executor_bad_input() -> None:
    with (
        ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool,
        pytest.raises(cj.SolveError, match=r"item 0 \(2\): BrokenProcessPool|takes no more work"),
    ):
        cluster.map(tasks.dies_at_two, range(4)[2:], cluster=pool)


# --- stopping


@pytest.mark.parametrize("named", ["processes:2", "dask:2"])
def test_cancel_identity(named: str, tmp_path: Path) -> None:
    """A stop does not wait for tasks, none of which would ever end, and leaves no process behind."""

    def stop(*_: object) -> bool:
        return not any(tmp_path.iterdir())

    never = str(tmp_path.with_name("never"))
    with pytest.raises(cj.Cancelled, match="as the progress callback asked"):
        cluster.map(tasks.waits, [(str(tmp_path), never)] * 9, cluster=named, progress=stop)
    started = [int(path.name) for path in tmp_path.iterdir()]
    assert 1 <= len(started) <= 2
    assert not any(alive(process) for process in started)


def test_cancel_here_and_in_threads_identity(pool: Executor) -> None:
    done: list[int] = []
    with pytest.raises(cj.Cancelled):
        cluster.map(done.append, range(9), progress=lambda share, _: share < 0.3)
    assert done == [0, 1, 2]
    gate = threading.Event()
    began: list[int] = []

    def wait_for_gate(item: int) -> None:
        began.append(item)
        gate.wait(PATIENCE)

    # in threads nothing needs to be pickled: the function is a local one
    with pytest.raises(cj.Cancelled):
        cluster.map(wait_for_gate, range(9), cluster=pool, progress=lambda *_: False)
    gate.set()
    pool.shutdown()
    assert len(began) <= 2


def test_progress_identity() -> None:
    told: list[tuple[float, str]] = []
    cluster.map(tasks.double, range(4), progress=lambda share, text: told.append((share, text)))
    assert told == [(n / 4, f"{n} of 4 done") for n in (1, 2, 3, 4)]
    told.clear()
    cluster.map(tasks.double, range(4), cluster=1, progress=lambda share, text: told.append((share, text)))
    assert told[-1] == (1.0, "4 of 4 done")
    assert [share for share, _ in told] == sorted(share for share, _ in told)


# --- errors


@pytest.mark.parametrize("afar", [False, True])
def test_task_errors_bad_input(afar: bool, scheduler: str) -> None:
    """An exception names the item; Cajole's keep their kind, and the place in the worker is told."""
    where = scheduler if afar else None
    with pytest.raises(cj.SolveError, match=r"item 2 \(2\): ValueError: two is too many") as failed:
        cluster.map(tasks.fails_at_two, range(4), cluster=where)
    if afar:
        assert "in fails_at_two" in "".join(failed.value.__cause__.__notes__)  # type: ignore[union-attr]
    with pytest.raises(cj.InputError, match=r"^item 2 \(2\): two is too many$"):
        cluster.map(tasks.input_fails_at_two, range(4), cluster=where)
    with pytest.raises(cj.SolveError, match=r"item 0 \(0\): .*not to be sent 0"):
        cluster.map(tasks.fails_awkwardly, range(4), cluster=where)


def test_task_errors_of_processes_bad_input() -> None:
    with pytest.raises(cj.InputError, match=r"^item 2 \(2\): two is too many$") as failed:
        cluster.map(tasks.input_fails_at_two, range(4), cluster=1)
    assert "in input_fails_at_two" in "".join(failed.value.__cause__.__notes__)  # type: ignore[union-attr]


def test_what_cannot_travel_bad_input(pool: Executor) -> None:
    with pytest.raises(cj.InputError, match=r"function cannot be sent to another process .*top of a module"):
        cluster.map(lambda item: item, range(3), cluster=2)
    with pytest.raises(cj.InputError, match="item 1 cannot be sent to another process"):
        cluster.map(str, [0, lambda: 1], cluster=1)
    with pytest.raises(cj.SolveError, match=r"item 0 \(5\): its result cannot be sent back"):
        cluster.map(tasks.answers_awkwardly, [5], cluster=1)
    assert cluster.map(tasks.answers_awkwardly, [5], cluster=pool)[0]() == 5
    assert left_over() == []


@pytest.mark.parametrize(
    "wrong", [0, -1, True, 2.0, "", "process", "processes:", "processes:0", "dask:x", "http://a:1"]
)
def test_cluster_bad_input(wrong: Any) -> None:
    with pytest.raises(cj.InputError, match="cluster"):
        cluster.map(tasks.double, range(3), cluster=wrong)


def test_arguments_bad_input(pool: Executor) -> None:
    with pytest.raises(cj.InputError, match="function must be callable, not int"):
        cluster.map(3, range(3))  # type: ignore[arg-type]
    with pytest.raises(cj.InputError, match="items must be a sequence, not int"):
        cluster.map(tasks.double, 3)  # type: ignore[arg-type]
    pool.shutdown()
    with pytest.raises(cj.SolveError, match="the executor takes no more work"):
        cluster.map(tasks.double, range(3), cluster=pool)


def test_no_scheduler_bad_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cajole.cluster.CONNECT_TIMEOUT", 0.2)
    with pytest.raises(cj.SolveError, match=r"no Dask scheduler answers at tcp://127.0.0.1:9 "):
        cluster.map(tasks.double, range(3), cluster="tcp://127.0.0.1:9")


def test_without_dask_bad_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(cj.MissingExtra, match=r"a Dask cluster needs the package distributed: .*cajole\[cluster\]"):
        cluster.map(tasks.double, range(3), cluster="dask:1")


def test_address_identity(scheduler: str) -> None:
    """A scheduler that runs elsewhere is used, and goes on running."""
    from distributed import Client

    assert cluster.map(tasks.double, range(5), cluster=scheduler) == [0, 2, 4, 6, 8]
    with Client(scheduler, set_as_default=False) as client:
        assert client.submit(tasks.double, 4).result() == 8


SCRIPT = """
import cajole.cluster
import cluster_tasks
from cajole import cluster

cajole.cluster.MAX_WORKER_DEATHS = 0
print(cluster.map(cluster_tasks.double, range(3), cluster=1))
"""


def test_script_without_guard_bad_input(tmp_path: Path) -> None:
    """A script that would start itself over and over ends, and is told how it must look."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    paths = os.pathsep.join(
        [str(Path(tasks.__file__).parent), str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    )
    run = subprocess.run(
        [sys.executable, str(script)], env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True
    )
    assert run.returncode == 1
    assert 'lacks `if __name__ == "__main__":`' in run.stderr.splitlines()[-1]


def test_client_agreement() -> None:
    """A Dask client of the caller's is used as it is, and left open."""
    distributed = pytest.importorskip("distributed", reason="Dask is an optional package")
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None) as local,
        distributed.Client(local, set_as_default=False) as client,
    ):
        for _ in range(2):
            assert cluster.map(tasks.double, range(5), cluster=client) == cluster.map(tasks.double, range(5))
        with pytest.raises(cj.SolveError, match="item 2"):
            cluster.map(tasks.fails_at_two, range(4), cluster=client)
        assert client.status == "running"
        assert client.submit(tasks.double, 4).result() == 8
    with pytest.raises(cj.SolveError, match="the Dask client is closed; make a new one"):
        cluster.map(tasks.double, range(3), cluster=client)
