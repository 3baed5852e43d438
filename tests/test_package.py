"""The package as a whole: light to import, every public name documented, files whole or absent, checks that speak."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import cajole
from cajole import checks, errors, storage
from cajole.progress import report_progress

LIGHT = """
import sys
import cajole
heavy = {"numba", "scipy", "typer", "rich", "meshio", "mitsuba", "matplotlib"} & set(sys.modules)
print(",".join(sorted(heavy)))
"""


def test_light_import_identity() -> None:
    """`import cajole` loads nothing heavy."""
    run = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == ""


@pytest.mark.parametrize("name", [name for name in cajole.__all__ if name != "__version__"])
def test_public_name_identity(name: str) -> None:
    """Every exported name exists, is listed, and says what it is."""
    value = getattr(cajole, name)
    assert name in dir(cajole)
    assert inspect.getdoc(value)
    if inspect.isclass(value):
        methods = [m for m in vars(value).values() if inspect.isfunction(m) and not m.__name__.startswith("_")]
        assert all(inspect.getdoc(getattr(value, m.__name__)) for m in methods), name


def public_callables() -> list[tuple[str, Callable[..., object]]]:
    """Exported functions, and what exported classes offer: constructors, methods and properties."""
    found: list[tuple[str, Callable[..., object]]] = []
    for name in cajole.__all__:
        value = getattr(cajole, name)
        if inspect.isfunction(value):
            found.append((name, value))
        elif inspect.isclass(value):
            for member, raw in vars(value).items():
                inner = raw.fget if isinstance(raw, property) else getattr(raw, "func", getattr(raw, "__func__", raw))
                if inspect.isfunction(inner) and (member == "__init__" or not member.startswith("_")):
                    found.append((f"{name}.{member}", inner))
    return found


def test_public_annotations_identity() -> None:
    """Every public function, constructor, method and property says the types of what it takes and gives."""
    bare = []
    for name, function in public_callables():
        taken = [p for p in inspect.signature(function).parameters.values() if p.name not in ("self", "cls")]
        gives = name.endswith("__init__") or "return" in function.__annotations__
        if not gives or any(p.annotation is inspect.Parameter.empty for p in taken):
            bare.append(name)
    assert not bare
    assert len(public_callables()) > 150


def test_public_members_documented_identity() -> None:
    """Every public method and property of every exported class has words of its own, or of the class it comes from."""
    silent = []
    for name in cajole.__all__:
        value = getattr(cajole, name)
        if inspect.isclass(value):
            for member, raw in vars(value).items():
                plain = inspect.isfunction(raw) or isinstance(raw, property | classmethod | staticmethod)
                if (
                    not member.startswith("_")
                    and (plain or hasattr(raw, "func"))
                    and not inspect.getdoc(getattr(value, member, raw))
                ):
                    silent.append(f"{name}.{member}")
    assert not silent


def test_names_once_identity() -> None:
    assert len(set(cajole.__all__)) == len(cajole.__all__)
    assert dir(cajole) == sorted(cajole.__all__)
    assert re.fullmatch(r"\d+\.\d+\.\d+", cajole.__version__)


def test_unknown_name_bad_input() -> None:
    with pytest.raises(AttributeError, match="module 'cajole' has no attribute 'keyfrane'"):
        cajole.keyfrane  # noqa: B018


def drawn_tree() -> dict[str, tuple[str, str | None]]:
    """Class -> (parent, built-in parent) as the docstring of errors.py draws it."""
    path: list[str] = []
    drawn: dict[str, tuple[str, str | None]] = {}
    for line in (errors.__doc__ or "").splitlines():
        found = re.match(r"^([│├└─ ]*)([A-Z]\w+)(?: \((\w+)\))?  ", line)
        if found:
            depth = len(found[1]) // 4
            path = [*path[:depth], found[2]]
            drawn[found[2]] = (path[depth - 1] if depth else found[3] or "Exception", found[3] if depth else None)
    return drawn


def test_error_tree_identity() -> None:
    """The tree drawn at the top of errors.py is the tree of classes, no more and no less."""
    classes = {n: c for n, c in vars(errors).items() if inspect.isclass(c) and issubclass(c, Exception)}
    drawn = drawn_tree()
    assert set(drawn) == set(classes)
    for name, (parent, builtin) in drawn.items():
        bases = [base.__name__ for base in classes[name].__bases__]
        assert bases == [parent, *([builtin] if builtin else [])], name
        assert name in cajole.__all__
        assert classes[name].__doc__


def test_missing_extra_identity() -> None:
    error = cajole.MissingExtra("mkl", "fast", "the PARDISO backend")
    assert str(error) == "the PARDISO backend needs the package mkl: pip install 'cajole[fast]'"
    assert isinstance(error, ImportError)


def test_progress_identity() -> None:
    told: list[tuple[float, str]] = []
    report_progress(lambda share, text: told.append((share, text)), 1.7, "late")
    report_progress(lambda share, text: told.append((share, text)), -0.2, "early")
    assert told == [(1.0, "late"), (0.0, "early")]
    report_progress(None, 0.5, "nobody listens")
    with pytest.raises(cajole.Cancelled, match="stopped at 40% \\(half\\)"):
        report_progress(lambda *_: False, 0.4, "half")


# --- storage


def test_atomic_path_identity(tmp_path: Path) -> None:
    target = tmp_path / "new" / "file.txt"
    with storage.replace_atomically(target) as path:
        assert path.parent == target.parent
        assert path.suffix == ".txt"
        path.write_text("whole")
        assert not target.exists()
    assert target.read_text() == "whole"
    assert os.listdir(target.parent) == ["file.txt"]


def write_and_fail(target: Path, failure: BaseException) -> None:
    with storage.replace_atomically(target) as path:
        path.write_bytes(b"half")
        raise failure


def write_plainly(target: Path) -> None:
    with storage.replace_atomically(target) as path:
        path.write_text("never seen")


def test_atomic_path_keeps_the_old_identity(tmp_path: Path) -> None:
    """An error, of any kind, leaves the old file and nothing beside it."""
    target = tmp_path / "file.bin"
    target.write_bytes(b"old")
    for failure in (RuntimeError("crash"), KeyboardInterrupt(), cajole.Cancelled("stop")):
        with pytest.raises(type(failure)):
            write_and_fail(target, failure)
        assert target.read_bytes() == b"old"
        assert os.listdir(tmp_path) == ["file.bin"]


def test_atomic_path_bad_input(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("a file, not a folder")
    with pytest.raises(cajole.FileError, match=r"cannot write .*plain/inside.txt: .*choose another place"):
        write_plainly(tmp_path / "plain" / "inside.txt")
    (tmp_path / "folder").mkdir()
    with pytest.raises(cajole.FileError, match="cannot write"):
        write_plainly(tmp_path / "folder")
    assert sorted(os.listdir(tmp_path)) == ["folder", "plain"]


def test_content_hash_identity() -> None:
    """Equal content, equal name; type, shape, order and kind all count."""
    values = np.arange(6.0)
    assert storage.hash_content(values, "a", 1) == storage.hash_content(values.copy(), "a", 1)
    assert storage.hash_content(values.reshape(2, 3)) == storage.hash_content(np.asfortranarray(values.reshape(2, 3)))
    different = [
        (values,), (values.astype(np.float32),), (values.astype(np.int64),), (values.reshape(2, 3),),
        (values.reshape(3, 2),), (values[::-1],), (values, None), (1,), (1.0,), ("1",), (True,), (None,), ("a", "b"),
        ("ab",), ("a", "b", ""), (values[:3], values[3:]), (values[:2], values[2:]),
    ]  # fmt: skip
    assert len({storage.hash_content(*parts) for parts in different}) == len(different)


def test_cache_identity(own_cache: Path) -> None:
    arrays = {"a": np.arange(4.0), "b": np.eye(2, dtype=np.int32)}
    assert storage.load_from_cache("kind", "key") is None
    storage.store_in_cache("kind", "key", arrays)
    loaded = storage.load_from_cache("kind", "key")
    assert loaded is not None
    for name, array in arrays.items():
        np.testing.assert_array_equal(loaded[name], array)
        assert loaded[name].dtype == array.dtype
    assert storage.find_cache_folder() == own_cache


def test_damaged_cache_identity(own_cache: Path) -> None:
    """Any one byte changed, or the end cut off: nothing or the right numbers, never an exception or other numbers."""
    stored = {"a": np.arange(9.0)}
    storage.store_in_cache("kind", "key", stored)
    (file,) = own_cache.rglob("*.npz")
    whole = file.read_bytes()
    damaged = [whole[:length] for length in range(0, len(whole), 7)]
    for place in range(len(whole)):
        for flip in (0x01, 0x08, 0x80):
            changed = bytearray(whole)
            changed[place] ^= flip
            damaged.append(bytes(changed))
    for content in damaged:
        file.write_bytes(content)
        loaded = storage.load_from_cache("kind", "key")
        if loaded and "a" in loaded:
            np.testing.assert_array_equal(loaded["a"], stored["a"])


def test_pickled_cache_bad_input(own_cache: Path) -> None:
    """Objects are never unpickled."""
    file = own_cache / "kind" / "key.npz"
    file.parent.mkdir(parents=True)
    np.savez(file, a=np.array([{"evil": 1}], dtype=object))
    assert storage.load_from_cache("kind", "key") is None


def test_cache_that_cannot_be_written_identity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache is a convenience: without a place for it everything still works."""
    (tmp_path / "plain").write_text("")
    monkeypatch.setenv("CAJOLE_CACHE", str(tmp_path / "plain"))
    storage.store_in_cache("kind", "key", {"a": np.ones(2)})
    assert storage.load_from_cache("kind", "key") is None


# --- checks


def test_real_array_bad_input() -> None:
    assert checks.require_real_array([[1, 2]], "x", (None, 2)).dtype == np.float64
    with pytest.raises(cajole.InputError, match=r"x has shape \(2,\), but \(any, 2\) is needed"):
        checks.require_real_array([1, 2], "x", (None, 2))
    with pytest.raises(cajole.MeshError, match=r"x\[1\] is -inf: every value must be finite \(2 of 3 are not\)"):
        checks.require_real_array([0, -np.inf, np.nan], "x", (3,), error=cajole.MeshError)
    with pytest.raises(cajole.InputError, match=r"x must be numbers of shape \(any,\)"):
        checks.require_real_array(["a"], "x", (None,))


def test_index_array_bad_input() -> None:
    assert checks.require_index_array([], "i", (None,), 5).dtype == np.int64
    np.testing.assert_array_equal(checks.require_index_array(np.array([4, 0], dtype=np.uint8), "i", (2,), 5), [4, 0])
    for value, message in (
        ([0, 5], r"i\[1\] is 5, outside 0..4 \(1 such\)"),
        ([-1], r"i\[0\] is -1"),
        ([0.0], "must be whole numbers"),
        ([True], "not bool"),
        ([[0]], "has shape"),
    ):
        with pytest.raises(cajole.InputError, match=message):
            checks.require_index_array(value, "i", (None,), 5)


def test_numbers_bad_input() -> None:
    assert checks.require_positive(np.float32(2), "a") == 2.0  # type: ignore[arg-type]
    assert checks.require_positive(0, "a", allow_zero=True) == 0.0
    for value in (0, -1, float("nan"), float("inf"), None, "x"):
        with pytest.raises(cajole.InputError, match=r"^a (is|must be)"):
            checks.require_positive(value, "a")  # type: ignore[arg-type]
    assert checks.require_integer(np.int64(3), "n", maximum=3) == 3  # type: ignore[arg-type]
    for number in (0, 4, 2.0, True, "3", None):
        with pytest.raises(cajole.InputError, match=r"^n (is|must be)"):
            checks.require_integer(number, "n", maximum=3)  # type: ignore[arg-type]
    with pytest.raises(cajole.InputError, match="mode is 'c', but must be one of 'a', 'b'"):
        checks.require_choice("c", "mode", ("a", "b"))
