"""All settings of the product: each is an annotated field of `Env`, read once from the environment."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from karpdash.configuration.declaration import Setting, setting, settings_of, texts
from karpdash.configuration.values import (
    read_alive_file,
    read_audit_file,
    read_audit_url,
    read_broker,
    read_charts,
    read_database,
    read_email,
    read_endpoint,
    read_keys,
    read_line,
    read_oidc_issuer,
    read_scopes,
    read_signing_key,
    read_token,
)
from karpdash.files import data_folder
from migrations_app.clients.addresses import is_loopback
from migrations_app.clients.audit_sink import Sinks
from migrations_app.clients.aws.cross_account import AwsCredentials, OwnIdentity
from migrations_app.clients.identity_provider import OidcClient
from migrations_app.clients.mail import MailServer
from migrations_app.clients.secret import Secret
from migrations_app.errors import InvalidSetting

NO_SECRET = Secret("")
LogLevel = Literal["DEBUG", "INFO", "WARNING", "ERROR"]


@dataclass(frozen=True, kw_only=True)
class Env:
    """The validated values. `database` is Django's dictionary for one database. The last fields combine settings."""

    data_dir: Path = setting(
        Path(),
        "Folder for SQLite, keys and the embedded broker's socket; empty: `var` of a checkout, otherwise the "
        "platform's folder for data, such as ~/.local/share/karpdash.",
    )
    database: dict[str, Any] = setting(
        {},
        "postgres://user:password@host/name?sslmode=verify-full or sqlite:///path; empty: SQLite in DATA_DIR.",
        read=read_database,
        variable="DATABASE_URL",
        secret=True,
    )
    broker_url: str = setting(
        "",
        "redis://, rediss:// or redis+socket://; empty: the embedded broker's socket.",
        read=read_broker,
        secret=True,
    )
    secret_key: str = setting("", "Django's signing key; empty: a generated key file in DATA_DIR.", secret=True)
    encryption_keys: tuple[tuple[str, bytes], ...] = setting(
        (),
        "id:base64 pairs of 32-byte keys, comma separated, newest first; empty: a key file.",
        read=read_keys,
        secret=True,
    )
    allowed_hosts: tuple[str, ...] = setting(
        ("localhost", "127.0.0.1", "[::1]"), "Host names that requests may carry, comma separated."
    )
    trusted_origins: tuple[str, ...] = setting((), "Origins with scheme for CSRF behind a proxy, comma separated.")
    https: bool = setting(False, "1: cookies only over TLS, HSTS, redirect; for every deployment behind TLS.")
    behind_proxy: bool = setting(False, "1: X-Forwarded-Proto and X-Forwarded-For of the proxy in front are believed.")
    plain_http: bool = setting(False, "1: pages are served without TLS beyond this machine too; passwords go in clear.")
    allow_loopback: bool = setting(False, "1: clusters on loopback addresses may be registered; development only.")
    allow_private: bool = setting(True, "0: clusters on private address ranges are refused.")
    allowed_networks: tuple[str, ...] = setting(
        (), "Networks in CIDR form that are allowed; never metadata services, karpdash's own database or its broker."
    )
    scan_interval: int = setting(
        3600,
        "Seconds between two scans of a cluster; a result is out of date after three of them. 0: only on demand, and "
        "out of date after a day.",
        low=0,
        high=604_800,
    )
    probe_seconds: int = setting(5, "Seconds in which a cluster has to answer before its scan.", low=1, high=60)
    scan_deadline: int = setting(600, "Seconds after which a scan is given up.", low=10, high=3_600)
    scan_lease: int = setting(
        60, "Seconds without a heartbeat after which another worker takes a scan over.", low=5, high=600
    )
    agent_lost_after: int = setting(
        20, "Seconds without a heartbeat after which a cluster's agent counts as lost.", low=2, high=300
    )
    sweep_interval: int = setting(15, "Seconds between two searches for due, lost and stranded scans.", low=1, high=300)
    worker_slots: int = setting(2, "Scans that one worker runs at once.", low=1, high=64)
    probe_slots: int = setting(
        8, "Clusters that one worker asks at once whether they answer, before their scan.", low=1, high=64
    )
    action_slots: int = setting(
        2,
        "Steps of rollouts that one worker takes at once; 1 with `karpdash up`. 0: no worker of actions runs, and "
        "plans are refused.",
        low=0,
        high=64,
    )
    alive_file: str = setting(
        "",
        "File that a worker or beat touches while it works, for `python -m karpdash.alive`; empty: none.",
        read=read_alive_file,
    )
    free_percent: int = setting(
        10, "No scan begins while a disk of karpdash has less than this share left.", low=0, high=90
    )
    free_mib: int = setting(1024, "No scan begins while a disk of karpdash has fewer MiB left.", low=0, high=1_048_576)
    metrics_open: bool = setting(False, "1: /metrics needs no token; for networks that only the monitoring reaches.")
    stop_all_actions: bool = setting(False, "1: nothing that changes a cluster is sent, whatever the pages say.")
    settle_seconds: int = setting(
        40, "Seconds after its deadline until a request without an answer counts as lost.", low=0, high=600
    )
    gate_poll: int = setting(2, "Seconds between two reads of a cluster while a rollout waits.", low=0, high=60)
    cancel_seconds: int = setting(10, "Seconds after its start in which a rollout sends nothing yet.", low=0, high=300)
    audit_signing_key: bytes = setting(
        b"",
        "base64 of 32 bytes that sign the audit log's checkpoints; empty: a key file in DATA_DIR.",
        read=read_signing_key,
        secret=True,
    )
    audit_file: str = setting(
        "", "File outside of the database that every checkpoint of the audit log is added to.", read=read_audit_file
    )
    audit_url: str = setting(
        "", "https address that every checkpoint of the audit log is posted to, as JSON lines.", read=read_audit_url
    )
    audit_token: Secret = setting(NO_SECRET, "Bearer token for AUDIT_URL.", read=read_token, secret=True)
    chart_registry: str = setting(
        "official",
        "Where charts are pulled from: official, a mirror such as oci://registry.example/karpenter, or empty.",
        read=read_charts,
    )
    controller_upgrades: bool = setting(
        False,
        "1: plans may upgrade Karpenter's controller, by a real helm or in the object of Flux or Argo CD; each needs a "
        "role of its own.",
    )
    helm: str = setting("", "Path of the helm 3 that controller upgrades run; empty: the one on the worker's path.")
    helm_seconds: int = setting(
        300, "Seconds that the hooks of a chart may take in a controller upgrade.", low=10, high=1_800
    )
    email: MailServer | None = setting(
        None,
        "smtp:// (STARTTLS) or smtps://user:password@host:port?from=address, for e-mail; empty: none.",
        read=read_email,
        variable="EMAIL_URL",
        secret=True,
    )
    oidc_issuer: str = setting(
        "", "https address of the OpenID Connect provider that people sign in at; empty: off.", read=read_oidc_issuer
    )
    oidc_client_id: str = setting("", "What the provider calls karpdash.")
    oidc_client_secret: Secret = setting(
        NO_SECRET, "The secret that goes with OIDC_CLIENT_ID.", read=Secret, secret=True
    )
    oidc_username_claim: str = setting(
        "preferred_username", "Claim of the ID token that names the account.", read=read_line
    )
    oidc_groups_claim: str = setting("groups", "Claim of the ID token that lists the person's groups.", read=read_line)
    oidc_groups_prefix: str = setting("", "Only groups that begin so become teams; it is cut off their names.")
    oidc_scopes: str = setting(
        "openid profile email", "What is asked of the provider, separated by spaces.", read=read_scopes
    )
    oidc_label: str = setting(
        "single sign-on", "What the button on the sign-in page calls the provider.", read=read_line
    )
    log_level: LogLevel = setting("INFO", "DEBUG, INFO, WARNING or ERROR.", read=str.upper)
    aws_access_key_id: str = setting("", "karpdash's own AWS identity; it takes the role of each cluster.", secret=True)
    aws_secret_access_key: Secret = setting(NO_SECRET, "The other half of AWS_ACCESS_KEY_ID.", read=Secret, secret=True)
    aws_session_token: Secret = setting(NO_SECRET, "Only with keys of a session: its token.", read=Secret, secret=True)
    aws_ambient: bool = setting(
        False, "1: without keys, uses the AWS identity of its environment: AWS_* variables, IRSA or EKS Pod Identity."
    )
    aws_endpoint: str = setting(
        "", "Another address for all of AWS: https, or http on this machine; for tests.", read=read_endpoint
    )

    aws: OwnIdentity = field(default_factory=OwnIdentity)
    audit_sinks: Sinks = field(default_factory=Sinks)
    oidc: OidcClient | None = None


@cache
def settings() -> tuple[Setting, ...]:
    """Returns every setting, in the order of the docs."""
    return settings_of(Env)


@cache
def current() -> Env:
    """Returns the environment of this process. Raises InvalidSetting with the variable."""
    return read(os.environ)


def read(environ: Mapping[str, str]) -> Env:
    """Validates every variable and returns the values. Raises InvalidSetting with the variable's name in `where`."""
    values = texts(settings(), environ)
    folder = Path(values.get("data_dir") or data_folder(environ)).absolute()
    if_empty = _texts_of(folder)
    filled = if_empty | {name: text for name, text in values.items() if text or name not in if_empty}
    env = Env(**{setting.name: setting.value(filled[setting.name]) for setting in settings() if setting.name in filled})
    return replace(env, aws=_aws(env), audit_sinks=_audit_sinks(env), oidc=_oidc(env))


def _texts_of(folder: Path) -> dict[str, str]:
    """Returns defaults for empty settings: paths in the data folder, and the keys that `karpdash up` has created there.
    Without these keys system_checks refuses to start.
    """
    key_files = {"secret_key": "secret.key", "encryption_keys": "encryption.keys", "audit_signing_key": "audit.key"}
    return {
        "data_dir": str(folder),
        "database": f"sqlite:///{folder}/karpdash.sqlite3",
        "broker_url": f"redis+socket://{folder}/broker/broker.sock?virtual_host=0",
        **{name: (folder / file).read_text().strip() for name, file in key_files.items() if (folder / file).is_file()},
    }


def _bad(name: str, message: str) -> InvalidSetting:
    return InvalidSetting(message, where=f"KARPDASH_{name}")


def _aws(env: Env) -> OwnIdentity:
    keys = AwsCredentials(
        access_key_id=env.aws_access_key_id, secret=env.aws_secret_access_key, token=env.aws_session_token
    )
    any_key = bool(keys.access_key_id or keys.secret or keys.token)
    if any_key and not keys.access_key_id:
        raise _bad("AWS_ACCESS_KEY_ID", "is missing beside the other half of the key or its token")
    if any_key and not keys.secret:
        raise _bad("AWS_SECRET_ACCESS_KEY", "is missing beside KARPDASH_AWS_ACCESS_KEY_ID")
    return OwnIdentity(keys=keys if any_key else None, ambient=env.aws_ambient, endpoint=env.aws_endpoint)


def _audit_sinks(env: Env) -> Sinks:
    """Returns the sinks of audit checkpoints. Plain http is accepted only on this machine, and only if loopback
    addresses are allowed.
    """
    parts = urlsplit(env.audit_url)
    if parts.scheme == "http" and not (env.allow_loopback and is_loopback(parts.hostname or "")):
        raise _bad("AUDIT_URL", "plain http is allowed for a loopback address only, with KARPDASH_ALLOW_LOOPBACK=1")
    return Sinks(file=env.audit_file, url=env.audit_url, token=env.audit_token)


def _oidc(env: Env) -> OidcClient | None:
    """Returns the settings of OpenID Connect; None if sign-in uses passwords only."""
    if not env.oidc_issuer:
        if env.oidc_client_id or env.oidc_client_secret:
            raise _bad("OIDC_ISSUER", "is missing beside the other KARPDASH_OIDC_ settings")
        return None
    for name, text in (("CLIENT_ID", env.oidc_client_id), ("CLIENT_SECRET", env.oidc_client_secret.reveal())):
        if not text or not text.isprintable():
            raise _bad(f"OIDC_{name}", "must be a text in one line")
    return OidcClient(
        issuer=env.oidc_issuer,
        client_id=env.oidc_client_id,
        client_secret=env.oidc_client_secret,
        username_claim=env.oidc_username_claim,
        groups_claim=env.oidc_groups_claim,
        groups_prefix=env.oidc_groups_prefix,
        scopes=env.oidc_scopes,
        label=env.oidc_label,
    )
