import msgspec
import pytest

from migrations_app.checks.base import Evidence, Remedy
from tests.builders.clusters import (
    a_cluster,
    an_empty_cluster,
    reads,
    remedies,
    result_of,
    result_without,
    without_changes,
)
from tests.builders.newest import NEWEST_MINOR

CHECK = "image_matches_records"


def row(seen: str) -> Evidence:
    path = "spec.template.spec.containers[].image"
    return Evidence(kind="Deployment", namespace="kube-system", name="karpenter", path=path, seen=seen, wanted="0.37.8")


def test_record_labels_and_image_agree():
    assert result_of(CHECK, "1.0", a_cluster().with_values({})) == (
        "pass",
        "The Helm record and the labels match the running image",
        (),
    )


def test_a_record_that_names_what_does_not_run():
    """As `helm upgrade --version 1.0.14 --reuse-values` leaves it."""
    found = result_of(CHECK, "1.0", a_cluster().with_values({}, version="1.0.14"))
    assert found == (
        "fail",
        "2 records do not match the running image",
        (
            row("Helm release, app version says 1.0.14, image tag says 0.37.8"),
            row("Helm release, chart version says 1.0.14, image tag says 0.37.8"),
        ),
    )


def test_without_a_controller_there_is_nothing_to_ask():
    assert result_of(CHECK, "1.0", an_empty_cluster(), start="0.37.8")[0] == "not_applicable"


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_looks_for_the_pinned_tag():
    cluster = a_cluster(namespace="karpenter").with_values({}, version="1.0.14", namespace="karpenter")
    assert without_changes(remedies(CHECK, "1.0", cluster)) == (
        Remedy(
            how="kubectl",
            text="# Look for the image's tag or digest among the values, "
            "and take it out of the file of the next upgrade:\n"
            "helm -n karpenter get values karpenter --all | grep -nE 'tag:|digest:'\n"
            "kubectl -n karpenter get deployment karpenter -o yaml | grep -E 'image:|/version:'",
        ),
    )


def test_where_the_last_run_of_helm_failed_its_history_is_looked_at():
    """As `helm upgrade --wait` leaves it: the new image, and the record of the revision before."""
    cluster = a_cluster("1.1.9", kubernetes="1.31").with_values({}, version="1.0.14")
    (record,) = cluster.build().helm_releases.items
    failed = msgspec.structs.replace(record, unfinished="failed")
    found = remedies(CHECK, NEWEST_MINOR, cluster.without("helm_releases").with_items("helm_releases", failed))
    assert [one.text.splitlines()[1:] for one in found] == [["helm -n kube-system history karpenter --max 5"]]
