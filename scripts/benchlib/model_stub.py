"""A model that answers late and says nothing: an HTTP server with the reply of a chat completion."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class LateModel:
    """One that takes `delay_s` for each answer. `asked` is set when the first question has come."""

    def __init__(self, delay_s: float) -> None:
        self.delay_s = delay_s
        self.asked = threading.Event()
        self.calls = 0
        self._leaving = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def endpoint(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    @contextmanager
    def serving(self) -> Iterator["LateModel"]:
        """Answer until the end of the block."""
        self._thread.start()
        try:
            yield self
        finally:
            self._leaving.set()
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        model = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                model.calls += 1
                model.asked.set()
                model._leaving.wait(model.delay_s)
                content = json.dumps({"candidates": [], "episodes": []})
                body = json.dumps({"choices": [{"message": {"content": content}}]}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Nothing."""

        return Handler
