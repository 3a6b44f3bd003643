"""What every verb is given: whose connection it is, and one namespace's store, clock, ids and settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from octop_bridge.protocol import errors
from octop_bridge.protocol import messages as wire

if TYPE_CHECKING:
    from octop_bridge.domain.identity import Identity
    from octop_bridge.settings import Settings
    from octop_bridge.storage.store import Store
    from octop_bridge.work.desk import Desk

Clock = Callable[[], int]
"""Epoch milliseconds, now."""
NewId = Callable[[str, int], str]
"""`new_id("at", now_ms)` → `at_…`: 26 lower-case Crockford characters, sortable by time."""
Notify = Callable[[str, Mapping[str, Any]], None]
"""`notify("$/progress", params)`: news for the peer, which a slow one may not get."""


@dataclass(slots=True)
class Session:
    """One connection: fixed at its start or by `bridge.hello`, never widened afterwards."""

    session_id: str
    surface: str
    """stdio, in-process, cli or socket: goes into the actor of a journal row."""
    role: wire.RoleName = "host"
    namespace: str = "default"
    local: bool = False
    identity: Identity | None = None
    """Bound by hello; for a model the only identity there is."""
    namespace_fixed: bool = False
    role_fixed: bool = True
    greeted: bool = False
    used: bool = False
    """A call has gone to the namespace already."""
    client: str = "unknown"
    uid: int | None = None
    pid: int | None = None
    notify: Notify | None = None
    """Sends a notification to the peer, as `$/progress`; None where there is no wire."""

    def actor(self, label: str | None = None) -> dict[str, Any]:
        """Who acts, as the journal keeps it. The label is a name that a person gave, never an authority."""
        return {"role": self.role, "surface": self.surface, "label": label, "uid": self.uid, "pid": self.pid}


@dataclass(slots=True)
class Context:
    """One open namespace."""

    namespace: str
    store: Store
    desk: Desk
    """What runs between evidence and belief: extraction, its schedule, the index's upkeep."""
    settings: Settings
    clock: Clock
    new_id: NewId
    links: Mapping[str, str] = field(default_factory=dict)
    """Owners that are one person, mapped to the first of them."""


@dataclass(slots=True, frozen=True)
class Scope:
    """What an identity may touch. `owners` None = all of them (a person without an identity)."""

    owner: str
    owners: tuple[str, ...] | None
    session_id: str | None
    chat_type: str
    zone: str

    def may_read(self, owner: str) -> bool:
        """Whether a thing of this owner exists for this scope."""
        return self.owners is None or owner in self.owners


@dataclass(slots=True)
class Host:
    """What answers while no store is open: the process itself, as hello and status describe it."""

    settings: Settings
    clock: Clock
    started_ms: int
    backend: str
    methods: Callable[[wire.RoleName], list[str]]
    limits: Mapping[str, int]
    degraded: Callable[[], list[wire.DegradedView]]
    connections: Callable[[], int]
    check_token: Callable[[str], bool]
    """Whether this is the operator's token."""


@dataclass(slots=True)
class Call:
    """One call of one method. `context` is None while the store is opening, cannot be opened, or is not needed."""

    session: Session
    host: Host
    context: Context | None = None

    def need(self) -> Context:
        """The open namespace, or StorageUnavailableError."""
        if self.context is None:
            raise errors.StorageUnavailableError("the store is not open yet", hint="try again")
        return self.context

    def scope(self, given: wire.Identity | None) -> Scope:
        """Whose things this call is about. For a model the identity of its hello is the only one."""
        return _scope(self.identity(given), self.session, self.need())

    def identity(self, given: wire.Identity | None) -> Identity | None:
        """Whose turn it is: as the call says, else as hello said. For a model as hello said, and nothing else."""
        bound = self.session.identity
        if given is None:
            return bound
        from octop_bridge.domain.identity import identity_of  # noqa: PLC0415 - not needed for hello

        chosen = identity_of(given)
        if self.session.role == "model" and chosen != bound:
            raise errors.ForbiddenError("a model's identity is bound in bridge.hello", path="params.identity")
        return chosen


def _scope(chosen: Identity | None, session: Session, context: Context) -> Scope:
    from octop_bridge.domain import identity as who  # noqa: PLC0415 - not needed for hello
    from octop_bridge.domain.intake import zone_name  # noqa: PLC0415 - as above

    everything = session.role == "person" and chosen is None
    owner = who.owner_of(
        chosen,
        local=session.local or everything,
        fallback=(chosen.session_id if chosen else None) or session.session_id,
        links=context.links,
    )
    return Scope(
        owner=owner,
        owners=None if everything else who.readable_owners(owner),
        session_id=chosen.session_id if chosen else None,
        chat_type=who.chat_type_of(chosen),
        zone=zone_name(chosen.timezone if chosen else None, context.settings.time.zone),
    )
