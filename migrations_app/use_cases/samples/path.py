"""The progress of a sample cluster on its path to v1, and the execution of its next step for a person."""

import uuid
from collections.abc import Iterable
from typing import Any

from django.utils import timezone

from migrations_app.access import Person, may_prepare
from migrations_app.errors import Conflict, NotFound
from migrations_app.karpenter import kinds
from migrations_app.models.rollout import Rollout
from migrations_app.models.sample_twin import SampleTwin
from migrations_app.samples.changeable import clusters
from migrations_app.samples.changeable.path import (
    OpenRollout,
    RolloutsSoFar,
    SampleFacts,
    SampleNext,
    SampleStep,
    is_done,
    next_step,
    steps,
)
from migrations_app.twin.server import Twin
from migrations_app.use_cases.accounts.rights import person_over_cluster, refuse_person
from migrations_app.use_cases.audit.log import Actor, Event, record_alone
from migrations_app.use_cases.rollouts.drafts import RolloutRequest, draft, roll_back
from migrations_app.use_cases.twins.state import StoredTwin
from migrations_app.use_cases.twins.upgrade import upgrade_controller

CONVERT = "convert_and_apply"
_KARPENTER = "/apis/karpenter.sh"
_POOLS_CRD = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{kinds.NODE_POOL.crd_name}"
_LEGACY = (
    f"{_KARPENTER}/v1alpha5/provisioners",
    f"{_KARPENTER}/v1alpha5/machines",
    "/apis/karpenter.k8s.aws/v1alpha1/awsnodetemplates",
)
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class SamplePath:
    """The path of one sample cluster: `steps` in order, `next` among them, `facts` about its current state."""

    def __init__(self, cluster_id: uuid.UUID) -> None:
        row = SampleTwin.objects.filter(pk=cluster_id).defer("body").first()
        sample = clusters.find(row.sample) if row else None
        if row is None or sample is None:
            raise NotFound("no such sample cluster")
        self.sample = sample
        self.steps = steps(sample.cluster.name, begins=sample.begins)
        stored = StoredTwin(cluster_id)
        self.facts = facts_of(stored.current(), running=stored.control().release)
        self.so_far = _rollouts_so_far(cluster_id, since=row.begun_at)
        self.next: SampleNext = next_step(self.steps, self.facts, so_far=self.so_far)

    @property
    def author(self) -> str:
        """The author of the open rollout; empty if there is none."""
        return self.so_far.open.author if self.so_far.open else ""

    @property
    def lines(self) -> list[tuple[SampleStep, str]]:
        """Every step with the text of its state."""
        words = ["Done" if is_done(step, self.facts, so_far=self.so_far) else "Later" for step in self.steps]
        return [
            (sample_step, "Next" if sample_step is self.next.step else word)
            for sample_step, word in zip(self.steps, words, strict=True)
        ]


def facts_of(twin: Twin, *, running: str) -> SampleFacts:
    """The facts about the current objects of the twin."""
    crd = twin.request("GET", _POOLS_CRD)
    versions = crd.document["spec"]["versions"] if crd.status == 200 else []
    nodes = _items(twin, "/api/v1/nodes")
    marks = [node["metadata"].get("labels") or {} for node in nodes]
    legacy = [mark for mark in marks if "karpenter.sh/provisioner-name" in mark and "karpenter.sh/nodepool" not in mark]
    stored = {
        version
        for definition in _items(twin, _CRDS)
        if definition["spec"]["names"]["kind"] in ("NodePool", "NodeClaim", "EC2NodeClass")
        for version in definition["status"]["storedVersions"]
    }
    served = tuple(version["name"] for version in versions if version["served"])
    pools = f"{_KARPENTER}/{served[0]}/nodepools" if served else ""
    pods = _items(twin, "/api/v1/pods", fieldSelector="status.phase=Pending")
    return SampleFacts(
        release=running,
        served=served,
        storage=next((version["name"] for version in versions if version["storage"]), ""),
        stored=tuple(sorted(stored)),
        node_pools=len(_items(twin, pools)) if pools else 0,
        legacy_nodes=len(legacy),
        legacy_objects=sum(len(_items(twin, path)) for path in _LEGACY),
        nodes=sum("karpenter.sh/provisioner-name" in mark or "karpenter.sh/nodepool" in mark for mark in marks),
        waiting_pods=len(pods),
    )


def _items(twin: Twin, path: str, **query: str) -> list[dict[str, Any]]:
    """The objects of the list; empty if it is not served."""
    answer = twin.request("GET", path, query=query)
    items: list[dict[str, Any]] = answer.document["items"] if answer.status == 200 else []
    return items


def _rollouts_so_far(cluster_id: uuid.UUID, *, since: object) -> RolloutsSoFar:
    rows = list(
        Rollout.objects.filter(cluster_id=cluster_id, made_at__gte=since).order_by("-made_at", "-pk").defer("plan")
    )
    done = {row.action for row in rows if row.state == "succeeded"}
    back = next((row for row in rows if row.action == CONVERT and row.state == "succeeded"), None)
    newest = rows[0] if rows else None
    return RolloutsSoFar(
        succeeded=frozenset(done),
        to_take_back=str(back.pk) if back else "",
        taken_back=any(row.rolls_back_id and row.state == "succeeded" for row in rows),
        open=_open(rows, newest),
    )


def _open(rows: Iterable[Rollout], newest: Rollout | None) -> OpenRollout | None:
    """The rollout that a person has to act on; else the newest one, if it was not successful."""
    open_states = ("draft", "previewed", "awaiting_approval", "approved", "running", "paused", "needs_attention")
    rollout = next((row for row in rows if row.state in open_states), None)
    if rollout is None and newest is not None and newest.state in ("expired", "rejected", "failed", "aborted"):
        rollout = newest
    if rollout is None:
        return None
    return OpenRollout(
        id=str(rollout.pk), action=rollout.action, state=rollout.state, author=rollout.author_name, cause=rollout.cause
    )


def run_next_step(cluster_id: uuid.UUID, step_id: str, *, person: Person, by: Actor) -> uuid.UUID | None:
    """Does the next step for the person.

    Returns the id of the drafted rollout, or None after an upgrade. Raises NotFound, PermissionDenied, InvalidInput,
    and Conflict `moved` if another step is next now.
    """
    refuse_person(may_prepare(person_over_cluster(person, cluster_id)))
    path = SamplePath(cluster_id)
    step = path.next.step
    if step is None or step.id != step_id or (path.next.rollout and not path.next.retry):
        raise Conflict("another step is next now", code="moved")
    if step.kind == "upgrade":
        _upgrade(cluster_id, step, path=path, by=by)
        return None
    if step.kind == "roll_back":
        since = SampleTwin.objects.values_list("begun_at", flat=True).get(pk=cluster_id)
        return roll_back(uuid.UUID(_rollouts_so_far(cluster_id, since=since).to_take_back), person, by=by)
    return draft(cluster_id, RolloutRequest(action=step.action, parameters=step.parameters), by=by, person=person)


def _upgrade(cluster_id: uuid.UUID, step: SampleStep, *, path: SamplePath, by: Actor) -> None:
    upgrade_controller(cluster_id, step.release)
    record_alone(
        Event(
            verb="sample.controller_upgraded",
            actor=by,
            object=path.sample.name,
            outcome="done",
            cluster_id=str(cluster_id),
            detail={"from": path.facts.release, "to": step.release, "at": timezone.now().isoformat()},
        )
    )
