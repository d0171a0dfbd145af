"""Reads the controller's RBAC and network policies, and Karpenter's CRDs."""

from collections.abc import Callable, Iterator

from migrations_app.clients.kubernetes.api import ListPage
from migrations_app.collect.reading import Parts, Reading, lists_of, refuse_repeated
from migrations_app.errors import NotServed
from migrations_app.inventory.facts import controller
from migrations_app.inventory.objects import cluster as rules
from migrations_app.inventory.objects.karpenter import CRD
from migrations_app.inventory.parse import read_crd
from migrations_app.inventory.parts import Seen, UnparsableObject
from migrations_app.karpenter import kinds

EVERY_ACCOUNT = "system:serviceaccounts"
"""The group of all service accounts; the group of one namespace has the namespace after a colon."""


def crds(reading: Reading) -> Parts:
    """Karpenter's CRDs. Other CRDs are dropped page by page, since their schemas are large."""
    good: list[CRD] = []
    bad: list[UnparsableObject] = []

    def begin() -> Callable[[ListPage], None]:
        good.clear()
        bad.clear()
        return take

    def take(page: ListPage) -> None:
        for item in page.items:
            crd = read_crd(item)
            if isinstance(crd, UnparsableObject):
                bad.append(crd)
            elif controller.is_karpenter_crd(crd):
                good.append(crd)

    reading.refuse_doubtful(kinds.CRD)
    resource = reading.resource(kinds.CRD, page_size=50)
    try:
        reading.each_page(resource, begin)
    except NotServed:
        reading.refuse_contradicted(kinds.CRD)
        return {"crds": Seen((), None)}
    refuse_repeated(resource, is_repeated=len({crd.name for crd in good}) < len(good))
    # Unparsable objects that do not belong to Karpenter do not make the part doubtful.
    quarantined = tuple(unparsable for unparsable in bad if "karpenter" in unparsable.name or unparsable.nameless)
    return {"crds": Seen(tuple(good), resource.group_version, quarantined)}


def controller_rbac(reading: Reading) -> Parts:
    """The ClusterRoles that are bound to the controllers' service accounts."""
    accounts = {(w.namespace, w.template.spec.service_account_name or "default") for w in reading.controllers}
    bindings = reading.whole(kinds.CLUSTER_ROLE_BINDING, rules.ClusterRoleBinding)
    named = {binding.role_ref.name for binding in bindings.items if set(_subjects(binding)) & _names(accounts)}
    roles = reading.whole(kinds.CLUSTER_ROLE, rules.ClusterRole)
    bound_roles = tuple(role for role in roles.items if role.name in named)
    bad = tuple(
        unparsable
        for unparsable in (*bindings.quarantined, *roles.quarantined)
        if unparsable.name in named or "karpenter" in unparsable.name or unparsable.nameless
    )
    return {"controller_rbac": Seen(bound_roles, roles.served, bad)}


def _names(accounts: set[tuple[str, str]]) -> set[tuple[str, str, str]]:
    own = {("ServiceAccount", namespace, name) for namespace, name in accounts}
    groups = {("Group", "", f"{EVERY_ACCOUNT}:{namespace}") for namespace, _ in accounts}
    return own | groups | ({("Group", "", EVERY_ACCOUNT)} if accounts else set())


def _subjects(binding: rules.ClusterRoleBinding) -> Iterator[tuple[str, str, str]]:
    for subject in binding.subjects or ():
        yield subject.kind, (subject.namespace or "") if subject.kind == "ServiceAccount" else "", subject.name


def network_policies(reading: Reading) -> Parts:
    """Every NetworkPolicy in the namespaces of the controllers."""
    homes = lists_of(workload.namespace for workload in reading.controllers)
    seens = [reading.whole(kinds.NETWORK_POLICY, rules.NetworkPolicy, namespace=home) for home in homes]
    return {
        "network_policies": Seen(
            tuple(item for seen in seens for item in seen.items),
            next((seen.served for seen in seens if seen.served), None),
            tuple(bad for seen in seens for bad in seen.quarantined),
        )
    }
