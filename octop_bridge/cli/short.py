"""Short forms of `call`: search, get, recall, store, correct, queue, status. Tables, or JSON with --json."""

import argparse
import getpass
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from octop_bridge.cli import opening, render

Result = dict[str, Any]


class Form(NamedTuple):
    """A short form: its method, its arguments, its parameters on the wire, and how its result is shown."""

    method: str
    configure: Callable[[argparse.ArgumentParser], None]
    params: Callable[[argparse.Namespace], dict[str, Any]]
    show: Callable[[render.Screen, Result], None]


def configure(parser: argparse.ArgumentParser, name: str) -> None:
    """The arguments of one form."""
    FORMS[name].configure(parser)
    opening.add_store_options(parser)
    opening.add_output_options(parser)
    parser.set_defaults(form=FORMS[name])


def run(args: argparse.Namespace) -> int:
    """Call the method and show its result; the exit code."""
    form: Form = args.form

    async def work() -> int:
        async with opening.opened(args, form.method) as bridge:
            result = await bridge.call(form.method, form.params(args))
        screen = render.screen(quiet=args.quiet)
        if args.json:
            screen.line(render.json_text(result, pretty=False))
        else:
            form.show(screen, result)
        return 0

    return opening.perform(work, as_json=args.json)


def reviewer(args: argparse.Namespace) -> str:
    """The label under which a person acts: as said, else the name of the account."""
    named: str | None = args.reviewer
    if named:
        return named
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):
        return "person"


def add_reviewer(parser: argparse.ArgumentParser) -> None:
    """Who acts, for the journal."""
    parser.add_argument("--reviewer", metavar="NAME", help="who you are, for the journal; default: your account")


def _add_whose(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--user", metavar="ID", help="whose memory; default: all that you may read")
    parser.add_argument("--channel", metavar="NAME", help="channel of that user")


def _whose(args: argparse.Namespace) -> dict[str, Any]:
    if args.user is None:
        return {}
    return {"identity": _given(user_id=args.user, channel=args.channel)}


def _given(**params: Any) -> dict[str, Any]:
    return {name: value for name, value in params.items() if value is not None}


def _configure_search(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", nargs="+", help="what you look for")
    parser.add_argument("--limit", type=int, help="at most this many (1 to 200; default 10)")
    parser.add_argument("--layer", action="append", choices=("atom", "raw"), help="only this layer; may be repeated")
    parser.add_argument("--as-of", metavar="TIME", help="what was true then")
    parser.add_argument("--retired", action="store_true", help="also what is no longer believed")
    _add_whose(parser)


def _search_params(args: argparse.Namespace) -> dict[str, Any]:
    return {
        "query": " ".join(args.query),
        **_given(limit=args.limit, layers=args.layer, as_of=args.as_of, include_retired=args.retired or None),
        **_whose(args),
    }


def _show_search(screen: render.Screen, result: Result) -> None:
    hits = result["hits"]
    if not hits:
        screen.note("nothing found")
        return
    rows = [
        (f"{hit['score']:.2f}", hit["status"], render.moment(hit["event_ms"]), hit["path"], _with_other_side(hit))
        for hit in hits
    ]
    screen.table(("score", "status", "when", "path", "text"), rows)
    _show_trouble(screen, result)


def _with_other_side(hit: Result) -> str:
    others = "; ".join(side["text"] for side in hit["disputed_by"])
    return f"{hit['snippet'] or hit['text']}" + (f" [disputed: {others}]" if others else "")


def _configure_get(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", metavar="PATH|ID", help="as a hit gave it")
    _add_whose(parser)


def _get_params(args: argparse.Namespace) -> dict[str, Any]:
    return {"path" if "/" in args.what else "id": args.what, **_whose(args)}


def _show_get(screen: render.Screen, result: Result) -> None:
    screen.line(f"{screen.paint(result['path'], 'bold')}  {result['status']}")
    screen.line(render.harmless(result["markdown"]).rstrip())
    if result["history"]:
        screen.line()
        rows = [
            (render.moment(row["at_ms"]), row["action"], _actor(row["actor"]), row["reason"] or "")
            for row in result["history"]
        ]
        screen.table(("when", "what", "who", "why"), rows)


def _actor(actor: Result) -> str:
    return " ".join(str(actor[part]) for part in ("role", "surface", "label") if actor.get(part))


def _configure_recall(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", nargs="+", help="what the prompt is about")
    parser.add_argument("--budget", type=int, metavar="TOKENS", help="most that the block may take")
    _add_whose(parser)


def _recall_params(args: argparse.Namespace) -> dict[str, Any]:
    return {"query": " ".join(args.query), **_given(budget_tokens=args.budget), **_whose(args)}


def _show_recall(screen: render.Screen, result: Result) -> None:
    for block in (result["system"], result["prompt"]):
        if block:
            screen.line(render.harmless(block).rstrip())
    if not result["system"] and not result["prompt"]:
        screen.note("nothing to say")
    screen.note(f"{result['tokens']} tokens, {len(result['items'])} kept, {result['dropped']} left out")
    _show_trouble(screen, result)


def _configure_store(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", nargs="+", help="what is so, in at most 500 characters")
    parser.add_argument("--type", help="Fact (default), Preference, Decision, Task, Instruction or Event")
    parser.add_argument("--subject", help="what it is about; default: the user")
    parser.add_argument("--valid-from", metavar="TIME", help="true from then on")
    parser.add_argument("--valid-to", metavar="TIME", help="true until then")
    parser.add_argument("--shared", action="store_true", help="for all owners")
    _add_whose(parser)


def _store_params(args: argparse.Namespace) -> dict[str, Any]:
    times = _given(valid_from=args.valid_from, valid_to=args.valid_to)
    return {
        "text": " ".join(args.text),
        **_given(type=args.type, subject=args.subject, shared=args.shared or None),
        **times,
        **_whose(args),
    }


def _show_store(screen: render.Screen, result: Result) -> None:
    screen.line(f"believed: atom/{result['atom_id']}.md")
    for name in ("superseded", "lifted"):
        for target in result[name]:
            screen.line(f"{name}: {target}")


def _configure_correct(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("atom_id", metavar="ATOM", help="id or path of what is wrong")
    change = parser.add_mutually_exclusive_group(required=True)
    change.add_argument("--replace", metavar="TEXT", help="what is so instead")
    change.add_argument("--retire", action="store_true", help="it is not so, and stays refused")
    parser.add_argument(
        "--keep-open", action="store_true", help="with --retire: it may be believed again if said again"
    )
    parser.add_argument("--reason", required=True, help="why, for the journal")
    add_reviewer(parser)


def _correct_params(args: argparse.Namespace) -> dict[str, Any]:
    change: dict[str, Any] = {"kind": "retire", "tombstone": not args.keep_open}
    if args.replace is not None:
        change = {"kind": "replace", "text": args.replace}
    atom_id = args.atom_id.removeprefix("atom/").removesuffix(".md")
    return {"atom_id": atom_id, "change": change, "reviewer": reviewer(args), "reason": args.reason}


def _show_correct(screen: render.Screen, result: Result) -> None:
    screen.line(f"{result['atom']['status']}: {render.flat(result['atom']['text'] or '')}")
    if result["successor"]:
        screen.line(f"believed: {render.flat(result['successor']['text'] or '')} (atom/{result['successor']['id']}.md)")
    for tombstone in result["tombstones"]:
        screen.line(f"refused from now on: {render.flat(tombstone['text'] or '')}")


def _configure_queue(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--status", help="claims of this status; default: parked, what waits for you")
    parser.add_argument("--limit", type=int, help="at most this many (1 to 200; default 50)")
    parser.add_argument("--cursor", help="where the page before ended")


def _queue_params(args: argparse.Namespace) -> dict[str, Any]:
    return _given(status=args.status, limit=args.limit, cursor=args.cursor)


def show_queue(screen: render.Screen, result: Result) -> None:
    """The claims of a page, a line each."""
    if not result["items"]:
        screen.note("nothing waits")
        return
    rows = [
        (
            item["candidate"]["id"],
            render.span(item["age_ms"]),
            item["candidate"]["owner"],
            ", ".join(dict.fromkeys(finding["kind"] for finding in item["findings"])),
            item["candidate"]["text"],
        )
        for item in result["items"]
    ]
    screen.table(("id", "age", "owner", "why", "claim"), rows)
    if result["next_cursor"]:
        screen.note(f"more: --cursor {result['next_cursor']}")


def _configure_status(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--settle", type=int, metavar="MS", help="wait at most that long for what is pending")


def _status_params(args: argparse.Namespace) -> dict[str, Any]:
    return _given(settle_ms=args.settle)


def show_status(screen: render.Screen, result: Result) -> None:
    """Counters, a line a part."""
    rows = [(name, ", ".join(_counts(part.items()))) for name, part in result.items() if isinstance(part, dict)]
    rows.append(("settled", "yes" if result["settled"] else "no"))
    screen.table(("part", "counts"), rows)
    _show_trouble(screen, result)


def _counts(items: Iterable[tuple[str, Any]]) -> list[str]:
    return [
        f"{name.removesuffix('_ms')} {render.moment(value) if name.endswith('_ms') else value}"
        for name, value in items
        if value is not None and not isinstance(value, dict)
    ]


def _show_trouble(screen: render.Screen, result: Result) -> None:
    for trouble in result["degraded"]:
        screen.note(screen.paint(f"degraded: {trouble['what']}: {trouble['hint']}", "yellow"))


FORMS: dict[str, Form] = {
    "search": Form("memory.search", _configure_search, _search_params, _show_search),
    "get": Form("memory.get", _configure_get, _get_params, _show_get),
    "recall": Form("memory.recall", _configure_recall, _recall_params, _show_recall),
    "store": Form("memory.store", _configure_store, _store_params, _show_store),
    "correct": Form("memory.correct", _configure_correct, _correct_params, _show_correct),
    "queue": Form("memory.queue", _configure_queue, _queue_params, show_queue),
    "status": Form("bridge.status", _configure_status, _status_params, show_status),
}
