"""One function over many items: here, on the processes of this machine, or on many machines."""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import os
import pickle
import reprlib
import signal
import sys
import threading
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from multiprocessing import connection
from numbers import Integral
from typing import Any, Protocol, TypeVar

from cajole import checks, errors
from cajole.checks import OptionalPackage
from cajole.errors import CajoleError, InputError, MissingExtra, SolveError
from cajole.linalg import limit_blas_threads
from cajole.progress import ProgressCallback, report_progress

# a result, or the exception instead of one
TaskResult = tuple[Any, BaseException | None]

# Seconds to wait for a result before `progress` is asked again whether to go on.
POLL_INTERVAL = 0.1
# Items given out from the one awaited on, per worker: a slow item then idles no one, and few results wait their turn.
ITEMS_PER_WORKER = 4


def run_task(function: Callable[[Any], Any], item: Any) -> TaskResult:
    """function(item), or the exception that it raised."""
    try:
        with single_thread_limit:
            return function(item), None
    except Exception as error:
        return None, error


def run_remote_task(function: Callable[[Any], Any], item: Any) -> TaskResult:
    """As `answered`, in a worker: the exception can travel, and a note tells where it was raised."""
    value, error = run_task(function, item)
    if error is None:
        return value, None
    place = "".join(traceback.format_exception(error))
    try:
        error = pickle.loads(pickle.dumps(error))
    except Exception:  # many exceptions cannot be made again from their arguments
        error = SolveError(f"{type(error).__name__}: {error}")
    assert error is not None
    error.add_note(place)
    return None, error


def pickle_for_worker(value: Any, name: str) -> bytes:
    """`value` as bytes for another process."""
    try:
        return pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as reason:  # pickling runs code of the value's own
        raise InputError(
            f"{name} cannot be sent to another process ({reason}); define functions and classes at the top of a "
            "module, or leave cluster=None"
        ) from None


class _SingleThreadLimit:
    """BLAS and the sparse solver of this process on one thread while any task runs in it, in whatever thread.

    Not for speed alone: sums are added in an order that depends on the number of threads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running = 0
        self._undo = contextlib.ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            self._running += 1
            if self._running == 1:
                self._undo.enter_context(limit_blas_threads())
                self._undo.callback(_set_threads, os.environ.get("CAJOLE_THREADS"))
                _set_threads("1")

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._running -= 1
            if self._running == 0:
                self._undo.close()


def _set_threads(value: str | None) -> None:
    if value is None:
        os.environ.pop("CAJOLE_THREADS", None)
    else:
        os.environ["CAJOLE_THREADS"] = value


single_thread_limit = _SingleThreadLimit()


DASK_PACKAGE = OptionalPackage(("distributed", "cloudpickle"), "distributed", "cluster", "a Dask cluster")
# Items given out ahead to an executor, which does not tell how many workers it has.
EXECUTOR_IN_FLIGHT = 64
# Seconds that a Dask scheduler has to answer.
CONNECT_TIMEOUT = 10.0


class ExecutorPool:
    """An executor of the caller's, left open."""

    max_in_flight = EXECUTOR_IN_FLIGHT

    def __init__(self, function: Callable[[Any], Any], executor: Executor):
        self._function = function
        self._executor = executor
        self._pending: dict[Future[TaskResult], int] = {}

    def submit(self, index: int, item: Any) -> None:
        try:
            self._pending[self._submit_task(item)] = index
        except RuntimeError as reason:  # shut down, or its processes died
            raise SolveError(f"the executor takes no more work ({reason}); make a new one") from reason

    def _submit_task(self, item: Any) -> Future[TaskResult]:
        return self._executor.submit(run_remote_task, self._function, item)

    def collect(self) -> dict[int, TaskResult]:
        done, _ = wait(self._pending, timeout=POLL_INTERVAL, return_when=FIRST_COMPLETED)
        return {self._pending.pop(future): _get_result(future) for future in done}

    def close(self) -> None:
        for future in self._pending:
            future.cancel()


def _get_result(future: Future[TaskResult]) -> TaskResult:
    try:
        return future.result()
    except CancelledError:
        return None, SolveError("it was cancelled from outside")
    except Exception as error:
        return None, error


class DaskPool(ExecutorPool):
    """A Dask scheduler: its address, how many local processes to start, or the caller's client, which is left open.

    It gives lost work to other workers.
    """

    def __init__(self, function: Callable[[Any], Any], target: Any):
        DASK_PACKAGE.require()
        import cloudpickle
        import distributed

        self._dumps: Callable[[Any], bytes] = cloudpickle.dumps
        with contextlib.ExitStack() as undo:
            if is_dask_client(target):
                client = target
                if client.status != "running":
                    raise SolveError(f"the Dask client is {client.status}; make a new one")
            else:
                address = target if isinstance(target, str) else undo.enter_context(_start_local_cluster(target))
                try:
                    client = undo.enter_context(
                        distributed.Client(address, timeout=CONNECT_TIMEOUT, set_as_default=False)
                    )
                except (OSError, ValueError) as reason:
                    raise SolveError(f"no Dask scheduler answers at {target} ({reason}); start one there") from None
            super().__init__(function, client.get_executor(pure=False))
            self.max_in_flight = ITEMS_PER_WORKER * max(sum(client.nthreads().values()), 1)
            # a task and not data handed in: data would be lost with the worker that holds it
            self._remote_function: Any = client.submit(pickle.loads, self._dumps(function), pure=False)
            self._closing = undo.pop_all()

    def _submit_task(self, item: Any) -> Future[TaskResult]:
        import dask

        # states of a large body have many megabytes; suppress the warning
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            return self._executor.submit(_run_pickled_task, self._remote_function, self._dumps(item))

    def close(self) -> None:
        super().close()
        self._closing.close()


def is_dask_client(value: Any) -> bool:
    """True for a distributed.Client; does not import Dask."""
    distributed = sys.modules.get("distributed")
    return distributed is not None and isinstance(value, distributed.Client)


def _start_local_cluster(workers: int) -> contextlib.AbstractContextManager[Any]:
    import distributed

    # the dashboard on any free port, reachable from this machine only
    page = "127.0.0.1:0"
    return distributed.LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=page)


def _run_pickled_task(function: Callable[[Any], Any], item: bytes) -> TaskResult:
    return run_remote_task(lambda blob: function(pickle.loads(blob)), item)


# deaths of workers after which the item fails, the same limit as Dask's
MAX_WORKER_DEATHS = 3
# [s] after which a process that does not end is killed
JOIN_TIMEOUT = 5.0
_WORKER_DIED = (
    "its process died {} times, the last with exit code {}. Too little memory, or a crash: try it alone with "
    'cluster=None. If every item fails so, the script that runs this lacks `if __name__ == "__main__":`'
)


class ProcessPool:
    """At most `count` processes, each with the unpickled `function`; `close` ends them."""

    def __init__(self, function: bytes, count: int):
        self.max_in_flight = ITEMS_PER_WORKER * count
        self._function, self._count = function, count
        self._items: dict[int, bytes] = {}
        self._queue: deque[int] = deque()
        self._deaths: Counter[int] = Counter()
        self._processes: list[_WorkerProcess] = []

    def submit(self, index: int, item: Any) -> None:
        self._items[index] = pickle_for_worker(item, f"item {index}")
        self._queue.append(index)

    def collect(self) -> dict[int, TaskResult]:
        self._dispatch_items()
        busy = [process for process in self._processes if process.item_index is not None]
        ready = connection.wait([place for process in busy for place in process.wait_handles], POLL_INTERVAL)
        found: dict[int, TaskResult] = {}
        for process in busy:
            if any(place in ready for place in process.wait_handles):
                found |= self._collect_result(process)
        return found

    def close(self) -> None:
        for process in self._processes:
            process.stop()
        for process in self._processes:
            process.join()

    def _dispatch_items(self) -> None:
        idle = [process for process in self._processes if process.item_index is None]
        while self._queue and (idle or len(self._processes) < self._count):
            if not idle:
                idle = [_WorkerProcess(self._function)]
                self._processes += idle
            index = self._queue.popleft()
            idle.pop().send_item(index, self._items[index])

    def _collect_result(self, process: _WorkerProcess) -> dict[int, TaskResult]:
        """The result of `process`; if it died, its item goes back to the head of the queue."""
        assert process.item_index is not None
        index, process.item_index = process.item_index, None
        answer = process.receive_result()
        if answer is None:
            self._processes.remove(process)
            code = process.join()
            self._deaths[index] += 1
            if self._deaths[index] <= MAX_WORKER_DEATHS:
                self._queue.appendleft(index)
                return {}
            answer = None, SolveError(_WORKER_DIED.format(self._deaths[index], code))
        del self._items[index]
        return {index: answer}


class _WorkerProcess:
    """A worker process. item_index: of its current item; wait_handles: ready when it has answered or ended."""

    def __init__(self, function: bytes):
        context = multiprocessing.get_context("spawn")
        self.item_index: int | None = None
        self._pipe, theirs = context.Pipe()
        # a daemon ends with its parent, and one whose parent was killed finds its pipe closed
        self._process = context.Process(target=_run_worker, args=(theirs, function), daemon=True)
        self._process.start()
        theirs.close()
        self.wait_handles: tuple[Any, ...] = (self._pipe, self._process.sentinel)

    def send_item(self, index: int, item: bytes) -> None:
        self.item_index = index
        with contextlib.suppress(OSError):  # it has just died; `receive_result` reports it
            self._pipe.send_bytes(item)

    def receive_result(self) -> TaskResult | None:
        """The result that it sent; None if it died."""
        try:
            sent = self._pipe.recv_bytes() if self._pipe.poll() else None
        except (EOFError, OSError):
            return None
        if sent is None:
            return None
        answer, unread = run_task(pickle.loads, sent)
        return (None, unread) if unread else answer

    def stop(self) -> None:
        """An idle one ends by itself when its pipe closes; a busy one is stopped."""
        self._pipe.close()
        if self.item_index is not None:
            self._process.terminate()

    def join(self) -> int | None:
        """Wait for its end; its exit code."""
        self._pipe.close()
        self._process.join(JOIN_TIMEOUT)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        return self._process.exitcode


def _run_worker(pipe: connection.Connection, function: bytes) -> None:
    # an interrupt goes to the parent, which ends its workers
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # loaded within a task, so that a function that cannot be is an answer and not a death
    load = functools.cache(lambda: pickle.loads(function))
    with single_thread_limit, contextlib.suppress(EOFError, OSError):
        while True:
            answer = run_remote_task(lambda item: load()(pickle.loads(item)), pipe.recv_bytes())
            pipe.send_bytes(_pickle_result(answer))


def _pickle_result(answer: TaskResult) -> bytes:
    try:
        return pickle.dumps(answer, protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as reason:  # pickling runs code of the value's own
        return pickle.dumps((None, SolveError(f"its result cannot be sent back ({reason})")))


ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")
# a distributed.Client is any: Dask is an optional package
Cluster = int | str | Executor | Any | None

# more local processes than this are a mistake: each takes about 100 MB
MAX_WORKERS = 1024
_ACCEPTED_CLUSTERS = (
    'None, a number of processes, "processes", "processes:4", "dask", "dask:4", "tcp://host:port", an Executor or a '
    "Dask Client"
)


def map(
    function: Callable[[ItemT], ResultT],
    items: Iterable[ItemT],
    *,
    cluster: Cluster = None,
    progress: ProgressCallback | None = None,
) -> list[ResultT]:
    """[function(item) for item in items], found by whomever `cluster` names.

    cluster: None, this process; a number or "processes:4" ("processes": one a core), new local processes that end with
        the call, which a script must make under `if __name__ == "__main__":`; "dask:4", a local Dask cluster;
        "tcp://host:port", the Dask scheduler there; a concurrent.futures.Executor or a distributed.Client, used as it
        is and left open.
        All but None need a function, items and results that can be pickled.
    progress: asked several times a second (in this process: after every item); returning False raises Cancelled.
    An exception of a task keeps its kind if it is one of Cajole's, else becomes a SolveError; it names the item.
    Raises InputError for a cluster that is none, MissingExtra without Dask, SolveError for an item whose worker died
    more than three times.
    """
    return list(stream(function, items, cluster=cluster, progress=progress))


def stream(
    function: Callable[[ItemT], ResultT],
    items: Iterable[ItemT],
    *,
    cluster: Cluster = None,
    progress: ProgressCallback | None = None,
) -> Iterator[ResultT]:
    """As `map`, result by result in order; only a few items are taken from a sequence ahead of the one awaited."""
    if not callable(function):
        raise InputError(f"function must be callable, not {type(function).__name__}")
    if not isinstance(items, Iterable):
        raise InputError(f"items must be a sequence, not {type(items).__name__}")
    some = items if isinstance(items, Sequence) else list(items)
    return _iterate_in_order(_select_pool(cluster, function, max(len(some), 1)), some, progress)


def _iterate_in_order(
    open_pool: Callable[[], _WorkerPool], items: Sequence[Any], progress: ProgressCallback | None
) -> Iterator[Any]:
    if len(items) == 0:
        return
    found: dict[int, TaskResult] = {}
    sent = 0
    with contextlib.closing(open_pool()) as workers:
        for wanted in range(len(items)):
            while wanted not in found:
                while sent < min(wanted + workers.max_in_flight, len(items)):
                    workers.submit(sent, items[sent])
                    sent += 1
                found |= workers.collect()
                done = wanted + len(found)
                report_progress(progress, done / len(items), f"{done} of {len(items)} done")
            value, error = found.pop(wanted)
            if error is not None:
                raise _add_item_to_error(error, wanted, items[wanted]) from error
            yield value


def _add_item_to_error(error: BaseException, index: int, item: Any) -> BaseException:
    """`error` as a CajoleError whose text names the item."""
    place = f"item {index} ({' '.join(reprlib.repr(item).split())})"
    if not isinstance(error, CajoleError):
        return SolveError(f"{place}: {type(error).__name__}: {error}")
    if type(error).__module__ == errors.__name__ and not isinstance(error, MissingExtra):
        return type(error)(f"{place}: {error}")
    error.add_note(place)
    return error


class _WorkerPool(Protocol):
    """Workers; at most `max_in_flight` items are submitted, counted from the one awaited."""

    max_in_flight: int

    def submit(self, index: int, item: Any) -> None: ...

    def collect(self) -> dict[int, TaskResult]: ...

    def close(self) -> None: ...


def require_cluster(cluster: Cluster) -> None:
    """Raise InputError for a bad cluster, and MissingExtra if its package is not installed."""
    _select_pool(cluster, len, 1)


def _select_pool(cluster: Cluster, function: Callable[[Any], Any], count: int) -> Callable[[], _WorkerPool]:
    """A function that starts the workers named by `cluster`; bad names raise InputError here, before any work."""
    if cluster is None:
        return functools.partial(_SerialPool, function)
    if isinstance(cluster, Executor):
        return functools.partial(ExecutorPool, function, cluster)
    if is_dask_client(cluster):
        return functools.partial(DaskPool, function, cluster)
    if isinstance(cluster, Integral) and not isinstance(cluster, bool):
        workers = checks.require_integer(int(cluster), "cluster (a number of processes)", maximum=MAX_WORKERS)
        return functools.partial(ProcessPool, pickle_for_worker(function, "function"), min(workers, count))
    if not isinstance(cluster, str):
        raise InputError(f"cluster must be {_ACCEPTED_CLUSTERS}, not {type(cluster).__name__}")
    if cluster.startswith(("tcp://", "tls://")):
        DASK_PACKAGE.require()
        return functools.partial(DaskPool, function, cluster)
    kind, colon, number = cluster.partition(":")
    if kind not in ("processes", "dask") or (colon and not (number.isdecimal() and len(number) < 10)):
        raise InputError(f"cluster is {checks.format_value(cluster)}, but must be {_ACCEPTED_CLUSTERS}")
    asked = int(number) if colon else min(_count_cores(), MAX_WORKERS)
    workers = min(checks.require_integer(asked, "cluster (a number of processes)", maximum=MAX_WORKERS), count)
    if kind == "dask":
        DASK_PACKAGE.require()
        return functools.partial(DaskPool, function, workers)
    return functools.partial(ProcessPool, pickle_for_worker(function, "function"), workers)


def _count_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


class _SerialPool:
    """Runs the items in this process, one after the other."""

    max_in_flight = 1

    def __init__(self, function: Callable[[Any], Any]):
        self._function = function
        self._items: dict[int, Any] = {}

    def submit(self, index: int, item: Any) -> None:
        self._items[index] = item

    def collect(self) -> dict[int, TaskResult]:
        return {index: run_task(self._function, self._items.pop(index)) for index in list(self._items)}

    def close(self) -> None:
        self._items.clear()


__all__ = ["Cluster", "map", "stream"]
