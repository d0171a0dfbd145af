"""Values files from one release to another: what moves, what is lost, what is refused, and what is never printed."""

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.conversion.chart_values.files import MAX_BYTES, ValuesReport, as_json, convert_files
from migrations_app.conversion.chart_values.table import lines
from migrations_app.conversion.chart_values.trees import leaves, merged
from migrations_app.karpenter.controller_settings import unread_helm_keys
from migrations_app.karpenter.versions import release
from tests.builders.newest import NEWEST

ALPHA = """\
# Karpenter of the shop
settings:
  aws:
    # the name in EKS
    clusterName: shop  # as in Terraform
    interruptionQueueName: shop-queue
    defaultInstanceProfile: nodes
    clusterEndpoint: ""
  featureGates:
    driftEnabled: true

controller:
  # our mirror
  image:
    repository: mirror.example.com/karpenter/controller
    tag: v0.31.4
  env:
    - name: AWS_REGION
      value: eu-west-1
    - name: LEADER_ELECT
      value: "false"
logEncoding: json
"""


def converted(
    *texts: str, start: str = "0.31.4", target_release: str = "1.0.14", chart: str = "karpenter"
) -> ValuesReport:
    named = [(f"{number}.yaml", text.encode()) for number, text in enumerate(texts)]
    return convert_files(named, start=release(start), target_release=release(target_release), chart=chart)


def told(report: ValuesReport) -> dict[str, str]:
    """What became of each key that changes."""
    return {row.key: row.kind for row in report.rows if row.kind not in ("kept", "default_changed")}


def codes(report: ValuesReport) -> set[str]:
    return {finding.code for finding in report.findings}


def test_keys_move_with_their_comments_and_losses_stay_named_in_their_place() -> None:
    report = converted(ALPHA)
    assert (
        report.text
        == """\
# Karpenter of the shop
settings:
  # settings.aws.defaultInstanceProfile: 0.32 reads it for alpha templates only; instead: EC2NodeClass spec.role or \
spec.instanceProfile
  # settings.featureGates.driftEnabled: 1.0.14 does not read it
  # the name in EKS
  # as in Terraform
  clusterName: shop
  interruptionQueue: shop-queue

controller:
  # our mirror
  image:
    repository: mirror.example.com/karpenter/controller
    # controller.image.tag: it names another image than that of 1.0.14, which the chart knows by itself
  env:
  - name: AWS_REGION
    value: eu-west-1
# logEncoding: 1.0.14 does not read it
"""
    )
    assert told(report) == {
        "settings.aws.clusterName": "renamed",
        "settings.aws.interruptionQueueName": "renamed",
        "settings.aws.defaultInstanceProfile": "lost",
        "settings.featureGates.driftEnabled": "removed",
        "controller.image.tag": "removed",
        "controller.env[LEADER_ELECT]": "lost",
        "logEncoding": "removed",
    }
    assert report.exit_code == 1


def test_where_nothing_is_lost_nothing_is_asked() -> None:
    report = converted("settings: {clusterName: shop}\n", start="1.0.14", target_release=NEWEST)
    assert (report.text, report.exit_code) == ("settings: {clusterName: shop}\n", 0)
    defaults = {row.key: (row.old, row.new) for row in report.rows if row.kind == "default_changed"}
    assert defaults == {"podSecurityContext.seccompProfile.type": ("", '"RuntimeDefault"')}


@pytest.mark.parametrize(
    ("start", "target_release", "key", "old", "new"),
    [
        ("0.32.10", "0.33.0", "settings.featureGates.drift", "false", "true"),
        ("0.32.10", "0.33.0", "webhook.enabled", "true", "false"),
        ("0.37.0", "0.37.8", "webhook.enabled", "false", "true"),
        ("0.33.12", "0.34.0", "dnsPolicy", '"Default"', '"ClusterFirst"'),
        ("0.37.8", "1.0.14", "controller.metrics.port", "8000", "8080"),
        ("1.5.8", "1.6.0", "settings.featureGates.reservedCapacity", "false", "true"),
        ("0.32.10", "0.33.0", "logLevel", '"debug"', '"info"'),
    ],
)
def test_defaults_that_change_for_who_does_not_give_them(
    start: str, target_release: str, key: str, old: str, new: str
) -> None:
    report = converted("settings: {clusterName: shop}\n", start=start, target_release=target_release)
    rows = {row.key: (row.old, row.new) for row in report.rows if row.kind == "default_changed"}
    assert rows[key] == (old, new)
    tree: Any = json.loads(old)
    for step in reversed(key.split(".")):
        tree = {step: tree}
    told_by_user = converted(
        json.dumps(merged({"settings": {"clusterName": "shop"}}, tree)), start=start, target_release=target_release
    )
    assert key not in {row.key for row in told_by_user.rows if row.kind == "default_changed"}


def test_log_levels_become_the_one_that_counts() -> None:
    levels = "logConfig:\n  enabled: true\n  logLevel:\n    global: warn\n    controller: debug\n"
    report = converted(f"settings:\n  clusterName: shop\n{levels}", start="0.37.8")
    assert report.tree == {"settings": {"clusterName": "shop"}, "logLevel": "debug"}
    assert told(report) == {
        "logConfig.enabled": "lost",
        "logConfig.logLevel.global": "lost",
        "logConfig.logLevel.controller": "renamed",
    }


def test_a_value_that_is_given_by_both_names_stays_as_the_new_one_says() -> None:
    report = converted("settings:\n  clusterName: new\n  aws:\n    clusterName: old\n")
    assert report.tree == {"settings": {"clusterName": "new"}}
    assert told(report) == {"settings.aws.clusterName": "removed"}


def test_values_of_the_crd_chart_end_with_the_webhook() -> None:
    text = "webhook:\n  serviceName: kp-karpenter\nadditionalAnnotations:\n  a: b\n"
    assert converted(text, start="0.37.8", chart="karpenter-crd").tree["webhook"] == {"serviceName": "kp-karpenter"}
    report = converted(text, start="1.0.14", target_release="1.2.0", chart="karpenter-crd")
    assert report.tree == {"additionalAnnotations": {"a": "b"}}
    assert (told(report), report.exit_code) == ({"webhook.serviceName": "removed"}, 0)


def test_an_umbrella_chart_keeps_its_own_values() -> None:
    own, crds = (
        "karpenter:\n  settings:\n    aws:\n      clusterName: shop\n",
        "karpenter-crd:\n  webhook:\n    port: 1\n",
    )
    text = f"{own}other: 1\n{crds}"
    report = converted(text, target_release="1.2.0")
    assert report.tree == {
        "karpenter": {"settings": {"clusterName": "shop"}},
        "other": 1,
        "karpenter-crd": {},
    }
    assert yaml.safe_load(report.text) == report.tree


@pytest.mark.parametrize("key", ["nameOverride", "fullnameOverride"])
def test_a_renamed_chart_needs_its_name_at_the_crd_chart(key: str) -> None:
    text = f"settings:\n  clusterName: shop\n{key}: scaler\n"
    assert "values-name-override" in codes(converted(text, start="0.37.8"))
    assert "values-name-override" not in codes(converted(text, start="1.0.14", target_release="1.1.10"))


def test_several_files_are_merged_as_helm_merges_them() -> None:
    under = "settings:\n  clusterName: shop\n  isolatedVPC: true\ntolerations:\n  - key: a\n  - key: b\n"
    over = "settings:\n  isolatedVPC: null\ntolerations:\n  - key: c\nreplicas: 3\n"
    report = converted(under, over, start="1.0.14", target_release=NEWEST)
    assert report.tree == {
        "settings": {"clusterName": "shop", "isolatedVPC": None},
        "tolerations": [{"key": "c"}],
        "replicas": 3,
    }
    assert yaml.safe_load(report.text) == report.tree
    assert "values-comments-lost" not in codes(report)
    assert "values-comments-lost" in codes(converted(f"# mine\n{under}", over))


@pytest.mark.parametrize(
    ("text", "code", "why"),
    [
        ("- a\n- b\n", "values-no-map", "the document is a list, a map is wanted"),
        ("just words\n", "values-no-map", "the document is plain text, a map is wanted"),
        ("apiVersion: v1\nkind: Pod\n", "values-no-map", "it is a manifest (Pod); leave out --values for it"),
        ("a: &x {b: 1}\nc: *x\n", "values-not-read", "line 1: anchors are not accepted"),
        ("a: 1\n<<: {b: 2}\n", "values-not-read", "line 2: merge keys are not accepted"),
        ("a: 1\na: 2\n", "values-not-read", "line 2: a key is written twice in one map"),
        ("a: !!python/name:os.system x\n", "values-not-read", "line 1: tags are not accepted"),
        ("a: 1\n---\nb: 2\n", "values-not-read", "line 2: more than 1 document(s)"),
        ("a: [1\n", "values-not-read", "line 2: did not find expected ',' or ']'"),
        ("a: {{ .Values.b }}\n", "values-template", "it holds a template; render it first"),
        ("{{- if .Values.a }}\na: 1\n{{- end }}\n", "values-template", "it holds a template; render it first"),
        ("a: 1\n" + "# " * (5 * MAX_BYTES // 2), "too-large", "larger than 1024 KiB"),
    ],
)
def test_what_is_no_values_file_is_refused_with_its_reason(text: str, code: str, why: str) -> None:
    report = converted("settings: {clusterName: shop}\n", text)
    (finding,) = report.findings
    assert (finding.code, finding.name) == (code, "1.yaml")
    assert why in finding.what
    assert (report.text, report.tree, report.rows, report.exit_code) == ("", {}, (), 2)


def test_a_template_inside_quotes_is_the_charts_own() -> None:
    text = 'settings:\n  clusterName: "{{ .Release.Name }}"\n'
    assert converted(text).text == text


def test_no_secret_is_in_what_is_printed() -> None:
    text = """\
settings:
  clusterName: shop
controller:
  env:
    - name: DB_PASSWORD
      value: hunter2-hunter2
    - name: API_TOKEN
      valueFrom: {secretKeyRef: {name: tokens, key: api}}
podAnnotations:
  url: https://me:s3cr3t-s3cr3t@example.com
"""
    report = converted(text, target_release=NEWEST)
    assert report.secret
    assert "hunter2" in report.text
    printed = as_json(report) + "\n".join(lines(report.rows)) + "".join(one.what for one in report.findings)
    assert [word for word in ("hunter2", "s3cr3t") if word in printed] == []
    rows = {row.key: row for row in report.rows}
    assert (rows["controller.env[DB_PASSWORD]"].old, rows["controller.env[DB_PASSWORD]"].secret) == (
        '"(removed)"',
        True,
    )
    assert json.loads(rows["controller.env[API_TOKEN]"].new)["valueFrom"] == {
        "secretKeyRef": {"name": "tokens", "key": "api"}
    }


names = st.sampled_from(
    [
        "clusterName", "clusterEndpoint", "isolatedVPC", "assumeRoleARN", "reservedENIs", "interruptionQueueName",
        "defaultInstanceProfile", "tags", "batchMaxDuration", "never-heard-of",
    ]
)  # fmt: skip
scalars = st.one_of(st.booleans(), st.integers(0, 99), st.sampled_from(["x", "", "a: b", "on", "- x", "{{ x }}", "#"]))
settings = st.dictionaries(names, scalars, max_size=5)
trees = st.fixed_dictionaries(
    {"settings": st.builds(lambda own, aws: {**own, **({"aws": aws} if aws else {})}, settings, settings)},
    optional={
        "logConfig": st.dictionaries(st.sampled_from(["enabled", "logEncoding", "logLevel"]), scalars),
        "logLevel": scalars,
        "webhook": st.dictionaries(st.sampled_from(["enabled", "port", "logLevel"]), scalars),
        "replicas": st.integers(1, 3),
    },
)
releases = st.sampled_from(["0.32.10", "0.33.12", "0.37.8", "1.0.14", "1.1.10", NEWEST])


@given(trees, releases)
def test_nothing_unread_is_left_and_what_is_read_stays(tree: dict[str, Any], target_release: str) -> None:
    report = converted(yaml.safe_dump(tree), target_release=target_release)
    assert unread_helm_keys(report.tree, release(target_release)) == []
    assert (yaml.safe_load(report.text) or {}) == report.tree
    told_once = [row.key for row in report.rows]
    assert len(told_once) == len(set(told_once))
    gone = {row.key for row in report.rows if row.kind in ("lost", "removed", "renamed")}
    assert leaves(tree).keys() - leaves(report.tree).keys() == gone
    again = converted(report.text or "{}", start=target_release, target_release=target_release)
    assert again.tree == report.tree


@given(trees, trees, trees)
def test_merging_does_not_care_how_files_are_grouped(one: Any, two: Any, three: Any) -> None:
    assert merged(merged(one, two), three) == merged(one, merged(two, three))
    assert merged(one, {}) == one == merged({}, one)
