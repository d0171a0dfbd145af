"""Settings of the controller by release: Helm values, environment variables, feature gates, the ConfigMap
karpenter-global-settings, and which of them a release still reads.

CHART_SWITCHES are variables that the chart sets itself and omits if they are not read, so nothing is lost with
them. ASSUME_ROLE_DURATION is in every Deployment of 0.32 to 0.37 and has a meaning only with ASSUME_ROLE_ARN.
LOGGING_CONFIG is not among them: no chart from 0.28 to 1.0 sets it, so it was added manually.
From 0.33 on the ConfigMap is neither read nor rendered.
Source: charts/karpenter/templates of aws/karpenter-provider-aws: configmap.yaml at v0.31.5, deployment.yaml at
v0.32.10, v0.33.12, v0.37.8 and v1.0.14.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from migrations_app.karpenter.releases import RELEASES, Table, beyond_table, find
from migrations_app.karpenter.tables.env_rows import ENV_NAMES, EnvName
from migrations_app.karpenter.tables.helm_rows import CRD_CHART, MAIN_CHART, READ_BY_ALL, HelmKey
from migrations_app.karpenter.versions import Release, minor_order, within

CHART_SWITCHES = frozenset({"DISABLE_WEBHOOK", "WEBHOOK_METRICS_PORT", "ASSUME_ROLE_DURATION"})


def ends_with_webhooks(key: str, coming: Release) -> bool:
    """Whether the Helm value only configures webhooks, which 1.1 removes: then nothing is lost with it."""
    return key.partition(".")[0] == "webhook" and minor_order(coming.minor) >= (1, 1)


GLOBAL_SETTINGS = "karpenter-global-settings"
"""The ConfigMap with the settings up to 0.32."""
DRIFT_KEY = "featureGates.driftEnabled"
"""The key of the ConfigMap that turns on drift."""

_MAX_DEPTH = 32
_STEPS = re.compile(r"(?<!\\)\.")


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadKey:
    """A setting that is given but not read by the release. `replacement` is empty if nothing replaces it; `becomes` is
    the behaviour of the release without the setting, None if unknown."""

    key: str
    replacement: str = ""
    fate: str = ""
    becomes: object = None


def unread_helm_keys(
    config: Mapping[str, object],
    release: Release,
    *,
    table: Table = RELEASES,
    rows: tuple[HelmKey, ...] = MAIN_CHART,
) -> list[UnreadKey]:
    """The values given to the chart karpenter that its chart of that release does not read, in the order given.

    Values without a row are ignored, except below `settings` from 0.32 on, where the chart passes on only the
    values that it names. Null and empty values count as not given.
    """
    return _unread(config, release, rows=rows, closed=_closed(release, table=table))


def unread_crd_chart_keys(config: Mapping[str, object], release: Release) -> list[UnreadKey]:
    """Same as `unread_helm_keys`, for the chart karpenter-crd."""
    return _unread(config, release, rows=CRD_CHART, closed=False)


def lost_crd_chart_keys(config: Mapping[str, object], release: Release) -> list[UnreadKey]:
    """Same as `unread_crd_chart_keys`, without the values whose feature the release removes."""
    unread_keys = unread_crd_chart_keys(config, release)
    return [unread_key for unread_key in unread_keys if not ends_with_webhooks(unread_key.key, release)]


def lost_helm_keys(config: Mapping[str, object], release: Release) -> list[UnreadKey]:
    """Same as `unread_helm_keys`, without the values whose feature the release removes."""
    return [
        unread_helm_key
        for unread_helm_key in unread_helm_keys(config, release)
        if not ends_with_webhooks(unread_helm_key.key, release)
    ]


def unknown_helm_keys(config: Mapping[str, object]) -> list[str]:
    """The values given to the chart karpenter that no known chart ever read, except those below `settings`.

    Each is reported by its shortest prefix that is not part of a known value. Content of known values is the user's
    own.
    """
    known_keys = (*(row.key for row in MAIN_CHART), *READ_BY_ALL)
    names = (name for name in _leaves(config) if name.partition(".")[0] != "settings")
    return list(dict.fromkeys(_shortest(name, known_keys) for name in names if not _lies_in(name, known_keys)))


def given_settings(config: Mapping[str, object]) -> list[str]:
    """The values below `settings` that the chart karpenter of some known release reads."""
    known_keys = tuple(row.key for row in MAIN_CHART)
    return [name for name in _leaves(config) if name.partition(".")[0] == "settings" and _lies_in(name, known_keys)]


def _lies_in(name: str, keys: Iterable[str]) -> bool:
    return any(name == key or name.startswith(f"{key}.") or key.startswith(f"{name}.") for key in keys)


def _shortest(name: str, keys: tuple[str, ...]) -> str:
    steps = _STEPS.split(name)
    starts = (".".join(steps[:count]) for count in range(1, len(steps) + 1))
    return next((start for start in starts if not _lies_in(start, keys)), name)


def unread_env_names(
    names: Iterable[str], release: Release, *, rows: tuple[EnvName, ...] = ENV_NAMES
) -> list[UnreadKey]:
    """The given variables that some release reads but this one does not; unknown names are ignored."""
    env_names = frozenset(names)
    return [
        UnreadKey(key=row.name, replacement=row.replacement, fate=row.fate or _span(row.first, row.last))
        for row in rows
        if row.name in env_names and not within(release, first=row.first, last=row.last)
    ]


def unread_gates(feature_gates: str, release: Release, *, table: Table = RELEASES) -> list[str]:
    """The gates named in FEATURE_GATES that the release does not know; empty for a release newer than the tables."""
    row = find(release, table=table)
    if row is None:
        return []
    return [name for name in parse_gates(feature_gates) if row.gate_default(name) is None]


def parse_gates(feature_gates: str) -> dict[str, bool]:
    """The gates of a FEATURE_GATES text such as "Drift=true,NodeRepair=false"; invalid parts are dropped."""
    pairs = (part.strip().partition("=") for part in feature_gates.split(","))
    values = {name.strip(): _TRUTH.get(value.strip()) for name, _, value in pairs}
    return {name: value for name, value in values.items() if name and value is not None}


_TRUTH = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}
"""Values as read by Go's strconv.ParseBool, which the controller uses."""


def is_true(text: str) -> bool:
    """Whether the controller reads the text as true."""
    return _TRUTH.get(text) is True


def is_false(text: str) -> bool:
    """Whether the controller reads the text as false."""
    return _TRUTH.get(text) is False


DEVICE_SWITCH = "IGNORE_DRA_REQUESTS"
"""The variable, true by default, by which the controller launches no node for pods with ResourceClaims."""
DEVICE_VALUE = "settings.ignoreDRARequests"
"""The Helm value of that variable from 1.8 on. The charts up to 1.14 write nothing for the boolean false."""
HASHES_ALPHA_ONLY = ("0.30", "0.31")
"""Minors that write drift hashes, and act on alpha objects alone."""


def drift_is_on(
    release: Release,
    *,
    feature_gates: str | None = None,
    global_settings: Mapping[str, str] | None = None,
    table: Table = RELEASES,
) -> bool | None:
    """Whether nodes drift in that release with those settings; None for a minor that is not in the tables.

    `feature_gates` is None if the variable is not set. A value that omits Drift turns it off.
    """
    row = find(release, table=table)
    if row is None or row.drift == "always_on":
        return None if row is None else True
    if minor_order(row.minor) < (0, 32):
        return bool(_TRUTH.get((global_settings or {}).get(DRIFT_KEY, ""), False))
    if feature_gates:
        return parse_gates(feature_gates).get("Drift", False)
    return row.drift == "on_by_default"


def _closed(release: Release, *, table: Table) -> bool:
    """Whether a value below `settings` without a row is known not to be read."""
    return minor_order(release.minor) >= (0, 32) and not beyond_table(release, table=table)


def _unread(
    config: Mapping[str, object], release: Release, *, rows: tuple[HelmKey, ...], closed: bool
) -> list[UnreadKey]:
    by_key: dict[str, UnreadKey] = {}
    for name in _leaves(config):
        matching = _rows_for(name, rows)
        if matching and not any(not row.never and within(release, first=row.first, last=row.last) for row in matching):
            by_key.setdefault(matching[0].key, _unread_key(matching[0], release, rows=rows))
        elif not matching and closed and name.startswith("settings."):
            by_key.setdefault(name, UnreadKey(key=name, fate="no chart of a known release reads it"))
    return list(by_key.values())


def _unread_key(row: HelmKey, release: Release, *, rows: tuple[HelmKey, ...]) -> UnreadKey:
    fate = row.fate or _span(row.first, row.last)
    usable = _usable(row.replacement, release, rows=rows)
    return UnreadKey(key=row.key, replacement=usable, fate=fate, becomes=row.becomes)


def _usable(name: str, release: Release, *, rows: tuple[HelmKey, ...]) -> str:
    """`name` if that release reads it, otherwise its previous name if that is read, otherwise empty."""
    own_rows = [row for row in rows if row.key == name]
    if not own_rows or any(within(release, first=row.first, last=row.last) for row in own_rows):
        return name
    older = [row for row in rows if row.key == own_rows[0].replacement]
    return own_rows[0].replacement if any(within(release, first=row.first, last=row.last) for row in older) else ""


def _rows_for(name: str, rows: tuple[HelmKey, ...]) -> list[HelmKey]:
    """The rows of that value or of a value that contains it."""
    return [row for row in rows if name == row.key or name.startswith(row.key + ".")]


def _leaves(config: Mapping[str, object], *, above: str = "", depth: int = 0) -> Iterator[str]:
    """The dotted names of all given values, down to a depth that no chart exceeds. A dot inside a key is escaped as
    for `helm --set`: the key "aws.clusterName" is not the value `aws.clusterName`, and no template reads it.
    """
    for key, value in config.items():
        name = above + str(key).replace(".", "\\.")
        if isinstance(value, Mapping) and value and depth < _MAX_DEPTH:
            yield from _leaves(value, above=f"{name}.", depth=depth + 1)
        elif value not in (None, "", {}, []):
            yield name


def _span(first: str, last: str) -> str:
    if first and last:
        return f"read from {first} to {last}"
    return f"read from {first} on" if first else f"read up to {last}"


LAST_READ = "0.32"


class SettingRow(NamedTuple):
    """`env` and `value` are the variable and the Helm value that replace the key; both are empty if nothing does, and
    then `fate` says what to do instead. `default` applies if neither is given.
    """

    key: str
    env: str = ""
    value: str = ""
    default: str = ""
    fate: str = ""


SETTINGS: tuple[SettingRow, ...] = (
    SettingRow("aws.clusterName", "CLUSTER_NAME", "settings.clusterName"),
    SettingRow("aws.clusterEndpoint", "CLUSTER_ENDPOINT", "settings.clusterEndpoint"),
    SettingRow("aws.clusterCABundle", "CLUSTER_CA_BUNDLE", "settings.clusterCABundle"),
    SettingRow("aws.interruptionQueueName", "INTERRUPTION_QUEUE", "settings.interruptionQueue"),
    SettingRow("aws.isolatedVPC", "ISOLATED_VPC", "settings.isolatedVPC", "false"),
    SettingRow(
        "aws.vmMemoryOverheadPercent", "VM_MEMORY_OVERHEAD_PERCENT", "settings.vmMemoryOverheadPercent", "0.075"
    ),
    SettingRow("aws.reservedENIs", "RESERVED_ENIS", "settings.reservedENIs", "0"),
    SettingRow("aws.assumeRoleARN", "ASSUME_ROLE_ARN", "settings.assumeRoleARN"),
    SettingRow("aws.assumeRoleDuration", "ASSUME_ROLE_DURATION", "settings.assumeRoleDuration", "15m"),
    SettingRow("batchMaxDuration", "BATCH_MAX_DURATION", "settings.batchMaxDuration", "10s"),
    SettingRow("batchIdleDuration", "BATCH_IDLE_DURATION", "settings.batchIdleDuration", "1s"),
    SettingRow("aws.defaultInstanceProfile", fate="set spec.role or spec.instanceProfile on every EC2NodeClass"),
    SettingRow("aws.tags", default="{}", fate="set spec.tags on every EC2NodeClass"),
    SettingRow(
        "aws.enableENILimitedPodDensity", default="true", fate="set maxPods in the kubelet settings of the pools"
    ),
)


def setting_row(key: str) -> SettingRow | None:
    """The row for a key of the ConfigMap; None for one that needs no action or is not known."""
    return next((row for row in SETTINGS if row.key == key), None)
