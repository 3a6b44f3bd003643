"""What can be decided about a claim: a closed union. `apply` is the only reader that acts on it."""

from typing import TypeAlias

import msgspec

from octop_bridge.domain.records import Atom, AtomStatus, Claim, Evidence, Finding


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """How a believed atom ends: retired (no longer believed) or historical (was true until `valid_to_ms`)."""

    atom: Atom
    status: AtomStatus
    valid_to_ms: int | None = None
    cause: str = "supersede"


class Promote(msgspec.Struct, frozen=True, kw_only=True):
    """Believe it: a new atom. What it supersedes ends in the same transaction."""

    claim: Claim
    evidence: tuple[Evidence, ...]
    entity_id: str | None
    """The entity it is about; None = make one."""
    endings: tuple[Ending, ...] = ()
    cause: str = "promote"


class Merge(msgspec.Struct, frozen=True, kw_only=True):
    """Known already: `added` evidence goes to the atom (none = nothing is written but the candidate's fate)."""

    atom: Atom
    added: tuple[Evidence, ...]


class Park(msgspec.Struct, frozen=True, kw_only=True):
    """A person must look."""

    findings: tuple[Finding, ...]


class Reject(msgspec.Struct, frozen=True, kw_only=True):
    """Not worth believing, or refused. `tombstone_ids` = the rejected values that it repeats."""

    reason: str
    tombstone_ids: tuple[str, ...] = ()


class RejectForGood(msgspec.Struct, frozen=True, kw_only=True):
    """A person's no: the value is refused from now on, by all of its keys."""

    claim: Claim
    keys: tuple[str, ...]


class Retire(msgspec.Struct, frozen=True, kw_only=True):
    """No longer believed. With `keys`, the value is refused from now on."""

    ending: Ending
    keys: tuple[str, ...] = ()
    replacement: Promote | None = None
    """What takes its place; linked as successor."""


Decision: TypeAlias = Promote | Merge | Park | Reject | RejectForGood | Retire
