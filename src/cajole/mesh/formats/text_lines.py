"""Lines and number tables of text files, with errors that name the file and the line."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cajole.errors import FileError
from cajole.storage import build_read_error, open_regular_file


class TextLine(NamedTuple):
    """A line of text and its position. from_include: it comes from a file that another file includes."""

    file: Path
    number: int
    text: str
    from_include: bool = False

    def build_error(self, message: str) -> FileError:
        """A FileError that names the file and this line."""
        return FileError(f"{self.file}, line {self.number}: {message}")

    def quote(self, part: str | None = None) -> str:
        """The start of the line, or of `part`, for a message.

        Lines of included files are not quoted: a mesh names these files, and messages would disclose any file.
        """
        return "something else" if self.from_include else repr((self.text if part is None else part)[:60])

    @property
    def words(self) -> list[str]:
        """The words between spaces and commas."""
        return self.text.replace(",", " ").split()


def read_file_bytes(path: str | os.PathLike[str], *, allow_empty: bool = False) -> bytes:
    """The content of a regular file. Raises FileError if it is missing, unreadable or, unless allowed, empty."""
    with open_regular_file(path) as stream:
        try:
            data = stream.read()
        except OSError as reason:
            raise build_read_error(Path(path), reason) from None
    if not data and not allow_empty:
        raise FileError(f"{path} is empty; write it again or take another copy")
    return data


def read_text_lines(path: Path, *, allow_empty: bool = False) -> list[TextLine]:
    """The lines of a text file, without `#` comments and blank lines. Raises FileError for a binary file."""
    data = read_file_bytes(path, allow_empty=allow_empty)
    if b"\0" in data:
        raise FileError(f"{path} is binary, but a {path.suffix} file is text; is its suffix wrong?")
    rows = data.decode("utf-8", errors="replace").splitlines()
    lines = (TextLine(path, number, row.partition("#")[0].strip()) for number, row in enumerate(rows, start=1))
    return [line for line in lines if line.text]


def parse_float_rows(lines: Sequence[TextLine], first_column: int, count: int, what: str) -> NDArray[np.float64]:
    """(rows, count) numbers from the columns first_column..first_column+count of each line."""
    rows = [line.words[first_column : first_column + count] for line in lines]
    try:
        if any(len(row) != count for row in rows):
            raise ValueError
        return np.array(rows, dtype=np.float64).reshape(-1, count)
    except ValueError:
        raise _build_row_error(lines, rows, count, float, what) from None


def parse_integer_rows(lines: Sequence[TextLine], first_column: int, count: int, what: str) -> NDArray[np.int64]:
    """(rows, count) whole numbers from the columns first_column..first_column+count of each line."""
    rows = [line.words[first_column : first_column + count] for line in lines]
    try:
        if any(len(row) != count for row in rows):
            raise ValueError
        # through int: NumPy versions parse a string such as 1.0 differently
        return np.array([[int(word) for word in row] for row in rows], dtype=np.int64).reshape(-1, count)
    except (ValueError, OverflowError):
        raise _build_row_error(lines, rows, count, lambda word: np.int64(int(word)), what) from None


def parse_counted_block(body: Sequence[TextLine], what: str, last_line: TextLine) -> tuple[int, list[TextLine]]:
    """The number and the rows of a block that begins with the number of its rows. Raises FileError if it is wrong."""
    if not body:
        raise last_line.build_error(f"expected the number of {what} after this line, but the block is empty")
    head = body[0]
    try:
        count = int(head.words[0])
    except (IndexError, ValueError):
        raise head.build_error(f"expected the number of {what}, found {head.quote()}") from None
    have = len(body) - 1
    if have != count:
        kind = "the file seems cut off" if have < count else "there are too many"
        raise body[-1].build_error(f"expected {count} {what} (line {head.number} says so), found {have}: {kind}")
    if count < 1:
        raise head.build_error(f"the number of {what} is {count}, but must be at least one")
    return count, list(body[1:])


def find_index_base(rows: NDArray[np.int64], lines: Sequence[TextLine], what: str) -> int:
    """The first number, 0 or 1, of rows that must be numbered consecutively."""
    start = int(rows[0, 0])
    if start not in (0, 1):
        raise lines[0].build_error(f"the first of the {what} is number {start}, but numbering starts at 0 or 1")
    wrong = rows[:, 0] != start + np.arange(len(rows))
    if wrong.any():
        at = int(np.argmax(wrong))
        raise lines[at].build_error(f"expected number {start + at} of the {what}, found {rows[at, 0]}")
    return start


def convert_to_zero_base(
    indices: NDArray[np.int64], lines: Sequence[TextLine], index_base: int, count: int
) -> NDArray[np.int64]:
    """Vertex numbers that count from `index_base` as indices from 0. Raises FileError for others."""
    wrong = (indices < index_base) | (indices >= index_base + count)
    if wrong.any():
        row, column = (int(i) for i in np.argwhere(wrong)[0])
        bad = indices[row, column]
        raise lines[row].build_error(
            f"there is no vertex {bad}: vertices are numbered {index_base} to {index_base + count - 1}"
        )
    return indices - index_base


def _build_row_error(
    lines: Sequence[TextLine], rows: list[list[str]], count: int, kind: Callable[[str], object], what: str
) -> FileError:
    """The error of the first line that is not `count` words of this kind."""
    for line, row in zip(lines, rows):
        try:
            good = len(row) == count and all(kind(word) is not None for word in row)
        except (ValueError, OverflowError):
            good = False
        if not good:
            return line.build_error(f"expected {what}, found {line.quote()}")
    return FileError(f"{lines[0].file}: expected {what} on every line")
