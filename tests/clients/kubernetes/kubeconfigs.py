"""Kubeconfigs for tests: a good one, and everything that people and attackers put into them."""

import base64
import copy
from collections.abc import Iterator
from typing import Any

import yaml

from tests.fakes.certificates import Authority, Pair

Doc = dict[str, Any]
CA = Authority("kubeconfig")
PAIR: Pair = CA.issue(names=("user",), addresses=())
TOKEN = "token-5f2a-canary"


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def kubeconfig(*, user: Doc | None = None, cluster: Doc | None = None, **root: Any) -> Doc:
    """A good kubeconfig; `user` and `cluster` take the place of the whole entry, other names change the root."""
    good_cluster = {"server": "https://k.test:6443", "certificate-authority-data": b64(CA.pem)}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "preferences": {},
        "current-context": "main",
        "clusters": [{"name": "c", "cluster": good_cluster if cluster is None else cluster}],
        "contexts": [{"name": "main", "context": {"cluster": "c", "user": "u"}}],
        "users": [{"name": "u", "user": {"token": TOKEN} if user is None else user}],
    } | root


def good_user(**more: Any) -> Doc:
    return {"token": TOKEN} | more


def good_cluster(**more: Any) -> Doc:
    found: Doc = copy.deepcopy(kubeconfig()["clusters"][0]["cluster"])
    return found | more


class _Plain(yaml.SafeDumper):
    """Writes the same value twice where it stands twice, as kubectl does."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def dump(document: object) -> bytes:
    return yaml.dump(document, Dumper=_Plain).encode()


PATHS = [
    *(
        "/etc/passwd",
        "/etc/shadow",
        "/does/not/exist",
        "/proc/self/environ",
        "/dev/zero",
        "/dev/stdin",
        "~/.ssh/id_rsa",
    ),
    *("../../etc/passwd", "file:///etc/passwd", "C:\\key.pem", "\\\\host\\share", "ca.crt", ".", "/", " ", "$HOME/x"),
    *("/var/run/secrets/kubernetes.io/serviceaccount/token", "/proc/self/fd/0", "https://x.test/ca", "\u0000", "a\nb"),
]
COMMANDS = [
    *("touch", "/bin/sh", "sh", "aws", "/usr/bin/aws", "aws.exe", "aws-iam-authenticator", "gke-gcloud-auth-plugin"),
    *("kubelogin", "doctl", "python3", "curl", "./x", "../x", "", "~", "$(id)", "`id`", "; id", "| id", "aws\neks"),
]
_EXEC_ARGS: list[Any] = [
    None,
    [],
    ["eks", "get-token", "--cluster-name", "prod"],
    ["-c", "id"],
    "id",
    {"a": "b"},
    [1, None],
]
_ODD_VALUES: list[Any] = [None, True, False, 0, 1.5, "", "x", [], ["x"], {}, {"a": {"b": []}}]
_USER_KEYS = [
    *("auth-provider", "username", "password", "as", "as-uid", "as-groups", "as-user-extra", "impersonate", "Exec"),
    *("EXEC", "exec ", " exec", "execs", "authProvider", "token-file", "tokenfile", "clientCertificate", "client_key"),
    *(
        "bearer",
        "cmd-path",
        "command",
        "env",
        "installHint",
        "interactiveMode",
        "provideClusterInfo",
        "__proto__",
        "$ref",
    ),
]
_CLUSTER_KEYS = [
    *(
        "proxy-url",
        "insecure-skip-tls-verify",
        "api-version",
        "certificate_authority",
        "certificateAuthority",
        "Server",
    ),
    *("servers", "insecure", "proxy", "tlsServerName", "host", "exec", "token", "auth-provider", "ca", "socks"),
]
_ROOT_KEYS = ["exec", "user", "cluster", "context", "plugins", "include", "items", "metadata", "spec", "currentContext"]


def hostile() -> Iterator[Doc]:
    """What must be refused, each for a thing of its own."""
    for command in COMMANDS:
        for args in _EXEC_ARGS:
            section = {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": command, "args": args}
            yield kubeconfig(user=good_user(exec=section))
    for path in PATHS:
        for key in ("tokenFile", "client-certificate", "client-key"):
            yield kubeconfig(user=good_user(**{key: path}))
        yield kubeconfig(cluster=good_cluster(**{"certificate-authority": path}))
    for value in _ODD_VALUES:
        yield kubeconfig(user=good_user(exec=value))
        yield kubeconfig(user=good_user(**{"auth-provider": value}))
    for key in _USER_KEYS:
        yield kubeconfig(user=good_user(**{key: "x"}))
    for key in _CLUSTER_KEYS:
        yield kubeconfig(cluster=good_cluster(**{key: "x"}))
    for key in _ROOT_KEYS:
        yield kubeconfig(**{key: {"command": "touch"}})
    yield from _elsewhere()


def _elsewhere() -> Iterator[Doc]:
    """The same in entries that no chosen context names, and in wrong places."""
    for path in PATHS[:8]:
        for key in ("tokenFile", "client-certificate"):
            document = kubeconfig()
            document["users"].append({"name": "other", "user": {key: path}})
            yield document
    for place in ("contexts", "clusters", "users"):
        document = kubeconfig()
        document[place][0]["exec"] = {"command": "touch"}
        yield document
        document = kubeconfig()
        document[place].append({"name": "other", place[:-1]: {"exec": {"command": "touch"}}})
        yield document
