"""`octop-bridge review`: what waits for a person, one claim at a time."""

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from octop_bridge.cli import opening, render, short
from octop_bridge.protocol import errors

if TYPE_CHECKING:
    from octop_bridge.assemble import InProcess

_PAGE = 50
_CONTEXT_CHARS = 160
_KEYS = "[a]ccept  [r]eject  [s]kip  [q]uit > "
Ask = Callable[[str], Awaitable[str]]
"""What a person answers to a question; EOFError where nobody is there any more."""


def configure(parser: argparse.ArgumentParser, _: str) -> None:
    """The arguments of the command."""
    parser.add_argument("action", nargs="?", choices=("list", "accept", "reject"), help="without: one claim at a time")
    parser.add_argument("candidate_id", nargs="?", metavar="ID", help="which claim to accept or reject")
    parser.add_argument("--reason", help="why, for the journal")
    short.add_reviewer(parser)
    opening.add_store_options(parser)
    opening.add_output_options(parser)


def run(args: argparse.Namespace) -> int:
    """Show the queue or give a verdict; the exit code."""
    if (args.action in {"accept", "reject"}) != (args.candidate_id is not None):
        print("octop-bridge review: accept and reject take the id of one claim", file=sys.stderr)
        return 2
    screen = render.screen(quiet=args.quiet)

    async def work() -> int:
        method = "memory.queue" if args.action == "list" else "memory.review"
        async with opening.opened(args, method) as bridge:
            if args.action is None:
                return await Walk(bridge, screen, args, _ask).through()
            if args.action == "list":
                result = await bridge.call("memory.queue", {"limit": _PAGE})
            else:
                result = await bridge.call("memory.review", _verdict(args.candidate_id, args.action, args))
        if args.json:
            screen.line(render.json_text(result, pretty=False))
        elif args.action == "list":
            short.show_queue(screen, result)
        else:
            show_verdict(screen, result)
        return 0

    return opening.perform(work, as_json=args.json)


class Walk:
    """One person going through the queue, oldest first."""

    def __init__(self, bridge: "InProcess", screen: render.Screen, args: argparse.Namespace, ask: Ask) -> None:
        self._bridge = bridge
        self._screen = screen
        self._args = args
        self._ask = ask
        self._seen = self._decided = 0

    async def through(self) -> int:
        """Until the queue ends or the person does; the exit code."""
        cursor: str | None = None
        try:
            while True:
                page = await self._bridge.call(
                    "memory.queue", {"limit": _PAGE, **({"cursor": cursor} if cursor else {})}
                )
                for item in page["items"]:
                    if not await self._one(item):
                        return 0
                cursor = page["next_cursor"]
                if cursor is None:
                    break
        except EOFError:
            self._screen.line()
        left = self._seen - self._decided
        self._screen.note(f"{self._decided} decided, {left} left" if self._seen else "nothing waits")
        return 0

    async def _one(self, item: dict[str, Any]) -> bool:
        """Show one claim and take its verdict; whether to go on."""
        self._seen += 1
        await show_item(self._bridge, self._screen, item, self._seen)
        answer = ""
        while answer not in {"a", "r", "s", "q"}:
            answer = (await self._ask(_KEYS)).strip().lower()[:1]
        if answer in {"a", "r"}:
            await self._decide(item["candidate"], "accept" if answer == "a" else "reject")
        return answer != "q"

    async def _decide(self, candidate: dict[str, Any], verdict: str) -> None:
        """Give the verdict; what another process decided meanwhile is told and passed."""
        params = {**_verdict(candidate["id"], verdict, self._args), "expect_version": candidate["version"]}
        if verdict == "reject" and params["reason"] is None:
            params["reason"] = (await self._ask("   why? > ")).strip() or None
        try:
            show_verdict(self._screen, await self._bridge.call("memory.review", params))
            self._decided += 1
        except (errors.ConflictError, errors.RefusedError) as error:
            opening.tell(error, as_json=False)


async def show_item(bridge: "InProcess", screen: render.Screen, item: dict[str, Any], number: int) -> None:
    """A claim with all that is needed to decide: the quote where it was said, why it waits, what it contradicts."""
    candidate = item["candidate"]
    about = render.flat(
        f"{candidate['type']} about {candidate['subject']}, {candidate['owner']}, {render.span(item['age_ms'])} old"
    )
    screen.line()
    screen.line(f"{number}. {screen.paint(render.flat(candidate['text']), 'bold')}  {screen.paint(about, 'dim')}")
    for evidence in item["evidence"]:
        said = await _in_context(bridge, screen, evidence)
        screen.line(f"   said    {said}  ({evidence['role']}, {render.moment(evidence['timestamp_ms'])})")
    if not any(evidence["quote"] for evidence in item["evidence"]):
        screen.line(f"   claimed “{render.flat(candidate['quote'])}”  {screen.paint('nobody said this', 'yellow')}")
    for finding in item["findings"]:
        screen.line(f"   waits   {screen.paint(finding['kind'], 'yellow')}: {render.flat(finding['detail'])}")
        if finding["text"]:
            screen.line(f"   against {render.flat(finding['text'])}")
    for text in item["similar_rejected"]:
        screen.line(f"   similar to what was rejected: {render.flat(text)}")
    if item["recommended"]:
        screen.line(f"   the model recommends: {render.flat(item['recommended'])}")


def show_verdict(screen: render.Screen, result: dict[str, Any]) -> None:
    """What a verdict did."""
    for atom in result["atoms"]:
        screen.line(f"   {screen.paint('believed', 'green')}: {render.flat(atom['text'] or '')}")
    for atom in result["superseded"]:
        screen.line(f"   {atom['status']}: {render.flat(atom['text'] or '')}")
    for tombstone in result["tombstones"]:
        screen.line(f"   {screen.paint('refused from now on', 'red')}: {render.flat(tombstone['text'] or '')}")
    for tombstone in result["lifted"]:
        screen.line(f"   no longer refused: {render.flat(tombstone['text'] or '')}")


def _verdict(candidate_id: str, verdict: str, args: argparse.Namespace) -> dict[str, Any]:
    return {
        "candidate_id": candidate_id,
        "verdict": verdict,
        "reviewer": short.reviewer(args),
        "reason": args.reason,
    }


async def _in_context(bridge: "InProcess", screen: render.Screen, evidence: dict[str, Any]) -> str:
    """The quote within the message it stands in, or the message's beginning."""
    try:
        text = render.flat((await bridge.call("memory.get", {"path": evidence["path"]}))["markdown"])
    except errors.NotFoundError:
        text = ""
    quote = render.flat(evidence["quote"] or "")
    at = text.find(quote) if quote else -1
    if at < 0:
        return f"“{quote or render.cut(text, _CONTEXT_CHARS)}”"
    side = max(0, (_CONTEXT_CHARS - len(quote)) // 2)
    before, after = text[max(0, at - side) : at], text[at + len(quote) : at + len(quote) + side]
    left = "…" if at > side else ""
    right = "…" if at + len(quote) + side < len(text) else ""
    return f"{left}{before}{screen.paint(quote, 'bold', 'cyan')}{after}{right}"


async def _ask(question: str) -> str:
    """A line from stdin. At a terminal the store's own work goes on meanwhile, and Ctrl-C ends the command at once."""
    print(question, end="", flush=True)
    if sys.stdin.isatty():
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()
        loop.add_reader(sys.stdin.fileno(), ready.set)
        try:
            await ready.wait()
        finally:
            loop.remove_reader(sys.stdin.fileno())
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line
