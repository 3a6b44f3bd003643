"""What can go wrong, as a peer sees it: one class a code.

    BridgeError
    ├── ParseError               -32700   the line is no JSON
    ├── InvalidRequestError      -32600   JSON, but no request
    ├── UnknownMethodError       -32601
    ├── InvalidParamsError       -32602   names the field; ConfigError is the same for bad arguments and settings
    ├── InternalError            -32603   an incident id; the log has the rest
    ├── CancelledError           -32800
    ├── NotFoundError            -32001   also what is foreign: the same answer, to the byte
    ├── ConflictError            -32002   read again
    ├── RefusedError             -32003   `reason` names the rule
    ├── ForbiddenError           -32004   not for this role
    ├── TooLargeError            -32005
    ├── ModelUnavailableError    -32006
    ├── StorageUnavailableError  -32007   `kind` and `hint` say which
    ├── ShuttingDownError        -32008
    └── VersionMismatchError     -32009

Messages are written for the person who reads them at the peer; exception texts, paths, SQL and secrets never are one.
"""

from typing import Any, ClassVar


class BridgeError(Exception):
    """A failure with a code. `data` always has the same six fields."""

    code: ClassVar[int] = -32603
    kind: str = "internal"
    retryable: bool = False

    def __init__(
        self,
        message: str,
        *,
        kind: str | None = None,
        retryable: bool | None = None,
        hint: str | None = None,
        path: str | None = None,
        reason: str | None = None,
        incident: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind or type(self).kind
        self.retryable = type(self).retryable if retryable is None else retryable
        self.hint = hint
        self.path = path
        self.reason = reason
        self.incident = incident

    def body(self) -> dict[str, Any]:
        """The `error` member of a JSON-RPC reply."""
        return {"code": self.code, "message": self.message, "data": self.data()}

    def data(self) -> dict[str, Any]:
        """The `error.data` of the protocol: six fields, null where there is nothing to say."""
        return {
            "kind": self.kind,
            "retryable": self.retryable,
            "hint": self.hint,
            "path": self.path,
            "reason": self.reason,
            "incident": self.incident,
        }


class ParseError(BridgeError):
    """The line is no JSON."""

    code = -32700
    kind = "parse"


class InvalidRequestError(BridgeError):
    """JSON, but no JSON-RPC 2.0 request."""

    code = -32600
    kind = "invalid_request"


class UnknownMethodError(BridgeError):
    """No method of this name is served."""

    code = -32601
    kind = "unknown_method"


class InvalidParamsError(BridgeError):
    """A parameter is missing or wrong; `path` names it."""

    code = -32602
    kind = "invalid_params"


class ConfigError(InvalidParamsError):
    """The command line or a setting is wrong: the first request of any kind gets this."""

    kind = "config"


class InternalError(BridgeError):
    """Our fault. The log has the rest under the incident id."""


class CancelledError(BridgeError):
    """Ended by `$/cancelRequest`."""

    code = -32800
    kind = "cancelled"


class NotFoundError(BridgeError):
    """Nothing of this id or path in this scope."""

    code = -32001
    kind = "not_found"


class ConflictError(BridgeError):
    """The row moved since it was read, or is resolved already."""

    code = -32002
    kind = "conflict"


class RefusedError(BridgeError):
    """A rule refuses the write; `reason` says which."""

    code = -32003
    kind = "refused"


class ForbiddenError(BridgeError):
    """The method, or this use of it, is not for this connection's role."""

    code = -32004
    kind = "forbidden"


class TooLargeError(BridgeError):
    """The whole call is over a limit."""

    code = -32005
    kind = "too_large"


class ModelUnavailableError(BridgeError):
    """No model, or it failed; nothing was lost."""

    code = -32006
    kind = "model_unavailable"
    retryable = True


class StorageUnavailableError(BridgeError):
    """Busy, read-only, full, down, or upgraded by another process: `kind` and `hint` say which."""

    code = -32007
    kind = "storage_unavailable"
    retryable = True


class ShuttingDownError(BridgeError):
    """The process is leaving: ask the next one."""

    code = -32008
    kind = "shutting_down"
    retryable = True


class VersionMismatchError(BridgeError):
    """This protocol version is not served."""

    code = -32009
    kind = "version_mismatch"
