"""Whose turn it is: owners that nobody shares by accident."""

from urllib.parse import unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octop_bridge.domain.identity import (
    Identity,
    chat_type_of,
    identity_of,
    links_of,
    owner_of,
    readable_owners,
    speaker_of,
)


def owner(local=False, links=None, **fields):
    return owner_of(Identity(**fields), local=local, fallback="conn-1", links=links or {})


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"user_id": "ana"}, "user:/ana"),
        ({"channel": "telegram", "user_id": "42", "account_id": "bot"}, "user:telegram/42"),
        ({"channel": "telegram", "user_id": "42", "chat_id": "42"}, "user:telegram/42"),
        ({"channel": "telegram", "user_id": "42", "chat_id": "7", "chat_type": "direct"}, "user:telegram/42"),
        ({"channel": "slack", "account_id": "w1", "user_id": "42", "chat_id": "c1"}, "chat:slack/w1/c1"),
        ({"channel": "slack", "user_id": "42", "chat_id": "c1", "chat_type": "group"}, "chat:slack//c1"),
        ({"chat_id": "c1"}, "chat://c1"),
        ({"channel": "slack", "chat_id": "d1", "chat_type": "direct"}, "chat:slack//d1"),
        ({"user_id": "a/b c%é"}, "user:/a%2Fb%20c%25%C3%A9"),
        ({"session_id": "s/1"}, "user:unknown/s%2F1"),
        ({"channel": "web"}, "user:unknown/conn-1"),
        ({"channel": "slack", "user_id": "42", "chat_type": "group", "session_id": "s1"}, "user:unknown/s1"),
        ({"user_id": "", "chat_id": ""}, "user:unknown/conn-1"),
        ({"channel": "unknown", "user_id": "conn-1"}, "user:%75nknown/conn-1"),
    ],
    ids=range(14),
)
def test_an_identity_gives_its_owner(fields, expected):
    assert owner(**fields) == expected


def test_a_local_connection_is_the_person_at_this_machine_until_somebody_is_named():
    assert owner(local=True) == "user:local"
    assert owner_of(None, local=True, fallback="c", links={}) == "user:local"
    assert owner_of(None, local=False, fallback="c", links={}) == "user:unknown/c"
    assert owner(local=True, user_id="ana") == "user:/ana"
    assert owner(local=True, chat_type="group") == "user:unknown/conn-1"


def test_a_turn_sees_its_owner_and_what_is_shared():
    assert readable_owners("chat:slack//c1") == ("chat:slack//c1", "shared")


PART = st.sampled_from(["", "unknown", "local", "%75nknown"]) | st.text(st.sampled_from("ab/:%2Fé \ud800"), max_size=4)
FIELDS = st.fixed_dictionaries({name: st.none() | PART for name in ("channel", "account_id", "user_id", "chat_id")})


@settings(max_examples=300, deadline=None)
@given(FIELDS, FIELDS, st.sampled_from(["direct", "group", None]))
def test_no_two_identities_share_an_owner(one, other, chat_type):
    def parts(fields):
        """What of an identity is meant to tell owners apart."""
        identity = Identity(**fields, chat_type=chat_type)
        fields = {name: value or "" for name, value in fields.items()}
        if chat_type_of(identity) == "direct" and fields["user_id"]:
            return "user", fields["channel"], fields["user_id"]
        if fields["chat_id"]:
            return "chat", fields["channel"], fields["account_id"], fields["chat_id"]
        return ("nobody",)

    mine, yours = owner(**one, chat_type=chat_type), owner(**other, chat_type=chat_type)
    assert (mine == yours) == (parts(one) == parts(other))
    kind, *decoded = parts(one)
    if kind != "nobody":
        pieces = mine.removeprefix(f"{kind}:").split("/")
        assert [unquote(piece, errors="surrogatepass") for piece in pieces] == decoded


def test_linked_ids_are_one_person():
    links = links_of([["user:telegram/42", "user:/ana"], ["user:slack/u7", "user:local/x"]])
    assert owner(links=links, user_id="ana") == "user:telegram/42"
    assert owner(links=links, channel="telegram", user_id="42") == "user:telegram/42"
    assert owner(links=links, channel="slack", user_id="u7", chat_id="c", chat_type="group") == "chat:slack//c"
    assert owner(links=links, user_id="bob") == "user:/bob"


@pytest.mark.parametrize(
    "groups",
    [
        [["user:/a", "chat:slack//c"]],
        [["user:/a", "shared"]],
        [["user:/a", "user:local"]],
        [["user:/a", "user:unknown/s1"]],
        [["user:/a", "user:/b"], ["user:/b", "user:/c"]],
        [["ana"]],
    ],
)
def test_only_users_are_linked_and_only_once(groups):
    with pytest.raises(ValueError, match=r"identity\.links"):
        links_of(groups)


def test_speakers_are_told_apart_within_an_owner():
    group = Identity(channel="slack", user_id="42", chat_id="c1", chat_type="group", name="Ana")
    assert speaker_of(group, "user", None, local=False) == "user:slack/42"
    assert speaker_of(group, "user", "Ana", local=False) == "user:slack/42"
    assert speaker_of(group, "user", "Bo/B", local=False) == "name:slack/Bo%2FB"
    assert speaker_of(group, "assistant", "Kit", local=False) == "assistant"
    nameless = Identity(channel="slack", chat_id="c1", chat_type="group")
    assert speaker_of(nameless, "user", "Bo", local=False) == "name:slack/Bo"
    assert speaker_of(nameless, "user", None, local=False) == "user:unknown"
    assert speaker_of(None, "user", "Ana", local=True) == "user:local"


def test_an_unknown_chat_is_a_group_unless_it_is_the_user():
    assert chat_type_of(None) == "direct"
    assert chat_type_of(Identity(chat_id="c", user_id="u")) == "group"
    assert chat_type_of(Identity(chat_id="u", user_id="u")) == "direct"
    assert chat_type_of(Identity(chat_id="u", user_id="u", chat_type="group")) == "group"


def test_the_wires_identity_is_taken_over_without_its_empty_texts():
    class Wire:
        channel, user_id, chat_id, extra = "slack", "42", "", "x"

    assert identity_of(Wire()) == Identity(channel="slack", user_id="42")
