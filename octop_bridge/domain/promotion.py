"""The checks that a claim passes before it is believed: a pure function from what was gathered to one decision.

Order matters and is the memory model's: tombstone, value, evidence, faithfulness, safety, entity, duplicate,
contradiction. The model that made the claim has no say: what it recommends is not even read here. Safety and the finer
contradictions are not decided yet, so every Instruction and Retraction, and every other value of a taken slot, waits for
a person.
"""

import re

import msgspec

from octop_bridge.domain.decisions import Decision, Merge, Park, Promote, Reject
from octop_bridge.domain.records import (
    ASSERTION_CHARS_MAX,
    QUOTE_CHARS_MAX,
    SPEAKER,
    Atom,
    Claim,
    Event,
    Evidence,
    Finding,
    FindingKind,
)
from octop_bridge.domain.text import find_span, is_negated, names, normalise, numbers, signature

_NARRATION = re.compile(
    r"^(?:step \d+\b|(?:ok(?:ay)?,? )?(?:now |i(?:'m| am)(?: now)? |i will (?:now )?|let me |let's )"
    r"(?:run|running|check|checking|execut|read|reading|look|install|build|test|open|try|trying)\w*\b)",
    re.IGNORECASE,
)
_GREETING = re.compile(
    r"^(?:hi|hello|hey|thanks|thank you|good (?:morning|evening|night)|bye|你好|谢谢|早上好|晚安|再见)[\s,.!。！]*\w{0,12}[\s.!。！]*$",
    re.IGNORECASE,
)


class Gathered(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a decision may look at, read in one transaction."""

    claim: Claim
    events: tuple[Event, ...]
    """The cited events that exist in this owner's scope."""
    tombstone_ids: tuple[str, ...] = ()
    """Rejected values that the claim repeats."""
    entity_id: str | None = None
    """The entity of exactly this name within type and owner."""
    same: tuple[Atom, ...] = ()
    """Current atoms of the entity with the claim's signature."""
    slot: tuple[Atom, ...] = ()
    """Current atoms of the entity in the claim's slot."""


def decide(gathered: Gathered) -> Decision:
    """What becomes of a claim that nobody has looked at."""
    claim = gathered.claim
    if gathered.tombstone_ids:
        return Reject(reason="rejected before", tombstone_ids=gathered.tombstone_ids)
    rejected = worthless(claim)
    if rejected:
        return Reject(reason=rejected)
    findings = (*too_long(claim), *unsupported(gathered), *unfaithful(gathered), *unsettled(claim))
    if findings:
        return Park(findings=findings)
    evidence = evidence_of(gathered)
    known = duplicate_of(gathered)
    if known is not None:
        return Merge(atom=known, added=new_evidence(known, evidence))
    rivals = tuple(rival for rival in gathered.slot if value_key(rival.value) != value_key(claim.value))
    if rivals:
        return Park(findings=tuple(_taken(claim, rival) for rival in rivals))
    return Promote(claim=claim, evidence=evidence, entity_id=gathered.entity_id)


def worthless(claim: Claim) -> str | None:
    """Why the claim is not worth keeping (check 1), or None."""
    text = claim.assertion.strip()
    if not text:
        return "empty"
    if not claim.event_ids:
        return "no evidence is cited"
    if claim.importance == "low" and claim.confidence == "low":
        return "low importance and low confidence"
    if text.endswith(("?", "？")):
        return "a question"
    if _GREETING.match(text):
        return "a greeting"
    if _NARRATION.match(text):
        return "process narration"
    return None


def too_long(claim: Claim) -> tuple[Finding, ...]:
    """A claim over the limit mixes facts: a person splits it."""
    if len(claim.assertion) <= ASSERTION_CHARS_MAX:
        return ()
    return (_finding("value", f"longer than {ASSERTION_CHARS_MAX} characters"),)


def unsupported(gathered: Gathered) -> tuple[Finding, ...]:
    """What is wrong with the evidence (check 2)."""
    claim, events = gathered.claim, gathered.events
    known = {event.event_id for event in events}
    if missing := [cited for cited in claim.event_ids if cited not in known]:
        return (_finding("evidence", f"{len(missing)} cited event(s) do not exist here"),)
    if not claim.quote.strip():
        return (_finding("evidence", "no quote"),)
    if len(claim.quote) > QUOTE_CHARS_MAX:
        return (_finding("evidence", f"the quote is longer than {QUOTE_CHARS_MAX} characters"),)
    quoted = [event for event in events if find_span(claim.quote, event.content) is not None]
    if not quoted:
        return (_finding("evidence", "the quote does not stand in the cited event"),)
    if not any(speaks_for_user(event) for event in quoted):
        return (_finding("evidence", "assistant-only: the user did not say it"),)
    return ()


def speaks_for_user(event: Event) -> bool:
    """Whether an event is the user's own word. What the host's memory tool writes has the assistant's trust."""
    return event.role == "user" and event.kind == "turn"


def unfaithful(gathered: Gathered) -> tuple[Finding, ...]:
    """What the assertion lost or changed of its quote (check 3): negation, numbers, names."""
    claim = gathered.claim
    if not claim.quote.strip():
        return ()
    found: list[Finding] = []
    if is_negated(claim.quote) != is_negated(claim.assertion):
        found.append(_finding("faithfulness", "a negation of the quote was lost or added"))
    source = " ".join([claim.quote, *(event.content for event in gathered.events)])
    said = set(numbers(claim.quote)) | _dates_of(gathered)
    if changed := [number for number in numbers(claim.assertion) if number not in said]:
        found.append(_finding("faithfulness", f"not in the quote: {', '.join(changed[:3])}"))
    speakers = {event.speaker_name for event in gathered.events if event.speaker_name}
    known = normalise(" ".join([source, claim.subject.name, *speakers]))
    if invented := [name for name in names(claim.assertion) if name not in known and name != SPEAKER]:
        found.append(_finding("faithfulness", f"nobody named {', '.join(sorted(invented)[:3])}"))
    return tuple(found)


def _dates_of(gathered: Gathered) -> set[str]:
    """Numbers that resolving a time phrase may bring in: those of the validity's bounds."""
    claim = gathered.claim
    if claim.valid_from_ms is None and claim.valid_to_ms is None:
        return set()
    from octop_bridge.domain.moments import day_of  # noqa: PLC0415 - few claims have bounds

    zone = gathered.events[0].zone if gathered.events else "UTC"
    found: set[str] = set()
    for bound in (claim.valid_from_ms, claim.valid_to_ms):
        if bound is not None:
            day = day_of(bound, zone)
            year, month, date = day.split("-")
            found |= {day, year, month, date, str(int(month)), str(int(date)), f"{year}-{month}"}
    return found


def unsettled(claim: Claim) -> tuple[Finding, ...]:
    """Kinds that only a person may let in: what is aimed at the agent, and what takes something back."""
    if claim.type == "Instruction":
        return (_finding("safety", "an instruction to the agent"),)
    if claim.type == "Retraction":
        return (_finding("retraction", "asks to take something back"),)
    return ()


def duplicate_of(gathered: Gathered) -> Atom | None:
    """The current atom that says the same (check 6): same signature, or same value in the same slot and polarity."""
    if gathered.same:
        return gathered.same[0]
    claim = gathered.claim
    if claim.value is None or claim.valid_from_ms is not None or claim.valid_to_ms is not None:
        return None
    for atom in gathered.slot:
        if value_key(atom.value) == value_key(claim.value) and is_negated(atom.text) == is_negated(claim.assertion):
            return atom
    return None


def value_key(value: str | None) -> str:
    """A slot's value as it is compared."""
    return signature(value or "")


def evidence_of(gathered: Gathered) -> tuple[Evidence, ...]:
    """The claim's citations, the quoted event first."""
    claim = gathered.claim
    return tuple(
        Evidence(
            event_id=event.event_id,
            quote=claim.quote if find_span(claim.quote, event.content) is not None else "",
            role=event.role,
            speaker=event.speaker,
            at_ms=event.at_ms,
        )
        for event in gathered.events
    )


def new_evidence(atom: Atom, evidence: tuple[Evidence, ...]) -> tuple[Evidence, ...]:
    """What a merge adds: the user's own words that the atom does not cite yet."""
    cited = {one.event_id for one in atom.evidence}
    return tuple(one for one in evidence if one.event_id not in cited and one.role == "user")


def _taken(claim: Claim, rival: Atom) -> Finding:
    detail = f"another {claim.slot} is believed: {rival.value or rival.text}"
    return Finding(kind="slot", detail=detail, atom_id=rival.atom_id, text=rival.text)


def _finding(kind: FindingKind, detail: str) -> Finding:
    return Finding(kind=kind, detail=detail)
