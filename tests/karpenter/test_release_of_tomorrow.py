"""docs/adding-a-release.md, proved: in a copy of the product rows are added for an imaginary minor, and nothing else.

A copy, because checks and commands ask the tables themselves: what they answer must follow from the rows alone.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders.newest import NEWEST, NEWEST_MINOR, NEXT_MINOR
from tests.tools.next_minor import NEXT, ROWS, copy_into, run_in

ROOT = Path(__file__).parents[2]
MORE = {
    ("karpenter/tables/label_rows.py", "LABEL_ROWS"): f"""
    LabelRow(
        key="karpenter.sh/colour",
        kind="label",
        generations=("v1",),
        last_seen="{NEWEST_MINOR}",
        objects=("Node",),
        set_by="karpenter",
        replacement="karpenter.sh/shade",
        source="tomorrow",
    ),
""",
    ("karpenter/tables/outside_rows.py", "OUTSIDE_ROWS"): f"""
    OutsideRow(
        "sources", "{NEXT_MINOR}", "karpenter.sh/colour", "cost reports", "karpenter.sh/shade", "colour-renamed"
    ),
""",
    ("karpenter/coverage/changes_v1.py", "V1_CHANGES"): f"""
    covered("colour-renamed", "The colour is a shade", checks="selected_labels_exist", release="{NEXT_MINOR}"),
""",
}
"""What that minor changes beside what every run with one minor more is given."""
ASK = """
import json
from tests.builders.newest import NEWEST, NEWEST_MINOR, NEWEST_ROW
from migrations_app.checks.registry import all_checks, describe
from migrations_app.inventory.objects.base import Metadata
from migrations_app.inventory.metric_queries import MetricUser, Query
from migrations_app.karpenter.detection import ReleaseEvidence, detect
from migrations_app.karpenter.upgrade_path import path
from migrations_app.iam.requirements.gaps import find_gaps
from migrations_app.iam.site import AwsSite
from migrations_app.karpenter.metrics import outdated
from migrations_app.karpenter.releases import rollback_targets
from migrations_app.karpenter.versions import release
from migrations_app.samples.kubernetes_objects import workload
from tests.builders.clusters import a_cluster, case_at, finding_of
from migrations_app.karpenter.releases import RELEASES

PREVIOUS = RELEASES[-2]
before_it = str(PREVIOUS.newest_good)
site = AwsSite(cluster="test", account="111122223333", region="eu-central-1", node_roles=("NodeRole",), queue="test")
needed = {gap.action for gap in find_gaps((), release=NEWEST_MINOR, site=site).gaps}
before = {gap.action for gap in find_gaps((), release=PREVIOUS.minor, site=site).gaps}
rule = MetricUser(
    kind="PrometheusRule",
    metadata=Metadata(name="k", namespace="m"),
    queries=[Query(path="expr", text="karpenter_nodes_created_total > 1")],
)
env = {"BATCH_IDLE_DURATION": "1s", "FEATURE_GATES": "NodeOverlay=true"}
cluster = lambda: (
    a_cluster(before_it, kubernetes="1.34", env=env)
    .with_values({"settings": {"batchIdleDuration": "1s"}}, version=before_it)
    .with_items("prometheus_rules", rule)
    .with_docs(SELECTING)
)
found = {
    "detected": detect(ReleaseEvidence(image="public.ecr.aws/karpenter/controller:" + NEWEST_MINOR + ".0")).minors,
    "path": [(hop.name, str(hop.release)) for hop in path("1.1.10", kubernetes="1.30").hops],
    "back": [str(one) for one in rollback_targets(release(NEWEST))],
    "iam": sorted(needed - before),
    "rule": next(describe(check).covers[-1] for check in all_checks() if check.id == "selected_labels_exist")[0],
    "checks": {
        finding.id: [finding.status, [(row.seen, row.wanted) for row in finding.evidence]]
        for finding in (finding_of(name, NEWEST_MINOR, cluster()) for name in CHECKS)
    },
    "by_hand": finding_of("sources_outside_current", NEWEST_MINOR, cluster()).summary,
    "crashed": [f.id for f in run_all(case_at(NEWEST_MINOR, cluster())) if f.summary.startswith("check failed")],
}
print(json.dumps(found))
"""
SELECTING = """
SELECTING = {
    "apiVersion": "apps/v1",
    "kind": "StatefulSet",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"template": {"spec": {"nodeSelector": {"karpenter.sh/colour": "red"}}}},
}
CHECKS = (
    "kubernetes_inside_window",
    "removed_helm_keys_unused",
    "removed_env_names_unused",
    "selected_labels_exist",
    "alerts_name_current_metrics",
    "way_back_open",
)
def run_all(case):
    from migrations_app.checks.runner import run

    return run(all_checks(), case)
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the copy answers when its tables have the rows."""
    copy = tmp_path_factory.mktemp("tomorrow")
    copy_into(copy, more=MORE)
    answer = run_in(copy, "-c", ASK.replace("\nPREVIOUS =", SELECTING + "\nPREVIOUS =", 1))
    assert answer.returncode == 0, answer.stderr
    found: dict[str, Any] = json.loads(answer.stdout)
    return found


def test_it_is_detected_and_is_where_paths_lead(told: dict[str, Any]) -> None:
    assert told["detected"] == [NEXT_MINOR]
    assert told["path"] == [[NEXT_MINOR, NEXT]]
    assert told["back"] == [NEWEST]


def test_its_permission_is_asked_for(told: dict[str, Any]) -> None:
    assert told["iam"] == ["ec2:DescribeWeather"]


def test_checks_judge_by_its_rows(told: dict[str, Any]) -> None:
    assert told["checks"] == {
        "kubernetes_inside_window": ["pass", []],
        "removed_helm_keys_unused": ["fail", [[f"read up to {NEWEST_MINOR}", "settings.batchIdle"]]],
        "removed_env_names_unused": [
            "fail",
            [[f"renamed at {NEXT_MINOR}", "BATCH_IDLE"]],
        ],
        "selected_labels_exist": ["fail", [["karpenter.sh/colour red", "karpenter.sh/shade"]]],
        "alerts_name_current_metrics": [
            "fail",
            [[f"karpenter_nodes_created_total, gone at {NEXT_MINOR}", "karpenter_nodes_made_total"]],
        ],
        "way_back_open": ["pass", []],
    }


def test_no_check_stumbles_over_it(told: dict[str, Any]) -> None:
    assert told["crashed"] == []


def test_what_lies_outside_is_to_be_searched_for(told: dict[str, Any]) -> None:
    assert (
        told["by_hand"]
        == "search outside this cluster for: karpenter.sh/colour in cost reports (now karpenter.sh/shade)"
    )


def test_the_catalogue_tells_what_it_changed(told: dict[str, Any]) -> None:
    assert told["rule"] == "colour-renamed"


def test_the_guide_names_every_table_that_takes_a_row() -> None:
    guide = (ROOT / "docs" / "adding-a-release.md").read_text()
    assert sorted({name for name, _ in (*ROWS, *MORE) if f"`{name}`" not in guide}) == []
