"""memory.get: one thing by path or id, as Markdown, with where it comes from and what happened to it."""

from typing import Any

import msgspec

from octop_bridge.context import Call, Scope
from octop_bridge.domain import paths
from octop_bridge.domain.records import Atom, Event
from octop_bridge.protocol import errors
from octop_bridge.protocol import messages as wire
from octop_bridge.storage import rows
from octop_bridge.storage.engine import Tx
from octop_bridge.work.retrieval import disputes_of
from octop_bridge.work.views import evidence_view, history_of

_NOT_FOUND = "nothing of this id or path here"


async def get(call: Call, params: wire.GetParams) -> wire.GetResult:
    """The thing, or NotFoundError: the same answer for what never was and what is somebody else's."""
    context = call.need()
    scope = call.scope(params.identity)
    target = _target(params)
    model = call.session.role == "model"

    async def unit(tx: Tx) -> wire.GetResult:
        if target.kind == "atom":
            return await _atom(tx, target.id, scope, model=model)
        return await _raw(tx, target, scope, model=model)

    return _cut(await context.store.read(unit), params.lines)


def _target(params: wire.GetParams) -> paths.Target:
    if (params.path is None) == (params.id is None):
        raise errors.InvalidParamsError("params.path: give a path or an id, one of them", path="params.path")
    field = "path" if params.path is not None else "id"
    target = paths.read_path(params.path) if params.path is not None else paths.read_id(params.id or "")
    if target is None:
        raise errors.NotFoundError(_NOT_FOUND, path=f"params.{field}", hint="take the path that a hit gave")
    return target


async def _atom(tx: Tx, atom_id: str, scope: Scope, *, model: bool) -> wire.GetResult:
    row = await tx.one("newest_atom", atom_id=atom_id)
    atom = rows.atom_of(row) if row else None
    if atom is None or not scope.may_read(atom.owner):
        raise errors.NotFoundError(_NOT_FOUND, hint="take the path that a hit gave")
    if atom.status == "retired" and model:
        return _bare(atom)
    disputes = (await disputes_of(tx, [atom_id])).get(atom_id, [])
    found = {event.event_id: event for event in await rows.events_by_id(tx, [one.event_id for one in atom.evidence])}
    status = "disputed" if disputes and atom.status == "current" else atom.status
    return wire.GetResult(
        path=paths.atom_path(atom_id),
        kind="atom",
        id=atom_id,
        status=status,
        markdown=_atom_markdown(atom, disputes),
        metadata=_atom_metadata(atom),
        evidence=[
            evidence_view(found[one.event_id], one.quote or None)
            for one in atom.evidence
            if one.event_id in found and scope.may_read(found[one.event_id].owner)
        ],
        history=await history_of(tx, atom_id),
    )


def _bare(atom: Atom) -> wire.GetResult:
    """What a model learns of a retired atom: that it is retired, and when."""
    return wire.GetResult(
        path=paths.atom_path(atom.atom_id),
        kind="atom",
        id=atom.atom_id,
        status="retired",
        markdown=_retired_line(atom),
        metadata={"retired_ms": atom.recorded_ms},
        evidence=[],
        history=[],
    )


def _retired_line(atom: Atom) -> str:
    return f"**retired on {paths.utc_date(atom.recorded_ms)}**: no longer believed\n"


def _atom_markdown(atom: Atom, disputes: list[wire.DisputeView]) -> str:
    lines: list[str] = []
    if atom.status == "retired":
        lines += [_retired_line(atom)]
    elif atom.status == "historical":
        until = f" until {paths.utc_date(atom.valid_to_ms)}" if atom.valid_to_ms is not None else ""
        lines += [f"**historical**: was true{until}\n"]
    elif disputes:
        lines += ["**disputed**: a newer claim waits for a person\n"]
    lines.append(f"{atom.text}\n")
    lines += [f"- disputed by ({paths.utc_date(side.when_ms)}): {side.text}" for side in disputes]
    lines += [
        f"- {one.role}, {paths.utc_date(one.at_ms)}: “{one.quote}” ({paths.raw_path(one.event_id, one.at_ms)})"
        for one in atom.evidence
        if one.quote
    ]
    if atom.successor:
        lines.append(f"- succeeded by {paths.atom_path(atom.successor)}")
    return "\n".join(lines) + "\n"


def _atom_metadata(atom: Atom) -> dict[str, Any]:
    keep = (
        *("version", "owner", "type", "subject", "slot", "value", "valid_from_ms", "valid_to_ms", "recorded_ms"),
        *("event_ms", "importance", "confidence", "cause", "successor"),
    )
    return {name: getattr(atom, name) for name in keep}


async def _raw(tx: Tx, target: paths.Target, scope: Scope, *, model: bool) -> wire.GetResult:
    found = await rows.events_by_id(tx, [target.id])
    event = found[0] if found else None
    if event is None or not scope.may_read(event.owner) or target.date not in {None, paths.utc_date(event.at_ms)}:
        raise errors.NotFoundError(_NOT_FOUND, hint="take the path that a hit gave")
    if model and await tx.all("refused_events", ids=[event.event_id]):
        raise errors.NotFoundError(_NOT_FOUND, hint="take the path that a hit gave")
    row = await tx.one("event_metadata", event_id=event.event_id)
    metadata, host, outcome, state = row or (None, None, None, None)
    return wire.GetResult(
        path=paths.raw_path(event.event_id, event.at_ms),
        kind="raw",
        id=event.event_id,
        status="raw",
        markdown=event.content + "\n",
        metadata={
            **_event_metadata(event),
            "host": host,
            "outcome": outcome,
            "state": state,
            "message": msgspec.json.decode(metadata) if metadata else {},
        },
        evidence=[evidence_view(event, None)],
        history=await history_of(tx, event.event_id),
    )


def _event_metadata(event: Event) -> dict[str, Any]:
    keep = ("owner", "session_id", "role", "speaker_name", "kind", "at_ms", "recorded_ms", "zone", "chat_type")
    return {name: getattr(event, name) for name in keep}


def _cut(result: wire.GetResult, lines: tuple[int, int] | None) -> wire.GetResult:
    """Only the lines asked for, 1-based, both ends included; how many there are stands in the metadata."""
    every = result.markdown.splitlines()
    result.metadata["total_lines"] = len(every)
    if lines is None:
        return result
    first, last = lines
    if last < first:
        raise errors.InvalidParamsError("params.lines: the last line is before the first", path="params.lines")
    result.markdown = "\n".join(every[first - 1 : last])
    return result
