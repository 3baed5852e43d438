"""`map` and `stream`: results in the order of the items, whoever finds them.

They are the same to the bit here, in processes and on other machines of the kind: while a task runs, BLAS and the
sparse solver of its process use one thread. A worker that dies loses nothing; its item is given to another.
"""

from __future__ import annotations

import contextlib
import functools
import os
import reprlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from numbers import Integral
from typing import Any, Protocol, TypeVar

from cajole import checks, errors
from cajole.cluster.futures import DASK, Dask, Futures, is_client
from cajole.cluster.processes import Processes
from cajole.cluster.tasks import Answer, answered, pickled
from cajole.errors import CajoleError, InputError, MissingExtra, SolveError
from cajole.progress import Progress, report

In = TypeVar("In")
Out = TypeVar("Out")
# a distributed.Client is any: Dask is an optional package
Cluster = int | str | Executor | Any | None

# more local processes than this are a mistake: each takes about 100 MB
MOST_WORKERS = 1024
_FORMS = (
    'None, a number of processes, "processes", "processes:4", "dask", "dask:4", "tcp://host:port", an Executor or a '
    "Dask Client"
)


def map(
    function: Callable[[In], Out], items: Iterable[In], *, cluster: Cluster = None, progress: Progress | None = None
) -> list[Out]:
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
    function: Callable[[In], Out], items: Iterable[In], *, cluster: Cluster = None, progress: Progress | None = None
) -> Iterator[Out]:
    """As `map`, result by result in order; only a few items are taken from a sequence ahead of the one awaited."""
    if not callable(function):
        raise InputError(f"function must be callable, not {type(function).__name__}")
    if not isinstance(items, Iterable):
        raise InputError(f"items must be a sequence, not {type(items).__name__}")
    some = items if isinstance(items, Sequence) else list(items)
    return _ordered(_crew(cluster, function, max(len(some), 1)), some, progress)


def _ordered(crew: Callable[[], _Crew], items: Sequence[Any], progress: Progress | None) -> Iterator[Any]:
    if len(items) == 0:
        return
    found: dict[int, Answer] = {}
    sent = 0
    with contextlib.closing(crew()) as workers:
        for wanted in range(len(items)):
            while wanted not in found:
                while sent < min(wanted + workers.ahead, len(items)):
                    workers.submit(sent, items[sent])
                    sent += 1
                found |= workers.collect()
                done = wanted + len(found)
                report(progress, done / len(items), f"{done} of {len(items)} done")
            value, error = found.pop(wanted)
            if error is not None:
                raise _named(error, wanted, items[wanted]) from error
            yield value


def _named(error: BaseException, index: int, item: Any) -> BaseException:
    """`error` with the item in its text, as one of Cajole's."""
    place = f"item {index} ({' '.join(reprlib.repr(item).split())})"
    if not isinstance(error, CajoleError):
        return SolveError(f"{place}: {type(error).__name__}: {error}")
    if type(error).__module__ == errors.__name__ and not isinstance(error, MissingExtra):
        return type(error)(f"{place}: {error}")
    error.add_note(place)
    return error


class _Crew(Protocol):
    """Who works: at most `ahead` items are given out from the one awaited on."""

    ahead: int

    def submit(self, index: int, item: Any) -> None: ...

    def collect(self) -> dict[int, Answer]: ...

    def close(self) -> None: ...


def require_cluster(cluster: Cluster) -> None:
    """Raise InputError for a cluster that is none, and MissingExtra if its package is not installed."""
    _crew(cluster, len, 1)


def _crew(cluster: Cluster, function: Callable[[Any], Any], count: int) -> Callable[[], _Crew]:
    """The workers that `cluster` names, started when called: a bad name is found before anything runs."""
    if cluster is None:
        return functools.partial(_Here, function)
    if isinstance(cluster, Executor):
        return functools.partial(Futures, function, cluster)
    if is_client(cluster):
        return functools.partial(Dask, function, cluster)
    if isinstance(cluster, Integral) and not isinstance(cluster, bool):
        workers = checks.count(int(cluster), "cluster (a number of processes)", most=MOST_WORKERS)
        return functools.partial(Processes, pickled(function, "function"), min(workers, count))
    if not isinstance(cluster, str):
        raise InputError(f"cluster must be {_FORMS}, not {type(cluster).__name__}")
    if cluster.startswith(("tcp://", "tls://")):
        DASK.require()
        return functools.partial(Dask, function, cluster)
    kind, colon, number = cluster.partition(":")
    if kind not in ("processes", "dask") or (colon and not (number.isdecimal() and len(number) < 10)):
        raise InputError(f"cluster is {checks.shown(cluster)}, but must be {_FORMS}")
    asked = int(number) if colon else min(_cores(), MOST_WORKERS)
    workers = min(checks.count(asked, "cluster (a number of processes)", most=MOST_WORKERS), count)
    if kind == "dask":
        DASK.require()
        return functools.partial(Dask, function, workers)
    return functools.partial(Processes, pickled(function, "function"), workers)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


class _Here:
    """This process, one item after the other."""

    ahead = 1

    def __init__(self, function: Callable[[Any], Any]):
        self._function = function
        self._items: dict[int, Any] = {}

    def submit(self, index: int, item: Any) -> None:
        self._items[index] = item

    def collect(self) -> dict[int, Answer]:
        return {index: answered(self._function, self._items.pop(index)) for index in list(self._items)}

    def close(self) -> None:
        self._items.clear()
