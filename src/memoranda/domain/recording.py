"""A record as its author describes it: what may be said, in which form it is kept, how it looks in a file."""

from __future__ import annotations

import unicodedata
from dataclasses import replace

from memoranda.domain.markdown import parse
from memoranda.domain.outcome import Refused
from memoranda.domain.record import Details, Epistemic
from memoranda.domain.times import read_time
from memoranda.errors import InvalidInput

MAX_TITLE_BYTES, MAX_DESCRIPTION_BYTES = 200, 400
MAX_TAGS, MAX_TAG_BYTES = 32, 64
MAX_EVIDENCE, MAX_EVIDENCE_BYTES = 32, 200
MAX_BODY_BYTES = 48 * 1024
SAID_TAG = "epistemic:operator_said"


def rendered(body: str, title: str) -> str:
    """Return a record as it is written: a heading of level 2 where it has a title, then the body."""
    return f"## {title}\n\n{body}" if title else body


def body_allowed(body: str) -> Refused | None:
    """Refuse a body of more than 48 KiB."""
    size = len(body.encode("utf-8", "surrogatepass"))
    if size > MAX_BODY_BYTES:
        return Refused("size", f"the body has {size} bytes; a record has at most {MAX_BODY_BYTES} (48 KiB)")
    return None


def details_allowed(details: Details) -> Refused | None:
    """Refuse what is too long, has control characters, or is no time; say which field."""
    return _title_allowed(details.title) or _lengths_allowed(details) or _claims_allowed(details)


def _title_allowed(title: str) -> Refused | None:
    if not title:
        return None
    if _too_long(title, MAX_TITLE_BYTES) or _has_controls(title):
        return Refused("title", f"a title is one line of at most {MAX_TITLE_BYTES} bytes without control characters")
    document = parse(f"## {title}\n")
    if document.blocks or [heading.text for heading in document.headings] != [title]:
        return Refused(
            "title", "this title cannot stand as a heading: leave out spaces at its ends and ' #' at its end"
        )
    return None


def _lengths_allowed(details: Details) -> Refused | None:
    if _too_long(details.description, MAX_DESCRIPTION_BYTES) or _has_controls(details.description):
        return Refused("description", f"a description has at most {MAX_DESCRIPTION_BYTES} bytes, in one line")
    if len(details.tags) > MAX_TAGS or any(
        not tag.strip() or _too_long(tag, MAX_TAG_BYTES) or _has_controls(tag) for tag in details.tags
    ):
        return Refused("tags", f"there are at most {MAX_TAGS} tags of 1 to {MAX_TAG_BYTES} bytes")
    if len(details.evidence) > MAX_EVIDENCE or any(
        not piece.strip() or _too_long(piece, MAX_EVIDENCE_BYTES) or _has_controls(piece) for piece in details.evidence
    ):
        return Refused("evidence", f"there are at most {MAX_EVIDENCE} references of 1 to {MAX_EVIDENCE_BYTES} bytes")
    return None


def _claims_allowed(details: Details) -> Refused | None:
    try:
        valid_from = read_time(details.valid_from) if details.valid_from else ""
        valid_to = read_time(details.valid_to) if details.valid_to else ""
    except InvalidInput as error:
        return Refused("time", str(error))
    if valid_from and valid_to and valid_from >= valid_to:
        return Refused("time", "valid_from must be before valid_to")
    if details.epistemic is Epistemic.VERIFIED_CLAIM and not details.evidence:
        return Refused("evidence", "a verified claim names its evidence (verification_evidence)")
    return None


def _too_long(text: str, most: int) -> bool:
    return len(text.encode("utf-8", "surrogatepass")) > most


def _has_controls(text: str) -> bool:
    return any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in text)


def cleaned(details: Details) -> Details:
    """Return the details as they are kept: tags in lower case and once each, times in UTC."""
    tags = [tag.strip().lower() for tag in details.tags]
    if details.epistemic is Epistemic.OPERATOR_SAID:
        tags.append(SAID_TAG)
    return replace(
        details,
        tags=tuple(dict.fromkeys(tags)),
        evidence=tuple(dict.fromkeys(piece.strip() for piece in details.evidence)),
        valid_from=read_time(details.valid_from) if details.valid_from else "",
        valid_to=read_time(details.valid_to) if details.valid_to else "",
    )
