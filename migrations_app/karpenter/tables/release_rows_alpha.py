"""Releases 0.28 to 0.32: the alpha kinds, and the one release that serves alpha and beta side by side.

Tags, dates and defaults were read from every tag; Kubernetes windows from
aws/karpenter-provider-aws@v1.14.1:hack/docs/compatibilitymatrix_gen/compatibility.yaml.
"""

from migrations_app.karpenter.next_minor import NextMinor, following
from migrations_app.karpenter.table_types import (
    ALPHA_APIS,
    ALWAYS_ADMITTED,
    BETA_APIS,
    BOTH_SWITCHES,
    CONFIG_MAP_SWITCH,
    BadPatch,
    FeatureGate,
    MinorRelease,
    Patch,
    RollbackTarget,
    Since,
    SupportedKubernetes,
    Webhooks,
)

_FIRST = MinorRelease(
    minor="0.28",
    generation="alpha",
    patches=(
        Patch("0.28.0", "2023-06-14"),
        Patch("0.28.1", "2023-06-21"),
    ),
    kubernetes=(
        Since("0.28.0", SupportedKubernetes("1.23", "1.25")),
        Since("0.28.1", SupportedKubernetes("1.23", "1.27")),
    ),
    crds=(Since("0.28.0", "alpha"),),
    apis=ALPHA_APIS,
    drift="off_by_default",
    drift_switch=CONFIG_MAP_SWITCH,
    gates=(FeatureGate("Drift", default=False),),
    webhooks=ALWAYS_ADMITTED,
    metrics_port=8000,
    upgrade_from=None,
    upgrade_needs=("The Machine CRD is installed before the controller",),
    rollback_to=(),
    rollback_caveats=(
        "Machine objects stay behind: delete them and take off their finalizers",
        "Before upgrading again, take the tag karpenter.sh/managed-by off running instances, or they are collected",
    ),
    bad=(
        BadPatch(
            "0.28.0",
            "0.28.0",
            "does not work with Kubernetes 1.26 or newer: it keeps scaling out under an external cloud provider",
            "0.28.1",
        ),
    ),
    tag_prefix="v",
    sources=("aws/karpenter-provider-aws@v0.28.1:website/content/en/preview/upgrade-guide.md",),
)

_LATER = following(
    _FIRST,
    NextMinor(
        minor="0.29",
        patches=(
            Patch("0.29.0", "2023-07-06"),
            Patch("0.29.1", "2023-07-17"),
            Patch("0.29.2", "2023-07-19"),
        ),
        bad=(BadPatch("0.29.1", "0.29.1", "leaks file descriptors and memory until it is killed", "0.29.2"),),
        sources=("aws/karpenter-provider-aws@v0.29.2:website/content/en/preview/upgrade-guide.md",),
    ),
    NextMinor(
        minor="0.30",
        patches=(Patch("0.30.0", "2023-08-31"),),
        nodepool_hash=(Since("0.30.0", ""),),
        nodeclass_hash=(Since("0.30.0", ""),),
        sources=("aws/karpenter-provider-aws@v0.30.0:website/content/en/preview/upgrade-guide.md",),
    ),
    NextMinor(
        minor="0.31",
        patches=(
            Patch("0.31.0", "2023-09-27"),
            Patch("0.31.1", "2023-10-11"),
            Patch("0.31.2", "2023-10-30"),
            Patch("0.31.3", "2023-12-01"),
            Patch("0.31.4", "2024-02-09"),
            Patch("0.31.5", "2024-05-17"),
        ),
        kubernetes=(Since("0.31.0", SupportedKubernetes("1.23", "1.28")),),
        upgrade_note="The last release that knows the alpha kinds only",
        leave_from="0.31.4",
        sources=(
            "aws/karpenter-provider-aws@v0.31.5:website/content/en/preview/upgrade-guide.md",
            "aws/karpenter-provider-aws#5621",
        ),
    ),
    NextMinor(
        minor="0.32",
        generation="alpha_and_beta",
        patches=(
            Patch("0.32.0", "2023-10-30"),
            Patch("0.32.1", "2023-10-31"),
            Patch("0.32.2", "2023-11-22"),
            Patch("0.32.3", "2023-11-29"),
            Patch("0.32.4", "2023-12-19"),
            Patch("0.32.5", "2024-01-11"),
            Patch("0.32.6", "2024-01-26"),
            Patch("0.32.7", "2024-02-08"),
            Patch("0.32.8", "2024-03-14"),
            Patch("0.32.9", "2024-04-02"),
            Patch("0.32.10", "2024-05-17"),
        ),
        crds=(Since("0.32.0", "alpha_and_beta"),),
        apis=ALPHA_APIS + BETA_APIS,
        drift_switch=BOTH_SWITCHES,
        nodepool_hash=(Since("0.32.0", ""), Since("0.32.9", "v1")),
        nodeclass_hash=(Since("0.32.0", ""), Since("0.32.9", "v1")),
        webhooks=Webhooks(
            admission="on_by_default", conversion="none", enabled=(Since("0.32.0", True),), metrics_port=8001
        ),
        upgrade_from=("0.31", "0.31"),
        upgrade_note="The guide starts from 0.31; from older minors read their notes first",
        rollback_to=(RollbackTarget("0.31", since="0.31.4"),),
        rollback_caveats=(
            "Older 0.31 patches cannot live with beta objects in the cluster",
            "0.31 leaves instances that are tagged karpenter.sh/nodepool only alone; it does not adopt them (inferred)",
        ),
        sources=(
            "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md",
            "aws/karpenter-provider-aws@v0.32.10:website/content/en/preview/upgrading/upgrade-guide.md",
        ),
    ),
)
ALPHA_ROWS: tuple[MinorRelease, ...] = (_FIRST, *_LATER)
