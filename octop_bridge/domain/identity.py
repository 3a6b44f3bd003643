"""Whose turn it is, and from that: who owns what is written, who may read it, who spoke.

An owner is a string that no two identities share. Where an identity does not say enough, the owner is one that nobody
else can read: a memory without a name is lost to others, never shown to them.
"""

from collections.abc import Mapping, Sequence
from typing import Literal
from urllib.parse import quote

import msgspec

from octop_bridge.domain.records import SHARED_OWNER, Role

LOCAL_OWNER = "user:local"
UNKNOWN = "unknown"
ChatType = Literal["direct", "group"]


class Identity(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Whose turn it is, as the host tells it."""

    channel: str | None = None
    account_id: str | None = None
    user_id: str | None = None
    chat_id: str | None = None
    chat_type: ChatType | None = None
    agent_id: str | None = None
    session_id: str | None = None
    thread_id: str | None = None
    timezone: str | None = None
    name: str | None = None


def identity_of(given: object) -> Identity:
    """Return the identity of the wire's object of the same fields; an empty text there is no value."""
    return Identity(**{name: getattr(given, name, None) or None for name in Identity.__struct_fields__})


def owner_of(identity: Identity | None, *, local: bool, fallback: str, links: Mapping[str, str]) -> str:
    """Return the owner of what this turn writes.

    `local` says that the connection is the person at this machine, `fallback` is the connection's own id, `links` comes
    from `links_of`. A group without an id, like a turn without anyone, belongs to its session alone.
    """
    if identity is not None:
        if chat_type_of(identity) == "direct" and identity.user_id:
            owner = _user(identity.channel, identity.user_id)
            return links.get(owner, owner)
        if identity.chat_id:
            return f"chat:{_part(identity.channel)}/{_part(identity.account_id)}/{_part(identity.chat_id)}"
    if local and (identity is None or identity.chat_type != "group"):
        return LOCAL_OWNER
    return f"user:{UNKNOWN}/{_part((identity.session_id if identity else None) or fallback)}"


def readable_owners(owner: str) -> tuple[str, ...]:
    """Return the owners whose memory a turn of this owner sees: in a group the group's, not the speaker's own."""
    return (owner, SHARED_OWNER)


def chat_type_of(identity: Identity | None) -> ChatType:
    """Return whether a turn is between two or in a group; a chat whose id is not the user's counts as a group."""
    if identity is None:
        return "direct"
    if identity.chat_type is not None:
        return identity.chat_type
    return "group" if identity.chat_id and identity.chat_id != identity.user_id else "direct"


def speaker_of(identity: Identity | None, role: Role, name: str | None, *, local: bool) -> str:
    """Return the key of who spoke, stable within one owner, so that distinct speakers can be counted.

    `name` is the message's own. Where it differs from the identity's, the message is somebody else's, whose id is not
    known.
    """
    if role != "user":
        return role
    if name and identity is not None and identity.name and name != identity.name:
        return f"name:{_part(identity.channel)}/{_part(name)}"
    if identity is not None and identity.user_id:
        return _user(identity.channel, identity.user_id)
    if name and chat_type_of(identity) == "group":
        return f"name:{_part(identity.channel if identity else None)}/{_part(name)}"
    return LOCAL_OWNER if local else f"user:{UNKNOWN}"


def links_of(groups: Sequence[Sequence[str]]) -> dict[str, str]:
    """Return for each linked user owner the first of its group: ids that are one person.

    Raises ValueError for an entry that is no user's owner, or that stands in two groups.
    """
    links: dict[str, str] = {}
    for group in groups:
        for owner in group:
            if not owner.startswith("user:") or "/" not in owner or owner.startswith(f"user:{UNKNOWN}/"):
                raise ValueError(f"identity.links: {owner!r} is not the owner of a user (user:<channel>/<user id>)")
            if owner in links:
                raise ValueError(f"identity.links: {owner!r} stands twice")
            links[owner] = group[0]
    return links


def _user(channel: str | None, user_id: str) -> str:
    part = _part(channel)
    # A channel of that name must not reach the owners of nameless turns: its first letter is written as a code.
    return f"user:{'%75nknown' if part == UNKNOWN else part}/{_part(user_id)}"


def _part(text: str | None) -> str:
    """One part of an owner, percent-encoded, half characters included, so that no separator can come from a name."""
    return quote(text or "", safe="", errors="surrogatepass")
