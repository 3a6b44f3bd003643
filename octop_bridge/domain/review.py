"""A person's verdicts and corrections, as decisions: pure functions over what was gathered."""

import re

from octop_bridge.domain.decisions import Decision, Ending, Merge, Promote, RejectForGood, Retire
from octop_bridge.domain.promotion import Gathered, duplicate_of, evidence_of, new_evidence, value_key
from octop_bridge.domain.records import Atom, Claim, Evidence, Subject
from octop_bridge.domain.tombstones import keys_of, quote_stands_alone

_WORLD_CHANGED = re.compile(
    r"\b(?:now|since|moved?|switch(?:ed)?|chang(?:ed|es)|no longer|anymore|any more|these days|from now on|instead)\b"
    r"|现在|改成|改为|搬到|换成|不再|如今",
    re.IGNORECASE,
)


def accept(gathered: Gathered, rivals: tuple[Atom, ...], statement: tuple[Evidence, ...]) -> Decision:
    """Believe the claim. What it contradicts ends; `statement` is the person's own word, where the claim has no other."""
    known = duplicate_of(gathered)
    evidence = (*evidence_of(gathered), *statement)
    if known is not None:
        return Merge(atom=known, added=new_evidence(known, evidence))
    claim = gathered.claim
    began = claim.valid_from_ms or max((one.at_ms for one in evidence), default=0)
    others = {rival.atom_id: rival for rival in (*rivals, *_taken(gathered))}
    return Promote(
        claim=claim,
        evidence=evidence,
        entity_id=gathered.entity_id,
        endings=tuple(ending_of(rival, claim, began) for rival in others.values()),
    )


def _taken(gathered: Gathered) -> tuple[Atom, ...]:
    return tuple(rival for rival in gathered.slot if value_key(rival.value) != value_key(gathered.claim.value))


def ending_of(rival: Atom, claim: Claim, began_ms: int) -> Ending:
    """How an accepted claim ends what it contradicts: an update leaves it true of the past, else it was wrong."""
    if _WORLD_CHANGED.search(claim.quote) and rival.event_ms <= began_ms:
        return Ending(atom=rival, status="historical", valid_to_ms=began_ms, cause="update")
    return Ending(atom=rival, status="retired", cause="supersede")


def reject(claim: Claim, others: tuple[Claim, ...]) -> RejectForGood:
    """Refuse the value for good. `others` = claims that cite the same events: a sentence they share is not refused."""
    return RejectForGood(claim=claim, keys=keys_of(claim, with_quote=quote_stands_alone(claim, others)))


def retire(atom: Atom, *, tombstone: bool, others: tuple[Claim, ...]) -> Retire:
    """Believe it no longer; with `tombstone`, refuse the value for good."""
    keys: tuple[str, ...] = ()
    if tombstone:
        claims = claims_of(atom)
        keys = tuple(
            dict.fromkeys(
                key for claim in claims for key in keys_of(claim, with_quote=quote_stands_alone(claim, others))
            )
        )
    return Retire(ending=Ending(atom=atom, status="retired", cause="retire"), keys=keys)


def replace(atom: Atom, text: str, valid_from_ms: int | None, statement: tuple[Evidence, ...]) -> Retire:
    """The atom was wrong, the person's text takes its place. The old value is refused, the sentence is not."""
    claim = Claim(
        type=atom.type,
        assertion=text,
        quote=text[:200],
        event_ids=tuple(one.event_id for one in statement),
        subject=Subject(atom.subject),
        slot=atom.slot,
        value=_value_in(atom, text),
        valid_from_ms=valid_from_ms,
        importance=atom.importance,
        confidence="high",
    )
    keys = tuple(key for old in claims_of(atom)[:1] for key in keys_of(old, with_quote=False))
    replacement = Promote(claim=claim, evidence=statement, entity_id=atom.entity_id, cause="correct")
    ending = Ending(atom=atom, status="retired", cause="correct")
    return Retire(ending=ending, keys=keys, replacement=replacement)


def claims_of(atom: Atom) -> tuple[Claim, ...]:
    """An atom as the claims that could bring it back: one a quote."""
    quotes = [one.quote for one in atom.evidence if one.quote] or [""]
    return tuple(
        Claim(
            type=atom.type,
            assertion=atom.text,
            quote=quote,
            event_ids=tuple(one.event_id for one in atom.evidence),
            subject=Subject(atom.subject),
            slot=atom.slot,
            value=atom.value,
        )
        for quote in dict.fromkeys(quotes)
    )


def _value_in(atom: Atom, text: str) -> str | None:
    """The slot's value in a person's wording, where it differs from the old text in the value alone."""
    if atom.slot is None or not atom.value:
        return None
    before, found, after = atom.text.partition(atom.value)
    if not found or not (text.startswith(before) and text.endswith(after)):
        return None
    return text[len(before) : len(text) - len(after)].strip() or None
