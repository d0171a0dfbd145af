"""Wording of remedies with the cluster's real names, the tool that keeps the object first.

How rights are given to the controller and taken from it, as commands.
"""

from collections.abc import Iterable, Mapping, Sequence

from migrations_app.checks.base import CheckContext, Evidence, How, Remedy
from migrations_app.checks.remedies.gitops import as_code, chart_as_code, yaml_of
from migrations_app.checks.shell import helm_set, json_word, note, one_line, word, words
from migrations_app.inventory.facts.controller import CRD_CHART, installation
from migrations_app.inventory.facts.managers import Managed, Manager, managed
from migrations_app.inventory.facts.rbac import per_target
from migrations_app.inventory.facts.workloads import workload
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import NamedObject
from migrations_app.karpenter.releases import as_tag
from migrations_app.karpenter.tables.rbac_rows import RbacRight
from migrations_app.karpenter.versions import Release

FIRST: dict[Manager, How] = {
    "flux": "flux",
    "argocd": "argocd",
    "terraform": "terraform",
    "eksctl": "kubectl",
    "helm": "helm",
    "hand": "kubectl",
}
CHARTS = "oci://public.ecr.aws/karpenter"
NAMES_SHOWN = 20


def ordered(by: Managed, found: Iterable[Remedy]) -> tuple[Remedy, ...]:
    """The same remedies, that of the tool which keeps the object first."""
    return tuple(sorted(found, key=lambda remedy: remedy.how != FIRST[by.by]))


def names(evidence: Iterable[Evidence]) -> str:
    """The names in the evidence, each once, as words of shell; a long list ends in three dots."""
    every = dict.fromkeys(row.name for row in evidence)
    return words(names_shown(evidence)) + (" ..." if len(every) > NAMES_SHOWN else "")


def names_shown(evidence: Iterable[Evidence]) -> list[str]:
    """The names in the evidence, each once, as they are; no more than are shown."""
    return list(dict.fromkeys(row.name for row in evidence))[:NAMES_SHOWN]


def merged(path: str, leaf: object) -> str:
    """A merge patch that sets the value at a dotted path, as kubectl takes it behind -p."""
    body = leaf
    for step in reversed(path.split(".")):
        body = {step: body}
    return json_word(body)


def kept_by(inventory: Inventory, row: Evidence) -> Managed:
    """Who keeps the workload that the evidence names."""
    found = workload(inventory, kind=row.kind, namespace=row.namespace, name=row.name)
    return managed(found.metadata) if found else Managed("hand")


def kubectl(*lines: str) -> Remedy:
    """Those lines of shell; empty ones are left out. What stands behind # in a line cannot begin another line."""
    return Remedy(how="kubectl", text="\n".join(map(one_line, filter(None, lines))))


def chart_values(
    case: CheckContext, given: Mapping[str, str], *, about: str = "", to: Release | None = None
) -> tuple[Remedy, ...]:
    """How to give these values to the chart karpenter, in each tool; empty text as a value takes it out.

    `to` is the release to bring the chart to, where that is not the running one; code that pins a version keeps it
    otherwise. Without values `about` says what is to be changed.
    """
    found = installation(case.inventory)
    by = found.managed if found else Managed("hand")
    release, namespace = (found.release_name, found.namespace) if found else ("karpenter", "kube-system")
    version = spelled(to or case.running.release)
    comment = f"{note(about)}\n" if about else ""
    flags = " ".join(helm_set(key, value or "null") for key, value in given.items())
    upgrade = (
        f"helm upgrade {word(release)} {CHARTS}/karpenter --namespace {word(namespace)} --version {version}"
        f" --reuse-values {flags}"
    ).rstrip()
    return ordered(
        by,
        (
            Remedy(how="helm", text=f"{comment}{upgrade}"),
            *as_code(by, release=release, tree=yaml_of(given), version=version if to else "", about=comment),
        ),
    )


def crd_chart(case: CheckContext, version: str) -> tuple[Remedy, ...]:
    """How to bring the CRDs to a release with the chart karpenter-crd, in each tool."""
    found = installation(case.inventory)
    namespace = found.namespace if found else "kube-system"
    return crd_chart_by(found.managed if found else Managed("hand"), namespace=namespace, version=version)


def crd_chart_by(by: Managed, *, namespace: str, version: str, flags: str = "") -> tuple[Remedy, ...]:
    """The same for those who know who keeps the CRDs and where; `flags` are further words for helm."""
    chart = f"{CHARTS}/{CRD_CHART} --version {version} --namespace {word(namespace)}"
    return ordered(
        by,
        (
            Remedy(how="helm", text=f"helm upgrade --install {CRD_CHART} {chart} {flags}".rstrip()),
            *chart_as_code(CRD_CHART, version=version),
        ),
    )


def removal(resource: str, found: Sequence[NamedObject], *, first: str = "") -> tuple[Remedy, ...]:
    """How to delete objects so that they stay away: from their source first where a tool would bring them back."""
    every = [managed(one.metadata) for one in found]
    by = next((one for one in every if one.by != "hand"), Managed("hand"))
    listed = words(one.name for one in found[:NAMES_SHOWN]) + (" ..." if len(found) > NAMES_SHOWN else "")
    delete = kubectl(*((first,) if first else ()), f"kubectl delete {resource} {listed}")
    return ordered(by, (*from_source(by, f"take {resource} {listed} out"), delete))


def from_source(by: Managed, what: str) -> tuple[Remedy, ...]:
    """What to change where the tool reads it; empty for objects kept by hand or by a tool without a source."""
    how = FIRST[by.by]
    owner = f" ({by.namespace + '/' if by.namespace else ''}{by.name})" if by.name else ""
    where = {
        "flux": f"In the repository that Flux applies{owner}",
        "argocd": f"In the source of the Argo CD Application{owner}",
        "terraform": "In the Terraform code that holds it",
        "helm": f"In the chart of the Helm release{owner}",
    }
    return (Remedy(how=how, text=note(f"{where[how]}: {what}")),) if how in where else ()


def spelled(running: Release | None) -> str:
    """A release as its charts and image tags spell it; a word to fill in where it is not known."""
    return as_tag(running) if running else "VERSION"


def granting(case: CheckContext, rights: Iterable[RbacRight]) -> Remedy:
    """Commands that give the controller these rights in ClusterRoles of their own, beside those that it has."""
    found = installation(case.inventory)
    account = (found and found.workload.template.spec.service_account_name) or "default"
    home = found.namespace if found else "kube-system"
    subject = word(f"{home}:{account}")
    lines = ["# Gives the controller the rights it lacks; the roles that it has stay as they are"]
    for number, (verbs, targets) in enumerate(_by_verbs(rights).items(), start=1):
        name = f"karpenter-lacking-{number}"
        lines.append(f"kubectl create clusterrole {name} --verb={word(verbs)} --resource={word(','.join(targets))}")
        lines.append(f"kubectl create clusterrolebinding {name} --clusterrole={name} --serviceaccount={subject}")
    return kubectl(*lines)


def _by_verbs(rights: Iterable[RbacRight]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for target, some in per_target(rights).items():
        found.setdefault(",".join(dict.fromkeys(right.verb for right in some)), []).append(target)
    return found
