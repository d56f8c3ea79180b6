"""Which tools bring untrusted content: the settings widen distrust and cannot trust the web."""

from __future__ import annotations

import pytest

from memoranda.domain.content_trust import WEB_TOOLS, ContentTrust, is_untrusted

POLICY = ContentTrust(
    trusted_mcp_servers=("files",),
    trusted_tools=("reader", "web_fetch", "mcp__odd__tool"),
    untrusted_tools=("mail", "READER2"),
)


@pytest.mark.parametrize(
    ("tool", "server", "untrusted"),
    [
        ("shell", None, False),
        ("reader", None, False),
        ("mail", None, True),
        ("Mail ", None, True),
        ("reader2", None, True),
        ("web_fetch", None, True),
        ("WEB_SEARCH", None, True),
        ("web_search", "files", True),
        ("mcp__files__read", None, False),
        ("mcp__files__fetch", None, True),
        ("mcp__web__read", None, True),
        ("mcp__odd__tool", None, False),
        ("read", "files", False),
        ("read", "FILES", False),
        ("read", "files2", True),
        ("read", "", True),
        ("", None, True),
        ("   ", None, True),
        *(
            (name, None, True)
            for name in (
                "web-fetch",
                "web.fetch",
                "functions.web_search",
                "mcp:web:fetch",
                "mcp_web_fetch",
                "browser_navigate",
                "fetch_url",
                "google_search",
                "tools/http-get",
                "playwright.click",
            )
        ),
        *((name, None, False) for name in ("file_search", "memory_search", "grep", "read_file", "code.search")),
        ("re\u200bader", None, True),
        ("\uff57eb_fetch", None, True),
        ("re\u0430der", None, True),
        ("read", "fi\u200bles", True),
        ("read", "f\u0456les", True),
    ],
)
def test_precedence(tool: str, server: str | None, *, untrusted: bool) -> None:
    """Web tools first, then untrusted, then trusted tools, then servers; a name that hides something is untrusted."""
    assert is_untrusted(tool, server, POLICY) is untrusted


@pytest.mark.parametrize("tool", sorted(WEB_TOOLS))
def test_no_setting_trusts_the_web(tool: str) -> None:
    """Each built-in web tool stays untrusted though it is listed as trusted; another listed tool is trusted."""
    policy = ContentTrust(trusted_tools=(tool, "diary"), trusted_mcp_servers=("net",))
    assert is_untrusted(tool, None, policy)
    assert is_untrusted(f"mcp__net__{tool}", None, policy)
    assert not is_untrusted("diary", None, policy)
