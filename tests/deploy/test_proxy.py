"""TLS in front of the pages, by the proxy of the compose file: a real nginx with the configuration that is shipped."""

import http.client
import socket
import ssl
import subprocess

import pytest

from tests.deploy import compose
from tests.deploy.installation import PATIENCE, installation
from tests.servers.pki import Authority
from tests.servers.processes import free_port, program
from tests.servers.waiting import eventually

pytestmark = [pytest.mark.postgres, pytest.mark.redis, pytest.mark.timeout(600)]
HOST = "karpdash.example.org"
CONFIGURATION = compose.ROOT / "deploy" / "compose" / "nginx.conf"


class Front:
    """The proxy on ports of its own; `get` asks it over TLS, `plain` without."""

    def __init__(self, made):
        self.tls, self.clear, self.authority = free_port(), free_port(), Authority("karpdash")
        data = made.folder / "proxy-data"
        (data / "tls").mkdir(parents=True)
        certificate, key = self.authority.server([HOST])
        (data / "tls" / "tls.crt").write_text(certificate)
        (data / "tls" / "tls.key").write_text(key)
        text = CONFIGURATION.read_text()
        for old, new in {
            "listen 8080": f"listen 127.0.0.1:{self.clear}", "listen 8443": f"listen 127.0.0.1:{self.tls}",
            "pages:8000": f"127.0.0.1:{made.web}", "/etc/karpdash": compose.DATA,
        }.items():  # fmt: skip
            assert old in text
            text = text.replace(old, new)
        (data / "nginx.conf").write_text(text)

    def get(self, path, *, method="GET", **headers):
        trust = ssl.create_default_context(cadata=self.authority.pem)
        raw = socket.create_connection(("127.0.0.1", self.tls), timeout=PATIENCE)
        connection = http.client.HTTPSConnection(HOST, timeout=PATIENCE)
        connection.sock = trust.wrap_socket(raw, server_hostname=HOST)
        return self._answer(connection, method, path, headers)

    def up(self):
        """Whether it takes connections."""
        return _open(self.tls)

    def plain(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.clear, timeout=30)
        return self._answer(connection, "GET", path, {"Host": HOST})

    def _answer(self, connection, method, path, headers):
        connection.request(method, path, headers={key.replace("_", "-"): value for key, value in headers.items()})
        answer = connection.getresponse()
        body = answer.read().decode(errors="replace")
        connection.close()
        return answer, body


@pytest.fixture
def made(tmp_path):
    with installation(tmp_path, allowed_hosts=HOST, https="1", behind_proxy="1", log_level="DEBUG") as ours:
        ours.place.words["/etc/karpdash"] = compose.DATA
        yield ours


def test_pages_are_served_over_tls_only(made):  # T04, T30
    program("nginx", compose.Path("/usr/sbin"))
    front = Front(made)
    made.start("web")
    made.start("proxy")
    try:
        eventually(lambda: made.healthy("web"), what="the pages", seconds=PATIENCE)
    except TimeoutError as late:
        raise AssertionError(f"{late}\n{made.recent_output()}") from None

    answer, body = front.get("/healthz")
    assert (answer.status, body, answer.headers["Strict-Transport-Security"]) == (
        200, "ok\n", "max-age=31536000; includeSubDomains",
    )  # fmt: skip
    assert answer.headers["Server"] in ("nginx", "gunicorn")

    answer, _ = front.plain("/login?next=/x")
    assert (answer.status, answer.headers["Location"]) == (301, f"https://{HOST}/login?next=/x")

    for path in ("/api/v1/clusters", "/scim/v2/Users", "/agent/v1/poll", "/metrics"):
        answer, _ = front.plain(path)
        assert (answer.status, answer.headers["Location"]) == (403, None)

    answer, body = front.get("/login", X_Forwarded_For="203.0.113.99", X_Forwarded_Proto="http", X_Request_ID="mine")
    cookies = answer.headers.get_all("Set-Cookie")
    assert (answer.status, "csrfmiddlewaretoken" in body, bool(cookies)) == (200, True, True)
    assert [cookie for cookie in cookies if "Secure" not in cookie or not cookie.startswith("__Host-")] == []

    answer, _ = front.get("/", Host="elsewhere.example.org")
    assert answer.status == 400


@pytest.mark.parametrize(
    ("words", "spoken"),
    [
        (["-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0"], False),
        (["-tls1_2", "-cipher", "AES128-GCM-SHA256"], False),
        (["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA256:ECDHE-RSA-AES128-SHA256"], False),
        (["-tls1_2"], True),
        (["-tls1_3"], True),
    ],
)
def test_nothing_older_or_weaker_is_spoken(made, words, spoken):  # T04
    front = Front(made)
    made.start("proxy")
    eventually(front.up, what="the proxy", seconds=PATIENCE)
    told = subprocess.run(
        ["openssl", "s_client", "-connect", f"127.0.0.1:{front.tls}", *words],
        input="", capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert ("Cipher is (NONE)" not in told.stdout) is spoken


def _open(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
