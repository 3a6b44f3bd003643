"""`octop-bridge serve --stdio`: JSON-RPC for one peer. Nothing may be imported up here: stdout is claimed first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from octop_bridge.assemble import Bridge
    from octop_bridge.context import Session
    from octop_bridge.server.stdio import Fds


def main(words: Sequence[str]) -> int:
    """Serve until the peer has gone; the exit code. With --stdio wrong arguments are told to the peer, not printed."""
    if "--stdio" not in words:
        parser = _parser()
        parser.parse_args(list(words))
        parser.error("--stdio is missing: it is the one way to serve for now")
    from octop_bridge.server import stdio  # noqa: PLC0415 - before anything that might print

    return _serve(words, stdio.claim())


def _serve(words: Sequence[str], fds: Fds) -> int:
    import asyncio  # noqa: PLC0415 - stdout is ours by now, here and below

    from octop_bridge.server import stdio  # noqa: PLC0415

    async def work() -> int:
        bridge, session = assembled(words)
        bridge.connections = 1
        try:
            return await stdio.serve(bridge, session, fds)
        finally:
            await bridge.close()

    return asyncio.run(work())


def assembled(words: Sequence[str]) -> tuple[Bridge, Session]:
    """A bridge and its one connection. What is wrong with the arguments or settings stands in `bridge.failed()`."""
    import os  # noqa: PLC0415

    from octop_bridge import assemble, places, settings  # noqa: PLC0415
    from octop_bridge.cli import opening  # noqa: PLC0415
    from octop_bridge.context import Session  # noqa: PLC0415
    from octop_bridge.ids import IdMaker  # noqa: PLC0415
    from octop_bridge.protocol import errors  # noqa: PLC0415

    home = places.home()
    new_id = IdMaker()
    session = Session(
        session_id=new_id("cn", assemble.wall_clock()), surface="stdio", uid=os.getuid(), pid=os.getppid()
    )
    try:
        args = _parser(raising=True).parse_args(list(words))
        loaded = opening.load_settings(args)
        db = opening.database(loaded)
        session.namespace = opening.check_namespace(args.namespace or places.DEFAULT_NAMESPACE)
        session.namespace_fixed = args.namespace is not None or db is not None
        session.role = args.role or "host"
        session.role_fixed = args.role is not None
        if session.role == "person" and not places.check_token(home, os.environ.get(places.TOKEN_VARIABLE, "")):
            raise errors.ForbiddenError(
                "--role person needs the operator's token", path="--role", hint=f"set {places.TOKEN_VARIABLE}"
            )
    except errors.BridgeError as failure:
        return assemble.Bridge(settings.Settings(), home=home, new_id=new_id, failure=failure), session
    return assemble.Bridge(loaded, home=home, db=db, new_id=new_id), session


def _parser(*, raising: bool = False) -> argparse.ArgumentParser:
    """The arguments. `raising`: a wrong one is a ConfigError, instead of a usage line and the end of the process."""
    import argparse  # noqa: PLC0415
    from pathlib import Path  # noqa: PLC0415

    from octop_bridge.cli import opening  # noqa: PLC0415
    from octop_bridge.protocol import errors  # noqa: PLC0415

    class Raising(argparse.ArgumentParser):
        def error(self, message: str) -> None:  # type: ignore[override]
            raise errors.ConfigError(message, path="argv", hint="octop-bridge serve --help lists the arguments")

    kind = Raising if raising else argparse.ArgumentParser
    parser = kind(
        prog="octop-bridge serve",
        description="Answer JSON-RPC, one line a message, until stdin ends.",
        allow_abbrev=False,
    )
    parser.add_argument("--stdio", action="store_true", help="on stdin and stdout; logs go to stderr")
    parser.add_argument("--role", choices=("host", "model", "person"), help="what the peer may do; default: host")
    parser.add_argument("--extractor-script", metavar="FILE", type=Path, help="claims from a file (tests, demos)")
    opening.add_store_options(parser)
    return parser
