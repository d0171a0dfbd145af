"""The health check of a container asks as the proxy would, and tells what it was told."""

import http.server
import threading

import pytest

from karpdash import probe
from tests.servers.processes import free_port


@pytest.fixture
def asked():
    """A server that answers 503 for /readyz; what it was asked."""
    heard = []

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            heard.append((self.path, self.headers["Host"], self.headers["X-Forwarded-Proto"]))
            self.send_response(503 if self.path == "/readyz" else 200)
            self.end_headers()
            self.wfile.write(b"the broker is missing")

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield str(server.server_port), heard
    server.shutdown()
    server.server_close()


def test_a_good_answer_is_0(asked):
    port, heard = asked
    assert (probe.main([port, "/readyz?for=web"]), heard) == (0, [("/readyz?for=web", "localhost", "https")])


def test_any_other_answer_is_1_and_told(asked, capsys):
    assert probe.main([asked[0], "/readyz"]) == 1
    assert capsys.readouterr().err == "/readyz: HTTP 503 the broker is missing\n"


def test_nobody_there_is_1(capsys):
    assert probe.main([str(free_port())]) == 1
    assert capsys.readouterr().err.startswith("/healthz: ")
