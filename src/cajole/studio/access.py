"""Authentication: a token, the session cookie that it is exchanged for, and checks of Host and Origin."""

from __future__ import annotations

import ipaddress
import secrets
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from hmac import compare_digest
from urllib.parse import urlsplit

# a server bound to one of these answers at every address of the machine
WILDCARD_HOSTS = ("0.0.0.0", "::", "")
SECURITY_HEADERS = {
    # images also from data URLs, which thumbnails of keys are; nothing from other hosts, no inline scripts
    "content-security-policy": (
        "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


def is_loopback(host: str) -> bool:
    """True if only this machine can reach a server bound to `host`."""
    return host == "localhost" or ((address := _parse_address(host)) is not None and address.is_loopback)


@dataclass(frozen=True)
class AccessPolicy:
    """Secrets of one run of the server, and the address that it is bound to.

    token: part of the printed address, exchanged for the cookie; cookie_value: never shown.
    """

    host: str = "127.0.0.1"
    port: int = 0
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    cookie_value: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    @property
    def cookie_name(self) -> str:
        """Name with the port, because all ports of a host share their cookies."""
        return f"cajole_{self.port}"

    def is_valid_token(self, token: object) -> bool:
        return isinstance(token, str) and _is_equal(token, self.token)

    def has_valid_cookie(self, cookies: Mapping[str, str]) -> bool:
        return _is_equal(cookies.get(self.cookie_name, ""), self.cookie_value)

    def is_allowed_host(self, header: str | None) -> bool:
        """True if a request names this server; a foreign name that resolves to this machine does not."""
        try:
            name = urlsplit(f"//{header or ''}").hostname
        except ValueError:
            return False
        if name is None:
            return False
        if name in ("localhost", "127.0.0.1", "::1", self.host.lower()):
            return True
        is_own_name = _parse_address(name) is not None or name == socket.gethostname().lower()
        return self.host in WILDCARD_HOSTS and is_own_name

    def is_allowed_origin(self, origin: str | None, host: str | None) -> bool:
        """True if a request comes from the page of this server, or from a script, which sends no origin."""
        if origin is None:
            return True
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        return parts.scheme in ("http", "https") and parts.netloc.lower() == (host or "").lower() != ""


def _is_equal(expected: str, received: str) -> bool:
    return compare_digest(expected.encode(errors="surrogatepass"), received.encode(errors="surrogatepass"))


def _parse_address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None
