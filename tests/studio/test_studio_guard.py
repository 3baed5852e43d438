"""Who gets in: the token, its cookie, and requests that were meant for this studio."""

from __future__ import annotations

import pytest

from cajole.studio.access import SECURITY_HEADERS, AccessPolicy, is_loopback


def test_the_token_and_the_cookie_are_told_from_others_identity():
    guard = AccessPolicy(port=8000)
    assert guard.is_valid_token(guard.token)
    for other in ("", "x", guard.cookie_value, None, 7, "\ud800", guard.token + " "):
        assert not guard.is_valid_token(other)
    assert guard.has_valid_cookie({"cajole_8000": guard.cookie_value})
    assert not guard.has_valid_cookie({"cajole_8001": guard.cookie_value})
    assert not guard.has_valid_cookie({"cajole_8000": guard.token})
    assert not guard.has_valid_cookie({})
    assert AccessPolicy().token != guard.token
    assert guard.cookie_value not in repr(guard)


@pytest.mark.parametrize("host", ["localhost:8000", "127.0.0.1:8000", "[::1]:8000", "LOCALHOST", "127.0.0.1"])
def test_names_of_this_machine_are_answered_identity(host):
    assert AccessPolicy().is_allowed_host(host)
    assert AccessPolicy().is_allowed_origin(f"http://{host}", host)


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "192.168.0.7:8000", "", None, "[", "localhost.evil.example:80"]
)
def test_other_names_that_point_here_are_not_bad_input(host):
    """As after DNS rebinding: the address is ours, the name is theirs."""
    assert not AccessPolicy().is_allowed_host(host)


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "", "http://localhost:9000", "https://localhost:8000.evil.example", "file://",
     "ws://localhost:8000", "http://[", "http://127.0.0.1:8000"],
)  # fmt: skip
def test_pages_from_elsewhere_are_not_bad_input(origin):
    assert not AccessPolicy().is_allowed_origin(origin, "localhost:8000")


def test_a_script_has_no_origin_identity():
    assert AccessPolicy().is_allowed_origin(None, "localhost:8000")


def test_bound_to_one_address_or_to_all_identity():
    assert AccessPolicy(host="192.168.0.7").is_allowed_host("192.168.0.7:8000")
    assert not AccessPolicy(host="192.168.0.7").is_allowed_host("192.168.0.8:8000")
    everywhere = AccessPolicy(host="0.0.0.0")
    assert everywhere.is_allowed_host("192.168.0.8:8000")
    assert not everywhere.is_allowed_host("evil.example:8000")
    assert [is_loopback(host) for host in ("127.0.0.1", "localhost", "::1", "127.8.8.8", "0.0.0.0", "10.0.0.1")] == [
        True, True, True, True, False, False,
    ]  # fmt: skip


def test_scripts_come_from_here_alone_claim():
    policy = dict(part.strip().split(" ", 1) for part in SECURITY_HEADERS["content-security-policy"].split(";"))
    assert policy["default-src"] == "'self'"
    assert "script-src" not in policy
    assert "unsafe" not in SECURITY_HEADERS["content-security-policy"]
    assert policy["frame-ancestors"] == "'none'"
