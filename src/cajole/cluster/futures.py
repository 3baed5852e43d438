"""Executors of the caller's, and Dask behind the same interface."""

from __future__ import annotations

import contextlib
import pickle
import sys
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from typing import Any

from cajole.checks import OptionalPackage
from cajole.cluster.tasks import AHEAD, PATIENCE, Answer, answered_afar
from cajole.errors import SolveError

DASK = OptionalPackage(("distributed", "cloudpickle"), "distributed", "cluster", "a Dask cluster")
# Items given out ahead to an executor, which does not tell how many workers it has.
AHEAD_UNKNOWN = 64
# Seconds that a Dask scheduler has to answer.
CONNECT = 10.0


class Futures:
    """An executor of the caller's, left open."""

    ahead = AHEAD_UNKNOWN

    def __init__(self, function: Callable[[Any], Any], executor: Executor):
        self._function = function
        self._executor = executor
        self._waiting: dict[Future[Answer], int] = {}

    def submit(self, index: int, item: Any) -> None:
        try:
            self._waiting[self._submitted(item)] = index
        except RuntimeError as reason:  # shut down, or its processes died
            raise SolveError(f"the executor takes no more work ({reason}); make a new one") from reason

    def _submitted(self, item: Any) -> Future[Answer]:
        return self._executor.submit(answered_afar, self._function, item)

    def collect(self) -> dict[int, Answer]:
        done, _ = wait(self._waiting, timeout=PATIENCE, return_when=FIRST_COMPLETED)
        return {self._waiting.pop(future): _received(future) for future in done}

    def close(self) -> None:
        for future in self._waiting:
            future.cancel()


def _received(future: Future[Answer]) -> Answer:
    try:
        return future.result()
    except CancelledError:
        return None, SolveError("it was cancelled from outside")
    except Exception as error:
        return None, error


class Dask(Futures):
    """A Dask scheduler: its address, how many local processes to start, or the caller's client, which is left open.

    It gives lost work to other workers.
    """

    def __init__(self, function: Callable[[Any], Any], where: Any):
        DASK.require()
        import cloudpickle
        import distributed

        self._dumps: Callable[[Any], bytes] = cloudpickle.dumps
        with contextlib.ExitStack() as undo:
            if is_client(where):
                client = where
                if client.status != "running":
                    raise SolveError(f"the Dask client is {client.status}; make a new one")
            else:
                address = where if isinstance(where, str) else undo.enter_context(_local(where))
                try:
                    client = undo.enter_context(distributed.Client(address, timeout=CONNECT, set_as_default=False))
                except (OSError, ValueError) as reason:
                    raise SolveError(f"no Dask scheduler answers at {where} ({reason}); start one there") from None
            super().__init__(function, client.get_executor(pure=False))
            self.ahead = AHEAD * max(sum(client.nthreads().values()), 1)
            # a task and not data handed in: data would be lost with the worker that holds it
            self._shared: Any = client.submit(pickle.loads, self._dumps(function), pure=False)
            self._closing = undo.pop_all()

    def _submitted(self, item: Any) -> Future[Answer]:
        import dask

        # states of a large body are many megabytes, and are meant to travel
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            return self._executor.submit(_unpacked, self._shared, self._dumps(item))

    def close(self) -> None:
        super().close()
        self._closing.close()


def is_client(value: Any) -> bool:
    """Whether `value` is a distributed.Client, without importing Dask where nobody else has."""
    distributed = sys.modules.get("distributed")
    return distributed is not None and isinstance(value, distributed.Client)


def _local(workers: int) -> contextlib.AbstractContextManager[Any]:
    import distributed

    # its page on any free port, and for this machine alone
    page = "127.0.0.1:0"
    return distributed.LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=page)


def _unpacked(function: Callable[[Any], Any], item: bytes) -> Answer:
    return answered_afar(lambda blob: function(pickle.loads(blob)), item)
