"""Remedies that make the conversion webhook of CRDs call the controller's Service."""

from collections.abc import Sequence

from migrations_app.checks.base import CheckContext, Evidence, Remedy
from migrations_app.checks.changes import ChangeTime, HelmValue, ObjectPatch, Observation, PersonTask, group
from migrations_app.checks.remedies.commands import (
    as_json,
    chart_values,
    crd_chart_remedies,
    helm_remedies,
    in_cluster,
    release_at_start,
)
from migrations_app.checks.remedies.crd_upgrade import crd_target
from migrations_app.checks.remedies.observations import read_command
from migrations_app.checks.shell import no_option, pointer, word
from migrations_app.checks.shell import note as remark
from migrations_app.inventory.facts.controller import CRD_CHART, installation, webhooks_off
from migrations_app.inventory.facts.conversion_webhook import (
    conversion_repairs,
    conversion_target,
    crd_values,
    webhook_path,
)
from migrations_app.inventory.objects.karpenter import CRD, Service
from migrations_app.karpenter.hops import ALPHA_LEFT
from migrations_app.karpenter.releases import crd_set
from migrations_app.karpenter.versions import Release
from migrations_app.manifests import JsonMap

SERVICE = "spec.conversion.webhook.clientConfig.service"
ENABLED = "webhook.enabled"
UNANSWERED, CALLED_ALREADY = "conversion_unanswered", "called_already"


def is_fixable(case: CheckContext, _evidence: tuple[Evidence, ...]) -> bool:
    """Whether an action can fix this: at least one CRD is known to be wrong, and the right values are known."""
    return any(mend.strategy for mend in conversion_repairs(case.inventory, case.running.release).values())


def main_chart_fixes(case: CheckContext) -> tuple[Remedy, ...]:
    """Switches the webhook of the controller on: together with the hop that brings its CRDs, later before the hop."""
    when: ChangeTime = "landing" if case.hop.name == ALPHA_LEFT else "before"
    return chart_values(case, {ENABLED: "true"}, about="the API server converts through it", when=when)


def chart_fixes(case: CheckContext, real: Service | None) -> tuple[Remedy, ...]:
    """Brings the CRDs of the running version where that converts nothing: no value makes it answer. Switches the
    webhook of the controller on where it is off, because no value of karpenter-crd makes it answer. Otherwise sets the
    Service in the values of karpenter-crd; without such a release, upgrades the chart to the running version."""
    if _converts_nothing(case.running.release):
        return crd_chart_remedies(case, release_at_start(case))
    if real is None and webhooks_off(installation(case.inventory), case.running.release):
        return main_chart_fixes(case)
    if crd_values(case.inventory) is not None:
        # Upgrading to the same chart would change nothing, because it keeps its values.
        return helm_remedies(case, _values(real), when="before", chart=CRD_CHART)
    return crd_chart_remedies(case, release_at_start(case))


def _converts_nothing(running: Release | None) -> bool:
    """Whether the CRDs of that release have no conversion, and its controller has no webhook."""
    shipped = crd_set(running) if running else None
    return shipped is not None and not shipped.crd_chart_converts


def patch_fixes(case: CheckContext, evidence: Sequence[Evidence], *, real: Service | None) -> tuple[Remedy, ...]:
    """Patches the Service in each CRD; empty if more than the Service is wrong, or the right Service is unknown."""
    if real is None or any(not row.path.startswith(SERVICE) for row in evidence):
        return ()
    named = {row.name for row in evidence}
    crds = [crd for crd in case.inventory.crds.items if crd.name in named]
    return (in_cluster(group(*(_service_patch(crd, real) for crd in crds))),)


def _service_patch(crd: CRD, real: Service) -> ObjectPatch:
    name, service = crd.name, conversion_target(crd)
    body: JsonMap = {"namespace": real.namespace, "name": real.name, "port": 8443, "path": webhook_path(crd)}
    target = crd_target(name)
    done = f"the conversion of {name} calls {body['namespace']}/{body['name']}"
    if service is None:
        return ObjectPatch(target=target, body=_service_body(body, {}), done=done)
    before: JsonMap = {"namespace": service.namespace, "name": service.name}
    before |= {key: value for key, value in (("port", service.port), ("path", service.path)) if value}
    undo = ObjectPatch(target=target, body=_service_body(before, body))
    return ObjectPatch(target=target, body=_service_body(body, before), undo=undo, done=done)


def _service_body(body: JsonMap, seen: JsonMap) -> tuple[JsonMap, ...]:
    """The JSON patch that writes the Service; it is refused if a field that was seen is another by then."""
    at = pointer(SERVICE)
    tests = ({"op": "test", "path": f"{at}/{key}", "value": value} for key, value in seen.items())
    return *tests, {"op": "replace", "path": at, "value": body}


def diagnosis(case: CheckContext, evidence: Sequence[Evidence], *, real: Service | None) -> tuple[Remedy, ...]:
    """What to do if the CRDs are right: find out why no pod is ready behind the controller's Service, or restart the
    controller so that it writes its certificate again. Empty if a change of the CRDs helps."""
    conversion_mends = conversion_repairs(case.inventory, case.running.release)
    codes = {conversion_mends[row.name].code for row in evidence if row.name in conversion_mends}
    if real is None or codes not in ({UNANSWERED}, {CALLED_ALREADY}):
        return ()
    if codes == {CALLED_ALREADY}:
        return _restart_remedies(case, namespace=real.namespace)
    return (look_behind(real),)


def look_behind(real: Service) -> Remedy:
    """Read-only commands that show why no pod is ready behind the controller's Service."""
    home = ("kubectl", "-n", real.namespace)
    note = "What is behind the right Service is not ready: the controller's pods, by their events"
    ends = Observation(pipe=((*home, "describe", "service", no_option(real.name)),), notes=(note,))
    pods = Observation(pipe=((*home, "describe", "pods", "-l", "app.kubernetes.io/name=karpenter"),))
    return in_cluster(group(ends, pods))


def who_converts(crds: Sequence[str]) -> Remedy:
    """Read-only commands that show where these CRDs send their conversions, and which Services of Karpenter exist."""
    note = "A conversion webhook does not answer; where the CRDs send their conversions, and who listens there:"
    looks = (read_command("kubectl", "get", "crd", name, "-o", "jsonpath={.spec.conversion}") for name in crds)
    listens = read_command("kubectl", "get", "services,endpoints", "-A", "-l", "app.kubernetes.io/name=karpenter")
    return in_cluster(group(*looks, listens, notes=(note,)))


def _restart_remedies(case: CheckContext, *, namespace: str) -> tuple[Remedy, ...]:
    """Commands that restart the controller; no patch can say that, because the patch would contain the time."""
    reason = "the right Service is called and refuses; at its start the controller writes its certificate into the CRDs"
    task = PersonTask(what="restart the controller", why=reason)
    names = [workload.name for workload in case.inventory.controller.items]
    lines = (f"kubectl -n {word(namespace)} rollout restart deployment {word(name)}" for name in names)
    return tuple(Remedy(how="kubectl", text=f"{remark(reason)}\n{line}", change=task) for line in lines)


def _values(real: Service | None) -> tuple[HelmValue, ...]:
    on = HelmValue(ENABLED, "true", "the CRDs convert through the webhook")
    if real is None:
        return (on,)
    reason = "the Service of the controller"
    name = HelmValue("webhook.serviceName", as_json(real.name), reason)
    return on, name, HelmValue("webhook.serviceNamespace", as_json(real.namespace), reason)
