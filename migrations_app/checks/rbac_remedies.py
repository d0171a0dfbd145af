"""How rights are given to the controller and taken from it, as commands."""

from collections.abc import Iterable

from migrations_app.checks.base import Case
from migrations_app.checks.remedies import kubectl
from migrations_app.checks.shell import word
from migrations_app.checks.values import Remedy
from migrations_app.inventory.granted import per_target
from migrations_app.inventory.installation import installation
from migrations_app.karpenter.rbac_rows import Right


def granting(case: Case, rights: Iterable[Right]) -> Remedy:
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


def _by_verbs(rights: Iterable[Right]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for target, some in per_target(rights).items():
        found.setdefault(",".join(dict.fromkeys(right.verb for right in some)), []).append(target)
    return found
