"""A WebSocket client (RFC 6455) in the standard library alone, for Blender's Python has none.

It speaks to a server on this computer: no encryption, no compression, one thread. Texts go out, texts and bytes come
in.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import socket
import struct

_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_CONTINUED, _TEXT, _BINARY, _CLOSE, _PING, _PONG = 0, 1, 2, 8, 9, 10
_FINAL, _MASKED = 0x80, 0x80
# answers to the greeting are short; more is no WebSocket
_LONGEST_HEAD = 16_384
# [bytes] of one message: meshes come as they are drawn
_LARGEST = 2**31


class SocketError(Exception):
    """The line could not be opened, or broke."""


class WebSocket:
    """An open line; `with` closes it."""

    def __init__(self, host: str, port: int, path: str, *, patience: float):
        """Open it; every wait for the other side lasts `patience` seconds at most. Raises SocketError."""
        self._left = b""
        try:
            self._socket = socket.create_connection((host, port), timeout=patience)
        except OSError as reason:
            raise SocketError(f"nothing answers at {host}:{port} ({reason})") from None
        self._greet(f"[{host}]:{port}" if ":" in host else f"{host}:{port}", path)

    def __enter__(self) -> WebSocket:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, text: str) -> None:
        """One text message."""
        self._write(_TEXT, text.encode())

    def receive(self) -> str | bytes:
        """The next message, whole; pings are answered on the way. Raises SocketError when there will be none."""
        parts: list[bytes] = []
        kind = _CONTINUED
        while True:
            final, opcode, data = self._read()
            if opcode == _CLOSE:
                raise SocketError(f"the studio closed the line ({data[2:].decode(errors='replace') or 'no reason'})")
            if opcode == _PING:
                self._write(_PONG, data)
            elif opcode in (_TEXT, _BINARY, _CONTINUED):
                kind = opcode or kind
                parts.append(data)
                if final:
                    whole = b"".join(parts)
                    return whole.decode() if kind == _TEXT else whole

    def close(self) -> None:
        """Say farewell and hang up; never raises."""
        with contextlib.suppress(SocketError):
            self._write(_CLOSE, struct.pack(">H", 1000))
        self._socket.close()

    def _greet(self, host: str, path: str) -> None:
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [
            f"GET {path} HTTP/1.1", f"Host: {host}", "Upgrade: websocket", "Connection: Upgrade",
            f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13",
        ]  # fmt: skip
        try:
            self._socket.sendall("\r\n".join([*lines, "", ""]).encode())
            head = self._head()
        except OSError as reason:
            raise SocketError(f"the studio did not answer ({reason})") from None
        proof = base64.b64encode(hashlib.sha1((key + _GUID).encode()).digest())
        if not head.startswith(b"HTTP/1.1 101") or proof not in head:
            raise SocketError(f"this is no studio: it answered {head[:60].decode(errors='replace')!r}")

    def _head(self) -> bytes:
        head = b""
        while b"\r\n\r\n" not in head:
            more = self._socket.recv(4096)
            if not more or len(head) > _LONGEST_HEAD:
                raise SocketError("what answered is no studio; check the address")
            head += more
        head, _, self._left = head.partition(b"\r\n\r\n")
        return head

    def _write(self, opcode: int, data: bytes) -> None:
        size = len(data)
        head = bytes([_FINAL | opcode, _MASKED | (size if size < 126 else 126 if size < 2**16 else 127)])
        head += b"" if size < 126 else struct.pack(">H" if size < 2**16 else ">Q", size)
        mask = os.urandom(4)
        whole = int.from_bytes(data, "big") ^ int.from_bytes((mask * (size // 4 + 1))[:size], "big")
        try:
            self._socket.sendall(head + mask + whole.to_bytes(size, "big"))
        except OSError as reason:
            raise SocketError(f"the line to the studio broke ({reason})") from None

    def _read(self) -> tuple[bool, int, bytes]:
        first, second = self._exactly(2)
        size = second & 0x7F
        if size >= 126:
            size = int.from_bytes(self._exactly(2 if size == 126 else 8), "big")
        if second & _MASKED or size > _LARGEST:
            raise SocketError("what came from the studio makes no sense; reopen it")
        return bool(first & _FINAL), first & 0x0F, self._exactly(size)

    def _exactly(self, size: int) -> bytes:
        parts = [self._left[:size]]
        self._left = self._left[size:]
        missing = size - len(parts[0])
        while missing:
            try:
                more = self._socket.recv(min(missing, 2**20))
            except OSError as reason:
                raise SocketError(f"the studio does not answer any more ({reason})") from None
            if not more:
                raise SocketError("the studio is gone; was it closed?")
            parts.append(more)
            missing -= len(more)
        return b"".join(parts)
