"""Detects the running Karpenter release from what it leaves in the cluster, and how certain the result is.

Sources are used in this order: image tag, Helm release, Deployment labels. If none names a version, the shape of the
CRDs and the names of environment variables give a range. Sources that contradict the result are reported.

The image comes first because it is what runs: an upgrade that reuses the old chart's values writes the new version into
the record and the labels and keeps the old image.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from migrations_app.karpenter import crds as crd_sets
from migrations_app.karpenter import kinds
from migrations_app.karpenter.releases import RELEASES, Table, find
from migrations_app.karpenter.versions import Release, minor_order, minors_text, parse

ReleaseCertainty = Literal["exact", "range", "unknown"]


class CrdSeen(NamedTuple):
    """The versions that a CRD in the cluster serves and stores; `storage` is empty if no version is marked."""

    served: tuple[str, ...]
    storage: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseEvidence:
    """Everything that may show the release. None or empty text means not seen, which does not prove absence."""

    helm_app_version: str = ""
    """chart.metadata.appVersion of the deployed Helm release of the chart "karpenter"."""
    helm_chart_version: str = ""
    deployment_version: str = ""
    """Label app.kubernetes.io/version of the Deployment."""
    chart_label: str = ""
    """Label helm.sh/chart of the Deployment."""
    image: str = ""
    """Image reference of the controller container: a tag, a digest, a mirror or any combination."""
    crds: Mapping[str, CrdSeen] | None = None
    """By CRD name; only Karpenter's CRDs are used."""
    env_names: Collection[str] | None = None
    feature_gates: str = ""
    """Value of the environment variable FEATURE_GATES."""
    global_settings: bool | None = None
    """Whether the ConfigMap karpenter-global-settings exists."""
    controller_seen: bool | None = None
    """Whether there is a Karpenter Deployment; None if Deployments could not be read."""
    node_class_groups: Collection[str] = ()
    """spec.nodeClassRef.group of every NodePool."""
    other_provider: str = ""
    """Evidence that Karpenter of another cloud provider runs, as text; empty if there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectedRelease:
    """`release` is set only if `certainty` is exact; `minors` then has its minor, and for a range all candidates."""

    release: Release | None = None
    minors: tuple[str, ...] = ()
    how: str = ""
    """How it was detected, or why not, as text."""
    other_provider: bool = False
    """Whether it is Karpenter of another cloud provider, which these tables do not know."""
    absent: bool = False
    """True if there is no controller: Deployments were read, and none is Karpenter's."""
    certainty: ReleaseCertainty = "unknown"
    disagreements: tuple[str, ...] = ()
    misrecorded: tuple[str, ...] = ()
    """Those of `disagreements` in which the Helm record or a label names another release than the image that runs."""
    odd_tag: str = ""
    """The tag of the image if it names no release, such as "latest": another release may run than `release`. Empty for
    an image without a tag, which a digest pins."""


class EnvMark(NamedTuple):
    """A sign in the controller's environment, and the minors that produce it; an empty end is open."""

    mark: str
    first: str
    last: str


ENV_MARKS: tuple[EnvMark, ...] = (
    EnvMark("CLUSTER_NAME", "0.32", ""),
    EnvMark("DISABLE_WEBHOOK", "0.32", "1.0"),
    EnvMark("LOG_OUTPUT_PATHS", "1.0", ""),
    EnvMark("FEATURE_GATES Drift=", "0.32", "0.37"),
    EnvMark("FEATURE_GATES NodeRepair=", "1.1", ""),
    EnvMark("FEATURE_GATES ReservedCapacity=", "1.3", ""),
    EnvMark("FEATURE_GATES NodeOverlay=", "1.7", ""),
    EnvMark("FEATURE_GATES StaticCapacity=", "1.8", ""),
    EnvMark("FEATURE_GATES CapacityBuffer=", "1.14", ""),
)
"""Source: charts/karpenter/templates/deployment.yaml of the newest tag of every minor."""

IMAGE = "image tag"
AUTO_MODE = "EKS Auto Mode: every pool uses its node classes and there is no controller in the cluster"
NO_CONTROLLER = "there is no Karpenter Deployment"


def detect(evidence: ReleaseEvidence, *, table: Table = RELEASES) -> DetectedRelease:
    """The running release, a range of minors, or unknown; `how` names the source that decided."""
    if evidence.other_provider:
        reason = f"this is not AWS Karpenter ({evidence.other_provider}), so nothing is advised"
        return DetectedRelease(how=reason, other_provider=True)
    if _is_auto_mode(evidence):
        return DetectedRelease(how=AUTO_MODE)
    named = _named(evidence)
    if named:
        return _exact(named, evidence=evidence, table=table)
    if evidence.controller_seen is False:
        return DetectedRelease(how=NO_CONTROLLER, absent=True)
    by_crds = _by_crds(evidence.crds, table=table, telling=_ALL)
    return _ranged(by_crds=by_crds, by_env=_by_env(evidence, table=table))


def image_release(image: str) -> Release | None:
    """The release of an image tag, also from a mirror or with a custom suffix; None without such a tag."""
    release = parse(_tag_of(image))
    if release is None or not release.pre or _PRE_RELEASE.fullmatch(release.pre):
        return release
    return Release(release.major, release.minor_number, release.patch)


def _tag_of(image: str) -> str:
    _, _, last = image.partition("@")[0].rpartition("/")
    return last.partition(":")[2]


_PRE_RELEASE = re.compile(r"(rc|alpha|beta)[.-]?\d*", re.ASCII)
"""Any other suffix after the patch was added by the operator of the mirror."""


def chart_release(label: str) -> Release | None:
    """The release in helm.sh/chart ("karpenter-v0.32.1", "karpenter-1.0.0"); None for any other chart."""
    name, _, version = label.partition("-")
    return parse(version) if name == "karpenter" else None


def _named(evidence: ReleaseEvidence) -> list[tuple[str, Release]]:
    """All evidence that names a release, the most reliable first."""
    sources = (
        (IMAGE, image_release(evidence.image)),
        ("Helm release, app version", parse(evidence.helm_app_version)),
        ("Helm release, chart version", parse(evidence.helm_chart_version)),
        ("Deployment label app.kubernetes.io/version", parse(evidence.deployment_version)),
        ("Deployment label helm.sh/chart", chart_release(evidence.chart_label)),
    )
    return [(how, release) for how, release in sources if release is not None]


def _exact(named: list[tuple[str, Release]], *, evidence: ReleaseEvidence, table: Table) -> DetectedRelease:
    how, release = named[0]
    recorded = tuple(
        f"{other} says {other_release}, {how} says {release}"
        for other, other_release in named[1:]
        if other_release != release
    )
    misfits = (f"{source}, {how} says {release}" for source in _misfits(release, evidence=evidence, table=table))
    return DetectedRelease(
        release=release,
        minors=(release.minor,),
        how=how,
        certainty="exact",
        disagreements=(*recorded, *misfits),
        misrecorded=recorded if how == IMAGE else (),
        odd_tag="" if how == IMAGE else _tag_of(evidence.image),
    )


def _misfits(release: Release, *, evidence: ReleaseEvidence, table: Table) -> list[str]:
    """Evidence in the cluster that contradicts that release; empty for a release that is not in the tables.

    A ConfigMap left over from 0.32 is common, so it contradicts nothing.
    """
    if find(release, table=table) is None:
        return []
    by_crds = _by_crds(evidence.crds, table=table, telling=_OWN)
    by_env = _by_env(replace(evidence, global_settings=None), table=table)
    sources = (("shape of the CRDs", by_crds), ("environment of the controller", by_env))
    return [
        f"{source} fits {minors_text(minors)}" for source, minors in sources if minors and release.minor not in minors
    ]


def _ranged(*, by_crds: tuple[str, ...], by_env: tuple[str, ...]) -> DetectedRelease:
    common = tuple(minor for minor in by_crds if minor in by_env)
    if common:
        return DetectedRelease(
            minors=common, how="shape of the CRDs and environment of the controller", certainty="range"
        )
    if by_crds:
        contrary = (f"environment of the controller fits {minors_text(by_env)}",) if by_env else ()
        return DetectedRelease(minors=by_crds, how="shape of the CRDs", certainty="range", disagreements=contrary)
    if by_env:
        return DetectedRelease(minors=by_env, how="environment of the controller", certainty="range")
    return DetectedRelease(how="nothing that was seen names a release")


def _is_auto_mode(evidence: ReleaseEvidence) -> bool:
    groups = set(evidence.node_class_groups)
    return evidence.controller_seen is False and groups == {kinds.AUTO_MODE_GROUP}


def _by_crds(crds: Mapping[str, CrdSeen] | None, *, table: Table, telling: tuple[str, ...]) -> tuple[str, ...]:
    """The minors that ship CRDs of that shape in any patch; empty if there is no evidence."""
    if not crds or not any(name in crds for name in _POOLS):
        return ()
    return tuple(row.minor for row in table if any(_fits(part.value, crds, telling=telling) for part in row.crds))


_POOLS = (kinds.PROVISIONER.crd_name, kinds.NODE_POOL.crd_name)
_OWN = (kinds.NODE_POOL.crd_name, kinds.NODE_OVERLAY.crd_name)
_ALL = (*_OWN, kinds.CAPACITY_BUFFER.crd_name)
"""The cluster autoscaler installs CapacityBuffer as well: it may narrow a range but contradicts no release.
Alpha CRDs next to NodePools prove nothing: 0.32 ships them and later releases leave them behind.
"""


def _fits(set_name: str, crds: Mapping[str, CrdSeen], *, telling: tuple[str, ...]) -> bool:
    shipped = crd_sets.find(set_name)
    return shipped is not None and all(_same(shipped.crd(name), crds.get(name)) for name in telling)


def _same(shipped: crd_sets.Crd | None, seen: CrdSeen | None) -> bool:
    if shipped is None or seen is None:
        return shipped is None and seen is None
    return set(shipped.served) == set(seen.served) and shipped.storage == seen.storage


def _by_env(evidence: ReleaseEvidence, *, table: Table) -> tuple[str, ...]:
    """The minors that match every sign in the environment; empty if there is none, or if they contradict each other."""
    marks = [row for row in ENV_MARKS if _marked(row.mark, evidence)] + _settings_marks(evidence)
    if not marks:
        return ()
    return tuple(row.minor for row in table if all(_leaves(row.order, mark) for mark in marks))


def _leaves(order: tuple[int, int], mark: EnvMark) -> bool:
    late_enough = not mark.first or order >= minor_order(mark.first)
    return late_enough and (not mark.last or order <= minor_order(mark.last))


def _marked(mark: str, evidence: ReleaseEvidence) -> bool:
    name, _, gate = mark.partition(" ")
    if gate:
        return gate in evidence.feature_gates
    return name in (evidence.env_names or ())


def _settings_marks(evidence: ReleaseEvidence) -> list[EnvMark]:
    """Only 0.32 has both the ConfigMap and the variables; older releases have only the ConfigMap."""
    if not evidence.global_settings or evidence.env_names is None:
        return []
    if "CLUSTER_NAME" in evidence.env_names:
        return [EnvMark("ConfigMap karpenter-global-settings", "0.32", "0.32")]
    return [EnvMark("ConfigMap karpenter-global-settings", "", "0.31")]
