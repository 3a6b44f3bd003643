"""The loop of a worker: an operation a line, its result a line. It runs in a system's own environment."""

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any


def serve(operations: Mapping[str, Callable[..., Any]]) -> None:
    """Answer until the input ends. What an operation prints goes to stderr."""
    replies, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            answer = {"id": asked["id"], "result": operations[asked["op"]](**asked["given"])}
        except Exception as error:
            answer = {"id": asked["id"], "error": f"{type(error).__name__}: {error}"}
        replies.write(json.dumps(answer) + "\n")
        replies.flush()
