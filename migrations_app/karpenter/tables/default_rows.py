"""Defaults of the chart karpenter that changed between releases, for values that the user does not set.

Source: charts/karpenter/values.yaml of aws/karpenter-provider-aws, compared at every tag v0.28.0 .. v1.14.1. Defaults
of feature gates, of webhook.enabled, of the metrics port and of the chart karpenter-crd are in the release rows.
"""

import json
from typing import NamedTuple

from migrations_app.karpenter.table_types import Since


class DefaultRow(NamedTuple):
    """A value and its defaults as JSON, each valid from its release on; empty if the chart has none. `why` is the
    effect of the change on users who do not set the value. `appears`: a first default also counts as a change."""

    key: str
    since: tuple[Since[str], ...]
    why: str
    appears: bool = False


def _row(key: str, why: str, *, appears: bool = False, **since: object) -> DefaultRow:
    """A row; `since` maps a name such as v0_33_0 to the default from 0.33.0 on, None if the chart has none."""
    values_since = ((name[1:].replace("_", "."), value) for name, value in since.items())
    rows = tuple(Since(patch, "" if value is None else json.dumps(value)) for patch, value in values_since)
    return DefaultRow(key, rows, why, appears)


_LEVEL = "the controller writes fewer lines"
_AFFINITY = "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
_SPREAD = {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone"}


def _off(*keys: str) -> list[object]:
    return [{"matchExpressions": [{"key": key, "operator": "DoesNotExist"} for key in keys]}]


DEFAULT_ROWS: tuple[DefaultRow, ...] = (
    _row("logLevel", _LEVEL, v0_28_0="debug", v0_33_0="info"),
    _row("logEncoding", "lines become JSON", v0_28_0="console", v0_32_0=None),
    _row("logConfig.enabled", "logConfig is not mounted any more", v0_32_0=True, v0_33_0=False),
    _row("logConfig.logLevel.global", _LEVEL, v0_32_0="debug", v0_33_0="info"),
    _row("logConfig.logLevel.controller", _LEVEL, v0_32_0="debug", v0_33_0="info"),
    _row("dnsPolicy", "names are asked of the cluster's DNS first", v0_28_0="Default", v0_34_0="ClusterFirst"),
    _row(
        "podSecurityContext.fsGroup",
        "files of volumes belong to that group",
        appears=True,
        v0_28_0=1000,
        v0_30_0=None,
        v0_34_0=65536,
        v0_36_0=65532,
    ),
    _row(
        "podSecurityContext.seccompProfile.type",
        "the runtime filters system calls",
        appears=True,
        v1_5_0="RuntimeDefault",
    ),
    _row(
        _AFFINITY,
        "the controller stays off nodes that carry these labels",
        v0_28_0=_off("karpenter.sh/provisioner-name"),
        v0_32_0=_off("karpenter.sh/provisioner-name", "karpenter.sh/nodepool"),
        v0_33_0=_off("karpenter.sh/nodepool"),
    ),
    _row(
        "topologySpreadConstraints",
        "a replica waits where its zone has no node for it",
        v0_28_0=[{**_SPREAD, "whenUnsatisfiable": "ScheduleAnyway"}],
        v1_0_0=[{**_SPREAD, "whenUnsatisfiable": "DoNotSchedule"}],
    ),
)
