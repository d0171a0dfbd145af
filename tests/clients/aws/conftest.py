"""A stub of STS, and moto's server where a test asks for it."""

import sys
import urllib.error
import urllib.request

import pytest

from tests.clients.aws.sts_stub import StsStub
from tests.servers import processes


@pytest.fixture
def sts():
    """Makes a stub; all are stopped at the end."""
    made = []

    def make(guarded, **given):
        made.append(StsStub(guarded, **given))
        return made[-1]

    yield make
    for stub in made:
        stub.stop()


@pytest.fixture(scope="session")
def moto_url():
    """The address of moto's server, with the policies that AWS itself manages."""
    home = processes.folder("moto")
    port = processes.free_port()
    url = f"http://127.0.0.1:{port}"
    child = processes.Child(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        log=home / "log",
        env={"MOTO_IAM_LOAD_MANAGED_POLICIES": "true"},
    )
    child.wait_until(lambda: _answers(url), what="moto")
    yield url
    child.stop()
    processes.discard(home)


def _answers(url):
    try:
        with urllib.request.urlopen(f"{url}/moto-api/", timeout=2) as answer:
            return answer.status == 200
    except (urllib.error.URLError, OSError):
        return False
