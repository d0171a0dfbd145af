import pytest

from migrations_app.karpenter import labels
from migrations_app.karpenter.labels import KEYS
from migrations_app.karpenter.versions import minor_order, release
from tests.builders.newest import NEWEST_RELEASE

OUTSIDE = {
    "APP_NAME", "APP_INSTANCE", "APP_VERSION", "APP_MANAGED_BY", "HELM_CHART", "HELM_RELEASE_NAME",
    "HELM_RELEASE_NAMESPACE", "FLUX_HELM_NAME", "FLUX_HELM_NAMESPACE", "FLUX_KUSTOMIZE_NAME",
    "FLUX_KUSTOMIZE_NAMESPACE", "ARGO_TRACKING", "ROLE_ARN", "ROLE_AUDIENCE",
}  # fmt: skip
"""Keys of Kubernetes, Helm, Flux, Argo CD and EKS, which have no rows."""
CONSTANTS = {
    name: value for name, value in vars(labels).items() if name.isupper() and isinstance(value, str) and "/" in value
}


def test_no_key_twice_in_one_role() -> None:
    assert len({(row.key, row.kind) for row in KEYS}) == len(KEYS)


def test_every_constant_has_a_row() -> None:
    without = {name for name, value in CONSTANTS.items() if labels.find(value) is None}
    assert without == OUTSIDE | {"PROVIDER_ID_PREFIX"}


def test_constants_are_in_the_role_their_name_says() -> None:
    assert labels.find(labels.LEGACY_TAINT, kind="taint") is not None
    assert labels.find(labels.TERMINATION_FINALIZER, kind="finalizer") is not None
    assert labels.find(labels.CLUSTER_NAME_TAG, kind="tag") is not None
    assert labels.find(labels.PROVISIONER_NAME, kind="finalizer") is None
    assert [labels.find(key, kind="annotation") is None for key in (labels.DO_NOT_EVICT, labels.NODEPOOL)] == [
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("key", "first_without"),
    [
        (labels.PROVISIONER_NAME, "0.33.0"),
        (labels.DO_NOT_EVICT, "1.0.0"),
        (labels.DO_NOT_CONSOLIDATE, "1.0.0"),
        (labels.DISRUPTION_TAINT, "1.0.0"),
        (labels.KUBELET_COMPATIBILITY, "1.1.0"),
        (labels.PROVISIONER_HASH, "0.33.0"),
    ],
)
def test_retired_since(key: str, first_without: str) -> None:
    road = ["0.31.0", "0.32.10", "0.33.0", "0.37.8", "1.0.0", "1.1.0", "1.10.0"]
    assert next(text for text in road if labels.retired(key, release(text))) == first_without


def test_living_and_unknown_keys_are_not_retired() -> None:
    newest = NEWEST_RELEASE
    assert [labels.retired(key, newest) for key in (labels.NODEPOOL, labels.DO_NOT_DISRUPT, "example.org/x")] == [
        False
    ] * 3


def test_replacements() -> None:
    found = {
        key: labels.replacement(key) for key in (labels.PROVISIONER_NAME, labels.DO_NOT_EVICT, labels.NODEPOOL, "x")
    }
    assert found == {
        labels.PROVISIONER_NAME: labels.NODEPOOL,
        labels.DO_NOT_EVICT: labels.DO_NOT_DISRUPT,
        labels.NODEPOOL: "",
        "x": "",
    }


def test_versions_in_rows_are_versions() -> None:
    for row in KEYS:
        for seen in row.first_seen:
            assert minor_order(".".join(seen.split(".")[:2])) >= (0, 14)
        assert not row.last_seen or minor_order(row.last_seen) >= (0, 28)
