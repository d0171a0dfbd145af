"""Reads and validates the environment once into a frozen value. Every setting of the product is a field of `Env`."""

import base64
import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from karpdash.files import data_folder
from karpdash.oidc_settings import read_oidc
from migrations_app.clients.audit_sink import Sinks
from migrations_app.clients.aws.cross_account import AwsCredentials, OwnIdentity
from migrations_app.clients.helm.charts import read_registry
from migrations_app.clients.identity_provider import OidcClient
from migrations_app.clients.mail import MailServer, read_mail_server
from migrations_app.clients.secret import Secret
from migrations_app.errors import InvalidInput, InvalidSetting


def _setting(default: str, doc: str, *, shown: bool = True) -> Any:  # noqa: ANN401 - dataclasses.field hides its type in the same way
    return field(default=default, metadata={"doc": doc}, repr=shown)


@dataclass(frozen=True, slots=True)
class Raw:
    """The texts of the variables KARPDASH_<NAME>; the table in the docs is generated from these fields."""

    data_dir: str = _setting(
        "",
        "Folder for SQLite, keys and the embedded broker's socket; empty: `var` of a checkout, otherwise the "
        "platform's folder for data, such as ~/.local/share/karpdash.",
    )
    database_url: str = _setting("", "postgres://user:password@host/name or sqlite:///path; empty: SQLite in DATA_DIR.")
    broker_url: str = _setting("", "redis://, rediss:// or redis+socket://; empty: the embedded broker's socket.")
    secret_key: str = _setting("", "Django's signing key; empty: a generated key file in DATA_DIR.")
    encryption_keys: str = _setting(
        "", "id:base64 pairs of 32-byte keys, comma separated, newest first; empty: a key file."
    )
    allowed_hosts: str = _setting("localhost,127.0.0.1,[::1]", "Host names that requests may carry, comma separated.")
    trusted_origins: str = _setting("", "Origins with scheme for CSRF behind a proxy, comma separated.")
    https: str = _setting("0", "1: cookies only over TLS, HSTS, redirect; for every deployment behind TLS.")
    behind_proxy: str = _setting("0", "1: X-Forwarded-Proto and X-Forwarded-For of the proxy in front are believed.")
    plain_http: str = _setting("0", "1: pages are served without TLS beyond this machine too; passwords go in clear.")
    allow_loopback: str = _setting("0", "1: clusters on loopback addresses may be registered; development only.")
    allow_private: str = _setting("1", "0: clusters on private address ranges are refused.")
    allowed_networks: str = _setting(
        "", "Networks in CIDR form that are allowed; never metadata services, karpdash's own database or its broker."
    )
    scan_interval: str = _setting("3600", "Seconds between two scans of a cluster; 0: only on demand.")
    scan_deadline: str = _setting("600", "Seconds after which a scan is given up.")
    scan_lease: str = _setting("60", "Seconds without a sign of life after which another worker takes a scan over.")
    sweep_interval: str = _setting("15", "Seconds between two looks for due, lost and stranded scans.")
    worker_slots: str = _setting("2", "Scans that one worker runs at once.")
    probe_slots: str = _setting("8", "Clusters that one worker asks at once whether they answer, before their scan.")
    action_slots: str = _setting("2", "Steps of rollouts that one worker takes at once; with `karpdash up` 1.")
    free_percent: str = _setting("10", "No scan begins while a disk of karpdash has less than this share left.")
    free_mib: str = _setting("1024", "No scan begins while a disk of karpdash has fewer MiB left.")
    metrics_open: str = _setting("0", "1: /metrics needs no token; for networks that only the monitoring reaches.")
    stop_all_actions: str = _setting("0", "1: nothing that changes a cluster is sent, whatever the pages say.")
    settle_seconds: str = _setting("40", "Seconds after its deadline until a request without an answer counts as lost.")
    gate_poll: str = _setting("2", "Seconds between two looks at a cluster while a rollout waits.")
    cancel_seconds: str = _setting("10", "Seconds after its start in which a rollout sends nothing yet.")
    audit_signing_key: str = _setting(
        "", "base64 of 32 bytes that sign the audit log's checkpoints; empty: a key file in DATA_DIR.", shown=False
    )
    audit_file: str = _setting("", "File outside of the database that every checkpoint of the audit log is added to.")
    audit_url: str = _setting("", "https address that every checkpoint of the audit log is posted to, as JSON lines.")
    audit_token: str = _setting("", "Bearer token for AUDIT_URL.", shown=False)
    chart_registry: str = _setting(
        "official",
        "Where charts are pulled from: official, a mirror such as oci://registry.example/karpenter, or empty.",
    )
    email_url: str = _setting(
        "", "smtp:// (STARTTLS) or smtps://user:password@host:port?from=address, for e-mail; empty: none.", shown=False
    )
    oidc_issuer: str = _setting("", "https address of the OpenID Connect provider that people sign in at; empty: off.")
    oidc_client_id: str = _setting("", "What the provider calls karpdash.")
    oidc_client_secret: str = _setting("", "The secret that goes with OIDC_CLIENT_ID.", shown=False)
    oidc_username_claim: str = _setting("preferred_username", "Claim of the ID token that names the account.")
    oidc_groups_claim: str = _setting("groups", "Claim of the ID token that lists the person's groups.")
    oidc_groups_prefix: str = _setting("", "Only groups that begin so become teams; it is cut off their names.")
    oidc_scopes: str = _setting("openid profile email", "What is asked of the provider, separated by spaces.")
    oidc_label: str = _setting("single sign-on", "What the button on the sign-in page calls the provider.")
    log_level: str = _setting("INFO", "DEBUG, INFO, WARNING or ERROR.")
    aws_access_key_id: str = _setting(
        "", "karpdash's own AWS identity; it takes the role of each cluster.", shown=False
    )
    aws_secret_access_key: str = _setting("", "The other half of AWS_ACCESS_KEY_ID.", shown=False)
    aws_session_token: str = _setting("", "Only with keys of a session: its token.", shown=False)
    aws_ambient: str = _setting(
        "0", "1: without keys, the surroundings are the AWS identity: AWS_* variables, IRSA or EKS Pod Identity."
    )
    aws_endpoint: str = _setting("", "Another address for all of AWS: https, or http on this machine; for tests.")


@dataclass(frozen=True, slots=True)
class Env:
    """The validated values. `database` is Django's dictionary for one database."""

    data_dir: Path
    database: dict[str, Any]
    broker_url: str
    secret_key: str
    encryption_keys: tuple[tuple[str, bytes], ...]
    allowed_hosts: tuple[str, ...]
    trusted_origins: tuple[str, ...]
    https: bool
    behind_proxy: bool
    allow_loopback: bool
    allow_private: bool
    allowed_networks: tuple[str, ...]
    scan_interval: int
    scan_deadline: int
    scan_lease: int
    sweep_interval: int
    worker_slots: int
    probe_slots: int
    action_slots: int
    free_percent: int
    free_mib: int
    metrics_open: bool
    stop_all_actions: bool
    settle_seconds: int
    gate_poll: int
    log_level: str
    cancel_seconds: int = 10
    plain_http: bool = False
    chart_registry: str = "official"
    aws: OwnIdentity = field(default_factory=OwnIdentity)
    audit_signing_key: bytes = field(default=b"", repr=False)
    audit_sinks: Sinks = field(default_factory=Sinks)
    oidc: OidcClient | None = None
    email: MailServer | None = None


def settings_rows() -> tuple[tuple[str, str, str], ...]:
    """(environment variable, default, description) of each setting, for the docs."""
    return tuple((f"KARPDASH_{f.name.upper()}", str(f.default), f.metadata["doc"]) for f in fields(Raw))


@cache
def current() -> Env:
    """The environment of this process; raises InvalidSetting with the variable."""
    return read(os.environ)


def read(environ: Mapping[str, str]) -> Env:
    """Validates every variable. Raises InvalidSetting with the variable's name in `where`."""
    known = {f"KARPDASH_{f.name.upper()}": f.name for f in fields(Raw)}
    raw = Raw(**{name: environ[key].strip() for key, name in known.items() if key in environ})
    data_dir = Path(raw.data_dir or data_folder(environ)).absolute()
    return Env(
        data_dir=data_dir,
        database=_database(raw.database_url, data_dir),
        broker_url=_broker(raw.broker_url, data_dir),
        secret_key=raw.secret_key or _kept_secret(data_dir / "secret.key"),
        encryption_keys=_keys(raw.encryption_keys or _kept_secret(data_dir / "encryption.keys")),
        allowed_hosts=_listed(raw.allowed_hosts),
        trusted_origins=_listed(raw.trusted_origins),
        https=_switch("HTTPS", raw.https),
        behind_proxy=_switch("BEHIND_PROXY", raw.behind_proxy),
        plain_http=_switch("PLAIN_HTTP", raw.plain_http),
        allow_loopback=_switch("ALLOW_LOOPBACK", raw.allow_loopback),
        allow_private=_switch("ALLOW_PRIVATE", raw.allow_private),
        allowed_networks=_listed(raw.allowed_networks),
        scan_interval=_number("SCAN_INTERVAL", raw.scan_interval, low=0, high=604_800),
        scan_deadline=_number("SCAN_DEADLINE", raw.scan_deadline, low=10, high=3_600),
        scan_lease=_number("SCAN_LEASE", raw.scan_lease, low=5, high=600),
        sweep_interval=_number("SWEEP_INTERVAL", raw.sweep_interval, low=1, high=300),
        worker_slots=_number("WORKER_SLOTS", raw.worker_slots, low=1, high=64),
        probe_slots=_number("PROBE_SLOTS", raw.probe_slots, low=1, high=64),
        action_slots=_number("ACTION_SLOTS", raw.action_slots, low=1, high=64),
        free_percent=_number("FREE_PERCENT", raw.free_percent, low=0, high=90),
        free_mib=_number("FREE_MIB", raw.free_mib, low=0, high=1_048_576),
        metrics_open=_switch("METRICS_OPEN", raw.metrics_open),
        stop_all_actions=_switch("STOP_ALL_ACTIONS", raw.stop_all_actions),
        settle_seconds=_number("SETTLE_SECONDS", raw.settle_seconds, low=0, high=600),
        gate_poll=_number("GATE_POLL", raw.gate_poll, low=0, high=60),
        cancel_seconds=_number("CANCEL_SECONDS", raw.cancel_seconds, low=0, high=300),
        log_level=_chosen("LOG_LEVEL", raw.log_level.upper(), choices=("DEBUG", "INFO", "WARNING", "ERROR")),
        chart_registry=_chart_registry(raw.chart_registry),
        aws=OwnIdentity(
            keys=_aws_keys(raw),
            ambient=_switch("AWS_AMBIENT", raw.aws_ambient),
            endpoint=_aws_endpoint(raw.aws_endpoint),
        ),
        audit_signing_key=_signing_key(raw.audit_signing_key or _kept_secret(data_dir / "audit.key")),
        audit_sinks=_audit_sinks(raw),
        oidc=read_oidc(raw),
        email=_email(raw.email_url),
    )


def _bad(name: str, message: str) -> InvalidSetting:
    return InvalidSetting(message, where=f"KARPDASH_{name}")


def _listed(text: str) -> tuple[str, ...]:
    return tuple(piece.strip() for piece in text.split(",") if piece.strip())


def _switch(name: str, text: str) -> bool:
    return _chosen(name, text, choices=("0", "1")) == "1"


def _chosen(name: str, text: str, *, choices: tuple[str, ...]) -> str:
    if text not in choices:
        raise _bad(name, f"{text!r} is none of {', '.join(choices)}")
    return text


def _number(name: str, text: str, *, low: int, high: int) -> int:
    if not text.isdecimal() or not low <= int(text) <= high:
        raise _bad(name, f"{text!r} is not a whole number from {low} to {high}")
    return int(text)


def _database(url: str, data_dir: Path) -> dict[str, Any]:
    parts = urlsplit(url or f"sqlite:///{data_dir}/karpdash.sqlite3")
    if parts.scheme == "sqlite":
        return _sqlite(parts.path[1:] if parts.path.startswith("//") else parts.path)
    if parts.scheme in ("postgres", "postgresql"):
        return _postgres(
            parts.hostname, parts.port, user=parts.username, password=parts.password, name=parts.path.lstrip("/")
        )
    raise _bad("DATABASE_URL", f"scheme {parts.scheme!r} is neither sqlite nor postgres")


def _sqlite(path: str) -> dict[str, Any]:
    # Measured: without IMMEDIATE most concurrent writes fail at once instead of waiting for the lock.
    options = {
        "timeout": 20,
        "transaction_mode": "IMMEDIATE",
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    }
    return {"ENGINE": "django.db.backends.sqlite3", "NAME": path, "OPTIONS": options}


def _postgres(
    host: str | None, port: int | None, *, user: str | None, password: str | None, name: str
) -> dict[str, Any]:
    if not name:
        raise _bad("DATABASE_URL", "names no database")
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": name,
        "HOST": unquote(host or ""),
        "PORT": str(port or ""),
        "USER": unquote(user or ""),
        "PASSWORD": unquote(password or ""),
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
    }


def _broker(url: str, data_dir: Path) -> str:
    chosen = url or f"redis+socket://{data_dir}/broker/broker.sock?virtual_host=0"
    if urlsplit(chosen).scheme not in ("redis", "rediss", "redis+socket", "memory"):
        raise _bad("BROKER_URL", f"scheme {urlsplit(chosen).scheme!r} is none of redis, rediss, redis+socket")
    return chosen


def _kept_secret(path: Path) -> str:
    """The text of a key file; empty if `karpdash up` has not created it: system_checks then refuses to start."""
    return path.read_text().strip() if path.is_file() else ""


def _keys(text: str) -> tuple[tuple[str, bytes], ...]:
    return tuple(_key(piece) for piece in _listed(text))


def _key(text: str) -> tuple[str, bytes]:
    name, _, encoded = text.partition(":")
    try:
        key = base64.b64decode(encoded, validate=True)
    except ValueError:
        raise _bad("ENCRYPTION_KEYS", f"key {name!r} is not base64") from None
    if len(key) != 32 or not name:
        raise _bad("ENCRYPTION_KEYS", f"key {name!r} must be id:base64 of 32 bytes")
    return name, key


def _signing_key(text: str) -> bytes:
    """The decoded key; error messages never contain the value."""
    try:
        key = base64.b64decode(text, validate=True)
    except ValueError:
        key = b"?"
    if len(key) not in (0, 32):
        raise _bad("AUDIT_SIGNING_KEY", "must be base64 of 32 bytes")
    return key


def _audit_sinks(raw: Raw) -> Sinks:
    if raw.audit_file and not Path(raw.audit_file).is_absolute():
        raise _bad("AUDIT_FILE", "must be an absolute path: every process writes to the same file")
    if not raw.audit_token.isascii() or not (raw.audit_token or "x").isprintable() or " " in raw.audit_token:
        raise _bad("AUDIT_TOKEN", "holds characters that no header may carry")
    return Sinks(file=raw.audit_file, url=_audit_url(raw), token=Secret(raw.audit_token))


def _audit_url(raw: Raw) -> str:
    """The URL; plain http is accepted only on this machine, and only if loopback addresses are allowed."""
    url = raw.audit_url
    if not url:
        return ""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise _bad("AUDIT_URL", "is no URL") from None
    if not url.isascii() or not url.isprintable() or " " in url or len(url) > 500:
        raise _bad("AUDIT_URL", "is no URL of at most 500 plain characters")
    if not host or parts.username is not None or parts.fragment or parts.scheme not in ("http", "https"):
        raise _bad("AUDIT_URL", "must be https://host/path")
    if parts.scheme == "http" and not (raw.allow_loopback == "1" and _is_this_machine(host)):
        raise _bad("AUDIT_URL", "plain http is only taken for a loopback address, with KARPDASH_ALLOW_LOOPBACK=1")
    return url


def _email(url: str) -> MailServer | None:
    """The mail server; None if no mail is sent. Messages never contain the URL, since it may hold a password."""
    try:
        return read_mail_server(url) if url else None
    except InvalidInput as wrong:
        raise _bad("EMAIL_URL", wrong.message) from None


def _aws_keys(raw: Raw) -> AwsCredentials | None:
    """The static keys; None if none is given. Messages never contain the values."""
    if not raw.aws_access_key_id and not raw.aws_secret_access_key and not raw.aws_session_token:
        return None
    if not raw.aws_access_key_id:
        raise _bad("AWS_ACCESS_KEY_ID", "is missing beside the other half of the key or its token")
    if not raw.aws_secret_access_key:
        raise _bad("AWS_SECRET_ACCESS_KEY", "is missing beside KARPDASH_AWS_ACCESS_KEY_ID")
    return AwsCredentials(
        access_key_id=raw.aws_access_key_id,
        secret=Secret(raw.aws_secret_access_key),
        token=Secret(raw.aws_session_token),
    )


def _aws_endpoint(url: str) -> str:
    """The endpoint for signed requests; plain http is accepted only on this machine."""
    if not url:
        return ""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise _bad("AWS_ENDPOINT", "is no URL") from None
    if parts.username is not None or not host or parts.scheme not in ("http", "https"):
        raise _bad("AWS_ENDPOINT", "must be https://host, or http://127.0.0.1:port for tests")
    if parts.scheme == "http" and not _is_this_machine(host):
        raise _bad("AWS_ENDPOINT", "plain http is only taken for a loopback address")
    return url


def _chart_registry(text: str) -> str:
    """The registry; empty if charts come from the data folder only."""
    if text in ("", "official"):
        return text
    try:
        read_registry(text)
    except InvalidInput as wrong:
        raise _bad("CHART_REGISTRY", wrong.message) from None
    return text


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
