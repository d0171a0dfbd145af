"""T23: what leaves a cluster in a bundle is enough for every check and holds no secret."""

import base64
import gzip
import io
import json
import tarfile
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from migrations_app.clients.bundle.bundle import Bundle, RequestedPart, open_bundle
from migrations_app.clients.bundle.redaction import redacted_object
from migrations_app.clients.bundle.writer import Recording
from migrations_app.clients.helm.releases import packed
from migrations_app.clients.kubernetes.api import ListPage, Resource
from migrations_app.errors import Expired, Forbidden, NotCollected, NotServed, ReadError, ServerFailed, TimedOut
from migrations_app.inventory.objects.karpenter import CRD, HelmRelease
from migrations_app.inventory.parse import with_marks
from tests.clients.bundle.objects import Doc, as_json, crd, doc, node, pod, pool
from tests.clients.helm.test_releases import record, secret
from tests.clients.recorded_bundle import write_bundle
from tests.fakes.cluster_api import FakeCluster

CANARY = "canary-77aa"
PODS = Resource("", "v1", "pods")
NODES = Resource("", "v1", "nodes")
POOLS = Resource("karpenter.sh", "v1", "nodepools")
SECRETS = Resource("", "v1", "secrets", "", "owner=helm")
AT = "2026-01-02T03:04:05Z"


def written(api: Any, *resources: Resource) -> tuple[Bundle, list[RequestedPart]]:
    out = io.BytesIO()
    manifest = write_bundle(api, resources, out=out, made_at=AT, made_by="karpdash tests")
    return open_bundle(out.getvalue()), list(manifest.asked)


def names(api: Any, resource: Resource) -> list[str]:
    return [json.loads(bytes(item))["metadata"]["name"] for page in api.pages(resource) for item in page.items]


def test_a_bundle_answers_as_its_cluster_did() -> None:
    cluster = FakeCluster(node(), pod("p1"), pod("p2"), pool())
    api, _ = written(cluster, PODS, NODES, POOLS)
    assert [names(api, each) for each in (PODS, NODES, POOLS)] == [["p1", "p2"], ["n1"], ["default"]]
    assert json.loads(api.get("/version")) == cluster.version
    assert api.served() == cluster.served()
    assert api.clock().server_date == AT
    with pytest.raises(NotCollected):
        names(api, SECRETS)


def test_what_could_not_be_seen_is_told_with_its_reason() -> None:
    cluster = FakeCluster(node(), pod(), without=["nodepools"])
    cluster.refuse("pods", Forbidden("may not list pods"))
    api, asked = written(cluster, PODS, NODES, POOLS)
    assert [(part.plural, part.seen, part.why, part.count) for part in asked] == [
        ("pods", False, "forbidden", 0),
        ("nodes", True, "", 1),
        ("nodepools", False, "not_served", 0),
    ]
    with pytest.raises(Forbidden) as caught:
        names(api, PODS)
    assert caught.value.message == "may not list pods"
    with pytest.raises(NotServed):
        names(api, POOLS)


def test_a_list_that_expired_is_read_anew() -> None:
    cluster = FakeCluster(pod())
    cluster.refuse("pods", Expired("gone"), Expired("gone"), None)
    api, asked = written(cluster, PODS)
    assert (names(api, PODS), [part.seen for part in asked], cluster.lists["pods"]) == (["p1"], [True], 3)


def test_a_list_that_expires_again_and_again_was_not_seen() -> None:
    cluster = FakeCluster(pod())
    cluster.refuse("pods", Expired("gone"))
    _, asked = written(cluster, PODS)
    assert ([(part.seen, part.why) for part in asked], cluster.lists["pods"]) == ([(False, "expired")], 3)


def test_a_failing_discovery_does_not_stop_the_bundle() -> None:
    cluster = FakeCluster(pod(), node(), pool())
    cluster.refuse("/apis", ServerFailed("no"))
    api, _ = written(cluster, PODS, NODES, POOLS)
    assert {each.plural for each in api.served().resources} == {"pods", "nodes", "nodepools"}


def test_a_cluster_that_does_not_answer_makes_no_bundle() -> None:
    cluster = FakeCluster(pod())
    cluster.refuse("/version", TimedOut("late"))
    out = io.BytesIO()
    with pytest.raises(TimedOut):
        write_bundle(cluster, [PODS], out=out, made_at=AT, made_by="x")
    assert out.getvalue() == b""


def test_a_large_list_comes_in_members_that_a_reader_takes() -> None:
    pods = [pod(f"p{n}", annotations={f"a{m}": f"{n * m:x}" * 400 for m in range(50)}) for n in range(120)]
    out = io.BytesIO()
    write_bundle(FakeCluster(*pods), [PODS], out=out, made_at=AT, made_by="x")
    with tarfile.open(fileobj=io.BytesIO(out.getvalue())) as archive:
        sizes = [member.size for member in archive.getmembers() if member.name.startswith("objects/")]
    assert len(sizes) > 1
    assert max(sizes) < 8 * 2**20
    assert len(names(open_bundle(out.getvalue()), PODS)) == 120


def test_objects_that_cannot_be_read_stay_behind() -> None:
    class Odd(FakeCluster):
        def pages(self, resource: Resource) -> Iterator[ListPage]:
            deep = b"[" * 5000 + b"]" * 5000
            yield ListPage([msgspec.Raw(raw) for raw in (b"1", b'{"a": "\\ud800"}', deep, as_json(pod()))], "1")

    api, asked = written(Odd(), PODS)
    assert (names(api, PODS), asked[0].count) == (["p1"], 1)


# Recording.


def test_a_recording_passes_everything_on() -> None:
    cluster = FakeCluster(node(), pod())
    recording = Recording(cluster)
    assert recording.get("/version") == cluster.get("/version")
    assert names(recording, PODS) == ["p1"]
    assert recording.clock().server_date == cluster.server_date
    cluster.refuse("nodes", Forbidden("no"))
    with pytest.raises(Forbidden):
        names(recording, NODES)
    recording.close()
    assert cluster.closed


def recorded(recording: Recording) -> list[tuple[str, str, bool, str]]:
    manifest = recording.write(io.BytesIO(), made_at=AT, made_by="x")
    return [(part.plural, part.namespace, part.seen, part.why) for part in manifest.asked]


def test_a_list_that_nobody_read_to_its_end_was_not_seen() -> None:
    recording = Recording(FakeCluster(*[pod(f"p{n}") for n in range(5)]))
    pages = recording.pages(Resource("", "v1", "pods", page_size=2))
    next(pages)
    pages.close()  # type: ignore[attr-defined]  # a generator
    assert recorded(recording) == [("pods", "", False, "timeout")]


def test_a_narrower_list_is_not_kept_twice() -> None:
    recording = Recording(FakeCluster(pod("p1"), pod("p2", namespace="other")))
    names(recording, PODS)
    assert names(recording, Resource("", "v1", "pods", "shop")) == ["p1"]
    assert recorded(recording) == [("pods", "", True, "")]


def test_a_narrower_list_is_kept_when_the_wide_one_was_refused() -> None:
    cluster = FakeCluster(pod("p1"), pod("p2", namespace="other"))
    cluster.refuse("pods", Forbidden("no"), None)
    recording = Recording(cluster)
    with pytest.raises(ReadError):
        names(recording, PODS)
    names(recording, Resource("", "v1", "pods", "shop"))
    assert recorded(recording) == [("pods", "", False, "forbidden"), ("pods", "shop", True, "")]


# Redaction.


def redacted(document: Doc, plural: str) -> Any:
    group = document["apiVersion"].rpartition("/")[0]
    return redacted_object(msgspec.Raw(as_json(document)), group=group, plural=plural)


CONTAINER = {
    "name": "c",
    "image": "x.test/app:1",
    "command": ["run", CANARY],
    "args": [f"--key={CANARY}"],
    "env": [{"name": "A", "value": CANARY}],
    "envFrom": [{"secretRef": {"name": CANARY}}],
    "volumeMounts": [{"name": "v", "mountPath": CANARY}],
    "livenessProbe": {"httpGet": {"httpHeaders": [{"name": "Authorization", "value": CANARY}]}},
}
SPEC = {
    "containers": [CONTAINER],
    "initContainers": [CONTAINER],
    "volumes": [{"name": CANARY}, {"name": "d", "hostPath": {"path": CANARY}}],
}
APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
HIDING: list[tuple[str, Doc]] = [
    ("pods", pod(spec=SPEC, status={"phase": "Running", "message": CANARY, "podIP": CANARY})),
    ("pods", pod(annotations={APPLIED: CANARY, "x/api-token": CANARY})),
    ("nodes", node() | {"status": {"images": [{"names": [CANARY]}], "addresses": [{"address": CANARY}]}}),
    ("deployments", doc("apps/v1", "Deployment", "d", spec={"template": {"spec": SPEC}})),
    ("cronjobs", doc("batch/v1", "CronJob", "c", spec={"jobTemplate": {"spec": {"template": {"spec": SPEC}}}})),
    ("ec2nodeclasses", doc("karpenter.k8s.aws/v1", "EC2NodeClass", "e", spec={"userData": CANARY})),
    ("awsnodetemplates", doc("karpenter.k8s.aws/v1alpha1", "AWSNodeTemplate", "e", spec={"userData": CANARY})),
    ("provisioners", doc("karpenter.sh/v1alpha5", "Provisioner", "p", spec={"provider": {"userData": CANARY}})),
    ("configmaps", doc("v1", "ConfigMap", "other", data={"a": CANARY})),
    ("configmaps", doc("v1", "ConfigMap", "aws-auth", data={"password": CANARY}, binaryData={"x": CANARY})),
    ("configmaps", doc("v1", "ConfigMap", "cilium-config", data={"a": CANARY}, binaryData={"x": CANARY})),
    ("secrets", doc("v1", "Secret", "s", data={"a": base64.b64encode(CANARY.encode()).decode()}, type="Opaque")),
    ("secrets", doc("v1", "Secret", "s", stringData={"a": CANARY}, type="helm.sh/release.v1")),
    ("helmreleases", doc("helm.toolkit.fluxcd.io/v2", "HelmRelease", "pg", spec={"values": {"password": CANARY}})),
    (
        "helmreleases",
        doc(
            "helm.toolkit.fluxcd.io/v2",
            "HelmRelease",
            "karpenter",
            spec={"values": {"database": CANARY, "replicas": 1}},
        ),
    ),
    ("applications", doc("argoproj.io/v1alpha1", "Application", "pg", spec={"source": {"helm": {"values": CANARY}}})),
    (
        "applications",
        doc(
            "argoproj.io/v1alpha1",
            "Application",
            "karpenter",
            spec={"source": {"helm": {"values": CANARY, "parameters": [{"name": "a", "value": CANARY}]}}},
            operation={"sync": {"password": CANARY}},
            status={
                "sync": {"status": "Synced", "comparedTo": CANARY},
                "history": [CANARY],
                "health": {"status": "Healthy"},
            },
        ),
    ),
    (
        "validatingwebhookconfigurations",
        doc("admissionregistration.k8s.io/v1", "X", "w", webhooks=[{"clientConfig": {"caBundle": CANARY}}]),
    ),
    ("serviceaccounts", doc("v1", "ServiceAccount", "s", imagePullSecrets=[{"name": CANARY}])),
]


@pytest.mark.parametrize(("plural", "document"), HIDING, ids=[f"{n}-{p}" for n, (p, _) in enumerate(HIDING)])
def test_no_canary_leaves_in_a_bundle(plural: str, document: Doc) -> None:
    kept = as_json(redacted(document, plural))
    assert CANARY.encode() not in kept
    assert base64.b64encode(CANARY.encode()) not in kept


def test_that_variables_come_from_elsewhere_stays_known() -> None:
    """Without it, a setting in a Secret reads as one that nobody gives."""
    env = [{"name": "CLUSTER_NAME", "valueFrom": {"configMapKeyRef": {"name": CANARY}}}, {"name": "INTERRUPTION_QUEUE"}]
    source = {"secretRef": {"name": CANARY}}
    own = {"name": "controller", "image": "x.test/karpenter/controller:1.0.8", "env": env, "envFrom": [source, source]}
    workload = doc("apps/v1", "Deployment", "karpenter", spec={"template": {"spec": {"containers": [own]}}})
    (container,) = redacted(workload, "deployments")["spec"]["template"]["spec"]["containers"]
    assert container["env"] == [{"name": "CLUSTER_NAME", "valueFrom": {}}, {"name": "INTERRUPTION_QUEUE"}]
    assert container["envFrom"] == [{}, {}]


def test_a_release_leaves_without_its_secrets() -> None:
    config = {"settings": {"clusterName": "prod", "dbPassword": CANARY}, "other": CANARY}
    body = secret(
        record(config=config, manifest=f"---\nkind: Secret\napiVersion: v1\ndata: {CANARY}\n", hooks=[CANARY])
    )
    kept = redacted_object(msgspec.Raw(body), group="", plural="secrets")
    assert kept is not None
    inner = base64.b64decode(base64.b64decode(kept["data"]["release"]))
    whole = gzip.decompress(inner).decode() + json.dumps(kept)
    assert CANARY not in whole
    assert '"clusterName":"prod"' in whole


def test_other_peoples_releases_stay_behind() -> None:
    body = secret(record(chart={"metadata": {"name": "postgres"}}))
    assert redacted_object(msgspec.Raw(body), group="", plural="secrets") is None


KEPT: list[tuple[str, Doc, Callable[[Doc], object], object]] = [
    (
        "pods",
        pod(status={"phase": "Running"}, spec={"nodeName": "n"}),
        lambda d: (d["status"], d["spec"]),
        ({"phase": "Running"}, {"nodeName": "n"}),
    ),
    (
        "nodes",
        node() | {"status": {"nodeInfo": {"kubeletVersion": "v1.30"}}},
        lambda d: d["status"],
        {"nodeInfo": {"kubeletVersion": "v1.30"}},
    ),
    (
        "configmaps",
        doc("v1", "ConfigMap", "aws-auth", data={"mapRoles": "- x"}),
        lambda d: d["data"],
        {"mapRoles": "- x"},
    ),
    (
        "configmaps",
        doc("v1", "ConfigMap", "cilium-config", data={"ipam": "eni", "tunnel": "vxlan"}),
        lambda d: d["data"],
        {"ipam": "eni"},
    ),
    (
        "pods",
        pod(annotations={APPLIED: "x", "a": "b"}),
        lambda d: d["metadata"]["annotations"],
        {APPLIED: "", "a": "b"},
    ),
    ("nodepools", pool(), lambda d: d, pool()),
    (
        "helmreleases",
        doc("helm.toolkit.fluxcd.io/v2", "HelmRelease", "karpenter", spec={"values": {"replicas": 1}}),
        lambda d: d["spec"],
        {"values": {"replicas": 1}},
    ),
]


@pytest.mark.parametrize(("plural", "document", "part", "wanted"), KEPT, ids=[str(n) for n in range(len(KEPT))])
def test_what_checks_read_stays(plural: str, document: Doc, part: Callable[[Doc], object], wanted: object) -> None:
    assert part(redacted(document, plural)) == wanted


def test_the_controllers_settings_stay() -> None:
    env = [{"name": "FEATURE_GATES", "value": "Drift=true"}, {"name": "MY_TOKEN", "value": CANARY}]
    container = {
        "name": "controller",
        "image": "public.ecr.aws/karpenter/controller:0.37.0",
        "env": env,
        "args": ["-v", f"--token={CANARY}"],
    }
    kept = redacted(
        doc("apps/v1", "Deployment", "k", spec={"template": {"spec": {"containers": [container]}}}), "deployments"
    )
    assert kept["spec"]["template"]["spec"]["containers"] == [
        {
            "name": "controller",
            "image": "public.ecr.aws/karpenter/controller:0.37.0",
            "env": [{"name": "FEATURE_GATES", "value": "Drift=true"}, {"name": "MY_TOKEN", "value": "(removed)"}],
            "args": ["-v", "(removed)"],
        }
    ]


def test_of_managed_fields_the_managers_stay() -> None:
    document = pool()
    document["metadata"]["managedFields"] = [
        {"manager": "helm", "operation": "Apply", "fieldsV1": {"f:spec": CANARY}},
        "odd",
    ]
    assert redacted(document, "nodepools")["metadata"]["managedFields"] == [{"manager": "helm", "operation": "Apply"}]


def test_crds_leave_without_their_schemas() -> None:
    document = crd("NodePool", "nodepools", "karpenter.sh", "v1")
    document["spec"]["versions"][0] |= {"schema": {"openAPIV3Schema": {}}, "additionalPrinterColumns": []}
    assert redacted(document, "customresourcedefinitions") == crd("NodePool", "nodepools", "karpenter.sh", "v1")


@pytest.mark.parametrize(
    ("schema", "fields"),
    [
        ({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, None),
        ({"type": "object", "properties": {"spec": {"type": "object"}}}, []),
    ],
)
def test_a_schema_tells_as_much_in_a_bundle_as_live(schema: Doc, fields: list[str] | None) -> None:
    """One that takes any field names none: a bundle must not make of it one that lacks them."""
    document = crd("NodeClaim", "nodeclaims", "karpenter.sh", "v1beta1")
    document["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": schema}
    bundled = redacted(document, "customresourcedefinitions")
    read = [msgspec.json.decode(as_json(one), type=CRD) for one in (document, bundled)]
    told = [with_marks(one, as_json(body)) for one, body in zip(read, (document, bundled), strict=True)]
    assert [[version.fields for version in one.spec.versions or ()] for one in told] == [[fields], [fields]]


def test_a_packed_release_in_a_bundle_reads_as_before() -> None:
    release = HelmRelease(
        name="k", namespace="n", revision=1, status="deployed", chart="karpenter", chart_version="1", app_version="1",
        config={}, defaults={}, crds=[],
    )  # fmt: skip
    given = doc(
        "v1", "Secret", "sh.helm.release.v1.k.v1", namespace="n", labels={"owner": "helm"}, type="helm.sh/release.v1"
    )
    api, _ = written(FakeCluster(given | {"data": {"release": packed(release)}}), SECRETS)
    (page,) = api.pages(SECRETS)
    assert json.loads(bytes(page.items[0]))["data"] == {"release": packed(release)}


def test_of_volumes_only_their_kind_leaves() -> None:
    given = [
        {"name": "a", "emptyDir": {}},
        {"name": "b", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}},
        {"name": "c", "hostPath": {"path": CANARY}},
        {"name": "d", "persistentVolumeClaim": {"claimName": CANARY}},
        {"name": "e", "secret": {"secretName": CANARY}},
        CANARY,
    ]
    left = [{"emptyDir": {}}, {"emptyDir": {"medium": "Memory"}}, {"hostPath": {}}, {"persistentVolumeClaim": {}}]
    assert redacted(pod(spec={"volumes": given}), "pods")["spec"]["volumes"] == left
