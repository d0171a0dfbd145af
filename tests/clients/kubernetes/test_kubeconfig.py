"""T01, T02: a kubeconfig is read by an allow-list; no program starts, no file opens, nothing is ignored."""

import base64
import json
import random
import ssl
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from migrations_app.clients.kubernetes.connection import Connection, Server
from migrations_app.clients.kubernetes.kubeconfig import in_cluster, read_kubeconfig
from migrations_app.clients.secret import Secret
from migrations_app.errors import InvalidKubeconfig
from tests.clients.kubernetes.kubeconfigs import (
    CA,
    PAIR,
    PATHS,
    TOKEN,
    b64,
    dump,
    good_cluster,
    good_user,
    hostile,
    kubeconfig,
)
from tests.fakes.certificates import key_pem, new_key
from tests.trust.tampering import changed
from tests.trust.watching import watched


def of_no_version(pem: str) -> str:
    """The certificate of version 2, which nobody issues and the reader does not know."""
    der = ssl.PEM_cert_to_DER_cert(pem)
    return ssl.DER_cert_to_PEM_cert(der.replace(b"\xa0\x03\x02\x01\x02", b"\xa0\x03\x02\x01\x01", 1))


def refusal(document: object, *, context: str = "") -> tuple[str, str]:
    raw = document if isinstance(document, bytes) else dump(document)
    with pytest.raises(InvalidKubeconfig) as caught:
        read_kubeconfig(raw, context=context)
    return caught.value.code, caught.value.where


def test_a_good_file_becomes_a_connection() -> None:
    cluster = good_cluster(**{"tls-server-name": "Kube.Test", "insecure-skip-tls-verify": False})
    pair = {"client-certificate-data": b64(PAIR.certificate), "client-key-data": b64(PAIR.key)}
    found = read_kubeconfig(dump(kubeconfig(user=good_user(**pair), cluster=cluster)))
    assert found == Connection(
        server=Server("k.test", 6443),
        ca_pem=CA.pem,
        token=Secret(TOKEN),
        client_cert_pem=PAIR.certificate,
        client_key_pem=Secret(PAIR.key),
        tls_server_name="kube.test",
        context="main",
    )
    assert (found.tls_name, found.server.url) == ("kube.test", "https://k.test:6443")


def test_json_is_read_as_well() -> None:
    assert read_kubeconfig(json.dumps(kubeconfig()).encode()).token == Secret(TOKEN)


def test_what_tools_add_is_accepted() -> None:
    extension = [{"name": "cluster_info", "extension": {"provider": "minikube.sigs.k8s.io", "version": "v1"}}]
    document = kubeconfig(
        cluster=good_cluster(extensions=extension), extensions=extension, preferences={"colors": True}
    )
    document["contexts"][0]["context"] |= {"namespace": "default", "extensions": extension}
    assert read_kubeconfig(dump(document)).context == "main"


def test_a_token_with_a_final_newline_is_taken() -> None:
    assert read_kubeconfig(dump(kubeconfig(user={"token": f"{TOKEN}\n"}))).token == Secret(TOKEN)


def test_the_current_context_is_taken_unless_one_is_named() -> None:
    document = kubeconfig()
    document["users"].append({"name": "v", "user": {"token": "second"}})
    document["contexts"].append({"name": "other", "context": {"cluster": "c", "user": "v"}})
    assert read_kubeconfig(dump(document)).token == Secret(TOKEN)
    assert read_kubeconfig(dump(document), context="other").token == Secret("second")
    assert refusal(document | {"current-context": ""}) == ("context_missing", "current-context")
    assert refusal(document, context="third") == ("context_unknown", "contexts")


def test_a_single_context_needs_no_current_one() -> None:
    document = kubeconfig()
    del document["current-context"]
    assert read_kubeconfig(dump(document)).context == "main"


FILE = "file_reference"
WRONG: list[tuple[Any, str, str]] = [
    (kubeconfig(user=good_user(exec={"command": "x"})), "exec_refused", "users[0].user.exec"),
    (
        kubeconfig(user=good_user(**{"auth-provider": {"name": "gcp"}})),
        "auth_provider_refused",
        "users[0].user.auth-provider",
    ),
    (kubeconfig(user=good_user(tokenFile="/x")), FILE, "users[0].user.tokenFile"),
    (kubeconfig(user=good_user(**{"client-certificate": "/x"})), FILE, "users[0].user.client-certificate"),
    (kubeconfig(user=good_user(**{"client-key": "/x"})), FILE, "users[0].user.client-key"),
    (kubeconfig(user=good_user(username="a")), "basic_auth_refused", "users[0].user.username"),
    (kubeconfig(user=good_user(password="a")), "basic_auth_refused", "users[0].user.password"),
    (kubeconfig(user=good_user(**{"as": "root"})), "impersonation_refused", "users[0].user.as"),
    (
        kubeconfig(user=good_user(**{"as-groups": ["system:masters"]})),
        "impersonation_refused",
        "users[0].user.as-groups",
    ),
    (kubeconfig(user=good_user(other=1)), "unknown_key", "users[0].user"),
    (kubeconfig(user={}), "no_credentials", "users"),
    (kubeconfig(user={"token": ""}), "no_credentials", "users"),
    (kubeconfig(user={"token": 5}), "wrong_type", "users[0].user.token"),
    (kubeconfig(user={"token": "a b"}), "bad_token", "users.token"),
    (kubeconfig(user={"token": "a\r\nX-Remote-User: root"}), "bad_token", "users.token"),
    (kubeconfig(user={"token": "é"}), "bad_token", "users.token"),
    (kubeconfig(user=[]), "wrong_type", "users[0].user"),
    (
        kubeconfig(cluster=good_cluster(**{"certificate-authority": "/x"})),
        FILE,
        "clusters[0].cluster.certificate-authority",
    ),
    (
        kubeconfig(cluster=good_cluster(**{"insecure-skip-tls-verify": True})),
        "tls_verify_refused",
        "clusters[0].cluster.insecure-skip-tls-verify",
    ),
    (kubeconfig(cluster=good_cluster(**{"proxy-url": "http://x"})), "proxy_refused", "clusters[0].cluster.proxy-url"),
    (kubeconfig(cluster=good_cluster(other=1)), "unknown_key", "clusters[0].cluster"),
    (kubeconfig(cluster=good_cluster(server="http://k.test")), "not_https", "clusters.server"),
    (kubeconfig(cluster=good_cluster(server="k.test")), "bad_server", "clusters.server"),
    (kubeconfig(cluster=good_cluster(server=None)), "bad_server", "clusters.server"),
    (kubeconfig(cluster=good_cluster(server=["x"])), "wrong_type", "clusters[0].cluster.server"),
    (kubeconfig(cluster=good_cluster(**{"tls-server-name": "a b"})), "bad_server", "clusters.tls-server-name"),
    (kubeconfig(cluster={"server": "https://k.test"}), "ca_missing", "clusters.certificate-authority-data"),
    (
        kubeconfig(cluster=good_cluster(**{"certificate-authority-data": "???"})),
        "bad_base64",
        "clusters.certificate-authority-data",
    ),
    (
        kubeconfig(cluster=good_cluster(**{"certificate-authority-data": b64("no pem")})),
        "bad_certificate",
        "clusters.certificate-authority-data",
    ),
    (
        kubeconfig(cluster=good_cluster(**{"certificate-authority-data": b64(of_no_version(CA.pem))})),
        "bad_certificate",
        "clusters.certificate-authority-data",
    ),
    (kubeconfig(clusters=[]), "cluster_unknown", "contexts"),
    (kubeconfig(users=None), "user_unknown", "contexts"),
    (kubeconfig(contexts=[]), "context_unknown", "contexts"),
    (kubeconfig(contexts={}), "wrong_type", "contexts"),
    (kubeconfig(contexts="x"), "wrong_type", "contexts"),
    (kubeconfig(contexts=["x"]), "wrong_type", "contexts[0]"),
    (kubeconfig(contexts=[{"name": ""}]), "wrong_type", "contexts[0].name"),
    (kubeconfig(contexts=[{"name": 5}]), "wrong_type", "contexts[0].name"),
    (kubeconfig(users=[{"name": "u", "user": {"token": "a"}}] * 2), "duplicate_name", "users[1]"),
    (kubeconfig(users=[{"name": f"u{n}"} for n in range(501)]), "wrong_type", "users"),
    (kubeconfig(other=1), "unknown_key", ""),
    (kubeconfig(kind="Secret"), "not_a_kubeconfig", "kind"),
    (kubeconfig(apiVersion="v2"), "not_a_kubeconfig", "kind"),
    (kubeconfig(preferences={"x": 1}), "unknown_key", "preferences"),
    (b"", "not_a_kubeconfig", ""),
    (b"just text", "not_a_kubeconfig", ""),
    (b"[1, 2]", "not_a_kubeconfig", ""),
    (b"{", "yaml_syntax", "line 2"),
    (b"users: &a []\nclusters: *a", "yaml_anchor", "line 1"),
    (b"[" * 200_000, "yaml_depth", "line 1"),
    (b"#" * 300_000, "yaml_too_large", ""),
    (b"users: []\nusers: []", "yaml_duplicate_key", "line 2"),
    (b"apiVersion: v1\x00", "yaml_encoding", ""),
]


@pytest.mark.parametrize(
    ("document", "code", "where"), WRONG, ids=[f"{n}-{code}" for n, (_, code, _) in enumerate(WRONG)]
)
def test_what_is_not_on_the_list_is_refused_by_name(document: object, code: str, where: str) -> None:
    assert refusal(document) == (code, where)


@pytest.mark.parametrize(
    ("command", "args", "hint"),
    [
        ("aws", ["--region", "eu-west-1", "eks", "get-token", "--cluster-name", "prod-1"], "the EKS cluster prod-1:"),
        ("/usr/local/bin/aws", ["eks", "get-token", "--cluster-id", "p2", "--output", "json"], "the EKS cluster p2:"),
        ("C:\\Amazon\\aws.exe", ["eks", "get-token"], "the EKS cluster:"),
        ("aws-iam-authenticator", ["token", "-i", "prod"], "the EKS cluster prod:"),
        ("aws", ["eks", "get-token", "--cluster-name", "x; <b>\u202e"], "the EKS cluster:"),
    ],
)
def test_an_eks_exec_is_recognised_and_sent_to_the_arn(command: str, args: list[str], hint: str) -> None:
    with pytest.raises(InvalidKubeconfig) as caught:
        read_kubeconfig(dump(kubeconfig(user={"exec": {"command": command, "args": args}})))
    assert caught.value.code == "exec_refused"
    assert hint in caught.value.message
    assert "EKS ARN" in caught.value.message


@pytest.mark.parametrize("command", ["awsx", "aws", "gcloud", None, ["aws"]])
def test_other_execs_get_no_hint_to_eks(command: object) -> None:
    with pytest.raises(InvalidKubeconfig) as caught:
        read_kubeconfig(dump(kubeconfig(user={"exec": {"command": command, "args": ["sts", "get-token"]}})))
    assert (caught.value.code, "EKS" in caught.value.message) == ("exec_refused", False)


def test_a_file_reference_says_the_same_whatever_is_there() -> None:  # T02
    answers = set()
    for path in PATHS:
        with pytest.raises(InvalidKubeconfig) as caught:
            read_kubeconfig(dump(kubeconfig(user=good_user(tokenFile=path))))
        answers.add((caught.value.code, caught.value.message, caught.value.where))
    assert len(answers) == 1


def test_a_key_of_another_certificate_is_refused() -> None:
    mixed = {"client-certificate-data": b64(PAIR.certificate), "client-key-data": b64(key_pem(new_key()))}
    assert refusal(kubeconfig(user=mixed)) == ("key_mismatch", "users")
    assert refusal(kubeconfig(user=mixed | {"client-key-data": ""})) == ("key_mismatch", "users")


@pytest.mark.parametrize(
    "key",
    [key_pem(new_key(), password=b"x"), "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "x"],
    ids=["encrypted", "cut short", "no key"],
)
def test_a_key_that_cannot_be_read_is_refused(key: str) -> None:
    pair = {"client-certificate-data": b64(PAIR.certificate), "client-key-data": b64(key)}
    assert refusal(kubeconfig(user=pair)) == ("bad_key", "users.client-key-data")


def test_names_from_the_file_are_shown_harmlessly() -> None:
    with pytest.raises(InvalidKubeconfig) as caught:
        read_kubeconfig(dump(kubeconfig() | {"\x1b[31m" + "x" * 500: 1}))
    assert caught.value.message == 'the key "?[31m' + "x" * 75 + '" is not known here'


# T01 under the interpreter's own eyes.


def test_three_hundred_hostile_files_start_and_open_nothing() -> None:  # T01, T02
    files = [dump(document) for document in hostile()]
    assert len(set(files)) >= 300
    with watched() as seen:
        outcomes = [outcome(raw) for raw in files]
    assert seen == []
    assert [files[n] for n, each in enumerate(outcomes) if each == "read"] == []


def outcome(raw: bytes) -> str:
    try:
        read_kubeconfig(raw)
    except InvalidKubeconfig as refused:
        return refused.code
    return "read"


def test_two_thousand_changed_files_start_and_open_nothing() -> None:  # T01, K18
    seed = random.randrange(2**32)
    dice = random.Random(seed)
    sources = [dump(document) for document in hostile()] + [dump(kubeconfig())] * 50
    files = [changed(dice.choice(sources), dice) for _ in range(2000)]
    with watched() as seen:
        outcomes = {outcome(raw) for raw in files}
    assert seen == [], f"seed {seed}"
    assert {"exec_refused", "file_reference", "unknown_key"} <= outcomes


def test_the_watch_notices_the_official_loader() -> None:  # the positive control
    from kubernetes import config  # noqa: TID251 - to show that the watch fires where K01 says it would

    section = {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "true", "interactiveMode": "Never"}
    user = {"exec": section, "client-certificate-data": b64("x"), "client-key-data": b64("x")}
    document = kubeconfig(user=user)
    with watched() as seen:
        with suppress(Exception):  # however it ends, the program was started
            config.new_client_from_config_dict(document)
        events = {event for event, _ in seen}
    assert "subprocess.Popen" in events


def test_the_watch_notices_opened_files(tmp_path: Path) -> None:
    with watched() as seen:
        (tmp_path / "x").write_text("x")
    assert [event for event, _ in seen] == ["open"]


# In a pod.


def mount(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    return folder


def test_a_pods_own_identity_is_read_from_its_mount(tmp_path: Path) -> None:
    found = in_cluster(mount(tmp_path, token=f"{TOKEN}\n", ca_crt=CA.pem))
    assert found == Connection(
        server=Server("kubernetes.default.svc"), ca_pem=CA.pem, token=Secret(TOKEN), context="in-cluster"
    )


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({}, "not_in_cluster"),
        ({"token": "a"}, "not_in_cluster"),
        ({"token": "a", "ca_crt": "é"}, "not_in_cluster"),
        ({"token": "a", "ca_crt": "x"}, "bad_certificate"),
        ({"token": "", "ca_crt": CA.pem}, "bad_token"),
        ({"token": "a b", "ca_crt": CA.pem}, "bad_token"),
    ],
)
def test_a_mount_that_is_none_is_told(files: dict[str, str], code: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidKubeconfig) as caught:
        in_cluster(mount(tmp_path, **files))
    assert caught.value.code == code


# T23.


def test_a_connection_shows_no_secret() -> None:
    pair = {"client-certificate-data": b64(PAIR.certificate), "client-key-data": b64(PAIR.key)}
    found = read_kubeconfig(dump(kubeconfig(user=good_user(**pair))))
    shown = f"{found} {found!r} {found.token} {found.token!r} {found.token!r:>30}"
    body = "".join(PAIR.key.splitlines()[1:2])
    assert TOKEN not in shown
    assert body not in shown
    assert base64.b64encode(TOKEN.encode()).decode() not in shown
