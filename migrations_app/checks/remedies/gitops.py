"""Remedies for charts that are kept as code: a value or a release where Terraform, Flux and Argo CD read it."""

import json
import re
from collections.abc import Mapping
from textwrap import indent

from migrations_app.checks.base import Remedy
from migrations_app.checks.shell import note
from migrations_app.inventory.facts.managers import Managed


def as_code(by: Managed, *, release: str, tree: str, version: str, about: str) -> tuple[Remedy, ...]:
    """How these values, and that version where one is told, are given to the release in each tool.

    `tree` and `about` are YAML and comments, or empty.
    """
    name = f" {f'{by.namespace}/{by.name}'.strip('/')}" if by.name else ""
    flux, argocd = (name if by.by == tool else "" for tool in ("flux", "argocd"))
    pinned = f'version = "{version}"\n' if version else ""
    listed = f"values = [<<-YAML\n{indent(_literal(tree), '  ')}\n  YAML\n]" if tree else ""
    return (
        Remedy(how="terraform", text=f"{note(f'helm_release of {release}')}\n{about}{pinned}{listed}".rstrip()),
        Remedy(how="flux", text=_flux(flux, tree=tree, version=version, about=about)),
        Remedy(how="argocd", text=_argocd(argocd, tree=tree, version=version, about=about)),
    )


def _flux(name: str, *, tree: str, version: str, about: str) -> str:
    if not version:
        return f"{note(f'HelmRelease{name}, spec.values')}\n{about}{tree}".rstrip()
    values = f"values:\n{indent(tree, '  ')}" if tree else ""
    return f"{note(f'HelmRelease{name}, spec')}\n{about}chart:\n  spec:\n    version: {version}\n{values}".rstrip()


def _argocd(name: str, *, tree: str, version: str, about: str) -> str:
    if not version:
        return f"{note(f'Application{name}, spec.source.helm.valuesObject')}\n{about}{tree}".rstrip()
    values = f"helm:\n  valuesObject:\n{indent(tree, '    ')}" if tree else ""
    return f"{note(f'Application{name}, spec.source')}\n{about}targetRevision: {version}\n{values}".rstrip()


def chart_as_code(chart: str, *, version: str) -> tuple[Remedy, ...]:
    """A release of its own for the chart of the CRDs, which the main chart then leaves out, in each tool."""
    beside = "in that of karpenter"
    return (
        Remedy(
            how="terraform",
            text=f'# helm_release of {chart}; {beside}: skip_crds = true\nchart = "{chart}"\nversion = "{version}"',
        ),
        Remedy(
            how="flux",
            text=f"# HelmRelease of {chart}, spec; {beside}: install.crds and upgrade.crds Skip\n"
            f"chart:\n  spec:\n    chart: {chart}\n    version: {version}",
        ),
        Remedy(
            how="argocd",
            text=f"# Application of {chart}, spec.source; {beside}: helm.skipCrds true, but before that, on each CRD:\n"
            f"# argocd.argoproj.io/sync-options: Prune=false\nchart: {chart}\ntargetRevision: {version}",
        ),
    )


_STEPS = re.compile(r"(?<!\\)\.")
"""Between the steps of a Helm key; a dot within a step is written with a backslash before it."""

_PLAIN = re.compile(r"[\w./@-]+", re.ASCII)
"""What YAML reads as it stands."""


def _scalar(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else json.dumps(text)


def _literal(text: str) -> str:
    """Text in a heredoc of Terraform: its two template openings escaped."""
    return text.replace("${", "$${").replace("%{", "%%{")


def yaml_of(given: Mapping[str, str]) -> str:
    """Those values as a tree; one that is taken out stands there as a comment."""
    lines: list[str] = []
    seen: tuple[str, ...] = ()
    for key, value in sorted(given.items()):
        *parents, last = (step.replace("\\.", ".") for step in _STEPS.split(key))
        for depth, parent in enumerate(parents):
            if seen[: depth + 1] != tuple(parents[: depth + 1]):
                lines.append(f"{'  ' * depth}{_scalar(parent)}:")
        told = f"{_scalar(last)}: {_scalar(value)}" if value else note(f"without {last}")
        lines.append(f"{'  ' * len(parents)}{told}")
        seen = tuple(parents)
    return "\n".join(lines)
