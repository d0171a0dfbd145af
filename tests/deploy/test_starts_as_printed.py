"""What docs/deploy.md prints is no setting that karpdash refuses to start with (T30)."""

import base64
import re
import secrets

import pytest

from karpdash.configuration import env, system_checks
from tests.deploy import compose
from tests.deploy.test_compose import OURS
from tests.house.measures import text

PAGE = "docs/deploy.md"


def refused(settings, given) -> list[str]:
    """Why karpdash does not start with these variables."""
    settings.ENV = env.read({name: str(value) for name, value in given.items()})
    return [one.msg for one in system_checks.configuration() if one.id != "karpdash.E017"]


def printed_secrets() -> dict[str, str]:
    """The lines for .env, run as openssl would."""
    found = {}
    for name, value in re.findall(r'echo "(\w+)=([^"]*openssl[^"]*)" >>? \.env', text(PAGE)):
        kind, count = re.search(r"\$\(openssl rand -(\w+) (\d+)\)", value).groups()
        drawn = secrets.token_bytes(int(count))
        word = drawn.hex() if kind == "hex" else base64.b64encode(drawn).decode()
        found[name] = re.sub(r"\$\([^)]*\)", lambda _, word=word: word, value)
    return found


@pytest.mark.parametrize("tls", [False, True])
def test_compose_starts_with_the_lines_that_are_printed(settings, tls):  # T30
    given = printed_secrets()
    assert len(given) == 5
    if tls:
        given |= dict(re.findall(r'echo "(KARPDASH_\w+)=([^"$]*)" >> \.env', text(PAGE)))
    services = compose.services(given)
    told = {name: refused(settings, services[name]["environment"]) for name in OURS}
    assert {name: why for name, why in told.items() if why} == {}


def test_the_chart_starts_with_the_addresses_that_are_printed(settings):  # T30
    addresses = re.findall(r'--from-literal=url="([^"]*)"', text(PAGE))
    database, broker = (re.sub(r"\$\w+", "velum9quay7ampere", one) for one in addresses)
    key = base64.b64encode(secrets.token_bytes(32)).decode()
    given = {
        "KARPDASH_SECRET_KEY": secrets.token_hex(32), "KARPDASH_ENCRYPTION_KEYS": f"k1:{key}",
        "KARPDASH_DATABASE_URL": database, "KARPDASH_BROKER_URL": broker,
        "KARPDASH_ALLOWED_HOSTS": "karpdash.example.org", "KARPDASH_HTTPS": "1",
    }  # fmt: skip
    assert refused(settings, given) == []
    without = given | {"KARPDASH_DATABASE_URL": database.partition("?")[0]}
    assert "sslmode=verify-full" in "".join(refused(settings, without))
