"""Finding what fits a query: one read transaction, an arm a layer, live views only. Search and recall stand on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from octop_bridge.context import Scope
from octop_bridge.domain import paths
from octop_bridge.domain.query import Query, snippet
from octop_bridge.domain.records import DISPUTING, Atom, Event
from octop_bridge.domain.tokens import term_hash
from octop_bridge.protocol import messages as wire
from octop_bridge.storage import rows, textindex
from octop_bridge.storage.engine import Tx

SNIPPET_CHARS_MAX = 400


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked for besides the words."""

    limit: int
    atoms: bool = True
    raw: bool = True
    raw_cited: bool = False
    """Raw events that something speaks for already, too."""
    types: frozenset[str] | None = None
    subject: str | None = None
    as_of_ms: int | None = None
    known_at_ms: int | None = None
    include_retired: bool = False
    min_score: float = 0.0
    not_session: str | None = None
    """Raw events of this session are left out: it is in the prompt already."""


class Found(msgspec.Struct, kw_only=True):
    """Hits, best first, and how many each arm gave."""

    hits: list[wire.Hit]
    arms: dict[str, int]
    complete: bool
    """False where the deadline cut an arm short."""


async def find(tx: Tx, query: Query, scope: Scope, wanted: Wanted, deadline: Callable[[], bool] | None) -> Found:
    """What fits the query, in one transaction. The order is score, then newest record, then id."""
    terms = [term_hash(term) for term in query.terms]
    found = Found(hits=[], arms={}, complete=True)
    if not terms:
        return found
    if wanted.atoms:
        atoms = await _atom_arm(tx, terms, query, scope, wanted, deadline, found)
        found.arms["atom"] = len(atoms)
        found.hits += atoms
    if wanted.raw:
        raw = await _raw_arm(tx, terms, query, scope, wanted, deadline, found)
        found.arms["raw"] = len(raw)
        found.hits += raw
    found.hits.sort(key=lambda hit: (-hit.score, hit.layer != "atom", -hit.recorded_ms, hit.id))
    del found.hits[wanted.limit :]
    return found


async def _atom_arm(
    tx: Tx,
    terms: Sequence[int],
    query: Query,
    scope: Scope,
    wanted: Wanted,
    deadline: Callable[[], bool] | None,
    found: Found,
) -> list[wire.Hit]:
    past = wanted.include_retired or wanted.as_of_ms is not None or wanted.known_at_ms is not None
    layers: tuple[textindex.IndexLayer, ...] = ("atom", "atom_past") if past else ("atom",)
    scopes = await textindex.scopes_of(tx, scope.owners, layers)
    seen: dict[str, Atom] = {}

    async def keep(ids: list[str]) -> set[str]:
        known = await _versions(tx, ids, wanted)
        seen.update({atom_id: atom for atom_id, atom in known.items() if _fits(atom, scope, wanted)})
        return {one for one in ids if one in seen}

    answer = await textindex.search(tx, scopes, terms, wanted.limit, deadline=deadline, keep=keep)
    found.complete &= answer.complete
    matches = [match for match in answer.matches if match.score >= wanted.min_score]
    disputes = await disputes_of(tx, [match.id for match in matches])
    return [atom_hit(seen[match.id], match.score, query.terms, disputes.get(match.id, [])) for match in matches]


async def _versions(tx: Tx, ids: Sequence[str], wanted: Wanted) -> dict[str, Atom]:
    if wanted.known_at_ms is not None:
        known = await tx.all("versions_known_at", ids=list(ids), known_at=wanted.known_at_ms)
        return {row[0]: rows.atom_of(row) for row in known}
    return await rows.atoms_by_id(tx, ids, retired=wanted.include_retired)


def _fits(atom: Atom, scope: Scope, wanted: Wanted) -> bool:
    if not scope.may_read(atom.owner):
        return False
    if wanted.types is not None and atom.type not in wanted.types:
        return False
    if wanted.subject is not None and atom.subject.casefold() != wanted.subject.casefold():
        return False
    if atom.status == "retired" and not wanted.include_retired and wanted.known_at_ms is None:
        return False
    if wanted.as_of_ms is None:
        return True
    began = atom.valid_from_ms is None or atom.valid_from_ms <= wanted.as_of_ms
    return began and (atom.valid_to_ms is None or wanted.as_of_ms < atom.valid_to_ms)


async def _raw_arm(
    tx: Tx,
    terms: Sequence[int],
    query: Query,
    scope: Scope,
    wanted: Wanted,
    deadline: Callable[[], bool] | None,
    found: Found,
) -> list[wire.Hit]:
    layers: tuple[textindex.IndexLayer, ...] = ("raw", "raw_cited") if wanted.raw_cited else ("raw",)
    scopes = await textindex.scopes_of(tx, scope.owners, layers)
    seen: dict[str, Event] = {}

    async def keep(ids: list[str]) -> set[str]:
        for event in await rows.events_by_id(tx, ids):
            if scope.may_read(event.owner) and event.session_id != wanted.not_session:
                seen[event.event_id] = event
        return {one for one in ids if one in seen}

    if wanted.types is not None or wanted.subject is not None:
        return []
    answer = await textindex.search(tx, scopes, terms, wanted.limit, deadline=deadline, keep=keep)
    found.complete &= answer.complete
    return [
        raw_hit(seen[match.id], match.score, query.terms) for match in answer.matches if match.score >= wanted.min_score
    ]


async def disputes_of(tx: Tx, atom_ids: Sequence[str]) -> dict[str, list[wire.DisputeView]]:
    """The open claims that contradict these atoms. Disputed is never stored: the end of a claim ends it."""
    found: dict[str, list[wire.DisputeView]] = {}
    if not atom_ids:
        return found
    for atom_id, candidate_id, claim, created_ms in await tx.all("disputes", ids=list(atom_ids), kinds=list(DISPUTING)):
        view = wire.DisputeView(candidate_id=candidate_id, text=rows.claim_of(claim).assertion, when_ms=created_ms)
        found.setdefault(atom_id, []).append(view)
    return found


def atom_hit(atom: Atom, score: float, terms: Sequence[str], disputes: list[wire.DisputeView]) -> wire.Hit:
    """An atom as it travels."""
    return wire.Hit(
        id=atom.atom_id,
        path=paths.atom_path(atom.atom_id),
        layer="atom",
        type=atom.type,
        text=atom.text,
        snippet=snippet(atom.text, tuple(terms), SNIPPET_CHARS_MAX),
        status="disputed" if disputes and atom.status == "current" else atom.status,
        subject=atom.subject,
        owner=atom.owner,
        score=score,
        valid_from_ms=atom.valid_from_ms,
        valid_to_ms=atom.valid_to_ms,
        recorded_ms=atom.recorded_ms,
        event_ms=atom.event_ms,
        evidence=[one.event_id for one in atom.evidence],
        disputed_by=disputes,
        source="memory",
    )


def raw_hit(event: Event, score: float, terms: Sequence[str]) -> wire.Hit:
    """An event as it travels. Its text may be long: the snippet is what fits."""
    return wire.Hit(
        id=event.event_id,
        path=paths.raw_path(event.event_id, event.at_ms),
        layer="raw",
        type=None,
        text=event.content,
        snippet=snippet(event.content, tuple(terms), SNIPPET_CHARS_MAX),
        status="raw",
        subject=event.speaker_name,
        owner=event.owner,
        score=score,
        valid_from_ms=None,
        valid_to_ms=None,
        recorded_ms=event.recorded_ms,
        event_ms=event.at_ms,
        evidence=[event.event_id],
        disputed_by=[],
        source="memory",
    )
