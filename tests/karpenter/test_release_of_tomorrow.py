"""docs/adding-a-release.md, proved: in a copy of the product rows are added for an imaginary 1.15, and nothing else.

A copy, because checks and commands ask the tables themselves: what they answer must follow from the rows alone.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
ROWS = {
    "release_rows_v1_later.py": """
from dataclasses import replace

LATER_ROWS = (
    *LATER_ROWS,
    replace(
        LATER_ROWS[-1],
        minor="1.15",
        patches=(Patch("1.15.0", "2027-01-01"), Patch("1.15.1", "2027-02-01")),
        kubernetes=(Since("1.15.0", KubernetesWindow("1.27", "1.37")),),
        crds=(Since("1.15.0", "v1_overlay_buffer"),),
        gates=tuple(gate for gate in LATER_ROWS[-1].gates if gate.name != "NodeOverlay"),
        nodeclass_hash=(Since("1.15.0", "v6"),),
        upgrade_from=("1.0", "1.14"),
        rollback_to=(RollbackTarget("1.14", "1.14.1"),),
    ),
)
""",
    "helm_rows.py": """
MAIN_CHART = (
    *(row for row in MAIN_CHART if row.key != "settings.batchIdleDuration"),
    HelmKey(key="settings.batchIdleDuration", first="0.32", last="1.14", replacement="settings.batchIdle"),
    HelmKey(key="settings.batchIdle", first="1.15", replacement="settings.batchIdleDuration"),
)
""",
    "env_rows.py": """
ENV_NAMES = (
    *(row for row in ENV_NAMES if row.name != "BATCH_IDLE_DURATION"),
    EnvName("BATCH_IDLE_DURATION", "0.32", "1.14", "BATCH_IDLE", "renamed at 1.15"),
    EnvName("BATCH_IDLE", "1.15"),
)
""",
    "label_rows.py": """
LABEL_ROWS = (
    *LABEL_ROWS,
    LabelRow(
        key="karpenter.sh/colour",
        kind="label",
        generations=("v1",),
        last_seen="1.14",
        objects=("Node",),
        set_by="karpenter",
        replacement="karpenter.sh/shade",
        source="tomorrow",
    ),
)
""",
    "metric_rows.py": """
METRIC_ROWS = (
    *METRIC_ROWS,
    MetricRow("karpenter_nodes_created_total", "karpenter_nodes_made_total", "1.15", "tomorrow"),
)
""",
    "outside_rows.py": """
OUTSIDE_ROWS = (
    *OUTSIDE_ROWS,
    OutsideRow("sources", "1.15", "karpenter.sh/colour", "cost reports", "karpenter.sh/shade", "colour-renamed"),
)
""",
    "iam/probes.py": """
PROBES = (
    *PROBES,
    Probe(
        id="describe-weather",
        span=Span((1, 15)),
        action="ec2:DescribeWeather",
        resource="*",
        capability="weather",
        severity="blocker",
    ),
)
""",
    "iam/needs.py": """
NEEDS = (*NEEDS, Need(action="ec2:DescribeWeather", span=Span((1, 15)), effect="Nothing is launched when it rains."))
""",
    "coverage_v1.py": """
V1_CHANGES += (covered("colour-renamed", "The colour is a shade", checks="selected_labels_exist", release="1.15"),)
""",
}
ASK = """
import json
from migrations_app.checks.about import about
from migrations_app.checks.registry import all_checks
from migrations_app.inventory.bones import Metadata
from migrations_app.inventory.metric_uses import MetricUser, Query
from migrations_app.karpenter.detection import Evidence, detect
from migrations_app.karpenter.hops import path
from migrations_app.karpenter.iam.gaps import find_gaps
from migrations_app.karpenter.iam.site import Site
from migrations_app.karpenter.metrics import outdated
from migrations_app.karpenter.releases import rollback_targets
from migrations_app.karpenter.versions import release
from migrations_app.samples.kube import workload
from tests.builders import a_cluster, ask, case_at

site = Site(cluster="test", account="111122223333", region="eu-central-1", node_roles=("NodeRole",), queue="test")
needed = {gap.action for gap in find_gaps((), release="1.15", site=site).gaps}
before = {gap.action for gap in find_gaps((), release="1.14", site=site).gaps}
rule = MetricUser(
    kind="PrometheusRule",
    metadata=Metadata(name="k", namespace="m"),
    queries=[Query(path="expr", text="karpenter_nodes_created_total > 1")],
)
env = {"BATCH_IDLE_DURATION": "1s", "FEATURE_GATES": "NodeOverlay=true"}
cluster = lambda: (
    a_cluster("1.14.1", kubernetes="1.36", env=env)
    .with_values({"settings": {"batchIdleDuration": "1s"}}, version="1.14.1")
    .with_items("prometheus_rules", rule)
    .with_docs(SELECTING)
)
found = {
    "detected": detect(Evidence(image="public.ecr.aws/karpenter/controller:1.15.0")).minors,
    "path": [(step.hop, str(step.release)) for step in path("1.1.10", kubernetes="1.30").steps],
    "back": [str(one) for one in rollback_targets(release("1.15.1"))],
    "iam": sorted(needed - before),
    "rule": next(about(check).covers[-1] for check in all_checks() if check.id == "selected_labels_exist")[0],
    "checks": {
        finding.id: [finding.status, [(row.seen, row.wanted) for row in finding.evidence]]
        for finding in (ask(name, "1.15", cluster()) for name in CHECKS)
    },
    "by_hand": ask("sources_outside_current", "1.15", cluster()).summary,
    "crashed": [f.id for f in run_all(case_at("1.15", cluster())) if f.summary.startswith("check failed")],
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
    shutil.copytree(ROOT / "migrations_app", copy / "migrations_app", ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "tests").mkdir()
    for name in ("__init__.py", "builders.py"):
        shutil.copy(ROOT / "tests" / name, copy / "tests" / name)
    for name, rows in ROWS.items():
        file = copy / "migrations_app" / "karpenter" / name
        file.write_text(file.read_text() + rows)
    answer = subprocess.run(
        [sys.executable, "-c", ASK.replace("\nsite =", SELECTING + "\nsite =", 1)],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    found: dict[str, Any] = json.loads(answer.stdout)
    return found


def test_it_is_detected_and_is_where_paths_lead(told: dict[str, Any]) -> None:
    assert told["detected"] == ["1.15"]
    assert told["path"] == [["1.15", "1.15.1"]]
    assert told["back"] == ["1.14.1"]


def test_its_permission_is_asked_for(told: dict[str, Any]) -> None:
    assert told["iam"] == ["ec2:DescribeWeather"]


def test_checks_judge_by_its_rows(told: dict[str, Any]) -> None:
    assert told["checks"] == {
        "kubernetes_inside_window": ["pass", []],
        "removed_helm_keys_unused": ["fail", [["read from 0.32 to 1.14", "settings.batchIdle"]]],
        "removed_env_names_unused": [
            "fail",
            [["renamed at 1.15", "BATCH_IDLE"]],
        ],
        "selected_labels_exist": ["fail", [["karpenter.sh/colour red", "karpenter.sh/shade"]]],
        "alerts_name_current_metrics": [
            "fail",
            [["karpenter_nodes_created_total, gone at 1.15", "karpenter_nodes_made_total"]],
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
    assert [name for name in ROWS if f"`{name}`" not in guide] == []
