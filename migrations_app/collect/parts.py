"""The jobs that read each part. Jobs of the second stage need parts that the first stage read."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import msgspec

from migrations_app.clients.kubernetes.api import ListPage, Resource, Served
from migrations_app.collect import helm_releases, rbac_and_crds, related_objects
from migrations_app.collect.deliveries import delivers_karpenter
from migrations_app.collect.reading import Parts, Reading, lists_of, refuse_repeated
from migrations_app.errors import InvalidResponse, NotServed
from migrations_app.inventory.aws_facts import pod_network
from migrations_app.inventory.facts import controller
from migrations_app.inventory.facts.workloads import claims_devices, may_ask_metadata
from migrations_app.inventory.metric_queries import (
    DASHBOARD_LABEL,
    MetricQueryCollector,
    MetricUser,
    dashboards_collector,
    other_collectors,
    rules_collector,
)
from migrations_app.inventory.objects import karpenter as o
from migrations_app.inventory.parts import Seen, UnparsableObject
from migrations_app.inventory.pod_groups import PodGrouper, names_karpenter
from migrations_app.karpenter import kinds
from migrations_app.karpenter.kinds import Kind

N = TypeVar("N", bound=o.NamedObject)
F = TypeVar("F", PodGrouper, MetricQueryCollector)


@dataclass(frozen=True, slots=True)
class Job:
    """`read` returns exactly the parts named in `gives`, or raises ReadError for all of them."""

    gives: tuple[str, ...]
    read: Callable[[Reading], Parts]
    needs: tuple[str, ...] = ()
    """Parts that this job depends on: if one of them is unseen, this job's parts are unseen, too, and never empty."""
    lists: Kind | None = None
    """The only list that the job reads; set if its part may be stored for the next scan."""


def _keep(seen: Seen[N], condition: Callable[[N], bool], *, counts_all: bool = False) -> Seen[N]:
    items = tuple(item for item in seen.items if condition(item))
    total = len(seen.items) + len(seen.quarantined) if counts_all else None
    return Seen(items, seen.served, seen.quarantined, total=total)


def _version(reading: Reading) -> Parts:
    try:
        version = msgspec.json.decode(reading.api.get("/version"), type=o.ServerVersion)
    except (msgspec.DecodeError, RecursionError) as wrong:
        raise InvalidResponse(f"/version is not a valid answer of an API server: {wrong}") from None
    return {"version": Seen((version,))}


def _discovery(reading: Reading) -> Parts:
    served: Served = reading.api.served()
    read = {kind.group for kind in kinds.KINDS}
    failed = tuple(
        UnparsableObject("APIService", "", group, "$", why)
        for group, why in sorted(served.failed.items())
        if group.partition("/")[0] in read
    )
    return {"discovery": Seen(served.resources, None, failed)}


def _simple(part: str, kind: Kind, *, projection: type[o.NamedObject]) -> Job:
    return Job((part,), lambda reading: {part: reading.whole(kind, projection)})


def _of_karpenter(seen: Seen[N], word: str) -> Seen[N]:
    """Drops unparsable objects that do not belong to Karpenter, so that they do not make the part doubtful."""
    quarantined = tuple(bad for bad in seen.quarantined if word in bad.name or bad.nameless)
    return Seen(seen.items, seen.served, quarantined, total=seen.total)


def _pods(reading: Reading) -> Parts:
    resource = reading.resource(kinds.POD)
    pods = _folded(reading, resource, fresh=PodGrouper)
    refuse_repeated(resource, is_repeated=pods.is_repeated)
    return {"pods": pods.seen(resource.group_version)}


def _folded(reading: Reading, resource: Resource, *, fresh: Callable[[], F]) -> F:
    """All pages of a list, collected in one `fresh()` object; a restarted list starts with a new one."""
    fold = fresh()

    def begin() -> Callable[[ListPage], None]:
        nonlocal fold
        fold = fresh()
        return lambda page: fold.add(page.items)

    reading.each_page(resource, begin)
    return fold


def _deployments(reading: Reading) -> Parts:
    every = reading.whole(kinds.DEPLOYMENT, o.Workload)
    found = _of_karpenter(_keep(every, controller.is_controller), "karpenter")
    # What is told of the running release is told of the first one: after a move, one without pods is left behind.
    controllers = replace(found, items=tuple(sorted(found.items, key=lambda workload: not _has_ready_pods(workload))))
    return {"deployments": _keep(every, _is_relevant, counts_all=True), "controller": controllers}


def _has_ready_pods(workload: o.Workload) -> bool:
    return bool(workload.status and workload.status.ready_replicas)


def _is_relevant(workload: o.Workload) -> bool:
    is_own = controller.is_controller(workload) or controller.is_hook_job(workload)
    other = controller.is_other_autoscaler(workload) or pod_network.is_network_plugin(workload)
    concerned = names_karpenter(workload) or may_ask_metadata(workload) or claims_devices(workload)
    return is_own or other or concerned


def _workloads(part: str, kind: Kind) -> Job:
    return Job((part,), lambda reading: {part: _keep(reading.whole(kind, o.Workload), _is_relevant, counts_all=True)})


def _webhooks(reading: Reading) -> Parts:
    both = [
        reading.whole(kind, o.WebhookConfiguration) for kind in (kinds.VALIDATING_WEBHOOKS, kinds.MUTATING_WEBHOOKS)
    ]
    labelled = [
        msgspec.structs.replace(item, kind=kind)
        for seen, kind in zip(both, ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"), strict=True)
        for item in seen.items
        if controller.is_karpenter_webhook(item)
    ]
    bad = tuple(bad for seen in both for bad in seen.quarantined if "karpenter" in bad.name or bad.nameless)
    return {"webhooks": Seen(tuple(labelled), both[0].served, bad)}


def _aws_auth(reading: Reading) -> Parts:
    return {"aws_auth": _config_maps(reading, ("kube-system",), name="aws-auth")}


def _cilium_config(reading: Reading) -> Parts:
    seen = _config_maps(reading, ("kube-system",), name=pod_network.CILIUM_CONFIG)
    return {"cilium_config": replace(seen, items=tuple(map(pod_network.only_ipam, seen.items)))}


def _settings(reading: Reading) -> Parts:
    return {"settings": _config_maps(reading, reading.karpenter_namespaces, name="karpenter-global-settings")}


def _config_maps(reading: Reading, namespaces: Iterable[str], *, name: str) -> Seen[o.ConfigMap]:
    select = f"metadata.name={name}"
    seens = [reading.whole(kinds.CONFIG_MAP, o.ConfigMap, namespace=home, field_selector=select) for home in namespaces]
    return _keep(_joined(seens), lambda item: item.name == name)


def _joined(seens: Iterable[Seen[N]]) -> Seen[N]:
    every = tuple(seens)
    items = tuple(item for seen in every for item in seen.items)
    bad = tuple(bad for seen in every for bad in seen.quarantined)
    return Seen(items, next((seen.served for seen in every if seen.served), None), bad)


def _deliveries(reading: Reading) -> Parts:
    seens = [
        reading.whole(kind, o.GitOpsDelivery)
        for kind in (kinds.FLUX_HELM_RELEASE, kinds.FLUX_KUSTOMIZATION, kinds.ARGO_APPLICATION)
    ]
    return {"deliveries": _of_karpenter(_keep(_joined(seens), delivers_karpenter), "karpenter")}


def _prometheus_rules(reading: Reading) -> Parts:
    return {"prometheus_rules": _metric_users(reading, kinds.PROMETHEUS_RULE, fresh=rules_collector)}


def _other_queries(reading: Reading) -> Parts:
    seens = [_metric_users(reading, kind, fresh=fresh) for kind, fresh in other_collectors().items()]
    total = sum(seen.count for seen in seens)
    return {"other_queries": replace(_joined(seens), total=total)}


def _dashboards(reading: Reading) -> Parts:
    # A ConfigMap may be 1 MiB long, and dashboards often are.
    narrow = {"label_selector": DASHBOARD_LABEL, "page_size": 20}
    return {"dashboards": _metric_users(reading, kinds.CONFIG_MAP, fresh=dashboards_collector, **narrow)}


def _metric_users(
    reading: Reading,
    kind: Kind,
    *,
    fresh: Callable[[], MetricQueryCollector],
    **narrow: Any,  # noqa: ANN401 - the fields of Resource
) -> Seen[MetricUser]:
    """Every object of the kind that uses a Karpenter metric; empty if the kind is not served."""
    reading.refuse_doubtful(kind)
    for resource in reading.candidates(kind, **narrow):
        try:
            return _folded(reading, resource, fresh=fresh).seen(resource.group_version)
        except NotServed:
            continue
    reading.refuse_contradicted(kind)
    return Seen((), None)


def _controller_pods(reading: Reading) -> Parts:
    pods = []
    for workload in reading.controllers:
        labels = (workload.spec.selector.match_labels if workload.spec.selector else None) or {}
        selector = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
        pods.append(reading.whole(kinds.POD, o.ControllerPod, namespace=workload.namespace, label_selector=selector))
    seen = _joined(pods)
    once = {(pod.namespace, pod.name): pod for pod in seen.items}
    return {"controller_pods": replace(seen, items=tuple(once.values()))}


def _accounts(reading: Reading) -> Parts:
    named = {(w.namespace, w.template.spec.service_account_name or "default") for w in reading.controllers}
    homes = lists_of(home for home, _ in named)
    seen = _joined(reading.whole(kinds.SERVICE_ACCOUNT, o.ServiceAccount, namespace=home) for home in homes)
    return {"controller_accounts": _keep(seen, lambda item: (item.namespace, item.name) in named)}


def _services(reading: Reading) -> Parts:
    named = {(s.namespace, s.name) for s in controller.webhook_services(_crd_items(reading), _hook_items(reading))}
    homes = lists_of([*(home for home, _ in named), *(workload.namespace for workload in reading.controllers)])
    every = _joined(reading.whole(kinds.SERVICE, o.Service, namespace=home) for home in homes)
    labels = {workload.namespace: _selectors(reading, workload.namespace) for workload in reading.controllers}
    services = _keep(
        every, lambda item: (item.namespace, item.name) in named or _selects(item, labels.get(item.namespace, ()))
    )
    names = {(item.namespace, item.name) for item in services.items} | named
    ends = _joined(reading.whole(kinds.ENDPOINTS, o.Endpoints, namespace=home) for home in homes)
    return {"services": services, "endpoints": _keep(ends, lambda item: (item.namespace, item.name) in names)}


def _crd_items(reading: Reading) -> tuple[o.CRD, ...]:
    crds: tuple[o.CRD, ...] = reading.found["crds"].items
    return crds


def _hook_items(reading: Reading) -> tuple[o.WebhookConfiguration, ...]:
    configurations: tuple[o.WebhookConfiguration, ...] = reading.found["webhooks"].items
    return configurations


def _selectors(reading: Reading, home: str) -> tuple[o.Strings, ...]:
    label_sets = (w.template.metadata.labels or {} for w in reading.controllers if w.namespace == home)
    return tuple(label_sets)


def _selects(service: o.Service, labels: tuple[o.Strings, ...]) -> bool:
    selector = (service.spec.selector or {}).items()
    return bool(selector) and any(selector <= label_set.items() for label_set in labels)


VERSION = Job(("version",), _version)
DISCOVERY = Job(("discovery",), _discovery)
FIRST: tuple[Job, ...] = (
    Job(("pods",), _pods, lists=kinds.POD),
    replace(_simple("nodes", kinds.NODE, projection=o.Node), lists=kinds.NODE),
    _simple("machines", kinds.MACHINE, projection=o.Machine),
    _simple("nodeclaims", kinds.NODE_CLAIM, projection=o.NodeClaim),
    Job(("crds",), rbac_and_crds.crds),
    Job(("deployments", "controller"), _deployments),
    _simple("provisioners", kinds.PROVISIONER, projection=o.Provisioner),
    _simple("awsnodetemplates", kinds.AWS_NODE_TEMPLATE, projection=o.AWSNodeTemplate),
    _simple("nodepools", kinds.NODE_POOL, projection=o.NodePool),
    _simple("ec2nodeclasses", kinds.EC2_NODE_CLASS, projection=o.EC2NodeClass),
    _workloads("statefulsets", kinds.STATEFUL_SET),
    _workloads("daemonsets", kinds.DAEMON_SET),
    _workloads("jobs", kinds.JOB),
    _workloads("cronjobs", kinds.CRON_JOB),
    _workloads("argo_rollouts", kinds.ARGO_ROLLOUT),
    _simple("pdbs", kinds.DISRUPTION_BUDGET, projection=o.DisruptionBudget),
    Job(("webhooks",), _webhooks),
    Job(("aws_auth",), _aws_auth),
    Job(("cilium_config",), _cilium_config),
    Job(("deliveries",), _deliveries),
    Job(("prometheus_rules",), _prometheus_rules),
    Job(("dashboards",), _dashboards),
    Job(("other_queries",), _other_queries),
    Job(("volumes",), related_objects.volumes),
    Job(("monitors",), related_objects.monitors),
    Job(("policies",), related_objects.policies, needs=("discovery",)),
    Job(("admission_policies",), related_objects.admission_policies),
)
SECOND: tuple[Job, ...] = (
    Job(("controller_pods",), _controller_pods, needs=("controller",)),
    Job(("controller_accounts",), _accounts, needs=("controller",)),
    Job(("controller_rbac",), rbac_and_crds.controller_rbac, needs=("controller",)),
    Job(("network_policies",), rbac_and_crds.network_policies, needs=("controller",)),
    Job(("namespaces",), related_objects.namespaces, needs=("controller",)),
    Job(("sources",), related_objects.sources, needs=("deliveries",)),
    Job(("services", "endpoints"), _services, needs=("controller", "crds", "webhooks")),
    Job(("settings",), _settings, needs=("controller",)),
    Job(("helm_releases",), helm_releases.helm_releases, needs=("controller",)),
)
