"""Which tools bring untrusted content into a session. The settings can widen distrust; they cannot trust the web."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from memoranda.domain.fingerprint import INVISIBLE

WEB_TOOLS = frozenset(
    {
        "web_search", "websearch", "web_fetch", "webfetch", "fetch", "http_request", "http_get", "browser", "browse",
        "open_url", "read_url", "url_fetch", "curl", "wget",
    }
)  # fmt: skip
"""Built-in web tools by the names that common hosts give them; no setting makes them trusted."""

WEB_WORDS = frozenset(
    {
        "bing", "brave", "browse", "browser", "browsing", "crawl", "crawler", "curl", "download", "duckduckgo", "exa",
        "fetch", "fetchurl", "firecrawl", "google", "http", "https", "internet", "perplexity", "playwright",
        "puppeteer", "scrape", "scraper", "selenium", "serpapi", "tavily", "url", "urls", "urlfetch", "web", "webfetch",
        "webpage", "websearch", "website", "wget", "wikipedia", "www",
    }
)  # fmt: skip
"""Words in a tool's name that say that it reads the web; `trusted_tools` can name such a tool all the same."""

_WORDS = re.compile(r"[a-z0-9]+")
_SPACES = re.compile(r"__|[.:/]")
"""What parts a tool's own name from those of the places that it comes from."""

_MCP = "mcp__"


@dataclass(frozen=True, slots=True)
class ContentTrust:
    """The settings of `[memory.content_trust]`."""

    trusted_mcp_servers: tuple[str, ...] = ()
    trusted_tools: tuple[str, ...] = ()
    untrusted_tools: tuple[str, ...] = ()
    shared_audience: str = "off"


def is_untrusted(tool: str, server: str | None, policy: ContentTrust) -> bool:
    """Whether a tool's result is untrusted content.

    Web tools always are; then `untrusted_tools`, `trusted_tools`, tools whose name says that they read the
    web, and tools of an MCP server (named as such, or by the form `mcp__server__tool`) unless it is in
    `trusted_mcp_servers`. Other tools are trusted. Names are compared without case; a name that is empty, or that hides
    something, is untrusted.
    """
    name = _plain(tool)
    if not name or name != tool.strip().casefold() or not name.isascii():
        return True
    if _is_web_tool(name) or name in _all(policy.untrusted_tools):
        return True
    if name in _all(policy.trusted_tools):
        return False
    if WEB_WORDS.intersection(_WORDS.findall(name)):
        return True
    source = _plain(server) if server is not None else _server_of(name)
    if server is not None and source != server.strip().casefold():
        return True
    return source is not None and source not in _all(policy.trusted_mcp_servers)


def _is_web_tool(name: str) -> bool:
    """Whether a name is that of a built-in web tool, with whatever a host writes before it (`functions.web_search`)."""
    own = _SPACES.split(name)[-1]
    joined = "_".join(_WORDS.findall(name))
    return any(tool in (own, "_".join(_WORDS.findall(own))) for tool in WEB_TOOLS) or any(
        joined == tool or ("_" in tool and joined.endswith(f"_{tool}")) for tool in WEB_TOOLS
    )


def _plain(name: str) -> str:
    return unicodedata.normalize("NFKC", name).translate(INVISIBLE).strip().casefold()


def _all(names: Iterable[str]) -> frozenset[str]:
    return frozenset(map(_plain, names))


def _server_of(name: str) -> str | None:
    """Return the server in `mcp__server__tool`; None where a name has another form."""
    if not name.startswith(_MCP):
        return None
    return name.removeprefix(_MCP).partition("__")[0]
