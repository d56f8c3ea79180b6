"""The port of what reads a page of the web for the reference agent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page as text. `cut` tells that it goes on after what was read."""

    url: str
    text: str
    cut: bool = False


class Fetcher(Protocol):
    """Reads pages; nothing of what it returns may be believed."""

    def fetch(self, url: str) -> Page:
        """Return the page at an address.

        Raises:
            InvalidInput: it is no http or https address, or what is there is no text.
            BackendError: nothing came in time, or the server refused.
        """
