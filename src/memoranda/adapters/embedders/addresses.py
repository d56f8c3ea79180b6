"""Reads where a server is from the setting `memory.base_url`: a host, a folder such as `/v1`, or the whole address."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit, urlunsplit

from memoranda.errors import ConfigurationError


def is_loopback(host: str) -> bool:
    """Tell whether a host is this machine."""
    name = host.lower().strip("[]")
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")


def endpoint(base_url: str, *, path: str, ending: str) -> str:
    """Return the address to send to; `path` is added to a host alone, `ending` to a folder that does not end so.

    Raises:
        ConfigurationError: it is no http or https address, or holds a user, a query or a fragment.
    """
    try:
        parts = urlsplit(_with_scheme(base_url.strip()))
        wrong = not parts.hostname or parts.port == 0 or any(mark in base_url for mark in "@?#\\ \t\r\n")
    except ValueError:
        parts, wrong = urlsplit(""), True
    if wrong or parts.scheme not in ("http", "https"):
        raise ConfigurationError(
            "memory.base_url is no address of a server: write for example http://127.0.0.1:8080/v1, without a user "
            "and without a query; a key goes into the environment"
        )
    folder = parts.path.rstrip("/")
    whole = folder if folder.endswith(ending) else f"{folder}{ending}" if folder else path
    return urlunsplit((parts.scheme, parts.netloc, whole, "", ""))


def _with_scheme(text: str) -> str:
    """Return an address with a scheme: https, but http on this machine."""
    if "://" in text:
        return text
    try:
        host = urlsplit(f"//{text}").hostname or ""
    except ValueError:
        host = ""
    return ("http://" if is_loopback(host) else "https://") + text
