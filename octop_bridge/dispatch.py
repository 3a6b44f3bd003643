"""The one table of methods, and the one place where a call meets its handler and an exception becomes a code.

Every surface comes through `Dispatcher.call` (in-process) or `Dispatcher.answer` (a JSON-RPC request). Handlers are named
and imported at their first call, so that `bridge.hello` is answered before SQLite or jsonrpcserver are loaded: the
first takes 0.1 s, the rest another 0.1. A test resolves every name and compares its annotations with the table.
"""

from __future__ import annotations

import importlib
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import msgspec

from octop_bridge.context import Call
from octop_bridge.protocol import errors
from octop_bridge.protocol import messages as wire

HOST: frozenset[str] = frozenset({"host", "person"})
HOST_AND_MODEL: frozenset[str] = frozenset({"host", "model", "person"})
PERSON: frozenset[str] = frozenset({"person"})

Handler = Callable[[Call, Any], Awaitable[Any]]
PerformCall = Callable[[str, Any], Awaitable[bytes]]
"""`await perform_call(method, params)`: the encoded result, or BridgeError."""


@dataclass(frozen=True, slots=True)
class Method:
    """One row of the table. `writes`: the end of a connection does not cancel it."""

    name: str
    params: type[wire.Params]
    result: type[wire.Result]
    handler: str
    audience: frozenset[str]
    writes: bool = False
    in_reader: bool = False
    """Served at once, also while the store is opening; holds no slot."""
    waits: bool = False
    """May wait for a model: holds no slot of the store's."""


TABLE: tuple[Method, ...] = (
    Method("bridge.hello", wire.HelloParams, wire.HelloResult, "greeting:hello", HOST_AND_MODEL, in_reader=True),
    Method("bridge.status", wire.StatusParams, wire.StatusResult, "greeting:status", HOST_AND_MODEL, in_reader=True),
    Method("memory.capture", wire.CaptureParams, wire.CaptureResult, "capture:capture", HOST, writes=True),
    Method("memory.extract", wire.ExtractParams, wire.ExtractResult, "extract:extract", HOST, waits=True),
    Method("memory.search", wire.SearchParams, wire.SearchResult, "search:search", HOST_AND_MODEL),
    Method("memory.recall", wire.RecallParams, wire.RecallResult, "recall:recall", HOST),
    Method("memory.get", wire.GetParams, wire.GetResult, "get:get", HOST_AND_MODEL),
    Method("memory.store", wire.StoreParams, wire.StoreResult, "store:store", PERSON, writes=True),
    Method("memory.queue", wire.QueueParams, wire.QueueResult, "queue:queue", PERSON),
    Method("memory.review", wire.ReviewParams, wire.ReviewResult, "review:review", PERSON, writes=True),
    Method("memory.correct", wire.CorrectParams, wire.CorrectResult, "correct:correct", PERSON, writes=True),
)
METHODS: dict[str, Method] = {method.name: method for method in TABLE}


def methods_for(role: str) -> list[str]:
    """Names of the methods that a role may call, in table order."""
    return [method.name for method in TABLE if role in method.audience]


@cache
def handler_of(method: Method) -> Handler:
    """The handler of a row, imported now if it is not yet."""
    module, _, function = method.handler.partition(":")
    found: Handler = getattr(importlib.import_module(f"octop_bridge.verbs.{module}"), function)
    return found


class Incidents(Protocol):
    """Where an unexpected exception goes: it returns the incident id that the peer is told."""

    def __call__(self, method: str, error: BaseException) -> str:
        """Log the exception; the id under which it stands in the log."""
        ...


_WHERE = re.compile(r" - at `\$(.*)`$")


def params_error(error: msgspec.ValidationError) -> errors.InvalidParamsError:
    """The -32602 of a validation error, its field as a path (`params.messages[2].role`)."""
    text = str(error)
    where = _WHERE.search(text)
    message = text[: where.start()] if where else text
    path = "params" + (where[1] if where else "")
    missing = re.search(r"required field `([^`]+)`", message) or re.search(r"unknown field `([^`]+)`", message)
    if missing:
        path = f"{path}.{missing[1]}"
    return errors.InvalidParamsError(f"{path}: {message}", path=path)


def read_params(method: Method, params: Any) -> Any:
    """Parameters as the method's Struct. A list is taken by position, in the order of the fields."""
    if params is None:
        params = {}
    elif isinstance(params, list | tuple):
        names = method.params.__struct_fields__
        if len(params) > len(names):
            raise errors.InvalidParamsError(f"params: at most {len(names)} by position", path="params")
        params = dict(zip(names, params, strict=False))
    if not isinstance(params, dict):
        raise errors.InvalidParamsError("params: expected an object or a list", path="params")
    try:
        return msgspec.convert(params, method.params)
    except msgspec.ValidationError as error:
        raise params_error(error) from None


def lookup(name: str, role: str) -> Method:
    """The row of a method, or UnknownMethodError, or ForbiddenError outside its audience."""
    method = METHODS.get(name)
    if method is None:
        near = _nearest(name)
        raise errors.UnknownMethodError(
            f"unknown method {name[:80]!r}", hint=f"did you mean {near}?" if near else "bridge.hello lists the methods"
        )
    if role not in method.audience:
        raise errors.ForbiddenError(
            f"{name} is not for the role {role}", hint=f"it is for: {', '.join(sorted(method.audience))}"
        )
    return method


def _nearest(name: str) -> str | None:
    import difflib  # noqa: PLC0415 - only on the way to an error

    found = difflib.get_close_matches(name[:80], METHODS, n=1)
    return found[0] if found else None


async def perform(method: Method, params: Any, call: Call, incidents: Incidents) -> Any:
    """The result Struct of one call. Raises BridgeError and nothing else but cancellation.

    Unknown exceptions become an InternalError with an incident id: their texts may hold paths, SQL or what a person said.
    """
    try:
        return await handler_of(method)(call, read_params(method, params))
    except errors.BridgeError:
        raise
    except Exception as error:
        known = storage_error(error)
        if known is not None:
            raise known from error
        incident = incidents(method.name, error)
        raise errors.InternalError(
            "something went wrong inside the bridge", incident=incident, hint="the log of the bridge has the rest"
        ) from error


def storage_error(error: BaseException) -> errors.StorageUnavailableError | None:
    """The -32007 of a storage exception, or None for any other."""
    from octop_bridge.storage import engine  # noqa: PLC0415 - not needed for hello

    if not isinstance(error, engine.StorageError):
        return None
    return errors.StorageUnavailableError(
        "the store cannot do this now", kind=error.kind, retryable=error.retryable, hint=error.hint
    )


@cache
def _rpc() -> Any:
    """jsonrpcserver, imported at the first request that is not a greeting (see README, Start)."""
    import jsonrpcserver  # noqa: PLC0415

    return jsonrpcserver


def _no_schema(_: Any) -> None:
    """Accept: the connection has checked the envelope, element by element."""


def _as_given(request: Any) -> Any:
    """The request: the connection has decoded it."""
    return request


@cache
def _routes() -> Mapping[str, Any]:
    """What jsonrpcserver calls, by method name: for all the same wrapper, which is handed the real call as context."""
    rpc = _rpc()

    async def run(context: tuple[str, PerformCall], /, *args: Any, **kwargs: Any) -> Any:
        method, perform_call = context
        try:
            return rpc.Success(msgspec.Raw(await perform_call(method, list(args) if args else kwargs)))
        except errors.BridgeError as error:
            return rpc.Error(code=error.code, message=error.message, data=error.data())

    # jsonrpcserver derives and binds the signature at each call, 40 % of its time, to refuse what this accepts anyway.
    run.__signature__ = _open_signature()  # type: ignore[attr-defined]
    return dict.fromkeys(METHODS, run)


def _open_signature() -> Any:
    import inspect  # noqa: PLC0415 - not needed for hello

    class Open(inspect.Signature):
        """A signature that everything fits."""

        def bind(self, /, *_: Any, **__: Any) -> inspect.BoundArguments:
            """Nothing that anybody reads."""
            return inspect.BoundArguments(self, OrderedDict())

    return Open()


async def answer(request: dict[str, Any], perform_call: PerformCall) -> bytes:
    """The reply line (without its newline) of one checked request; b"" for a notification.

    jsonrpcserver routes and frames; its edges (exception texts in replies, results checked by assert, encoding outside
    of its try) never see anything but our wrapper.
    """
    out = await _rpc().async_dispatch(
        request,
        _routes(),
        context=(request["method"], perform_call),
        deserializer=_as_given,
        validator=_no_schema,
        serializer=encode,
    )
    return out or b""


def encode(value: Any) -> bytes:
    """The value as strict JSON: NaN is null, an unpaired surrogate, which UTF-8 cannot hold, U+FFFD."""
    try:
        return _encode(value)
    except UnicodeEncodeError:
        return _encode(_without_surrogates(value))


_encode = msgspec.json.Encoder().encode


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, msgspec.Struct):
        return _without_surrogates(msgspec.to_builtins(value))
    return value


def encode_result(result: bytes, request_id: Any) -> bytes:
    """The reply line of an encoded result, for what is answered without jsonrpcserver."""
    return encode({"jsonrpc": "2.0", "id": request_id, "result": msgspec.Raw(result)})


def encode_error(error: errors.BridgeError, request_id: Any = None) -> bytes:
    """The reply line of an error that came before any handler."""
    return encode({"jsonrpc": "2.0", "id": request_id, "error": error.body()})


def warm() -> None:
    """Import what a call over a wire needs and a greeting does not, what most calls need first."""
    _rpc()
    for name in ("memory.search", "memory.recall", "memory.capture", *METHODS):
        handler_of(METHODS[name])


def warm_store() -> None:
    """Import what opening a store needs."""
    for module in ("storage.store", "storage.sqlite", "storage.lease", "work.desk", "domain.identity"):
        importlib.import_module(f"octop_bridge.{module}")
