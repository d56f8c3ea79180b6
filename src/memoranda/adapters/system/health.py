"""Asks the endpoint of the operational ledger whether it is well."""

from __future__ import annotations

import threading
from urllib.parse import urlsplit

from memoranda.errors import ConfigurationError, LedgerUnavailable

TIMEOUT_SECONDS = 2.0
PATH = "/v1/health"
_GOOD = range(200, 300)


class EndpointHealth:
    """`GET <endpoint>/v1/health`: well is an answer of status 2xx within 2 seconds, names and connection included.

    It is asked directly, not through a proxy, and a redirect is no good answer. Safe in threads.
    """

    def __init__(self, endpoint: str) -> None:
        """Take the endpoint's address, such as `http://127.0.0.1:8080`.

        Raises:
            ConfigurationError: it is no http or https address, or holds a user, a query or a fragment.
        """
        try:
            parts = urlsplit(endpoint)
            wrong = not parts.hostname or parts.port == 0 or any(mark in endpoint for mark in "@?#\\ \t\r\n")
        except ValueError:
            parts, wrong = urlsplit(""), True
        if wrong or parts.scheme not in ("http", "https"):
            raise ConfigurationError(
                "memory.ledger.endpoint is no address of a server: write for example http://127.0.0.1:8080"
            )
        self._name = parts.netloc
        self._url = endpoint.rstrip("/") + PATH

    def check(self) -> None:
        """Return where the endpoint is well.

        Raises:
            LedgerUnavailable: it refuses, answers with another status, or does not answer in time.
        """
        found: list[int | str] = []
        asking = threading.Thread(target=lambda: found.append(self._status()), name="ledger-health", daemon=True)
        asking.start()
        asking.join(TIMEOUT_SECONDS)
        status = found[0] if found else f"did not answer within {TIMEOUT_SECONDS:.0f} seconds"
        if isinstance(status, int) and status in _GOOD:
            return
        what = f"answered with status {status}" if isinstance(status, int) else status
        raise LedgerUnavailable(
            f"the operational ledger's endpoint at {self._name} {what}; nothing was read or written"
        )

    def _status(self) -> int | str:
        """Return the status of one answer, or in words why there is none."""
        import http.client  # noqa: PLC0415 - loaded where an endpoint is set, which few have
        import urllib.error  # noqa: PLC0415 - the same
        import urllib.request  # noqa: PLC0415 - the same

        class _NoRedirects(urllib.request.HTTPRedirectHandler):
            """Leaves a redirect as the answer that it is."""

            def redirect_request(self, *_: object) -> None:
                """Follow nothing."""

        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirects)
        try:
            with opener.open(self._url, timeout=TIMEOUT_SECONDS) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            with error:
                return error.code
        except (OSError, http.client.HTTPException, ValueError) as error:
            return f"cannot be asked ({type(error).__name__})"
