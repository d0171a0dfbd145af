"""Reads a kubeconfig by an allow-list (K01, T01, T02): runs no program, opens no file, ignores no field.

Every field that is not on the list is refused by name with a code and a fixed message that says what to do instead,
so a file never means less here than its owner expects. Certificates and keys are checked in memory before any
connection.
"""

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization

from migrations_app.clients.kubernetes.connection import Connection, Server, parse_host, parse_server
from migrations_app.clients.secret import Secret
from migrations_app.errors import InvalidKubeconfig
from migrations_app.manifests.yaml_reader import read_document

_FLATTEN = "kubectl config view --raw --flatten --minify writes such a file"
_FILE = ("file_reference", f"files named by a kubeconfig are never read; put the content inside ({_FLATTEN})")
_IMPERSONATION = ("impersonation_refused", "a kubeconfig does not choose whom to act as")
_BASIC = ("basic_auth_refused", "passwords are not accepted; use a token or a client certificate")

CLUSTER_REFUSALS: Mapping[str, tuple[str, str]] = {
    "certificate-authority": _FILE,
    "insecure-skip-tls-verify": ("tls_verify_refused", "the server's certificate is always verified; give its CA"),
    "proxy-url": ("proxy_refused", "a kubeconfig does not choose a proxy"),
}
USER_REFUSALS: Mapping[str, tuple[str, str]] = {
    "auth-provider": (
        "auth_provider_refused",
        "auth providers run programs and read files; use a token or a client certificate",
    ),
    "tokenFile": _FILE,
    "client-certificate": _FILE,
    "client-key": _FILE,
    "username": _BASIC,
    "password": _BASIC,
    "as": _IMPERSONATION,
    "as-uid": _IMPERSONATION,
    "as-groups": _IMPERSONATION,
    "as-user-extra": _IMPERSONATION,
}

_PLAIN_EXEC = "programs named by a kubeconfig are never run; use a token or a client certificate"
_EKS_EXEC = (
    "programs named by a kubeconfig are never run; this one asks AWS for a token of the EKS cluster{cluster}: "
    "register the cluster by its EKS ARN instead, or use a service account's token"
)
_CLUSTER_FLAGS = ("--cluster-name", "--cluster-id", "-i")
_CLUSTER_NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,99}")


def exec_refusal(section: object, where: str) -> InvalidKubeconfig:
    """The error for a user entry with `exec`: code `exec_refused`, with a hint for EKS commands."""
    eks = _eks_cluster(section)
    if eks is None:
        return InvalidKubeconfig(_PLAIN_EXEC, code="exec_refused", where=f"{where}.exec")
    message = _EKS_EXEC.format(cluster=f" {eks}" if eks else "")
    return InvalidKubeconfig(message, code="exec_refused", where=f"{where}.exec")


def _eks_cluster(section: object) -> str | None:
    """The EKS cluster name, empty if it is not given; None if the command does not fetch EKS tokens."""
    if not isinstance(section, dict):
        return None
    program, words = _program(section.get("command")), _words(section.get("args"))
    by_aws = program == "aws" and "eks" in words and "get-token" in words
    if not by_aws and program != "aws-iam-authenticator":
        return None
    cluster_names = (after for word, after in pairwise(words) if word in _CLUSTER_FLAGS)
    name = next(cluster_names, "")
    return name if _CLUSTER_NAME.fullmatch(name) else ""


def _program(command: Any) -> str:  # noqa: ANN401 - whatever stands in the file
    last = re.split(r"[/\\]", command)[-1] if isinstance(command, str) else ""
    return last.removesuffix(".exe")


def _words(args: Any) -> list[str]:  # noqa: ANN401 - whatever stands in the file
    return [word for word in args if isinstance(word, str)] if isinstance(args, list) else []


def quoted(text: str) -> str:
    """A name from the file in quotes, shortened and without control characters."""
    clean = "".join(char if char.isprintable() else "?" for char in text[:80])
    return f'"{clean}"'


MAX_CERTIFICATES = 64


def decoded(text: str, *, where: str) -> str:
    """The PEM text decoded from base64. Raises InvalidKubeconfig with code `bad_base64`."""
    try:
        return base64.b64decode("".join(text.split()), validate=True).decode("ascii")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        raise InvalidKubeconfig("not base64 of a PEM text", code="bad_base64", where=where) from None


def certificates(pem: str, *, where: str) -> list[x509.Certificate]:
    """All certificates in the text, at least one. Raises InvalidKubeconfig with code `bad_certificate`."""
    try:
        chain = x509.load_pem_x509_certificates(pem.encode())
    except (ValueError, UnsupportedAlgorithm, x509.InvalidVersion):
        chain = []
    if not chain or len(chain) > MAX_CERTIFICATES:
        raise InvalidKubeconfig("no certificate could be read", code="bad_certificate", where=where)
    return chain


def check_pair(certificate_pem: str, key_pem: Secret, *, where: str) -> None:
    """Returns if the key belongs to the first certificate. Raises InvalidKubeconfig: `bad_key` or `key_mismatch`."""
    leaf = certificates(certificate_pem, where=f"{where}.client-certificate-data")[0]
    try:
        key = serialization.load_pem_private_key(key_pem.reveal().encode(), password=None)
        same = _public(leaf.public_key()) == _public(key.public_key())
    except (ValueError, TypeError, UnsupportedAlgorithm, AttributeError):
        # An encrypted key raises TypeError; a key type that cannot sign has no comparable public key.
        raise InvalidKubeconfig(
            "the private key cannot be read; keys with a password are not accepted",
            code="bad_key",
            where=f"{where}.client-key-data",
        ) from None
    if not same:
        raise InvalidKubeconfig("the key does not belong to the certificate", code="key_mismatch", where=where)


def _public(key: object) -> bytes:
    encoded: bytes = key.public_bytes(  # type: ignore[attr-defined]  # every key of cryptography has it, no common type does
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return encoded


Tree = Mapping[str, Any]

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where Kubernetes mounts the pod's service account. The only files that are read for a connection."""
IN_CLUSTER_SERVER = Server("kubernetes.default.svc")
LONGEST_FILE = 256 * 1024

_ROOT = frozenset(
    {"apiVersion", "kind", "preferences", "clusters", "contexts", "users", "current-context", "extensions"}
)
_CLUSTER = frozenset({"server", "certificate-authority-data", "tls-server-name", "disable-compression", "extensions"})
_CONTEXT = frozenset({"cluster", "user", "namespace", "extensions"})
_USER = frozenset({"token", "client-certificate-data", "client-key-data", "extensions"})
_PREFERENCES = frozenset({"colors", "extensions"})
_TOKEN = re.compile(r"[\x21-\x7e]{1,16384}")
_ENTRIES = 500


def read_kubeconfig(raw: bytes, *, context: str = "") -> Connection:
    """The connection of the given context, or of the current one. Raises InvalidKubeconfig; `where` names the field."""
    config = _parse(raw)
    name = _context_name(config, context)
    chosen = config.contexts[name]
    cluster = _referenced(config.clusters, chosen, key="cluster", name=name)
    user = _referenced(config.users, chosen, key="user", name=name)
    return _connection(cluster, user, context=name)


def in_cluster(mount: Path = SERVICE_ACCOUNT) -> Connection:
    """The connection of the pod's own service account. Raises InvalidKubeconfig with code `not_in_cluster` if none is
    mounted.
    """
    try:
        token = _read_mounted(mount / "token").strip()
        ca_pem = _read_mounted(mount / "ca.crt")
    except (OSError, UnicodeDecodeError):
        raise InvalidKubeconfig("this process has no service account of a cluster", code="not_in_cluster") from None
    certificates(ca_pem, where="ca.crt")
    return Connection(server=IN_CLUSTER_SERVER, ca_pem=ca_pem, token=_token(token, "token"), context="in-cluster")


def _read_mounted(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(LONGEST_FILE).decode("ascii")


@dataclass(frozen=True, slots=True)
class _Config:
    clusters: dict[str, Tree]
    contexts: dict[str, Tree]
    users: dict[str, Tree]
    current: str


def _parse(raw: bytes) -> _Config:
    """The whole file. Every entry is checked, including those that the chosen context does not use."""
    root = _map(read_document(raw, error=InvalidKubeconfig), "")
    _refuse_unknown(root, _ROOT, where="")
    if root.get("apiVersion", "v1") != "v1" or root.get("kind", "Config") != "Config":
        _refuse("this is not a kubeconfig: it needs apiVersion v1 and kind Config", "not_a_kubeconfig", where="kind")
    _refuse_unknown(_map(_value_or(root, "preferences", instead={}), "preferences"), _PREFERENCES, where="preferences")
    return _Config(
        clusters=_entries(root, "clusters", check=_check_cluster),
        contexts=_entries(root, "contexts", check=_check_context),
        users=_entries(root, "users", check=_check_user),
        current=_text(root, "current-context", where="") or "",
    )


def _entries(root: Tree, plural: str, *, check: Callable[[Tree, str], None]) -> dict[str, Tree]:
    entries: dict[str, Tree] = {}
    items = _value_or(root, plural, instead=[])
    if not isinstance(items, list) or len(items) > _ENTRIES:
        _refuse(f"a list of at most {_ENTRIES} entries is needed", "wrong_type", where=plural)
    for number, entry in enumerate(items):
        where = f"{plural}[{number}]"
        name, body = _entry(_map(entry, where), plural[:-1], where=where)
        if name in entries:
            _refuse(f"the name {quoted(name)} is used twice", "duplicate_name", where=where)
        check(body, f"{where}.{plural[:-1]}")
        entries[name] = body
    return entries


def _entry(entry: Tree, singular: str, *, where: str) -> tuple[str, Tree]:
    _refuse_unknown(entry, frozenset({"name", singular}), where=where)
    name = _text(entry, "name", where=where)
    if not name or len(name) > 1024:
        _refuse("an entry needs a name", "wrong_type", where=f"{where}.name")
    return name, _map(_value_or(entry, singular, instead={}), f"{where}.{singular}")


def _check_cluster(cluster: Tree, where: str) -> None:
    if cluster.get("insecure-skip-tls-verify") is False:
        cluster = {key: value for key, value in cluster.items() if key != "insecure-skip-tls-verify"}
    _refuse_listed(cluster, CLUSTER_REFUSALS, where=where)
    _refuse_unknown(cluster, _CLUSTER, where=where)
    for key in ("server", "certificate-authority-data", "tls-server-name"):
        _text(cluster, key, where=where)


def _check_context(context: Tree, where: str) -> None:
    _refuse_unknown(context, _CONTEXT, where=where)
    for key in ("cluster", "user", "namespace"):
        _text(context, key, where=where)


def _check_user(user: Tree, where: str) -> None:
    if "exec" in user:
        raise exec_refusal(user["exec"], where)
    _refuse_listed(user, USER_REFUSALS, where=where)
    _refuse_unknown(user, _USER, where=where)
    for key in ("token", "client-certificate-data", "client-key-data"):
        _text(user, key, where=where)


def _context_name(config: _Config, requested: str) -> str:
    name = requested or config.current or (next(iter(config.contexts)) if len(config.contexts) == 1 else "")
    if not name:
        _refuse("the file has no current context; name one", "context_missing", where="current-context")
    if name not in config.contexts:
        names = ", ".join(map(quoted, list(config.contexts)[:10])) or "none"
        _refuse(f"there is no context {quoted(name)}; there are: {names}", "context_unknown", where="contexts")
    return name


def _referenced(entries: dict[str, Tree], context: Tree, *, key: str, name: str) -> Tree:
    entry_name = context.get(key) or ""
    if entry_name not in entries:
        _refuse(f"context {quoted(name)} names a {key} that is not in the file", f"{key}_unknown", where="contexts")
    return entries[entry_name]


def _connection(cluster: Tree, user: Tree, *, context: str) -> Connection:
    ca = cluster.get("certificate-authority-data")
    if not ca:
        _refuse("the cluster's CA has to be inside the file", "ca_missing", where="clusters.certificate-authority-data")
    ca_pem = decoded(ca, where="clusters.certificate-authority-data")
    certificates(ca_pem, where="clusters.certificate-authority-data")
    name = cluster.get("tls-server-name")
    certificate, key = _pair(user)
    token = _token(user["token"].rstrip(), "users.token") if user.get("token") else None
    if token is None and certificate is None:
        _refuse("the user has neither a token nor a client certificate", "no_credentials", where="users")
    return Connection(
        server=parse_server(cluster.get("server") or "", where="clusters.server"),
        ca_pem=ca_pem,
        token=token,
        client_cert_pem=certificate,
        client_key_pem=key,
        tls_server_name=parse_host(name, where="clusters.tls-server-name") if name else None,
        context=context,
    )


def _pair(user: Tree) -> tuple[str | None, Secret | None]:
    certificate, key = user.get("client-certificate-data"), user.get("client-key-data")
    if not certificate and not key:
        return None, None
    if not certificate or not key:
        _refuse("a client certificate needs its key, and a key its certificate", "key_mismatch", where="users")
    cert_pem = decoded(certificate, where="users.client-certificate-data")
    key_pem = Secret(decoded(key, where="users.client-key-data"))
    check_pair(cert_pem, key_pem, where="users")
    return cert_pem, key_pem


def _token(text: str, where: str) -> Secret:
    if not _TOKEN.fullmatch(text):
        _refuse("the token contains characters that are not allowed in a token", "bad_token", where=where)
    return Secret(text)


def _value_or(tree: Tree, key: str, *, instead: object) -> object:
    """The value, or `instead` if the key is missing or null."""
    value = tree.get(key)
    return instead if value is None else value


def _map(value: object, where: str) -> Tree:
    if not isinstance(value, dict):
        _refuse("a map is needed here", "wrong_type" if where else "not_a_kubeconfig", where=where)
    return value


def _text(tree: Tree, key: str, *, where: str) -> str | None:
    value = tree.get(key)
    if value is not None and not isinstance(value, str):
        _refuse("a text is needed here", "wrong_type", where=f"{where}.{key}".lstrip("."))
    return value


def _refuse_listed(tree: Tree, refusals: Mapping[str, tuple[str, str]], *, where: str) -> None:
    for key, (code, message) in refusals.items():
        if key in tree:
            _refuse(message, code, where=f"{where}.{key}")


def _refuse_unknown(tree: Tree, allowed: frozenset[str], *, where: str) -> None:
    unknown = next((key for key in tree if key not in allowed), None)
    if unknown is not None:
        _refuse(f"the key {quoted(unknown)} is not known here", "unknown_key", where=where)


def _refuse(message: str, code: str, *, where: str) -> NoReturn:
    raise InvalidKubeconfig(message, code=code, where=where)
