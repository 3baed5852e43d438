"""Seeded mutations of valid inputs: of bytes, of numbers in text, of JSON trees, and of the members of archives."""

from __future__ import annotations

import io
import json
import re
import struct
import zipfile
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

NUMBERS = (
    "inf", "-inf", "nan", "-1", "0", "-0.0", "1e300", "-1e300", "1e-320", "9223372036854775808", "-9223372036854775809",
    "18446744073709551616", "2147483648", "4294967295", "1e999", "9" * 400, "0x7f", "1.5", "", "1,000",
)  # fmt: skip
WORDS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
DOUBLES = tuple(struct.pack("<d", x) for x in (float("inf"), float("nan"), 1e300, -1.0, 0.0, 5e-324, 2.0**63))
SINGLES = tuple(struct.pack("<f", x) for x in (float("inf"), float("nan"), 3e38, -1.0, 0.0, 1e-45))
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**53, 2**63, -(2**63) - 1, 10**30, 1e300, -1e300, 5e-324, float("nan"),
    float("inf"), "", "x", "-1", "\0", "\ud800", "é" * 50, "a" * 5000, "../../etc/passwd", [], {}, [[]], [None],
    [[1, 2], [3]], {"": None}, [1e300] * 3,
)  # fmt: skip
_NUMBER = re.compile(rb"-?\d+\.?\d*(?:[eE][-+]?\d+)?")
# nesting that overflows the stack of a recursive parser
DEEP = 20_000

Mutation = Callable[[Random, bytes, Sequence[bytes]], bytes]


def flip_bits(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        if changed:
            changed[_place(rng, len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def truncate(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def splice(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Put a piece of this or another input somewhere, in place of what is there or before it."""
    other = rng.choice([data, *others])
    start = rng.randrange(len(other) + 1)
    piece = other[start : start + rng.choice((1, 4, 16, 64, 1024))]
    at = rng.randrange(len(data) + 1)
    return data[:at] + piece + data[at + rng.choice((0, len(piece))) :]


def delete_piece(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + data[at + rng.choice((1, 2, 4, 8, 64)) :]


def replace_words(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Binary numbers of extreme values, most often near the beginning, where headers are."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 3))):
        size = rng.choice((1, 2, 4, 8))
        word = rng.choice((rng.choice(WORDS).to_bytes(8, "little")[:size], rng.choice(DOUBLES), rng.choice(SINGLES)))
        at = _place(rng, len(changed) + 1)
        changed[at : at + len(word)] = word if rng.random() < 0.7 else word[::-1]
    return bytes(changed)


def replace_numbers(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Numbers in text that are not finite, too large, negative or not numbers."""
    found = [match.span() for match in _NUMBER.finditer(data[:200_000])]
    for start, end in sorted(rng.sample(found, min(len(found), rng.choice((1, 1, 2, 5)))), reverse=True):
        data = data[:start] + rng.choice(NUMBERS).encode() + data[end:]
    return data


def repeat_lines(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    lines = data.splitlines(keepends=True) or [b""]
    at = rng.randrange(len(lines))
    kind = rng.randrange(3)
    if kind == 0:
        return b"".join(lines[:at] + lines[at + 1 :])
    if kind == 1:
        return b"".join(lines[: at + 1] + [lines[at]] * rng.choice((1, 3, 1000)) + lines[at + 1 :])
    return b"".join([*lines[:at], lines[rng.randrange(len(lines))], *lines[at + 1 :]])


def nest(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    opening, closing = rng.choice(((b"[", b"]"), (b"{", b"}"), (b'{"a":', b"}"), (b"(", b")"), (b"<a>", b"</a>")))
    depth = rng.choice((3, 100, DEEP))
    at = rng.randrange(len(data) + 1)
    return data[:at] + opening * depth + (closing * depth if rng.random() < 0.5 else b"") + data[at:]


BYTES: tuple[Mutation, ...] = (flip_bits, truncate, splice, delete_piece, replace_words)
TEXT: tuple[Mutation, ...] = (*BYTES, replace_numbers, replace_numbers, repeat_lines, nest)


def mutate_tree(rng: Random, tree: Any) -> Any:
    """A JSON tree with one or several nodes swapped for another type, deleted, duplicated or renamed."""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        tree = _mutate_node(rng, tree)
    return tree


def _mutate_node(rng: Random, node: Any) -> Any:
    if not isinstance(node, dict | list) or not node or rng.random() < 0.15:
        return rng.choice(VALUES)
    keys = list(node) if isinstance(node, dict) else list(range(len(node)))
    key = rng.choice(keys)
    if isinstance(node[key], dict | list) and node[key] and rng.random() < 0.8:
        new: Any = _mutate_node(rng, node[key])
        return {**node, key: new} if isinstance(node, dict) else [*node[:key], new, *node[key + 1 :]]
    kind = rng.randrange(5)
    if isinstance(node, dict):
        rest = {k: v for k, v in node.items() if k != key}
        other = rng.choice(keys)
        return [
            rest, {**rest, f"{key}x": node[key]}, {**node, key: node[other]}, {**node, key: rng.choice(VALUES)},
            {**node, key: rng.choice(VALUES)},
        ][kind]  # fmt: skip
    return [
        node[:key] + node[key + 1 :], [*node, node[key]], [*node[:key], rng.choice(VALUES), *node[key + 1 :]],
        node * rng.choice((2, 50)), [*node[:key], [node[key]], *node[key + 1 :]],
    ][kind]  # fmt: skip


def mutate_json(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    return json.dumps(mutate_tree(rng, json.loads(data))).encode()


def mutate_archive(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """An .npz with valid checksums in which a member is damaged, gone, renamed, doubled or of another archive."""
    members = _members(data)
    for _ in range(rng.choice((1, 1, 2))):
        if not members:
            break
        at = rng.randrange(len(members))
        name, content = members[at]
        kind = rng.randrange(7)
        if kind == 0:
            del members[at]
        elif kind == 1:
            members[at] = (rng.choice(members)[0], content)
        elif kind == 2:
            members.append((name, rng.choice(members)[1]))
        elif kind == 3:
            members[at] = (name, rng.choice(members)[1])
        elif kind == 4:
            members[at] = (name, _mutate_npy_header(rng, content))
        else:
            members[at] = (name, rng.choice(TEXT if content[:1] == b"{" else BYTES)(rng, content, others))
    return _archive(members, rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)))


def _mutate_npy_header(rng: Random, content: bytes) -> bytes:
    """Another type, shape or order in the header of an array, of the same length."""
    if content[:6] != b"\x93NUMPY":
        return content
    size = int.from_bytes(content[8:10], "little")
    header, rest = content[10 : 10 + size].decode("latin1").strip(), content[10 + size :]
    shape = rng.choice(("()", "(0,)", "(-1,)", "(9223372036854775808,)", "(3, 0, 5)", "(1000000000, 1000000)", "(2,)"))
    kind = rng.choice(("|O", "<f8", ">f4", "<i8", "|b1", "<U4", "<c16", "|V8", "<M8[s]", "x", "[('a','<f8')]"))
    changes = [
        lambda: re.sub(r"'shape': \(.*?\)", f"'shape': {shape}", header),
        lambda: re.sub(r"'descr': '.*?'", f"'descr': '{kind}'", header),
        lambda: header.replace("False", "True"),
        lambda: header[: rng.randrange(len(header) + 1)],
        lambda: header.replace("}", rng.choice(("", "(", "'", "\\", "\n\t]"))),
        lambda: flip_bits(rng, header.encode("latin1"), ()).decode("latin1"),
    ]
    text = rng.choice(changes)().encode("latin1", errors="replace") + b" \n"
    return content[:8] + min(len(text), 65535).to_bytes(2, "little") + text + rest


def _members(data: bytes) -> list[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return [(info.filename, archive.read(info)) for info in archive.infolist()]


def _archive(members: list[tuple[str, bytes]], compression: int) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, content in members:
            # a fixed date, so that the same seed makes the same bytes; the same name twice is meant
            info = zipfile.ZipInfo(name)
            info.compress_type = compression
            archive.NameToInfo.pop(name, None)
            archive.writestr(info, content)
    return stream.getvalue()


def mutate_glb(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """A GLB whose lengths fit and whose JSON does not."""
    length = int.from_bytes(data[12:16], "little")
    tree, rest = json.loads(data[20 : 20 + length]), data[20 + length :]
    text = json.dumps(mutate_tree(rng, tree)).encode()
    text += b" " * (-len(text) % 4)
    head = struct.pack("<4sII", b"glTF", 2, 20 + len(text) + len(rest))
    return head + struct.pack("<I4s", len(text), b"JSON") + text + rest


def mutate_html(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """A page with another header, or with a change in its last part, where the motion is."""
    begin = data.index(b">", data.index(b'id="cajole-motion"')) + 1
    end = data.index(b"</script>", begin)
    if rng.random() < 0.5:
        return data[:begin] + json.dumps(mutate_tree(rng, json.loads(data[begin:end]))).encode() + data[end:]
    return data[:begin] + rng.choice(TEXT)(rng, data[begin:], others)


def _place(rng: Random, size: int) -> int:
    """A position, every second time among the first bytes."""
    return rng.randrange(min(size, 128) if rng.random() < 0.5 else size)


def mutate(rng: Random, data: bytes, others: Sequence[bytes], mutations: Sequence[Mutation]) -> bytes:
    """One mutated input; now and then several mutations, or none at all."""
    for _ in range(rng.choice((0, *[1] * 30, 2, 2, 2, 4))):
        try:
            data = rng.choice(mutations)(rng, data, others)
        except Exception:
            data = rng.choice(BYTES)(rng, data, others)  # what an earlier mutation left is no such document any more
    return data
