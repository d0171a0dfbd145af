"""What a kubeconfig may hold and we never use, each with its code and the way out. Every message is fixed text."""

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from migrations_app.errors import BadKubeconfig

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


def exec_refusal(section: object, where: str) -> BadKubeconfig:
    """The error for a user with `exec`: code `exec_refused`; the EKS ways get a hint."""
    eks = _eks_cluster(section)
    if eks is None:
        return BadKubeconfig(_PLAIN_EXEC, code="exec_refused", where=f"{where}.exec")
    message = _EKS_EXEC.format(cluster=f" {eks}" if eks else "")
    return BadKubeconfig(message, code="exec_refused", where=f"{where}.exec")


def _eks_cluster(section: object) -> str | None:
    """The cluster's name, empty when it is not told; None when this is not a way to get EKS tokens."""
    if not isinstance(section, dict):
        return None
    program, words = _program(section.get("command")), _words(section.get("args"))
    by_aws = program == "aws" and "eks" in words and "get-token" in words
    if not by_aws and program != "aws-iam-authenticator":
        return None
    given = (after for word, after in pairwise(words) if word in _CLUSTER_FLAGS)
    name = next(given, "")
    return name if _CLUSTER_NAME.fullmatch(name) else ""


def _program(command: Any) -> str:  # noqa: ANN401 - whatever stands in the file
    last = re.split(r"[/\\]", command)[-1] if isinstance(command, str) else ""
    return last.removesuffix(".exe")


def _words(args: Any) -> list[str]:  # noqa: ANN401 - whatever stands in the file
    return [word for word in args if isinstance(word, str)] if isinstance(args, list) else []


def shown(text: str) -> str:
    """A name from the file, short and without control characters, in quotes."""
    clean = "".join(char if char.isprintable() else "?" for char in text[:80])
    return f'"{clean}"'
