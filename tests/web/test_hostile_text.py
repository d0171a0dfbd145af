"""Texts of a cluster are shown as they are and do nothing (T08, T10)."""

import re

import msgspec
import pytest

from migrations_app import HOME_PAGE
from migrations_app.checks.base import Evidence, Remedy
from migrations_app.checks.registry import all_checks
from migrations_app.readiness.report import Anomaly, OwnedNode, PartLine, Target
from migrations_app.templatetags.source_links import source
from tests.builders.rows import a_cluster, a_failure, a_finding, a_report, a_scan, a_snapshot
from tests.web.pages import links

pytestmark = pytest.mark.django_db
PAYLOADS = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' autofocus onfocus=alert(1) x='",
    "javascript:alert(1)",
    "</pre></code></textarea><svg/onload=alert(1)>",
    "{{ request.user }}{% csrf_token %}",
    "<!--#exec cmd=ls-->",
    "pay\u202emoc\u200b\x1b[31m",
    "&lt;b&gt;",
)
TABS = ("", "?by=phase", "nodes", "parts", "history", "change", "remove")


def poisoned(text):
    """A report in which every text that a cluster can write is that one."""
    evidence = Evidence(kind=text, name=text, namespace=text, path=text, seen=text, wanted=text)
    remedies = (Remedy(how="kubectl", text=text), Remedy(how="helm", text=text))
    checks = [
        a_finding("one", title=text, why=text, summary=text, evidence=(evidence,), remedies=remedies, sources=(text,)),
        a_finding("two", status="unknown", summary=text),
        a_finding("three", status="not_applicable", summary=text),
    ]
    node = OwnedNode(
        name=text, owner="unknown", pool=text, claim=text, told_by=(text,), anomalies=(text,), capacity=text,
        instance_type=text, zone=text,
    )  # fmt: skip
    parts = (
        PartLine(name="pods", seen=False, why="forbidden", detail=text),
        PartLine(name="machines", seen=True, count=3, quarantined=1, detail=text),
    )
    report = a_report(checks=checks, nodes=(node,), parts=parts, legacy={text: 1})
    hop = msgspec.structs.replace(report.target.path[0], why=text, needs=(text,), notes=(text,), caveats=(text,))
    cluster = msgspec.structs.replace(
        report.cluster, kubernetes_version=text, karpenter_version=text, karpenter_told_by=text, disagreements=(text,)
    )
    anomaly = Anomaly(id=text, kind=text, name=text, detail=text)
    target = Target(text, (hop,), (text,))
    return msgspec.structs.replace(report, cluster=cluster, target=target, anomalies=(anomaly,)), (node,)


def a_poisoned_cluster(text):
    cluster = a_cluster(text, environment=text[:40], server=text, target=text[:20])
    report, nodes = poisoned(text)
    a_snapshot(cluster, report, nodes=nodes, karpenter_version=text[:40], kubernetes_version=text[:40])
    a_failure(cluster, code="unreachable", detail=text)
    a_scan(cluster, requested_by=text, progress={"now": text, "parts_done": 1, "parts_total": 2})
    return cluster


@pytest.mark.parametrize("text", PAYLOADS)
@pytest.mark.parametrize("tab", TABS)
def test_no_page_of_a_cluster_takes_it_for_markup(ada, text, tab):
    cluster = a_poisoned_cluster(text)
    answer = ada.get(f"/clusters/{cluster.pk}/{tab}")
    assert answer.status_code == 200
    _harmless(answer, text)


@pytest.mark.parametrize("text", PAYLOADS)
def test_nor_the_fleet_nor_its_search(ada, text):
    a_poisoned_cluster(text)
    for path in ("/", "/?view=flat"):
        _harmless(ada.get(path), text)
    _harmless(ada.get("/", {"q": text, "environment": text, "cursor": text}), text)
    _harmless(ada.get("/catalogue/", {"q": text, "hop": text}), text)


@pytest.mark.parametrize("text", PAYLOADS)
def test_nor_the_differences(ada, text):
    cluster = a_cluster("c")
    report, nodes = poisoned(text)
    cut = {"karpenter_version": text[:40], "kubernetes_version": text[:40]}
    old, new = a_snapshot(cluster, report, nodes=nodes, **cut), a_snapshot(cluster)
    answer = ada.get(f"/clusters/{cluster.pk}/changes", {"before": old.pk, "after": new.pk})
    assert answer.status_code == 200
    _harmless(answer, text)


@pytest.mark.parametrize("tab", TABS)
def test_bidi_and_control_characters_are_escapes(ada, tab):
    cluster = a_poisoned_cluster("pay\u202emoc\u200b\x1b[31m")
    html = ada.get(f"/clusters/{cluster.pk}/{tab}").content.decode()
    # What a person may edit stays as it is, or saving would change it; what is only shown is escaped.
    shown = re.sub(r'<input[^>]*value="[^"]*"[^>]*>', "", html)
    assert not re.search("[\u202e\u200b\x1b]", shown)
    assert "pay\\u202emoc\\u200b\\x1b" in html


def test_no_link_comes_from_a_cluster(ada):
    """The only links to elsewhere are sources that a check itself names, and our own docs at the foot of each page."""
    named = (*a_finding("two").sources, *(text for check in all_checks() for text in check.sources))
    sources = "".join(map(source, named))
    known = (f"{HOME_PAGE}/tree/main/docs", *re.findall(r'href="([^"]+)"', sources))
    cluster = a_poisoned_cluster("https://evil.example/x")
    for tab in TABS:
        for link in links(ada.get(f"/clusters/{cluster.pk}/{tab}")):
            assert link.startswith(("/", "?", "#")) or link in known, link
            assert not link.startswith("//")


def _harmless(answer, text):
    html = answer.content.decode()
    if "<" in text and text != "&lt;b&gt;":
        assert text not in html
    assert not re.search(r"<[a-z][^<>]*\son\w+\s*=", re.sub(r'"[^"]*"', '""', html))
    assert not re.search(r'(href|src|action)="\s*javascript:', html)
    assert "<script>" not in html
    assert " style=" not in re.sub(r'"[^"]*"', '""', html)
