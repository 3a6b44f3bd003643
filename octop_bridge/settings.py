"""The one table of settings: a Struct a section, a field a setting, with its type, default and help.

From it come validation, `config show`, the README's table and a plugin's schema. A setting is looked for in
config.toml, then in `OCTOP_BRIDGE_<SECTION>_<NAME>`, then in the flags; the last that has it wins. What nobody reads
has no row here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, Struct, field, structs

from octop_bridge.protocol import errors

PREFIX = "OCTOP_BRIDGE_"
_LOCALTIME = Path("/etc/localtime")
_SAME_SECTION_LEAD = 0.3
_SLIP_LIKENESS = 0.85
_NO_SETTINGS = frozenset({"OCTOP_BRIDGE_HOME", "OCTOP_BRIDGE_OPERATOR_TOKEN"})

SessionKindName = Literal["user", "oneshot", "cron", "subagent", "heartbeat", "batch", "system"]
PolicyName = Literal["full", "raw", "off"]


def machine_zone(localtime: Path = _LOCALTIME) -> str:
    """Name of this machine's time zone: TZ, else where the link /etc/localtime leads, else UTC."""
    named = os.environ.get("TZ", "").removeprefix(":")
    if re.fullmatch(r"[A-Za-z_]+(?:/[A-Za-z0-9_+-]+)*", named) and _is_zone(named):
        return named
    try:
        _, found, zone = str(localtime.readlink()).partition("zoneinfo/")
    except OSError:
        return "UTC"
    return zone.removeprefix("posix/").removeprefix("right/") if found else "UTC"


class StoreSettings(Struct, frozen=True):
    """Where memory lies."""

    db: Annotated[str | None, Meta(description="database file of the one namespace that is served")] = None
    durability: Annotated[
        Literal["full", "normal"], Meta(description="normal is faster and may lose the last turns in a power cut")
    ] = "full"


class CaptureSettings(Struct, frozen=True):
    """What is kept of a conversation."""

    roles: Annotated[
        tuple[Literal["user", "assistant", "tool"], ...], Meta(description="whose messages are captured")
    ] = ("user", "assistant")
    session_policies: Annotated[
        dict[SessionKindName, PolicyName],
        Meta(description="by kind of session: full = captured and extracted, raw = captured only, off = neither"),
    ] = field(
        default_factory=lambda: {
            "user": "full",
            "oneshot": "full",
            "cron": "raw",
            "subagent": "raw",
            "heartbeat": "off",
            "batch": "off",
            "system": "off",
        }
    )
    redact_patterns: Annotated[
        tuple[str, ...], Meta(description="regular expressions of at most 200 characters for secrets of your own")
    ] = ()
    max_text_bytes: Annotated[int, Meta(ge=1, description="a longer message is skipped")] = 1 << 20

    def compiled(self) -> tuple[re.Pattern[str], ...]:
        """The redact patterns, compiled once."""
        return _compiled(self.redact_patterns)


class ExtractionSettings(Struct, frozen=True):
    """Who makes claims of what was said, and when."""

    kind: Annotated[
        Literal["rules", "scripted", "none"],
        Meta(description="rules = what people state outright, scripted = from a file (tests, demos), none = nobody"),
    ] = "rules"
    script: Annotated[str | None, Meta(description="file of the scripted extractor")] = None
    script_delay_s: Annotated[float, Meta(ge=0, description="how long the scripted extractor takes")] = 0.0
    quiet_s: Annotated[float, Meta(ge=0, description="extraction starts after this much quiet")] = 20.0
    events_max: Annotated[int, Meta(ge=1, description="or when this many messages wait")] = 8
    tokens_max: Annotated[int, Meta(ge=1, description="or this many tokens")] = 2000
    slice_events_max: Annotated[int, Meta(ge=1, description="messages extracted together")] = 20


class RecallSettings(Struct, frozen=True):
    """What comes back into a prompt."""

    min_score: Annotated[float, Meta(ge=0, le=1, description="hits below this score are left out")] = 0.08
    search_timeout_s: Annotated[float, Meta(gt=0, description="a search gives up after this time")] = 10.0


class IdentitySettings(Struct, frozen=True):
    """Who is who."""

    links: Annotated[
        tuple[tuple[str, ...], ...],
        Meta(description='groups of owners that are one person: [["user:telegram/42", "user:slack/U7"]]'),
    ] = ()


class TimeSettings(Struct, frozen=True):
    """When is now."""

    zone: Annotated[
        str,
        Meta(description="zone of a time without one, as Europe/Madrid", extra={"default": "the machine's"}),
    ] = field(default_factory=machine_zone)


class ServerSettings(Struct, frozen=True):
    """How much one connection may ask for."""

    line_bytes_max: Annotated[int, Meta(ge=256, description="longest request line")] = 16 << 20
    waiting_max: Annotated[int, Meta(ge=1, description="requests of one connection that may wait")] = 256
    waiting_bytes_max: Annotated[int, Meta(ge=256, description="bytes of those requests")] = 32 << 20
    slots: Annotated[int, Meta(ge=1, description="requests of one connection that run at once")] = 32
    batch_max: Annotated[int, Meta(ge=1, description="requests in one batch")] = 100
    messages_max: Annotated[int, Meta(ge=1, description="messages in one memory.capture")] = 1000

    def limits(self) -> dict[str, int]:
        """The limits by name, as `bridge.hello` tells them."""
        return {name: getattr(self, name) for name in self.__struct_fields__}


class LogSettings(Struct, frozen=True):
    """What is written to stderr."""

    level: Annotated[Literal["debug", "info", "warning", "error"], Meta(description="least severity logged")] = "info"


class Settings(Struct, frozen=True):
    """All settings of one bridge."""

    store: StoreSettings = field(default_factory=StoreSettings)
    capture: CaptureSettings = field(default_factory=CaptureSettings)
    extraction: ExtractionSettings = field(default_factory=ExtractionSettings)
    recall: RecallSettings = field(default_factory=RecallSettings)
    identity: IdentitySettings = field(default_factory=IdentitySettings)
    time: TimeSettings = field(default_factory=TimeSettings)
    server: ServerSettings = field(default_factory=ServerSettings)
    log: LogSettings = field(default_factory=LogSettings)


class SettingRow(NamedTuple):
    """One row of the table, for people."""

    name: str
    type: str
    default: str
    help: str
    secret: bool

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return PREFIX + self.name.upper().replace(".", "_")


class _Given(NamedTuple):
    """A value from one place: its name as it stands there, where that is, and whether it is text to be parsed."""

    name: str
    value: Any
    source: str
    is_text: bool = False


def load(env: Mapping[str, str], file: Path | None, overrides: Mapping[str, Mapping[str, Any]]) -> Settings:
    """The settings of a file (None = no file), over it the environment's, over it the flags'.

    Raises ConfigError that names the setting, its nearest neighbour where it is unknown, and where it was read.
    """
    changed: dict[str, dict[str, Any]] = {}
    settings = Settings()
    for given in (*_in_file(file), *_in_environment(env), *_in_tables(overrides, "command line")):
        hint = _hints(Settings).get(given.name)
        if hint is None:
            raise _unknown(given)
        section, _, key = given.name.partition(".")
        value = _read(given, hint)
        if isinstance(value, dict):
            value = {**changed.get(section, {}).get(key, _value(settings, given.name)), **value}
        changed.setdefault(section, {})[key] = value
    sections = {name: structs.replace(getattr(settings, name), **values) for name, values in changed.items()}
    return structs.replace(settings, **sections)


def rows(root: type[Struct] = Settings) -> list[SettingRow]:
    """The table, in its order."""
    found = []
    defaults = root()
    for name, hint in _hints(root).items():
        meta = _meta(hint)
        extra = meta.extra or {}
        default = extra.get("default") or _shown(_value(defaults, name))
        found.append(SettingRow(name, _words(hint), default, meta.description or "", bool(extra.get("secret"))))
    return found


def show(settings: Struct) -> dict[str, Any]:
    """Every setting with its value, by full name; a secret that is set is masked."""
    shown = {}
    for row in rows(type(settings)):
        value = _value(settings, row.name)
        shown[row.name] = "********" if row.secret and value else msgspec.to_builtins(value)
    return shown


def _value(settings: Struct, name: str) -> Any:
    section, _, key = name.partition(".")
    return getattr(getattr(settings, section), key)


def _names(settings: Struct) -> list[str]:
    sections = {section: getattr(settings, section) for section in settings.__struct_fields__}
    return [f"{section}.{name}" for section, table in sections.items() for name in table.__struct_fields__]


@cache
def _hints(root: type[Struct]) -> dict[str, Any]:
    """Types with their Meta, by `section.name`. Costs more than all the rest: only where something is set or asked."""
    return {
        f"{section}.{name}": hint
        for section, kind in get_type_hints(root).items()
        for name, hint in get_type_hints(kind, include_extras=True).items()
    }


def _in_file(file: Path | None) -> Iterator[_Given]:
    if file is None:
        return
    import tomllib  # noqa: PLC0415 - only where there is a file

    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise errors.ConfigError(f"{file.name}: cannot be read: {error.strerror}", path="config") from None
    except ValueError as error:
        raise errors.ConfigError(f"{file.name}: not TOML: {error}", path="config") from None
    yield from _in_tables(tables, file.name)


def _in_tables(tables: Mapping[str, Any], source: str) -> Iterator[_Given]:
    for section, table in tables.items():
        if section not in Settings.__struct_fields__ or not isinstance(table, Mapping):
            yield _Given(section, table, source)
            continue
        for name, value in table.items():
            yield _Given(f"{section}.{name}", value, source)


def _in_environment(env: Mapping[str, str]) -> Iterator[_Given]:
    """Variables of a section, and those that are all but one. Others with our prefix belong to somebody else.

    A name for a DSN or a key may be anything, so a variable is ours only where its section is. Empty = not set.
    """
    ours = {name: text for name, text in env.items() if name.startswith(PREFIX) and text and name not in _NO_SETTINGS}
    names = {PREFIX + name.upper().replace(".", "_"): name for name in _names(Settings())} if ours else {}
    for variable, text in ours.items():
        name = names.get(variable)
        section, _, key = variable.removeprefix(PREFIX).lower().partition("_")
        if name is not None:
            yield _Given(name, text, variable, is_text=True)
        elif key and section in Settings.__struct_fields__:
            yield _Given(f"{section}.{key}", text, variable, is_text=True)
        elif near := _slip_of(variable, names):
            raise errors.ConfigError(f"{variable}: unknown; the nearest is {near}", path=variable)


def _read(given: _Given, hint: Any) -> Any:
    """The value as its type. Raises ConfigError."""
    value = given.value
    try:
        if given.is_text and get_origin(_bare(hint)) in {tuple, dict}:
            value = msgspec.json.decode(value)
        value = msgspec.convert(value, hint, strict=not given.is_text)
        _check(given.name, value)
    except (ValueError, msgspec.MsgspecError) as error:
        message, _, where = str(error).removeprefix(f"{given.name}: ").partition(" - at `$")
        where = where.removesuffix("`")
        if (_meta(hint).extra or {}).get("secret"):
            message = "not what it should be"
        raise errors.ConfigError(
            f"{given.name}{where} ({given.source}): {message}",
            path=given.name,
            hint=f"{given.name} is {_words(hint)}: {_meta(hint).description}",
        ) from None
    return value


def _check(name: str, value: Any) -> None:
    """What a type cannot say. Raises ValueError."""
    if name == "capture.redact_patterns" and value:
        _compiled(value)
    elif name == "identity.links" and value:
        from octop_bridge.domain.identity import links_of  # noqa: PLC0415 - only where it is set

        links_of(value)
    elif name == "time.zone" and not _is_zone(value):
        raise ValueError(f"{value!r} is no time zone")


def _unknown(given: _Given) -> errors.ConfigError:
    section, dot, _ = given.name.partition(".")
    if not dot and section in Settings.__struct_fields__:
        return errors.ConfigError(f"{section}: expected a table ({given.source})", path=section)
    what = "setting" if dot else "section"
    near = _nearest(given.name, _names(Settings()) if dot else Settings.__struct_fields__)
    return errors.ConfigError(
        f"{given.name}: unknown {what} ({given.source}); the nearest is {near}",
        path=given.name,
        hint=f"did you mean {near}?",
    )


def _nearest(name: str, known: Iterable[str]) -> str:
    """The name that looks most like this one; one of the same section has a lead."""
    import difflib  # noqa: PLC0415 - only on the way to an error

    section, _, key = name.rpartition(".")

    def likeness(other: str) -> float:
        their_section, _, their_key = other.rpartition(".")
        lead = _SAME_SECTION_LEAD if their_section == section else 0
        return difflib.SequenceMatcher(None, their_key, key).ratio() + lead

    return max(known, key=likeness)


def _slip_of(variable: str, names: Iterable[str]) -> str:
    """The variable that this one must be a slip of, or an empty text."""
    import difflib  # noqa: PLC0415 - only where a variable is not known

    return "".join(difflib.get_close_matches(variable, list(names), n=1, cutoff=_SLIP_LIKENESS))


@cache
def _compiled(patterns: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    if not patterns:
        return ()
    from octop_bridge.domain.redaction_patterns import compile_patterns  # noqa: PLC0415 - only where there are any

    return compile_patterns(patterns)


def _is_zone(name: str) -> bool:
    from zoneinfo import ZoneInfo  # noqa: PLC0415 - only where a zone is named

    try:
        ZoneInfo(name)
    except (KeyError, OSError, ValueError):
        return False
    return True


def _meta(hint: Any) -> Meta:
    found = next((extra for extra in getattr(hint, "__metadata__", ()) if isinstance(extra, Meta)), None)
    return found or Meta()


def _bare(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def _words(hint: Any) -> str:
    """A type as people say it."""
    bare = _bare(hint)
    origin, parts = get_origin(bare), get_args(bare)
    if origin is Literal:
        return " or ".join(parts)
    if origin is tuple:
        return f"list of {_words(parts[0])}"
    if origin is dict:
        return f"table of {_words(parts[1])}"
    if parts:
        return " or ".join("none" if part is type(None) else _words(part) for part in parts)
    return {str: "text", int: "whole number", float: "number", bool: "true or false"}[bare]


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "none" if value is None else msgspec.json.encode(value).decode()
