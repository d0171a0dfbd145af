"""Web processes that are replaced one after the other behind the shipped proxy, as docs/deploy.md says: every page is
answered. Replaced at once, as `docker compose up` does it alone, they are not.
"""

import threading

import pytest

from tests.deploy import compose
from tests.deploy.installation import PATIENCE, installation
from tests.deploy.test_proxy import HOST, Front
from tests.servers.processes import free_port, program
from tests.servers.waiting import eventually

pytestmark = [pytest.mark.postgres, pytest.mark.redis, pytest.mark.timeout(900)]
PAGES = ("/login", "/healthz", "/static/css/karpdash.css")
FIRST, SECOND = "web", "web-second"


class Both:
    """The two web services on ports of their own, behind the proxy."""

    def __init__(self, made):
        self.made = made
        self.ports = {FIRST: made.web, SECOND: free_port()}
        made.place.words["/etc/karpdash"] = compose.DATA
        self.front = Front(made)
        # What the name servers of compose tell at each request: both addresses of the name.
        file = made.folder / "proxy-data" / "nginx.conf"
        servers = " ".join(f"server 127.0.0.1:{port} max_fails=0;" for port in self.ports.values())
        text = file.read_text().replace(f"set $pages 127.0.0.1:{made.web};", "set $pages pages;")
        text = text.replace("resolver 127.0.0.11 valid=2s ipv6=off;", f"upstream pages {{ {servers} }}")
        # A process that starts takes connections before it answers; cores that others keep busy take long for it.
        file.write_text(text.replace("proxy_read_timeout 120s;", "proxy_read_timeout 600s;"))

    def start(self, service):
        self.made.place.words["0.0.0.0:8000"] = f"127.0.0.1:{self.ports[service]}"
        self.made.web = self.ports[service]  # where its health is asked
        self.made.start(service)
        eventually(lambda: self.made.healthy(service), what=service, seconds=PATIENCE)

    def replace(self, service):
        """`docker compose up -d --no-deps --wait` of that service."""
        assert self.made.end(service) == 0, self.made.recent_output()
        self.start(service)


class Readers(threading.Thread):
    """Asks for one page after the other until it is told to end; `wrong` are the answers that were not 200."""

    def __init__(self, front):
        super().__init__(daemon=True)
        self.front, self.right, self.wrong = front, 0, []
        self.ended = threading.Event()

    def run(self):
        while not self.ended.is_set():
            for page in PAGES:
                try:
                    status = self.front.get(page)[0].status
                except OSError as failed:
                    status = f"{type(failed).__name__}: {failed}"
                self.right += status == 200
                self.wrong += [] if status == 200 else [f"{page}: {status}"]


@pytest.fixture
def both(tmp_path):
    program("nginx", compose.Path("/usr/sbin"))
    with installation(tmp_path, allowed_hosts=HOST, https="1", behind_proxy="1") as made:
        yield Both(made)


def test_replaced_one_after_the_other_every_page_is_answered(both):  # R27, R28
    both.start(FIRST)
    both.start(SECOND)
    both.made.start("proxy")
    eventually(both.front.up, what="the proxy", seconds=PATIENCE)
    readers = Readers(both.front)
    readers.start()
    for service in (FIRST, SECOND):
        before = readers.right
        both.replace(service)
        eventually(lambda before=before: readers.right > before + len(PAGES), what="answers", seconds=PATIENCE)
    readers.ended.set()
    readers.join(PATIENCE)
    assert readers.wrong == []

    assert [both.made.end(service) for service in (FIRST, SECOND)] == [0, 0]
    assert both.front.get("/login")[0].status == 502  # the positive control
