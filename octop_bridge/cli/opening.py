"""What every command has in common: its options, which store it opens and as whom, and how it fails."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from octop_bridge import dispatch, places, settings
from octop_bridge.protocol import errors
from octop_bridge.protocol.messages import RoleName

if TYPE_CHECKING:
    from octop_bridge.assemble import InProcess


def add_store_options(parser: argparse.ArgumentParser) -> None:
    """Which store, which configuration."""
    parser.add_argument("--namespace", metavar="NS", help="whose memory; needed where there is more than one")
    parser.add_argument("--db", metavar="FILE", type=Path, help="a database file instead of the data folder's")
    parser.add_argument("--config", metavar="FILE", type=Path, help="a configuration file instead of the usual one")


def add_output_options(parser: argparse.ArgumentParser) -> None:
    """How results are shown."""
    parser.add_argument("--json", action="store_true", help="the result as one line of JSON")
    parser.add_argument("--quiet", action="store_true", help="nothing but the result")


def load_settings(args: argparse.Namespace) -> settings.Settings:
    """The settings of this command: file, environment, flags. Raises ConfigError."""
    file: Path | None = args.config
    if file is None:
        usual = places.config_file()
        file = usual if usual.exists() else None
    flags: dict[str, dict[str, Any]] = {}
    if args.db is not None:
        flags["store"] = {"db": str(args.db)}
    if getattr(args, "extractor_script", None) is not None:
        flags["extraction"] = {"kind": "scripted", "script": str(args.extractor_script)}
    return settings.load(os.environ, file, flags)


def database(loaded: settings.Settings) -> Path | None:
    """The one file that was named, or None where the data folder's are meant."""
    return Path(loaded.store.db).expanduser() if loaded.store.db else None


def check_namespace(name: str) -> str:
    """The name, where it can be one. Raises ConfigError."""
    if not 0 < len(name) <= places.NAMESPACE_CHARS_MAX:
        raise errors.ConfigError(
            f"--namespace: 1 to {places.NAMESPACE_CHARS_MAX} characters, not {len(name)}", path="--namespace"
        )
    return name


def choose_namespace(named: str | None, home: Path, db: Path | None) -> str:
    """The namespace that is named, else the only one there is, `default` where there is none. Raises ConfigError."""
    if named is not None:
        return check_namespace(named)
    files = [db] if db is not None and db.exists() else [] if db is not None else places.namespaces(home)
    if files in ([], [places.store_path(home, places.DEFAULT_NAMESPACE)]):
        return places.DEFAULT_NAMESPACE
    from octop_bridge.storage.engine import StorageError  # noqa: PLC0415 - most calls name theirs
    from octop_bridge.storage.namespaces import namespaces_in  # noqa: PLC0415

    names: list[str] = []
    for file in files:
        try:
            names += namespaces_in(file)
        except StorageError:
            # It cannot be the one that is meant unless it is named, and then its trouble is told.
            continue
    if len(names) > 1:
        raise errors.ConfigError(
            f"--namespace: which one? There are {', '.join(map(repr, sorted(names)))}",
            path="--namespace",
            hint=f"--namespace {min(names)}",
        )
    return names[0] if names else places.DEFAULT_NAMESPACE


def may_be_person(home: Path) -> bool:
    """Whether who typed this may act as the person: at a terminal, or with the operator's token."""
    if sys.stdin is not None and sys.stdin.isatty():
        return True
    with contextlib.suppress(OSError):
        # Whoever is refused for want of the token finds it where the refusal says.
        places.operator_token(home)
    return places.check_token(home, os.environ.get(places.TOKEN_VARIABLE, ""))


def role_for(method: str, wanted: RoleName | None, home: Path) -> RoleName:
    """The role of a call: as wanted; else the person's where that is allowed, else a host's. Raises ForbiddenError."""
    if wanted is not None and wanted != "person":
        return wanted
    if may_be_person(home):
        return "person"
    row = dispatch.METHODS.get(method)
    if wanted is None and (row is None or row.audience != dispatch.PERSON):
        return "host"
    held = "does not hold the operator's token" if os.environ.get(places.TOKEN_VARIABLE) else "is not set"
    raise errors.ForbiddenError(
        f"{method} is for a person: stdin is no terminal, and {places.TOKEN_VARIABLE} {held}",
        hint=f"type it at a terminal, or put what {places.TOKEN_FILE} in the data folder holds into that variable",
    )


@contextlib.asynccontextmanager
async def opened(args: argparse.Namespace, method: str) -> AsyncIterator[InProcess]:
    """The store of this command, as who may call this method. Raises BridgeError."""
    from octop_bridge import assemble  # noqa: PLC0415 - after the arguments are known to be good

    home = places.home()
    loaded = load_settings(args)
    db = database(loaded)
    namespace = choose_namespace(args.namespace, home, db)
    role = role_for(method, getattr(args, "role", None), home)
    async with assemble.open_bridge(
        loaded, home=home, db=db, namespace=namespace, role=role, local=True, surface="cli"
    ) as bridge:
        if method == "bridge.status":
            # It waits only a moment for a store to open, and here nobody else is waiting for the answer.
            await bridge.bridge.opened(bridge.session)
        yield bridge


def perform(work: Callable[[], Awaitable[int]], *, as_json: bool) -> int:
    """The exit code of a command: 0 done, 1 refused or failed, 2 used wrongly. Errors are told on stderr."""
    try:
        return asyncio.run(_awaited(work))
    except errors.BridgeError as error:
        tell(error, as_json=as_json)
        return 2 if isinstance(error, errors.ConfigError) else 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Who read us has gone; what Python still holds for it must not raise again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


async def _awaited(work: Callable[[], Awaitable[int]]) -> int:
    return await work()


def tell(error: errors.BridgeError, *, as_json: bool) -> None:
    """An error on stderr: as JSON-RPC has it, or in words."""
    if as_json:
        from octop_bridge.cli import render  # noqa: PLC0415 - `serve` needs none of it

        print(render.json_text(error.body(), pretty=sys.stderr.isatty()), file=sys.stderr)
        return
    print(f"octop-bridge: {error.message}", file=sys.stderr)
    if error.hint:
        print(f"  {error.hint}", file=sys.stderr)
