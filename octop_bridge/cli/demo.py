"""`octop-bridge demo`: the main job, shown to a person with real replies; a promise that does not hold is exit 1."""

import argparse
import json
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from octop_bridge import places, settings
from octop_bridge.cli import opening, render, review, short, transcripts
from octop_bridge.protocol import errors

if TYPE_CHECKING:
    from octop_bridge.assemble import InProcess

_HERE = Path(__file__).parent
TRANSCRIPT = _HERE / "demo_transcript.jsonl"
CLAIMS = _HERE / "demo_claims.json"
_SECRET, _SECRET_QUERY = "AKIAIOSFODNN7EXAMPLE", "DATABASE_URL connection refused"
_QUERIES = {
    "what am I allergic to": "peanuts",
    "what did we decide for the billing service": "PostgreSQL",
    "我喜欢喝什么茶": "乌龙茶",
    "when is the standup": "9:30",
}
"""Questions, and what the first hit must say."""
_ACCEPTED, _REJECTED = "standup moved", "John Doe"
_WRONG, _RIGHT, _ASKED = "Helix", "User uses Zed for Rust and Python", "which editor for Rust"
_SHOWN_MAX = 8
_SAMPLES = 5
_INDENT = "   "
_OUTCOMES = ("promoted", "merged", "parked", "rejected")
_FATES = ("stored", "duplicates", "skipped", "redactions")
_SAMPLE_WORDS = 4
_RULES = {"kind": "rules"}
_ON_REQUEST_ONLY = {"quiet_s": 1e6, "events_max": 1 << 30, "tokens_max": 1 << 30}
"""The demo extracts when it says so, never by itself."""


def configure(parser: argparse.ArgumentParser, _: str) -> None:
    """The arguments of the command."""
    parser.add_argument("transcript", nargs="?", type=Path, metavar="TRANSCRIPT", help="a conversation of your own")
    opening.add_store_options(parser)
    parser.add_argument("--quiet", action="store_true", help="no hints")


def run(args: argparse.Namespace) -> int:
    """Show it; the exit code."""
    demo = Demo(render.screen(quiet=args.quiet), args)

    async def work() -> int:
        if args.db is not None:
            # It acts as the person on a store that stays.
            opening.role_for("memory.review", "person", places.home())
        with tempfile.TemporaryDirectory(prefix="octop-bridge-") as folder:
            demo.folder = Path(folder)
            await (demo.bundled() if args.transcript is None else demo.given(args.transcript))
        return demo.verdict()

    return opening.perform(work, as_json=False)


class Demo:
    """Stages on a screen, and which of the promises shown did not hold."""

    def __init__(self, screen: render.Screen, args: argparse.Namespace) -> None:
        self.screen = screen
        self.folder = Path()
        self._args = args
        self._stage = 0
        self._broken: list[str] = []

    def verdict(self) -> int:
        """Say whether every promise held; the exit code."""
        self.screen.line()
        for promise in self._broken:
            self.screen.line(self.screen.paint(f"broken: {promise}", "red"))
        if not self._broken:
            self.screen.line(self.screen.paint("every promise shown has held", "green"))
        return 1 if self._broken else 0

    async def bundled(self) -> None:
        """The conversation that comes with the package: rules first, then claims as a model would make them."""
        talk = transcripts.read(TRANSCRIPT)
        async with self._opened("rules", _RULES) as bridge:
            await self._capture(bridge, talk)
            await self._no_secret(bridge)
            await self._extract(bridge, "Extract by rules, without any model")
        script = self.folder / "claims.json"
        script.write_bytes(CLAIMS.read_bytes())
        scripted = {"kind": "scripted", "script": str(script)}
        async with self._opened("scripted", scripted, self._args.db) as bridge:
            if not sum([(await self._send(bridge, batch))["stored"] for batch in talk.batches]):
                raise errors.ConfigError("--db: this file holds the demo already", hint="name a new file", path="--db")
            await self._extract(bridge, "Extract with a model that invents and forgets (scripted)")
            await self._queue(bridge)
            await self._search(bridge)
            await self._verdicts(bridge, script)
            await self._correct(bridge)
            await self._status(bridge)

    async def given(self, path: Path) -> None:
        """A conversation of the person's own: what the rules find in it, and whether it is found again."""
        talk = transcripts.read(path)
        self.screen.line(f"{path.name}: {talk.format}, {len(talk.batches)} batches, {talk.broken} lines are no JSON")
        async with self._opened("rules", _RULES, self._args.db) as bridge:
            await self._capture(bridge, talk)
            facts = await self._extract(bridge, "Extract by rules, without any model")
            await self._queue(bridge)
            await self._samples(bridge, facts)
            await self._status(bridge)

    @asynccontextmanager
    async def _opened(
        self, name: str, extraction: dict[str, Any], db: Path | None = None
    ) -> AsyncIterator["InProcess"]:
        from octop_bridge import assemble  # noqa: PLC0415 - after the arguments are known to be good

        loaded = settings.load({}, self._args.config, {"extraction": {**_ON_REQUEST_ONLY, **extraction}})
        namespace = opening.choose_namespace(self._args.namespace, self.folder, db)
        db = db or self.folder / f"{name}.sqlite"
        async with assemble.open_bridge(
            loaded, home=self.folder, db=db, namespace=namespace, role="person", local=True, surface="cli"
        ) as bridge:
            yield bridge

    def _title(self, text: str) -> None:
        self._stage += 1
        self.screen.line()
        self.screen.line(self.screen.paint(f"{self._stage}. {text}", "bold"))

    def _say(self, text: str) -> None:
        self.screen.line(f"{_INDENT}{text}")

    def _promise(self, text: str, *, held: bool) -> None:
        self._say(f"{self.screen.paint('✓', 'green') if held else self.screen.paint('✗', 'red')} {text}")
        if not held:
            self._broken.append(text)

    async def _send(self, bridge: "InProcess", batch: transcripts.Batch) -> dict[str, Any]:
        params = {"messages": batch.messages, "identity": batch.identity, "session_kind": batch.session_kind}
        return await bridge.call("memory.capture", params)

    async def _capture(self, bridge: "InProcess", talk: transcripts.Transcript) -> None:
        self._title("Capture: what is said, as a host would send it")
        await bridge.call("bridge.status")  # The store is open from here on, and its time not counted.
        began = time.perf_counter()
        replies = [await self._send(bridge, batch) for batch in talk.batches]
        took_ms = (time.perf_counter() - began) * 1000
        rows = [
            (batch.identity["session_id"], *(str(reply[name]) for name in _FATES))
            for batch, reply in zip(talk.batches, replies, strict=True)
        ]
        self.screen.table(("session", *_FATES), rows[:_SHOWN_MAX], indent=_INDENT)
        total = [sum(reply[name] for reply in replies) for name in _FATES]
        self._say(f"in all {total[0]} stored, {total[1]} duplicates, {total[2]} skipped, {total[3]} secrets redacted")
        self._say(f"{len(replies)} calls in {took_ms:.0f} ms, each durable when it was answered")
        again = [await self._send(bridge, batch) for batch in talk.batches]
        stored, twice = (sum(reply[name] for reply in again) for name in ("stored", "duplicates"))
        self._promise(f"all of it sent again: {stored} stored, {twice} duplicates", held=stored == 0)

    async def _no_secret(self, bridge: "InProcess") -> None:
        found = await bridge.call("memory.search", {"query": _SECRET_QUERY, "layers": ["raw"], "limit": 1})
        text = "".join(hit["text"] for hit in found["hits"])
        self._promise(f"secrets are not kept: “{render.flat(text)}”", held=bool(text) and _SECRET not in text)

    async def _extract(self, bridge: "InProcess", title: str) -> list[dict[str, Any]]:
        """What is believed now, as `memory.get` gives it."""
        self._title(title)
        began = time.perf_counter()
        result = await bridge.call("memory.extract")
        took_ms = (time.perf_counter() - began) * 1000
        counts = ", ".join(f"{result[name]} {name}" for name in _OUTCOMES)
        self._say(f"{result['events']} messages, {result['candidates']} claims: {counts} ({took_ms:.0f} ms)")
        held = result["failure"] is None and result["pending"] == 0
        self._promise(f"nothing is left behind: {result['pending']} messages pending", held=held)
        facts = [await bridge.call("memory.get", {"id": atom_id}) for atom_id in result["atoms"]]
        for fact in facts[:_SHOWN_MAX]:
            said = next((evidence for evidence in fact["evidence"] if evidence["quote"]), None)
            source = f"“{render.flat(said['quote'])}”, {render.moment(said['timestamp_ms'])}" if said else "nobody"
            self._say(f"believed  {_text(fact)}  {self.screen.paint(source, 'dim')}")
        if len(facts) > _SHOWN_MAX:
            self._say(f"… and {len(facts) - _SHOWN_MAX} more")
        quoted = all(any(evidence["quote"] for evidence in fact["evidence"]) for fact in facts)
        self._promise("every belief has a quote that somebody said", held=quoted)
        return facts

    async def _queue(self, bridge: "InProcess") -> None:
        page = await bridge.call("memory.queue", {"limit": _SHOWN_MAX})
        waiting = page["counts"].get("parked", 0)
        self._title(f"What waits for a person, and why: {waiting} parked")
        for item in page["items"]:
            self._say(f"parked    {render.flat(item['candidate']['text'])}")
            for finding in item["findings"]:
                self._say(f"          {self.screen.paint(finding['kind'], 'yellow')}: {render.flat(finding['detail'])}")

    async def _search(self, bridge: "InProcess") -> None:
        self._title("Search: any language, nothing configured")
        for query, wanted in _QUERIES.items():
            found = await bridge.call("memory.search", {"query": query, "limit": 1})
            text = "".join(hit["text"] for hit in found["hits"])
            other = "".join(side["text"] for hit in found["hits"] for side in hit["disputed_by"])
            unconfirmed = f"; newer and unconfirmed: {render.flat(other)}" if other else ""
            answer = f"{query}  →  {render.flat(text)}{unconfirmed} ({found['took_ms']:.1f} ms)"
            self._promise(answer, held=wanted in text)

    async def _verdicts(self, bridge: "InProcess", script: Path) -> None:
        self._title("A person decides: one accepted, one rejected")
        waiting = [item["candidate"] for item in (await bridge.call("memory.queue"))["items"]]
        chosen = [claim for wanted in (_ACCEPTED, _REJECTED) for claim in waiting if wanted in claim["text"]]
        for verdict, claim in zip(("accept", "reject"), chosen, strict=False):
            params = {
                "candidate_id": claim["id"],
                "verdict": verdict,
                "reviewer": "demo",
                "reason": "shown in the demo",
            }
            self._say(f"{verdict}ed: {render.flat(claim['text'])}")
            review.show_verdict(self.screen, await bridge.call("memory.review", params))
        self._promise("both claims waited for it", held=len(chosen) == 2)
        if len(chosen) == 2:
            await self._said_again(bridge, script, chosen[1])

    async def _said_again(self, bridge: "InProcess", script: Path, claim: dict[str, Any]) -> None:
        self._title("The rejected one is said again")
        said = {"role": "user", "content": f"Hello again. {claim['quote']}.", "id": "said-again"}
        await self._send(bridge, transcripts.Batch({"session_id": "later"}, [said]))
        _rewrite(script, claim)
        result = await bridge.call("memory.extract")
        for item in result["items"]:
            self._say(f"“{render.flat(claim['quote'])}”  →  {item['status']}: {item['reason']}")
        self._promise("it is refused before it is stored", held=result["rejected"] == 1 and not result["atoms"])
        found, block = [await bridge.call(f"memory.{verb}", {"query": claim["text"]}) for verb in ("search", "recall")]
        gone = not any(_REJECTED in hit["text"] for hit in found["hits"])
        self._promise(f"search does not give it ({len(found['hits'])} other hits)", held=gone)
        self._promise("recall does not give it", held=_REJECTED not in block["system"] + block["prompt"])

    async def _correct(self, bridge: "InProcess") -> None:
        self._title("A fact is corrected: the block that a prompt gets, before and after")
        before = await self._recalled(bridge, _ASKED)
        found = await bridge.call("memory.search", {"query": _WRONG, "layers": ["atom"], "limit": 1})
        params = {"change": {"kind": "replace", "text": _RIGHT}, "reviewer": "demo", "reason": "another editor"}
        for hit in found["hits"]:
            done = await bridge.call("memory.correct", {"atom_id": hit["id"], **params})
            self._say(f"{done['atom']['status']}: {done['atom']['text']}  →  {done['successor']['text']}")
        after = await self._recalled(bridge, _ASKED)
        held = _WRONG in before and _RIGHT in after and _WRONG not in after
        self._promise("the next prompt has the right one and not the wrong one", held=held)

    async def _recalled(self, bridge: "InProcess", query: str) -> str:
        block = await bridge.call("memory.recall", {"query": query, "budget_tokens": 400})
        text = f"{block['system']}\n{block['prompt']}".strip()
        for line in render.harmless(text).splitlines():
            self._say(self.screen.paint(line, "cyan"))
        self._promise(f"{block['tokens']} of 400 tokens, {block['took_ms']:.1f} ms", held=block["tokens"] <= 400)
        return text

    async def _samples(self, bridge: "InProcess", facts: Sequence[dict[str, Any]]) -> None:
        """Searches with words of the conversation's own facts, and the block for the first of them."""
        self._title("Search with words of its own facts")
        chosen = facts[:: max(1, len(facts) // _SAMPLES)][:_SAMPLES]
        if not chosen:
            self._say("the rules found no fact in it; with a model there would be more")
        for fact in chosen:
            query = _query_of(_text(fact))
            found = await bridge.call("memory.search", {"query": query})
            rank = next((n for n, hit in enumerate(found["hits"], 1) if hit["id"] == fact["id"]), None)
            where = f"hit {rank} of {len(found['hits'])}" if rank else "not among the hits"
            self._say(f"{query}  →  {where}, {found['took_ms']:.1f} ms: {_text(fact)}")
        if chosen:
            self._title("What a prompt would be given")
            await self._recalled(bridge, _query_of(_text(chosen[0])))

    async def _status(self, bridge: "InProcess") -> None:
        self._title("Status")
        short.show_status(self.screen, await bridge.call("bridge.status"))


def _text(fact: dict[str, Any]) -> str:
    """A fact's sentence: the first line of its Markdown that is no remark about its status."""
    lines = [line for line in fact["markdown"].splitlines() if line and not line.startswith("**")]
    return render.flat(lines[0]) if lines else ""


def _query_of(text: str) -> str:
    """The last few longer words of a sentence; a sentence without spaces as it is."""
    words = [word for word in text.split() if len(word) > 3 and not word.startswith("User")]
    return " ".join(words[-_SAMPLE_WORDS:]) or text


def _rewrite(script: Path, claim: dict[str, Any]) -> None:
    """Make the script claim this once more, of whatever message holds its quote."""
    kept = {name: claim[name] for name in ("type", "quote", "slot", "value", "importance", "confidence")}
    subject = {"name": claim["subject"], "kind": "Person"}
    again = {**kept, "assertion": claim["text"], "event": "*", "subject": subject}
    script.write_text(json.dumps({"claims": [again]}), encoding="utf-8")
