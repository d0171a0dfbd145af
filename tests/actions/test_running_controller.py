"""What runs at the start of a plan has to be the release of its preview."""

from dataclasses import replace

import pytest
from django.utils import timezone

from migrations_app.actions.changes import ObjectTarget
from migrations_app.actions.running_controller import PlannedController
from migrations_app.errors import Conflict
from migrations_app.karpenter.detection import image_release
from migrations_app.models.rollout import Rollout
from migrations_app.models.scan import Snapshot
from migrations_app.use_cases.rollouts import worker
from migrations_app.use_cases.rollouts.start_checks import refuse_other_release
from tests.actions import on_server
from tests.actions.on_server import applied, carried_out, installed, plan_of, previewed, registered
from tests.builders.rows import a_snapshot

DEPLOYMENT = ObjectTarget("apps", "v1", "deployments", "Deployment", "karpenter", namespace="kube-system")
ECR = "public.ecr.aws/karpenter/controller"


def deployment(*containers):
    return {"spec": {"template": {"spec": {"containers": list(containers)}}}}


def difference(planned, read):
    return PlannedController(deployment=DEPLOYMENT, container="controller", image=planned).difference(read)


@pytest.mark.parametrize(
    ("planned", "image", "words"),
    [
        (f"{ECR}:1.0.8", f"{ECR}:1.0.8", ""),
        (f"{ECR}:1.0.8", "mirror.example/karpenter:v1.0.8@sha256:0123", ""),
        (f"{ECR}:1.0.8", f"{ECR}:1.1.0", "runs Karpenter 1.1.0; at the preview it ran Karpenter 1.0.8"),
        (f"{ECR}:1.0.8", f"{ECR}:latest", f"runs the image {ECR}:latest; at the preview it ran Karpenter 1.0.8"),
        (f"{ECR}@sha256:01", f"{ECR}@sha256:01", ""),
        (
            f"{ECR}@sha256:01", f"{ECR}@sha256:02",
            f"runs the image {ECR}@sha256:02; at the preview it ran the image {ECR}@sha256:01",
        ),
    ],
)  # fmt: skip
def test_another_release_is_told_apart_from_another_address(planned, image, words):
    sidecar = {"name": "proxy", "image": "proxy:1"}
    found = difference(planned, deployment(sidecar, {"name": "controller", "image": image}))
    assert found == (f"{DEPLOYMENT.display_name} {words}" if words else "")


def test_what_cannot_be_compared_is_a_difference():
    gone = difference(f"{ECR}:1.0.8", None)
    assert gone == f"{DEPLOYMENT.display_name}, which ran Karpenter 1.0.8 at the preview, is gone"
    assert "runs the image (none)" in difference(f"{ECR}:1.0.8", deployment({"name": "proxy", "image": "proxy:1"}))
    assert "runs the image (none)" in difference(f"{ECR}:1.0.8", {})


@pytest.fixture
def server(clean_apiserver, settings, monkeypatch):
    """A clean API server, and a worker that waits for nothing longer than a test can."""
    settings.ENV = replace(settings.ENV, **on_server.QUICK)
    monkeypatch.setattr(worker, "SLICE_SECONDS", 1.0)
    return clean_apiserver


def upgraded(server):
    """Somebody upgrades the controller behind karpdash."""
    (found,) = [
        one for one in server.admin.items("/apis/apps/v1/deployments") if "karpenter" in one["metadata"]["name"]
    ]
    containers = found["spec"]["template"]["spec"]["containers"]
    changed = [{**one, "image": f"{ECR}:1.0.8"} for one in containers]
    path = f"/apis/apps/v1/namespaces/{found['metadata']['namespace']}/deployments/karpenter"
    server.admin.patch(path, {"spec": {"template": {"spec": {"containers": changed}}}})


@pytest.mark.apiserver
@pytest.mark.django_db(transaction=True)
def test_nothing_is_sent_once_another_release_runs(server):
    server.load_crds("beta")
    installed(server, "0.37.8")
    row = previewed(registered(server), "adopt_crds")
    assert [str(image_release(planned.image)) for planned in plan_of(row).controllers] == ["0.37.8"]
    upgraded(server)
    ended = carried_out(row)
    assert (ended.state, ended.cause_code, applied(ended)) == ("paused", "release_changed", [])
    assert ended.cause.endswith("runs Karpenter 1.0.8; at the preview it ran Karpenter 0.37.8; make a new preview")


@pytest.mark.apiserver
@pytest.mark.django_db(transaction=True)
def test_a_start_is_refused_once_a_scan_has_seen_another_release(server):
    server.load_crds("beta")
    installed(server, "0.37.8")
    row = previewed(registered(server), "adopt_crds")
    refuse_other_release(row)
    for version, refused in (("0.37.8", False), ("", False), ("1.0.8", True)):
        Snapshot.objects.all().delete()
        seen_by_scan(row, version)
        if refused:
            with pytest.raises(Conflict) as caught:
                refuse_other_release(row)
            assert caught.value.code == "release_changed"
        else:
            refuse_other_release(row)


def seen_by_scan(row: Rollout, version: str) -> None:
    a_snapshot(row.cluster, at=timezone.now(), latest=False, karpenter_version=version)
