"""An HTTP endpoint with the metrics of this process, for Prometheus and similar systems."""

from __future__ import annotations

import atexit
import contextlib
import os
import socket
import socketserver
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any

from .._arguments import names_checked, text, whole_number
from .metrics import CONTENT_TYPE, metrics

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

_PATIENCE_S = 2.0  # timeout for clients that send nothing
_LOOK_S = 0.1  # maximum delay of a shutdown

_open: set[MetricsServer] = set()


class _Answers(BaseHTTPRequestHandler):
    server_version, sys_version = "headrace", ""
    timeout = _PATIENCE_S

    def do_GET(self) -> None:
        if self.path.partition("?")[0] != "/metrics":
            self._answer(HTTPStatus.NOT_FOUND, "text/plain; charset=utf-8", "the metrics are at /metrics\n")
        else:
            self._answer(HTTPStatus.OK, CONTENT_TYPE, metrics())

    def _answer(self, status: HTTPStatus, kind: str, said: str) -> None:
        body = said.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- named so in the base class
        """Log nothing: stderr belongs to the user."""


class _Server(socketserver.TCPServer):
    allow_reuse_address = True

    def __init__(self, host: str, port: int):
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._asking: socket.socket | None = None
        super().__init__((host, port), _Answers)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer one client at a time."""
        self._asking = request
        super().process_request(request, client_address)

    def stop(self) -> None:
        """End `serve_forever`, the current request, and listening."""
        if self._asking is not None:
            with contextlib.suppress(OSError):  # already closed
                self._asking.shutdown(socket.SHUT_RDWR)
        self.shutdown()
        self.server_close()

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore clients that disconnected."""


class MetricsServer:
    """Serves `GET /metrics` on its own thread until it is closed or the process ends; created by `headrace.serve_metrics`.

    It does not exist in a forked child, which must create its own.

    Attributes:
        host: The address it listens on.
        port: The port; chosen by the system if 0 was requested.
        url: The URL of the metrics: "http://127.0.0.1:9100/metrics".
    """

    def __init__(self, host: str, port: int):
        self._server: _Server | None = _Server(host, port)
        self.host, self.port = str(self._server.server_address[0]), int(self._server.server_address[1])
        self.url = f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}/metrics"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_LOOK_S,), name="headrace metrics", daemon=True
        )
        self._thread.start()
        _open.add(self)

    def close(self) -> None:
        """Stop listening and end the thread. Closing it again does nothing."""
        server, self._server = self._server, None
        if server is not None:
            _open.discard(self)
            server.stop()
            self._thread.join()

    def _forked(self) -> None:
        """Close the child's copy of the socket; the parent's stays open."""
        server, self._server = self._server, None
        if server is not None:
            server.server_close()

    def __repr__(self) -> str:
        return f"<MetricsServer {self.url}{'' if self._server else ', closed'}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@names_checked
def serve_metrics(port: int = 0, *, host: str = "127.0.0.1") -> MetricsServer:
    """Serve `metrics()` over HTTP at `/metrics`, on its own thread, until it is closed or the process ends.

    Args:
        port: The port; 0 chooses a free one.
        host: The address to listen on. The default accepts connections from this machine only; "0.0.0.0" accepts connections from
            the network, without any protection.

    Raises:
        OSError: the port is in use, or the address does not belong to this machine.

    Example:
        server = hr.serve_metrics(port=9100)
        print(server.url)  # http://127.0.0.1:9100/metrics
    """
    return MetricsServer(
        text("serve_metrics", "host", host), whole_number("serve_metrics", "port", port, end=2**16)
    )


@atexit.register
def _close_all() -> None:
    for server in list(_open):
        server.close()


def _after_fork() -> None:
    for server in list(_open):
        server._forked()
    _open.clear()


os.register_at_fork(after_in_child=_after_fork)
