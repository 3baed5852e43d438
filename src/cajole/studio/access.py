"""Who may speak to the studio: a token, the cookie that it buys, and where requests may come from."""

from __future__ import annotations

import ipaddress
import secrets
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from hmac import compare_digest
from urllib.parse import urlsplit

LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "::1")
# bound to these, the studio answers under every address of the machine
WILDCARD_HOSTS = ("0.0.0.0", "::", "")

# Images also from data, as which thumbnails of keys come; nothing else from elsewhere, and nothing inline.
CONTENT_SECURITY_POLICY = (
    "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
SECURITY_HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach what is bound to `host`."""
    if host in LOOPBACK_HOSTS:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class AccessPolicy:
    """The secrets of one start of the studio, and the host that it is bound to.

    token: what the address line shows, bought once for a cookie; cookie: its value, never shown.
    """

    host: str = "127.0.0.1"
    port: int = 0
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    cookie_value: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    @property
    def cookie_name(self) -> str:
        """Cookies are shared by all ports of a host, so the name tells studios apart."""
        return f"cajole_{self.port}"

    def is_valid_token(self, token: object) -> bool:
        """Whether this is the token of this start."""
        return isinstance(token, str) and _is_equal(token, self.token)

    def has_valid_cookie(self, cookies: Mapping[str, str]) -> bool:
        """Whether the cookies of a request hold ours."""
        return _is_equal(cookies.get(self.cookie_name, ""), self.cookie_value)

    def is_allowed_host(self, header: str | None) -> bool:
        """Whether a request was meant for us: a page of another name that points to this machine was not."""
        name = _parse_hostname(f"//{header}") if header else None
        if name is None:
            return False
        if name in LOOPBACK_HOSTS or name == self.host.lower():
            return True
        return self.host in WILDCARD_HOSTS and (_is_ip_address(name) or name == socket.gethostname().lower())

    def is_allowed_origin(self, origin: str | None, host: str | None) -> bool:
        """Whether a request comes from our own page, or from no page at all, as a script's does."""
        if origin is None:
            return True
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        return parts.scheme in ("http", "https") and parts.netloc.lower() == (host or "").lower() != ""


def _is_equal(expected: str, received: str) -> bool:
    return compare_digest(expected.encode(errors="surrogatepass"), received.encode(errors="surrogatepass"))


def _parse_hostname(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _is_ip_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
