"""Django system checks of this installation (T30): a server does not start with missing keys or unsafe settings."""

import ipaddress
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import Error, register

from karpdash.configuration.env import Env
from migrations_app.errors import InvalidSetting
from migrations_app.readiness.missing_rows import missing_rows

SHORTEST_KEY = 32
PLACEHOLDERS = ("changeme", "change-me", "change_me", "insecure", "default", "example", "secret", "password")
"""Placeholder words found in keys or passwords that were never replaced."""
COMMON_PASSWORDS = ("", "postgres", "password", "karpdash", "admin", "root", "test", "postgrespw")
FEWEST_BYTES = 8
"""Minimum number of different bytes in 32 random ones: fewer occur by chance once in more than 10**30 keys."""
SHORTEST_PREFIX = 8
"""Minimum prefix length of an allowed network: a shorter prefix opens nearly every address."""
LOCAL_HOSTS = ("localhost", "0.0.0.0", "[::]", "::")  # noqa: S104 # nosec B104 - compared, never bound
EXPLICIT_SSL_MODES = ("verify-full", "verify-ca", "disable")
"""The other modes of libpq verify no certificate, or fall back to clear text without a warning."""
Problems = Iterator[tuple[str, str]]


@register(deploy=False)
def configuration(**_kwargs: Any) -> list[Error]:  # noqa: ANN401 - Django's own signature
    """Returns the errors that prevent this installation from serving safely."""
    env: Env = settings.ENV
    problems = [
        *_secret_problems(env),
        *_host_problems(env),
        *_service_problems(env),
        *(("E017", row) for row in missing_rows()),
    ]
    if settings.DEBUG:
        problems.append(("E004", "DEBUG is on"))
    return [Error(words, id=f"karpdash.{number}") for number, words in problems]


def refuse_unsafe() -> None:
    """Raises InvalidSetting with every error; for processes that Django's own checks do not stop."""
    if errors := configuration():
        raise InvalidSetting("; ".join(str(error.msg) for error in errors))


def _secret_problems(env: Env) -> Problems:
    if not env.secret_key:
        yield "E001", "KARPDASH_SECRET_KEY is not set and the data folder holds no key"
    elif _guessable(env.secret_key):
        yield "E007", f"KARPDASH_SECRET_KEY must be {SHORTEST_KEY} random characters or more, not a word"
    if not env.encryption_keys:
        yield "E002", "KARPDASH_ENCRYPTION_KEYS is not set and the data folder holds no key"
    if any(len(set(key)) < FEWEST_BYTES for _, key in env.encryption_keys):
        yield "E008", "KARPDASH_ENCRYPTION_KEYS holds a key that is not random"
    names = [name for name, _ in env.encryption_keys]
    if len(set(names)) < len(names):
        yield "E009", "KARPDASH_ENCRYPTION_KEYS gives two keys the same id: one of them would never open anything"
    if env.secret_key and env.secret_key in {key.hex() for _, key in env.encryption_keys}:
        yield "E005", "the signing key must not be the encryption key"
    if env.audit_sinks.targets and not env.audit_signing_key:
        yield "E006", "KARPDASH_AUDIT_SIGNING_KEY is not set: the sinks would never get a checkpoint"


def _guessable(key: str) -> bool:
    lowered = key.lower()
    return len(key) < SHORTEST_KEY or len(set(key)) < FEWEST_BYTES or any(word in lowered for word in PLACEHOLDERS)


def _host_problems(env: Env) -> Problems:
    if "*" in env.allowed_hosts:
        yield "E003", "KARPDASH_ALLOWED_HOSTS must name hosts, not *"
    if not env.allowed_hosts:
        yield "E010", "KARPDASH_ALLOWED_HOSTS names no host: no request would be answered"
    for host in env.allowed_hosts:
        if "/" in host or " " in host or _has_port(host):
            yield "E011", f"KARPDASH_ALLOWED_HOSTS: {host!r} is no host name; scheme, port and path do not belong there"
    remote = [host for host in env.allowed_hosts if not _is_local(host)]
    if remote and not (env.https or env.plain_http):
        yield (
            "E012",
            (
                f"plain HTTP for {remote[0]}: set KARPDASH_HTTPS=1 behind TLS, or KARPDASH_PLAIN_HTTP=1 where "
                "passwords in clear do no harm"
            ),
        )
    for origin in env.trusted_origins:
        if not origin.startswith("https://" if env.https else ("https://", "http://")):
            yield "E013", f"KARPDASH_TRUSTED_ORIGINS: {origin!r} must begin with https://"


def _has_port(host: str) -> bool:
    return ":" in host and not host.startswith("[")


def _is_local(host: str) -> bool:
    bare = host.strip("[]")
    try:
        return host in LOCAL_HOSTS or ipaddress.ip_address(bare).is_loopback
    except ValueError:
        return host.endswith(".localhost")


def _service_problems(env: Env) -> Problems:
    database = env.database
    if database.get("HOST", "")[:1] not in ("", "/") and database.get("PASSWORD", "").lower() in COMMON_PASSWORDS:
        yield "E014", "KARPDASH_DATABASE_URL has no password, or one that everybody tries first"
    if _is_remote(database) and database.get("OPTIONS", {}).get("sslmode") not in EXPLICIT_SSL_MODES:
        yield (
            "E018",
            (
                "KARPDASH_DATABASE_URL must end with ?sslmode=verify-full (and &sslrootcert=/path of its CA), or with "
                "?sslmode=disable in a network that nobody else is in"
            ),
        )
    if urlsplit(env.broker_url).scheme == "memory":
        yield "E015", "KARPDASH_BROKER_URL: a broker in memory reaches no worker"
    for text in env.allowed_networks:
        if reason := _too_wide(text):
            yield "E016", f"KARPDASH_ALLOWED_NETWORKS: {text!r} {reason}"


def _is_remote(database: dict[str, Any]) -> bool:
    """Whether the database is a PostgreSQL server that is reached over a network."""
    host = database.get("HOST", "")
    return host[:1] not in ("", "/") and not _is_local(host)


def _too_wide(text: str) -> str:
    try:
        network = ipaddress.ip_network(text)
    except ValueError:
        return "is no network such as 10.1.0.0/16"
    return (
        "opens nearly every address: name the networks of your clusters" if network.prefixlen < SHORTEST_PREFIX else ""
    )
