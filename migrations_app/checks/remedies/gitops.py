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
"""Text that YAML reads as it stands, where it is none of `_NO_TEXT`."""
_NO_TEXT = re.compile(
    r"[-+]?(?:[\d_][\d_.:-]*(?:e[-+]?\d+)?|0[box][\da-f_]+|\.\d[\d_]*(?:e[-+]?\d+)?|\.inf|\.nan)"
    r"|true|false|yes|no|on|off|null|y|n|[-.]+",
    re.IGNORECASE,
)
"""What some version of YAML reads as a number, a date, a truth value or null."""


def json_scalar(value: object) -> str:
    """A value that is no filled map or list, as YAML 1.1 and 1.2 read it alike, on one line."""
    if isinstance(value, str) and _PLAIN.fullmatch(value) and not _NO_TEXT.fullmatch(value) and value[0] not in "-@":
        return value
    return "".join(map(_printable, json.dumps(value, ensure_ascii=False)))


def _printable(sign: str) -> str:
    if sign.isprintable():
        return sign
    return f"\\u{ord(sign):04x}" if ord(sign) < 0x10000 else f"\\U{ord(sign):08x}"


def steps_of(key: str) -> list[str]:
    """The steps of a dotted Helm key, without the backslashes before dots that belong to a step."""
    return [step.replace("\\.", ".") for step in _STEPS.split(key)]


def _literal(text: str) -> str:
    """Text in a heredoc of Terraform: its two template openings escaped."""
    return text.replace("${", "$${").replace("%{", "%%{")


def yaml_of(given: Mapping[str, str]) -> str:
    """Those values, JSON each, as a tree; one without a value, which is taken out, stands there as a comment."""
    lines: list[str] = []
    seen: tuple[str, ...] = ()
    for key, value in sorted(given.items()):
        *parents, last = steps_of(key)
        for depth, parent in enumerate(parents):
            if seen[: depth + 1] != tuple(parents[: depth + 1]):
                lines.append(f"{'  ' * depth}{json_scalar(parent)}:")
        told = f"{json_scalar(last)}: {json_scalar(json.loads(value))}" if value else note(f"without {last}")
        lines.append(f"{'  ' * len(parents)}{told}")
        seen = tuple(parents)
    return "\n".join(lines)
