"""What the tests give to workers: functions that other processes can import."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import cajole as cj
from bodies import beam_body
from cajole.linalg.threads import choose_factor_threads
from waiting import wait_until

Array = NDArray[np.float64]


def double(item: int) -> int:
    return 2 * item


def first_last(item: tuple[int, str]) -> int:
    """The first item finishes after the second, which leaves a file."""
    number, marker = item
    if number == 0:
        wait_until(Path(marker).exists, "the second item")
    if number == 1:
        Path(marker).write_text("")
    return number


def seeded(seed: int) -> Array:
    """Products large enough that BLAS would share them among threads."""
    matrix = np.random.default_rng(seed).normal(size=(300, 300))
    return np.linalg.solve(matrix @ matrix.T + np.eye(300), matrix[:, 0])


def swing(speed: float) -> Array:
    """A small beam let go with a speed: the sparse solver, sums over vertices, Newton's decisions."""
    body = beam_body((6, 2, 2))
    velocity = np.zeros((body.vertex_count, 3))
    velocity[body.free_vertices, 2] = speed * body.vertices[body.free_vertices, 0]
    return np.asarray(cj.simulate(body, frames=8, dt=0.01, start=cj.InitialState(velocity=velocity)).positions)


def numbers(seed: int) -> tuple[Array, Array]:
    return seeded(seed), swing(-1.5 * seed)


def threads(_: int) -> tuple[int, int]:
    """Most BLAS threads, and those of the sparse solver."""
    import scipy.linalg  # noqa: F401  its OpenBLAS must be loaded to be asked
    from threadpoolctl import threadpool_info

    blas = [library["num_threads"] for library in threadpool_info() if library["internal_api"] == "openblas"]
    return max(blas), choose_factor_threads()


def dies_at_first(item: tuple[int, str]) -> int:
    """Ends its process the first time, which a file remembers."""
    number, marker = item
    if number % 2 == 0 and not Path(f"{marker}{number}").exists():
        Path(f"{marker}{number}").write_text("")
        os._exit(3)
    return number


def dies_at_two(item: int) -> int:
    if item == 2:
        os._exit(7)
    return item


def fails_at_two(item: int) -> int:
    if item == 2:
        raise ValueError("two is too many")
    return item


def input_fails_at_two(item: int) -> int:
    if item == 2:
        raise cj.InputError("two is too many")
    return item


class Awkward(Exception):
    """Cannot be made again from its arguments, so it cannot travel."""

    def __init__(self, one: str, two: str):
        super().__init__(one + two)


def fails_awkwardly(item: int) -> int:
    raise Awkward("not to be ", f"sent {item}")


def answers_awkwardly(item: int) -> Any:
    return lambda: item


def waits(item: tuple[str, str]) -> None:
    """Leave a file with the process number in a folder, then wait until the release file exists."""
    folder, release = item
    (Path(folder) / str(os.getpid())).write_text("")
    wait_until(Path(release).exists, "the release")
