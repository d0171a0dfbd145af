"""The board and the alert rules ask for metrics and labels that there are, and for values that these labels take."""

import json
import re

import promql_parser
import pytest
import yaml

from karpdash.monitoring.metrics import VERDICTS, families, health_families
from migrations_app.actions.states import STATES
from migrations_app.queries.fleet.metrics import FleetNumbers
from tests.house.measures import ROOT

DEPLOY = ROOT / "deploy"
DOCS = DEPLOY.parent / "docs"
PAGES = "https://github.com/karpdash/karpdash/blob/main/docs"
ALERTS = yaml.safe_load((DEPLOY / "prometheus/alerts.yaml").read_text())
BOARD = json.loads((DEPLOY / "grafana/karpdash.json").read_text())
RULES = [rule for group in ALERTS["groups"] for rule in group["rules"]]
NAME = re.compile(r"\bkarpdash_[a-z_]+")
SELECTED = re.compile(r"(karpdash_[a-z_]+)\{([^}]*)\}")
MATCHER = re.compile(r'(\w+)(=~|=|!=|!~)"([^"]*)"')
BY = re.compile(r"(?:by|on) \(([^)]*)\)")
LEGEND = re.compile(r"\{\{ ?\$?(?:labels\.)?(\w+) ?\}\}")
STATUSES = {"pass", "fail", "unknown", "not_applicable", "manual", "waived"}
WAIVERS = {"active", "ending", "ended", "revoked"}
VALUES = {"verdict": set(VERDICTS), "state": set(STATES) | WAIVERS, "status": STATUSES}


def names():
    """Each sample name with its labels."""
    found = {}
    for family in (*families(FleetNumbers()), *health_families(FleetNumbers(), {})):
        labels = set(family._labelnames)
        if family.type == "histogram":
            found |= {f"{family.name}_{end}": labels for end in ("count", "sum")}
            found[f"{family.name}_bucket"] = labels | {"le"}
        else:
            found[family.name + ("_total" if family.type == "counter" else "")] = labels
    return found


NAMES = names()
EXPRESSIONS = [(rule["alert"], rule["expr"]) for rule in RULES] + [
    (panel["title"], target["expr"]) for panel in BOARD["panels"] for target in panel["targets"]
]


def test_every_metric_of_the_docs_is_there():
    assert set(NAMES) >= {
        "karpdash_hop_verdict", "karpdash_checks", "karpdash_objects", "karpdash_legacy_nodes",
        "karpdash_scan_duration_seconds_bucket", "karpdash_scan_age_seconds", "karpdash_scan_errors_total",
        "karpdash_apiserver_requests_total", "karpdash_rollout_state", "karpdash_waivers",
    }  # fmt: skip


@pytest.mark.parametrize(("where", "expression"), EXPRESSIONS)
def test_an_expression_asks_for_what_there_is(where, expression):
    asked = set(NAME.findall(expression))
    assert (asked != set(), asked - set(NAMES)) == (True, set())
    known = set().union(*(NAMES[name] for name in asked))
    grouped = {label.strip() for found in BY.findall(expression) for label in found.split(",")}
    assert grouped <= known
    for name, body in SELECTED.findall(expression):
        for label, sign, value in MATCHER.findall(body):
            assert label in NAMES[name]
            wanted = value.split("|") if "~" in sign else [value]
            assert value == "$cluster" or set(wanted) <= VALUES[label]


@pytest.mark.parametrize(("where", "expression"), EXPRESSIONS)
def test_prometheus_reads_an_expression(where, expression):
    found = promql_parser.parse(expression.replace("$__rate_interval", "5m").replace("$__range", "1d"))
    assert found is not None


def test_a_wrong_expression_would_be_found():
    with pytest.raises(ValueError, match="unclosed left parenthesis"):
        promql_parser.parse("sum by (cluster (karpdash_checks)")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_a_rule_leads_to_what_to_do(rule):
    page, _, heading = rule["annotations"]["runbook_url"].removeprefix(f"{PAGES}/").partition("#")
    headings = re.findall(r"^## (.*)$", (DOCS / page).read_text(), re.MULTILINE)
    assert (page, heading) == ("alerts.md", rule["alert"].lower())
    assert rule["alert"] in headings


@pytest.mark.parametrize(("where", "expression"), EXPRESSIONS)
def test_brackets_and_quotes_are_closed(where, expression):
    left = re.sub(r'"[^"]*"', "", expression)
    assert [left.count(one) for one in "({["] == [left.count(one) for one in ")}]"]
    assert '"' not in left


def test_the_situations_that_somebody_should_know_of():
    assert {rule["alert"] for rule in RULES} == {
        "KarpdashScanStale", "KarpdashScanFailing", "KarpdashVerdictWorse", "KarpdashRolloutPaused",
        "KarpdashNewLegacyNode", "KarpdashSilent", "KarpdashWaiverEnding", "KarpdashPartMissing",
        "KarpdashChannelFailing",
    }  # fmt: skip


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_a_rule_says_what_and_what_next(rule):
    assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
    assert rule["labels"]["severity"] in ("warning", "critical")
    assert all(rule["annotations"][name] for name in ("summary", "description"))
    asked = set(NAME.findall(rule["expr"]))
    words = {word for text in rule["annotations"].values() for word in re.findall(r"\$labels\.(\w+)", text)}
    assert words <= set().union(*(NAMES[name] for name in asked))


def test_the_panels_fit_beside_each_other():
    taken = set()
    for panel in BOARD["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert (cells & taken, max(x for x, _ in cells) < 24) == (set(), True)
        taken |= cells
    ids = [panel["id"] for panel in BOARD["panels"]]
    assert (len(ids), len(set(ids))) == (17, 17)


def test_legends_name_labels_that_the_expression_leaves():
    for panel in BOARD["panels"]:
        for target in panel["targets"]:
            said = set(LEGEND.findall(target["legendFormat"]))
            asked = set(NAME.findall(target["expr"]))
            grouped = {label.strip() for found in BY.findall(target["expr"]) for label in found.split(",")}
            assert said <= (grouped or set().union(*(NAMES[name] for name in asked)))


def test_every_metric_is_on_the_board():
    shown = {name for panel in BOARD["panels"] for target in panel["targets"] for name in NAME.findall(target["expr"])}
    left = {name for name in set(NAMES) - shown if not name.endswith(("_sum", "_count"))}
    assert left == set()
