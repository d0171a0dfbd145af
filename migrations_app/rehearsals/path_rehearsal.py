"""Plays the rollouts of every hop on one twin, which goes from release to release by the runbook.

Steps of people and other tools count as done: the walk gives their effects. What a scan sees of pods, nodes and
Karpenter's objects comes from the twin.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from migrations_app.actions import registry
from migrations_app.actions.plan import RolloutLimits
from migrations_app.actions.rehearsable import restarts_workloads
from migrations_app.checks.base import Finding
from migrations_app.clients.kubernetes.api import ClusterApi
from migrations_app.collect.collect import ProgressListener, collect
from migrations_app.errors import InvalidInput, KarpdashError
from migrations_app.inventory.inventory import track_reads
from migrations_app.inventory.objects.karpenter import CRD
from migrations_app.inventory.parts import Seen
from migrations_app.journeys.compose import UPGRADE_CRDS, Choices, journey_steps
from migrations_app.journeys.plan import JourneyStep
from migrations_app.karpenter.upgrade_path import PathHop, path
from migrations_app.karpenter.versions import kubernetes_minor
from migrations_app.readiness.evaluate import evaluate
from migrations_app.readiness.report import CollectResult, Report
from migrations_app.readiness.runbook.effects.object_lookup import with_parts
from migrations_app.readiness.runbook.hop_work import state_after_upgrade, state_before_upgrade
from migrations_app.readiness.runbook.runbook import RunbookHop, runbook
from migrations_app.readiness.stage import detect_running_release
from migrations_app.rehearsals.assumptions import PLAYED_VERSIONS, RehearsalAssumptions, assumptions_of, running_with
from migrations_app.rehearsals.planning import UNNAMED, plan_on
from migrations_app.rehearsals.play import Failure, RehearsalStage, play, set_up, wait_for
from migrations_app.rehearsals.python_gc import reduced_garbage_collection
from migrations_app.rehearsals.reading import PARTS, is_ours, read_objects
from migrations_app.rehearsals.rehearsed_path import SCHEMA, RehearsedHop, RehearsedPath, RehearsedStep, StepEnd
from migrations_app.twin.ports.reading import TwinReader

NOTHING_TO_DO = "nothing_to_do"
"""The code of an action whose work an earlier step has done."""
MAX_HOPS = 20
POOLS = "nodepools.karpenter.sh"


@dataclass(frozen=True, slots=True)
class PathRehearsalRequest:
    """The rehearsal to run: up to this release, minor or hop, or to the newest release; under these limits."""

    target: str | None = None
    limits: RolloutLimits = field(default_factory=RolloutLimits)
    seed: int = 0
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The parameters of actions, by id of the action."""


@reduced_garbage_collection()
def rehearse_path(
    api: ClusterApi, request: PathRehearsalRequest, *, cluster: str, on_part: ProgressListener | None = None
) -> RehearsedPath:
    """Reads the cluster and plays all hops. Raises InvalidInput for an invalid target or a cluster without an upgrade
    path, ReadError.
    """
    collected = collect(api, cluster=cluster, on_part=on_part)
    reading = read_objects(api, collected.inventory)
    assumptions = assumptions_of(reading, collected.inventory, seed=request.seed)
    stage = set_up(reading, assumptions.behaviour, identity=UNNAMED, failure=Failure())
    del reading
    read = (name for name, _ in PARTS if name != "crds" and isinstance(collected.inventory.part(name), Seen))
    return _PathRehearsal(request, collected, stage, tuple(read)).result(assumptions)


@dataclass(slots=True)
class _PathRehearsal:
    """The cluster during the rehearsal: what is not on the twin is in the inventory of `collected`."""

    request: PathRehearsalRequest
    collected: CollectResult
    stage: RehearsalStage
    read: tuple[str, ...]
    """The names of the parts that are on the twin."""
    hops: list[RehearsedHop] = field(default_factory=list)

    def result(self, assumptions: RehearsalAssumptions) -> RehearsedPath:
        before = len(self.stage.simulator.state.nodes)
        path(detect_running_release(self.collected.inventory), target=self.request.target)
        while len(self.hops) < MAX_HOPS and self._goes_on():
            pass
        self.stage.simulator.measurements.finish()
        measured = self.stage.simulator.measurements
        last = self.hops[-1] if self.hops else None
        answered = not any(hop.unknown for hop in self.hops)
        return RehearsedPath(
            schema=SCHEMA,
            cluster=self.collected.inventory.cluster,
            taken_at=self.collected.inventory.taken_at,
            target=self.request.target or "the newest release",
            seed=self.request.seed,
            finished=(last is None or last.stopped is None) and answered,
            hops=tuple(self.hops),
            seconds=round((self.stage.clock.now() - self.stage.began).total_seconds()),
            nodes_before=before,
            nodes_peak=measured.peak_nodes if assumptions.counts_rooms else None,
            pods_moved=measured.pods_moved,
            unknown=assumptions.unknown,
            assumptions=assumptions.assumptions,
        )

    def _goes_on(self) -> bool:
        """Plays the next hop; returns whether another hop may follow."""
        try:
            report = evaluate(self.collected, target=self.request.target).report
        except InvalidInput:  # the target was reached
            return False
        hop = next(iter(runbook(report).hops), None)
        path_hop = self._path_hop()
        if hop is None or path_hop is None or any(hop.path_hop.name == played_hop.hop for played_hop in self.hops):
            return False
        played_hop = self._played(hop, path_hop, report=report)
        self.hops.append(played_hop)
        return played_hop.stopped is None

    def _path_hop(self) -> PathHop | None:
        inventory = self.collected.inventory
        version = next(iter(inventory.version.items), None)
        minor = kubernetes_minor(version.git_version) if version else None
        upgrade_path = path(detect_running_release(inventory), target=self.request.target, kubernetes=minor)
        return next(iter(upgrade_path.hops), None)

    def _played(self, hop: RunbookHop, path_hop: PathHop, *, report: Report) -> RehearsedHop:
        findings = tuple(check for check in report.checks if check.hop == hop.path_hop.name)
        played = list(self._steps(hop, path_hop, findings=findings, report=report))
        self._refresh()
        return RehearsedHop(
            hop=hop.path_hop.name,
            starts=hop.starts,
            target_release=hop.path_hop.release,
            steps=tuple(played),
            unknown=tuple(sorted(_unanswered(findings))),
            nodes=len(self.stage.simulator.state.nodes),
        )

    def _steps(
        self, hop: RunbookHop, path_hop: PathHop, *, findings: tuple[Finding, ...], report: Report
    ) -> Iterator[RehearsedStep]:
        """Plays the steps up to the one that stops. The first step that brings the release or its CRDs marks the
        upgrade.
        """
        is_upgraded = False
        steps = journey_steps(hop, installed=report.cluster.installed, choices=Choices(self.request.parameters))
        rolled = {name for journey_step in steps if journey_step.kind == "rollout" for name in journey_step.checks}
        by_others = [finding for finding in findings if finding.id not in rolled]
        ready = state_before_upgrade(track_reads(self.collected.inventory), by_others, hop=path_hop)
        self.collected = replace(self.collected, inventory=ready)
        self._refresh()
        for journey_step in steps:
            brings = bool(journey_step.release) or journey_step.action == UPGRADE_CRDS
            if brings and not is_upgraded:
                self._upgrade(findings, path_hop)
                is_upgraded = True
            step = self._step(journey_step)
            yield step
            if step.ends in ("stops", "not_planned"):
                return
        if not is_upgraded:
            self._upgrade(findings, path_hop)

    def _step(self, journey_step: JourneyStep) -> RehearsedStep:
        action = registry.find(journey_step.action) if journey_step.action else None
        if journey_step.kind == "wait":
            wait_for(self.stage, journey_step.seconds)
            return _rehearsed_step(journey_step, ends="waits", seconds=journey_step.seconds)
        if journey_step.kind != "rollout" or action is None or action.needs_chart or action.role:
            return _rehearsed_step(journey_step, ends="by_others")
        if restarts_workloads(action):
            return _rehearsed_step(
                journey_step, ends="by_others", code="not_played", words="changes of workloads are not played"
            )
        self._refresh()
        definitions = collect(TwinReader(self.stage.twin), cluster="").inventory.crds
        try:
            plan = plan_on(
                self.stage,
                with_parts(self.collected.inventory, {"crds": definitions}),
                action=journey_step.action,
                parameters=journey_step.parameters,
                limits=self.request.limits,
            )
        except KarpdashError as reason:
            if reason.code == NOTHING_TO_DO:
                return _rehearsed_step(journey_step, ends="played", words=reason.message, code=reason.code)
            # A step that does not block is skipped, and the runbook continues.
            ends: StepEnd = "not_planned" if journey_step.protects else "by_others"
            return _rehearsed_step(journey_step, ends=ends, code=reason.code, words=reason.message)
        played = play(plan, self.stage)
        if played.stopped is None:
            return _rehearsed_step(journey_step, ends="played", seconds=played.seconds)
        return _rehearsed_step(
            journey_step, ends="stops", seconds=played.seconds, code=played.stopped.code, words=played.stopped.words
        )

    def _refresh(self) -> None:
        """Updates the inventory with what a scan of the twin sees now."""
        inventory = self.collected.inventory
        seen = collect(TwinReader(self.stage.twin), cluster=inventory.cluster).inventory
        fresh = with_parts(inventory, {name: seen.part(name) for name in self.read})
        self.collected = replace(self.collected, inventory=fresh)

    def _upgrade(self, findings: tuple[Finding, ...], path_hop: PathHop) -> None:
        """Applies the upgrade to the twin: the release runs, its CRDs exist, and the fixes of people are made."""
        self._refresh()
        upgraded = state_after_upgrade(track_reads(self.collected.inventory), findings, hop=path_hop)
        self.collected = replace(self.collected, inventory=upgraded)
        for crd in upgraded.crds.items:
            self._define(crd)
        served = next((crd.served for crd in upgraded.crds.items if crd.name == POOLS), ())
        version = next((name for name in reversed(PLAYED_VERSIONS) if name in served), "")
        running_with(self.stage.simulator.behaviour, upgraded, version=version)
        self.stage.simulator.settle()
        self._refresh()

    def _define(self, crd: CRD) -> None:
        """Creates or updates a CRD on the twin, if it belongs to Karpenter."""
        document = _document(crd)
        if not is_ours(document):
            return
        base = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        answer = self.stage.twin.request("GET", f"{base}/{crd.name}")
        if answer.status == 404:
            self.stage.twin.request("POST", base, body=document)
            return
        metadata = document["metadata"] | {"resourceVersion": answer.document["metadata"]["resourceVersion"]}
        self.stage.twin.request("PUT", f"{base}/{crd.name}", body=document | {"metadata": metadata})


def _document(crd: CRD) -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    versions = [
        {"name": version.name, "served": version.served, "storage": version.storage, "schema": schema}
        for version in crd.spec.versions or ()
    ]
    names = {"kind": crd.spec.names.kind, "plural": crd.spec.names.plural}
    spec = {"group": crd.spec.group, "scope": "Cluster", "names": names, "versions": versions}
    head = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    return head | {"metadata": {"name": crd.name}, "spec": spec}


def _unanswered(findings: tuple[Finding, ...]) -> Iterator[str]:
    """The ids of blocking checks without an answer, except those that an earlier hop asks, too."""
    for finding in findings:
        if finding.severity == "blocker" and finding.status == "unknown" and not finding.asked_earlier:
            yield finding.id


def _rehearsed_step(
    journey_step: JourneyStep, *, ends: StepEnd, seconds: float = 0, code: str = "", words: str = ""
) -> RehearsedStep:
    return RehearsedStep(
        title=journey_step.title,
        action=journey_step.action,
        ends=ends,
        seconds=round(seconds),
        code=code,
        words=words,
        checks=journey_step.checks,
    )
