"""One page, served on this machine alone."""

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from numbpe.errors import ArgumentError

_HOST = "127.0.0.1"


class PageServer(ThreadingHTTPServer):
    """Serves one page at ``/`` on 127.0.0.1; everything else is not found.

    port: 0 for one that is free. Raises ArgumentError if it is taken.

    Example: ``with PageServer("<p>Hello</p>", 8000) as server: server.serve_forever()``
    """

    daemon_threads = True

    def __init__(self, page: str, port: int = 0) -> None:
        self.page = page.encode("utf-8")
        try:
            super().__init__((_HOST, port), _Handler)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ArgumentError(
                f"cannot serve on port {port}: {reason}; give another --port, or none for a free one"
            ) from None

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://{_HOST}:{self.server_port}/"


class _Handler(BaseHTTPRequestHandler):
    server: PageServer

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def _answer(self) -> None:
        # A name that leads here from elsewhere could let another site read the page.
        host = self.headers.get("Host", "").rpartition(":")[0]
        if self.path.partition("?")[0] != "/" or host not in (_HOST, "localhost"):
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(self.server.page)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(self.server.page)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing."""
