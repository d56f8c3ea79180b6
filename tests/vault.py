"""A folder as people keep it for years: everything Markdown and editors do, to show that not one byte changes."""

from __future__ import annotations

FILES: dict[str, bytes] = {
    "MEMORY.md": "# Über mich\n\n- Lives in Lisbon\n- Lives in Lisbon\n\nSame paragraph.\n\nSame paragraph.\n".encode(),
    "memory/plain notes with spaces.md": b"Just text without any heading",
    "memory/Projekte/Größe & Maß.md": "## Maße\r\n\r\n* Stern\r\n* Noch einer\r\n\r\n1. eins\r\n2. zwei\r\n".encode(),
    "memory/a/b/c/deep.markdown": b"# Deep\n\nfour levels down\n",
    "memory/front.md": b"---\ntitle: Trip\ntags: [travel, 2024]\naliases:\n  - Portugal\n---\n\n# Trip\n\nWe went to [[Lisbon|the capital]] ![[photo.png]] #travel ^block-id\n",
    "memory/bom.md": b"\xef\xbb\xbf# With a mark\n\ncontent after the mark\n",
    "memory/table.md": b"| name | port |\n|------|-----:|\n| api  | 8080 |\n| web  | 8081 |\n\nafter the table\n",
    "memory/tasks.md": b"- [ ] open task\n- [x] done task\n  - [ ] nested task\n\n    with a paragraph\n- [ ] another\n",
    "memory/code.md": b"```python\nprint('# not a heading')\n- not a list\n```\n\n~~~\ntilde\n~~~\n\n    indented\n",
    "memory/html.md": b"<!-- a comment -->\n\n<details>\n<summary>More</summary>\n\nhidden text\n\n</details>\n",
    "memory/open.md": b"text before\n\n```\nnever closed\n\n- still code\n",
    "memory/mixed.md": b"one\r\ntwo\nthree\r\n\n- item\r\n- other\n",
    "memory/lone-cr.md": b"old\rmac\r\rfile\r",
    "memory/tabs.md": b"-\tab item\n\n\tindented by a tab\n\ntrailing spaces   \nhard break\\\nend\n",
    "memory/empty.md": b"",
    "memory/blank.md": b"\n \n\t\n",
    "memory/quotes.md": b"> quoted\n> more\nlazy line\n\n> - list in quote\n",
    "memory/refs.md": b"See [docs][1].\n\n[1]: https://example.com/docs\n[todo]: buy-milk\n",
    "memory/setext.md": b"Title\n=====\n\nSub\n---\n\ntext\n\n***\n",
    "memory/unicode.md": "日本語の段落です。\n\n- 项目一\n- 항목\n\nРусский текст. العربية. हिन्दी। ไทย\n\u2028not a line\n".encode(),
    "memory/emoji \U0001f600.md": "\U0001f468\u200d\U0001f469\u200d\U0001f467 family\n\n\u0301combining\n".encode(),
    "memory/long.md": ("# Long\n\n" + "".join(f"- line {n} of a long file\n" for n in range(5_000))).encode(),
    "memory/math.md": b"$$\nx = y\n$$\n\nInline $a_b$ and `code`.\n\nFootnote[^1]\n\n[^1]: the note\n",
    "memory/callout.md": b"> [!NOTE]\n> Obsidian callout\n\n%% hidden %%\n",
}

ASIDE: dict[str, bytes] = {
    "SOUL.md": b"I am a persona and no memory.\n",
    "AGENTS.md": b"Instructions for agents.\n",
    "USER.md": b"A profile.\n",
    "memory/latin1.md": b"caf\xe9 in latin-1\n",
    "memory/picture.png": b"\x89PNG",
    "memory/.obsidian/workspace.md": b"hidden state\n",
    "memory/sessions/2026-01-01-talk.md": b"a transcript\n",
    "notes/outside.md": b"not in memory/\n",
}
