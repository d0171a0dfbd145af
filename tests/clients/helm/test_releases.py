"""Helm release Secrets: decoded within limits, only Karpenter's kept, values only from the list (T05, T23)."""

import base64
import gzip
import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.clients.helm.releases import declared, packed, read_release
from migrations_app.clients.helm.values import kept_values
from migrations_app.inventory.objects.karpenter import HelmRelease
from migrations_app.inventory.parts import UnparsableObject
from migrations_app.redaction import REMOVED, is_secret_name
from tests.growth import LINEAR, growth

MANIFEST = """---
# Source: karpenter-crd/templates/karpenter.sh_nodepools.yaml
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  annotations:
    name: not-this.one
    controller-gen.kubebuilder.io/version: v0.14.0

  name: nodepools.karpenter.sh
spec:
  names:
    kind: NodePool
  name: nor-this.one
---
apiVersion: "apiextensions.k8s.io/v1"
kind: 'CustomResourceDefinition'
metadata:
    name: "ec2nodeclasses.karpenter.k8s.aws"
---
apiVersion: karpenter.sh/v1beta1
kind: NodePool
metadata: {name: default}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: karpenter
"""


def record(**changes: Any) -> dict[str, Any]:
    return {
        "name": "karpenter",
        "namespace": "kube-system",
        "version": 7,
        "info": {"status": "deployed", "last_deployed": "2026-01-02T03:04:05Z", "notes": "secret notes"},
        "chart": {
            "metadata": {"name": "karpenter", "version": "0.37.5", "appVersion": "0.37.5"},
            "values": {"webhook": {"enabled": True}, "logLevel": "info"},
            "templates": [{"name": "x", "data": "eA=="}],
        },
        "config": {"settings": {"clusterName": "prod"}},
        "manifest": MANIFEST,
        "hooks": [],
    } | changes


def secret(release: object, *, form: str = "gzip", **changes: Any) -> bytes:
    raw = release if isinstance(release, bytes) else json.dumps(release).encode()
    inner = gzip.compress(raw, mtime=0) if form == "gzip" else raw
    data = base64.b64encode(base64.b64encode(inner)).decode()
    metadata = {"name": "sh.helm.release.v1.karpenter.v7", "namespace": "kube-system", "labels": {"owner": "helm"}}
    return json.dumps(
        {"metadata": metadata, "type": "helm.sh/release.v1", "data": {"release": data}} | changes
    ).encode()


WANTED = HelmRelease(
    name="karpenter",
    namespace="kube-system",
    revision=7,
    status="deployed",
    chart="karpenter",
    chart_version="0.37.5",
    app_version="0.37.5",
    config={"settings": {"clusterName": "prod"}},
    defaults={"webhook": {"enabled": True}, "logLevel": "info"},
    crds=["nodepools.karpenter.sh", "ec2nodeclasses.karpenter.k8s.aws"],
    updated="2026-01-02T03:04:05Z",
    packaged=["karpenter.sh/v1beta1 NodePool"],
)


@pytest.mark.parametrize("form", ["gzip", "plain"])
def test_a_release_is_read(form: str) -> None:
    assert read_release(secret(record(), form=form)) == WANTED


def test_the_crd_chart_is_read() -> None:
    chart = {"metadata": {"name": "karpenter-crd", "version": "1.0.2"}}
    found = read_release(secret(record(chart=chart, name="crds")))
    assert isinstance(found, HelmRelease)
    assert (found.chart, found.name, found.app_version, found.defaults) == ("karpenter-crd", "crds", "", {})


def test_missing_parts_read_as_empty() -> None:
    chart = {"metadata": {"name": "karpenter"}}
    found = read_release(secret({"chart": chart, "info": None, "config": None}))
    assert found == HelmRelease(
        name="",
        namespace="kube-system",
        revision=0,
        status="",
        chart="karpenter",
        chart_version="",
        app_version="",
        config={},
        defaults={},
        crds=[],
    )


@pytest.mark.parametrize(
    "body",
    [
        secret(record(chart={"metadata": {"name": "postgres"}})),
        secret(record(chart={"metadata": None})),
        secret(record(chart=None)),
        secret({}),
        secret(record(), type="Opaque"),
        secret(record(), type="kubernetes.io/service-account-token"),
        b"{}",
    ],
)
def test_what_is_not_karpenters_is_left_alone(body: bytes) -> None:
    assert read_release(body) is None


BOMB = gzip.compress(b"0" * 40_000_000, 9)
WRONG = [
    (secret(record(), data=None), "$.data.release", "not the JSON of a release"),
    (secret(record(), data={"release": "%%%"}), "$.data.release", "not base64"),
    (secret(record(), data={"release": base64.b64encode(b"%%%").decode()}), "$.data.release", "not base64"),
    (secret(record(), data={"release": "A" * 3_200_000}), "$.data.release", "longer than 3145728 bytes"),
    (secret(b"\x1f\x8b garbage", form="plain"), "$.data.release", "not gzip"),
    (secret(gzip.compress(b"{}")[:-4], form="plain"), "$.data.release", "the packed record is truncated"),
    (secret(BOMB, form="plain"), "$.data.release", "unpacks to more than the limit of a release"),
    (secret(b"[" * 200_000), "$.data.release", "not the JSON of a release"),
    (secret(b"\xff\xfe"), "$.data.release", "not the JSON of a release"),
    (secret(record(version="x")), "$.data.release", "not the JSON of a release"),
    (secret(record(config=[1])), "$.data.release", "not the JSON of a release"),
]


@pytest.mark.parametrize(
    ("body", "field", "why"), WRONG, ids=[f"{n}-{why[:20]}" for n, (_, _, why) in enumerate(WRONG)]
)
def test_a_record_that_cannot_be_read_is_set_aside(body: bytes, field: str, why: str) -> None:  # K12, K18
    name = "sh.helm.release.v1.karpenter.v7"
    assert read_release(body) == UnparsableObject("HelmRelease", "kube-system", name, field, why)


def test_a_record_of_another_namespace_than_its_list_is_set_aside() -> None:  # K12
    assert read_release(secret(record()), home="kube-system") == WANTED
    why = ("$.metadata.namespace", "of another namespace than its list")
    wanted = UnparsableObject("HelmRelease", "kube-system", "sh.helm.release.v1.karpenter.v7", *why)
    assert read_release(secret(record()), home="karpenter") == wanted


@pytest.mark.parametrize("body", [b"", b"[]", b"[" * 200_000, b'{"metadata": 5}', b"\xff"])
def test_what_is_no_secret_is_set_aside(body: bytes) -> None:
    assert read_release(body) == UnparsableObject("HelmRelease", "", "(no name)", "$", "not a Secret")


def test_two_thousand_changed_records_end_in_a_result() -> None:  # T05
    seed = random.randrange(2**32)
    dice = random.Random(seed)
    inner = gzip.compress(json.dumps(record()).encode(), mtime=0)
    kinds = {type(read_release(secret(changed(inner, dice), form="plain"))) for _ in range(2000)}
    assert kinds <= {HelmRelease, UnparsableObject, type(None)}, seed


def changed(raw: bytes, dice: random.Random) -> bytes:
    """The packed record, or the JSON in it, with some other bytes."""
    plain = bytearray(gzip.decompress(raw)) if dice.random() < 0.5 else bytearray(raw)
    for _ in range(dice.randrange(1, 5)):
        plain[dice.randrange(len(plain))] = dice.randrange(256)
    return bytes(plain)


# Values.


def test_of_values_that_are_not_on_the_list_only_the_name_stays() -> None:
    given = {
        "settings": {"clusterName": "prod", "featureGates": {"drift": True}, "aws": {"tags": {"team": "a"}}},
        "controller": {
            "resources": {"limits": {"memory": "1Gi"}},
            "env": [
                {"name": "FEATURE_GATES", "value": "Drift=true"},
                {"name": "DB_URL", "value": "postgres://u:pw@db"},
                {"name": "FROM", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
                {"value": "nameless"},
                "text",
            ],
            "extraVolumeMounts": ["x"],
        },
        "webhook": {"enabled": False, "port": 8443},
        "extraObjects": [{"kind": "Secret"}],
        "database": {"url": "postgres://u:pw@db"},
        "replicas": 3,
    }
    assert kept_values(given) == {
        "settings": {"clusterName": "prod", "featureGates": {"drift": True}, "aws": {"tags": {"team": "a"}}},
        "controller": {
            "resources": {"limits": {"memory": "1Gi"}},
            "env": [
                {"name": "FEATURE_GATES", "value": "Drift=true"},
                {"name": "DB_URL", "value": REMOVED},
                {"name": "FROM"},
            ],
            "extraVolumeMounts": REMOVED,
        },
        "webhook": {"enabled": False, "port": 8443},
        "extraObjects": REMOVED,
        "database": REMOVED,
        "replicas": 3,
    }


def test_of_sidecars_the_name_and_the_security_context_count() -> None:
    given = [{"name": "a", "image": "x", "securityContext": {"runAsUser": 1}}, {"name": "b", "env": []}, "text"]
    kept = [{"name": "a", "securityContext": {}}, {"name": "b"}]
    assert kept_values({"controller": {"sidecarContainer": given}}) == {"controller": {"sidecarContainer": kept}}


def test_only_so_many_unknown_names_stay() -> None:
    kept = kept_values({f"key{number}": number + 1 for number in range(99)} | {"x" * 500: 1, "empty": None})
    assert list(kept) == [f"key{number}" for number in range(50)]
    assert list(kept_values({"x" * 500: "y"})) == ["x" * 120]


@pytest.mark.parametrize("values", [None, [], "x", 5, {1: 2}, {"controller": 5}, {"controller": {"env": "x"}}])
def test_values_of_odd_types_do_no_harm(values: Any) -> None:
    assert set(kept_values(values)) <= {"controller"}


CANARY = "canary-9d31"
SECRET_KEYS = [
    "password",
    "dbPassword",
    "clientSecret",
    "API_KEY",
    "apikey",
    "token",
    "authToken",
    "credentials",
    "privateKey",
]
SECRET_TEXTS = [
    "-----BEGIN RSA PRIVATE KEY-----\nx",
    "key AKIAABCDEFGHIJKLMNOP here",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.x",
]


@pytest.mark.parametrize("key", SECRET_KEYS)
def test_a_key_that_sounds_secret_loses_its_value(key: str) -> None:  # T23
    assert is_secret_name(key)
    kept = kept_values({"settings": {"a": {key: CANARY}}, "serviceAccount": {"annotations": {key: CANARY}}})
    assert kept == {"settings": {"a": {key: REMOVED}}, "serviceAccount": {"annotations": {key: REMOVED}}}


@pytest.mark.parametrize("text", SECRET_TEXTS)
def test_a_text_that_looks_secret_is_removed(text: str) -> None:
    assert kept_values({"settings": {"x": [text]}}) == {"settings": {"x": [REMOVED]}}


@pytest.mark.parametrize(
    "key", ["clusterName", "clusterEndpoint", "interruptionQueue", "featureGates", "logLevel", "isolatedVPC"]
)
def test_settings_do_not_sound_secret(key: str) -> None:
    assert not is_secret_name(key)


def test_values_nested_for_ever_are_cut() -> None:
    deep: Any = CANARY
    for _ in range(500):
        deep = {"a": deep}
    assert CANARY not in str(kept_values({"settings": deep}))


# Manifests.


def test_a_manifest_tells_its_crds_and_karpenters_objects() -> None:
    found = declared(MANIFEST)
    assert found.crds == ("nodepools.karpenter.sh", "ec2nodeclasses.karpenter.k8s.aws")
    assert found.packaged == (("karpenter.sh/v1beta1", "NodePool"),)


@pytest.mark.parametrize(
    "text", ["", "---\n---\n", "kind: CustomResourceDefinition\n", "metadata:\n" + "  \n" * 50_000, "x" * 10**6]
)
def test_odd_manifests_declare_nothing(text: str) -> None:
    found = declared("apiVersion: v1\nkind: CustomResourceDefinition\n" + text)
    assert (found.crds, found.packaged) == ((), ())


@pytest.mark.parametrize("part", ["  \n", "x", "---\n", "metadata:\n", "  name: a\n"])
def test_the_cost_of_an_odd_manifest_grows_with_its_length(part: str) -> None:
    start = "apiVersion: v1\nkind: CustomResourceDefinition\nmetadata:\n"
    assert growth(lambda size: declared(start + part * (size // len(part))), small=20_000, large=400_000) < LINEAR


names = st.text("abcdefghij-0123456789", min_size=1, max_size=20).filter(lambda text: text[0] != "-")


@given(st.lists(names.map(lambda name: f"{name}.karpenter.sh"), max_size=4), names, st.integers(0, 99))
def test_a_packed_release_is_the_same_when_read(crds: list[str], name: str, revision: int) -> None:
    release = HelmRelease(
        name=name,
        namespace="karpenter",
        revision=revision,
        status="failed",
        chart="karpenter-crd",
        chart_version="1.0.0",
        app_version="1.0.0",
        config=kept_values({"settings": {"a": name}, "controller": {"env": [{"name": "LOG_LEVEL", "value": name}]}}),
        defaults={},
        crds=crds,
        updated="2026-01-02T03:04:05Z",
        packaged=["karpenter.sh/v1beta1 NodePool"],
    )
    body = {"type": "helm.sh/release.v1", "metadata": {"name": "x"}, "data": {"release": packed(release)}}
    assert read_release(json.dumps(body).encode()) == release
