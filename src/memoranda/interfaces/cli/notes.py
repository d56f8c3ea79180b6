"""Verbs that touch notes: save, search, get, delete."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from memoranda.domain.query import Filters, Grain, Mode, RecallResult
from memoranda.domain.record import Details, Kind, Trust
from memoranda.domain.report import Chunk
from memoranda.errors import BackendError, InvalidInput
from memoranda.interfaces import wire
from memoranda.interfaces.cli import describing
from memoranda.interfaces.cli.options import AgentId, AsJson, Home, NoSync, verb
from memoranda.interfaces.cli.output import plain, strong
from memoranda.interfaces.cli.session import Session, opened
from memoranda.interfaces.errors import ensure_done

EMBED_NOW = 64
"""So few passages without a vector are embedded before a search (about a second); more wait for `sync`."""


def register(app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    for function in (save, search, get, delete):
        app.command()(function)


def text_argument(text: str) -> str:
    """Return the text, read from standard input for `-`.

    Raises:
        InvalidInput: it is not valid UTF-8.
    """
    try:
        if text == "-":
            return typer.get_binary_stream("stdin").read().decode("utf-8")
        text.encode()
    except UnicodeError:
        raise InvalidInput("the text is not valid UTF-8") from None
    return text


@verb
def save(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Markdown to remember; - reads standard input.")],
    *,
    file: Annotated[
        str | None,
        typer.Option("--file", metavar="F", help="MEMORY.md or memory/<name>.md; without it the default file."),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace the whole file.")] = False,
    title: describing.Title = "",
    description: describing.Description = "",
    kind: describing.Kinds = None,
    tag: describing.Tags = None,
    epistemic: describing.Known = None,
    evidence: describing.Evidence = None,
    valid_from: describing.ValidFrom = "",
    valid_to: describing.ValidTo = "",
    agent: AgentId = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Remember a text; with a title or other facts about it, as one record (in memory/notes.md without --file)."""
    content = text_argument(text)
    details = describing.described(title, description, kind, tag, epistemic, evidence, valid_from, valid_to)
    if replace and details != Details():
        raise InvalidInput("--replace takes no title or other facts: they belong to one record")
    with opened(home, agent, as_json=as_json, make=True) as session:
        if details == Details():
            outcome = ensure_done(session.agent.save(content, file=file, append=not replace))
        else:
            outcome = ensure_done(session.agent.remember(content, details=details, file=file))
    answer = wire.saved(outcome, file=file)
    session.out.result(answer, _saved_lines(answer))


def _saved_lines(answer: dict[str, Any]) -> Iterator[str]:
    if answer["saved"]:
        yield f"saved in {answer['path']}: {', '.join(answer['record_ids']) or 'nothing new'}"
    if answer["duplicate_ids"]:
        yield f"already known: {', '.join(answer['duplicate_ids'])}"
    if "quarantined_ids" in answer:
        yield f"waits for review ({answer['reason']}): {', '.join(answer['quarantined_ids'])}"
    if answer["saved"] and not answer["indexed"]:
        yield "not in the index yet; the next sync adds it"


@verb
def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help='Words; "exact phrases" in double quotes.')],
    *,
    limit: Annotated[int, typer.Option("-n", "--limit", min=1, max=64, help="Results at most.")] = 5,
    explain: Annotated[bool, typer.Option("--explain", help="Show how the answer came about.")] = False,
    mode: Annotated[Mode, typer.Option("--mode", help="How to search.")] = "hybrid",
    grain: Annotated[Grain, typer.Option("--grain", help="What a result is.")] = "passage",
    kind: Annotated[list[Kind] | None, typer.Option("--kind", help="Only this kind; may be repeated.")] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", help="Only with this tag; may be repeated.")] = None,
    path: Annotated[str, typer.Option("--path", metavar="F", help="Only this file.")] = "",
    since: describing.Since = "",
    until: describing.Until = "",
    min_trust: Annotated[
        str | None, typer.Option("--min-trust", metavar="TRUST", help="At least this far to be believed.")
    ] = None,
    min_score: Annotated[
        float | None,
        typer.Option("--min-score", min=0.0, max=1.0, help="Relevance bar.", show_default="configured"),
    ] = None,
    token_budget: Annotated[int, typer.Option("--token-budget", min=0, help="Cap on all text; 0 for none.")] = 0,
    as_of: describing.AsOf = "",
    valid_at: describing.ValidAt = "",
    no_sync: NoSync = False,
    agent: AgentId = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Find what is remembered, by words and by meaning."""
    filters = Filters(
        kinds=frozenset(kind or ()),
        tags=frozenset(tag or ()),
        path=path,
        min_trust=trust_of(min_trust),
        since=since,
        until=until,
    )
    with opened(home, agent, as_json=as_json) as session:
        _prepare(session, mode, no_sync=no_sync)
        result = session.agent.search(
            query,
            limit=limit,
            mode=mode,
            grain=grain,
            filters=filters,
            min_score=min_score,
            token_budget=token_budget,
            as_of=as_of,
            valid_at=valid_at,
        )
        citations = session.memory.config.citations
    answer = wire.search(result, citations=citations)
    if explain:
        answer["trace"] = wire.trace(result)
    session.out.result(answer, _result_lines(result, explain=explain))


def trust_of(label: str | None) -> Trust | None:
    """Return the trust level of a word; raises InvalidInput for an unknown one."""
    if label is None:
        return None
    for trust in Trust:
        if trust.label == label:
            return trust
    raise InvalidInput(f"unknown trust level: use {', '.join(trust.label for trust in Trust)}")


def _prepare(session: Session, mode: Mode, *, no_sync: bool) -> None:
    """Take in edited files, and embed a few waiting passages if this search loads the embedder anyway."""
    report = session.refresh(skip=no_sync)
    config = session.memory.config
    unused = mode == "keyword" or config.disable_rag or config.provider == "none"
    if report is None or unused or not report.pending_vectors:
        return
    if report.pending_vectors <= EMBED_NOW:
        try:
            session.memory.embed(limit=EMBED_NOW)
        except BackendError as error:
            session.out.note(f"new passages have no vector yet: {error}")
    else:
        session.out.note(f"{report.pending_vectors} passages have no vector yet; run `memoranda sync`")


def _result_lines(result: RecallResult, *, explain: bool) -> Iterator[str]:
    if not result.hits:
        yield "nothing relevant is remembered" if not result.relevant else "nothing is remembered"
    for number, found in enumerate(result.hits, start=1):
        about = " · ".join((str(found.kind), found.trust.label, found.author, found.recorded_at[:10]))
        about += f" to {found.retired_at[:10]}" if found.retired_at else ""
        yield f"{number}. {strong(plain(found.citation))}  {found.score:.3f}  {about}  {found.chunk_id}"
        for line in plain(found.text).splitlines():
            yield f"   {line}"
        if explain:
            yield "   = " + ", ".join(f"{name} {value:.3f}" for name, value in found.addends)
    if result.withheld:
        yield f"{result.withheld} withheld: waiting for review, or a secret in your own file (`memoranda status`)"
    if explain:
        yield from _trace_lines(result)


def _trace_lines(result: RecallResult) -> Iterator[str]:
    how = result.trace
    yield f"mode {result.mode}, strategy {how.strategy}, embedder {how.embedder or 'none'}"
    yield f"weights: keyword {how.weights[0]:.2f}, vector {how.weights[1]:.2f}; candidates {how.candidates}"
    yield plain(f"terms: {' '.join(how.terms) or '-'}; phrases: {'; '.join(how.phrases) or '-'}")
    if how.best_cosine is not None:
        yield f"best cosine {how.best_cosine:.3f}"
    if how.best_coverage is not None:
        yield f"best coverage of the query's terms {how.best_coverage:.2f}"
    for step, milliseconds in how.milliseconds:
        yield f"{step}: {milliseconds:.1f} ms"
    for note in how.notes:
        yield f"note: {plain(note)}"


@verb
def get(
    ident: Annotated[str, typer.Argument(metavar="ID", help="A chunk_id, a record id or path:line.")],
    *,
    no_sync: NoSync = False,
    agent: AgentId = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Print one memory in full."""
    with opened(home, agent, as_json=as_json) as session:
        session.refresh(skip=no_sync)
        found = session.agent.get(ident)
    session.out.result(wire.chunk(found), _chunk_lines(found))


def _chunk_lines(found: Chunk) -> Iterator[str]:
    known = found.record
    where = known.path if not found.line_start else f"{known.path}#L{found.line_start}-L{found.line_end}"
    yield f"{strong(plain(where))}  {found.chunk_id}"
    yield f"{known.kind} · {known.trust.label} · {known.author} · {known.recorded_at}"
    yield ""
    yield plain(found.text).rstrip("\n")


@verb
def delete(
    *,
    file: Annotated[str, typer.Option("--file", metavar="F", help="The file to delete from.")],
    text: Annotated[str | None, typer.Option("--text", metavar="T", help="The exact text; - reads stdin.")] = None,
    delete_file: Annotated[bool, typer.Option("--all", help="Delete the whole file.")] = False,
    all_matches: Annotated[
        bool,
        typer.Option("--all-matches", help="Every occurrence of the text."),
    ] = False,
    keep_value: Annotated[
        bool, typer.Option("--keep-value", help="Remove without rejecting: agents may save it again.")
    ] = False,
    agent: AgentId = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Delete a text, and reject the value of a record that goes with it, or a whole file; a checkpoint is kept."""
    if delete_file == (text is not None):
        raise InvalidInput("give either --text with the text to remove or --all for the whole file")
    piece = None if text is None else text_argument(text)
    with opened(home, agent, as_json=as_json) as session:
        session.refresh()
        outcome = ensure_done(
            session.agent.delete(
                file=file, text=piece, delete_file=delete_file, all_matches=all_matches, keep_value=keep_value
            )
        )
    answer = wire.deleted(outcome, file=file)
    session.out.result(answer, _deleted_lines(answer))


def _deleted_lines(answer: dict[str, Any]) -> Iterator[str]:
    if "quarantined_ids" in answer:
        yield f"waits for review ({answer['reason']})"
    elif answer["file_deleted"]:
        yield f"deleted {answer['path']}"
    elif answer["matches_removed"]:
        yield f"removed {answer['matches_removed']} from {answer['path']}"
    else:
        yield f"{answer['path']} did not exist"
    if answer["checkpointId"]:
        yield f"checkpoint {answer['checkpointId']} (memoranda undo --checkpoint {answer['checkpointId']})"
