import re

from hypothesis import given, settings

from migrations_app.checks.base import Finding
from migrations_app.readiness.outputs.table import render
from migrations_app.readiness.report import ClusterFacts, PartLine, Report, Target
from migrations_app.readiness.verdict import hop_line
from tests.readiness.outputs.reports import a_report, any_reports, of_unknown_release, report_hop, unread, without_path

UNREAD = "pods could not be read: timed_out (30 s)"
WHOLE = """\
Cluster     prod-1
Karpenter   0.32.10 (told by image tag), objects: v1alpha5 and v1beta1 together
Kubernetes  v1.27.3
Nodes       3: 3 karpenter_beta
Scanned     2026-11-21T05:00:00Z, partial: 2 of 3 parts not read whole
Target      0.37.8 by 0.33+ (0.37.8)

Hop 0.33+ -> 0.37.8  BLOCKED  28 % of checks passed or waived  \
(3 fail, 1 unknown, 1 manual, 1 waived, 1 pass, 1 not applicable)
  Not ready: 1 blocker. Next: Summary of gone
  x fail    blocker resources  gone: Summary of gone
      - Provisioner pool-0 spec: seen x, wanted y
      - Provisioner pool-1 spec: seen x, wanted y
      - Provisioner pool-2 spec: seen x, wanted y
      - Provisioner pool-3 spec: seen x, wanted y
      - Provisioner pool-4 spec: seen x, wanted y
      - and 2 more
      fix (kubectl): kubectl delete provisioner pool-0
          kubectl get nodes
  ? unknown blocker crds       webhook: crds could not be read: forbidden
      fix (kubectl): # Allows reading only; bind it to the account that karpdash uses, then scan again
          kubectl apply -f - <<'ROLE'
          # What a scan reads; it replaces a role of this name by the whole one. Bind it with a ClusterRoleBinding.
          apiVersion: rbac.authorization.k8s.io/v1
          kind: ClusterRole
          metadata:
            name: karpdash-scan
          rules:
            - apiGroups: [""]
              resources: [namespaces]
              resourceNames:
                - kube-system
          ... 68 more lines, see: karpdash plan
  ! manual  blocker preflight  backup: Summary of backup
  x fail    warning workloads  marks: Summary of marks
      - Pod shop/cart-1: seen do-not-evict (500 objects)
  ~ waived  warning resources  accepted: accepted by Ada until May: known
  Info: 1
    x note: Summary of note

Not read whole
  crds: forbidden (may not list)
  machines: 1 of 2 objects set aside (m-1: wrong type)

Ownership that does not add up: 1
  Machine m-1: claim_without_node (no node)
"""


def test_a_whole_report() -> None:
    assert render(a_report()) == WHOLE


def test_what_waits_for_one_thing_is_one_line_and_its_remedy_stands_once() -> None:
    def asked(hop: str) -> tuple[Finding, ...]:
        open_now = [unread(name, "pods", "timed_out", hop=hop, summary=UNREAD) for name in ("one", "two", "three")]
        return (*open_now, unread("note", "pods", "timed_out", hop=hop, severity="info", summary=UNREAD))

    found = (*asked("1.0"), *asked("1.1+"))
    target = Target("1.1.10", (report_hop("1.0", "1.0.14"), report_hop("1.1+", "1.1.10")))
    lines = tuple(hop_line(hop, (one for one in found if one.hop == hop)) for hop in ("1.0", "1.1+"))
    out = render(a_report(found, target=target, hops=lines)).splitlines()
    at = [number for number, line in enumerate(out) if "checks pods could not be read: timed_out" in line]
    assert [out[number] for number in at] == ["  ? unknown blocker   4 checks pods could not be read: timed_out"] * 2
    assert [out[number + 1] for number in at] == ["      one, two, three, note"] * 2
    refused = [unread(one.id, "pods", hop=one.hop, severity=one.severity) for one in found]
    assert render(a_report(tuple(refused), target=target, hops=lines)).count("kubectl apply") == 1


def test_colour_adds_nothing_but_colour() -> None:
    coloured = render(a_report(), colour=True)
    assert coloured != WHOLE
    assert "\x1b[31mBLOCKED\x1b[0m" in coloured
    assert re.sub("\x1b\\[[0-9]+m", "", coloured) == WHOLE


def test_a_cluster_without_karpenter_says_so() -> None:
    facts = ClusterFacts(name="plain", kubernetes_version=None, karpenter_version=None, stage="no_karpenter")
    report = a_report((), cluster=facts, target=Target(None, ()), hops=(), anomalies=(), parts=(), complete=True)
    assert render(report).splitlines()[:5] == [
        "Cluster     plain",
        "Karpenter   not installed, objects: no Karpenter",
        "Kubernetes  unknown",
        "Nodes       3: 3 karpenter_beta",
        "Scanned     2026-11-21T05:00:00Z, complete",
    ]


def test_a_range_of_minors_is_told_as_such() -> None:
    facts = ClusterFacts(
        name="old", kubernetes_version="1.25", karpenter_version=None, stage="alpha", karpenter_range=("0.29", "0.30")
    )
    assert "Karpenter   one of 0.29, 0.30, objects: v1alpha5" in render(a_report(cluster=facts))


@settings(max_examples=60)
@given(any_reports())
def test_no_text_of_a_cluster_steers_the_terminal(report: Report) -> None:
    assert all(line.isprintable() for line in render(report).split("\n"))


OTHER = PartLine(name="nodepools", seen=True, count=1, read_as="karpenter.sh/v1beta1, because karpenter.sh/v1 fails")


def test_a_list_in_another_version_is_told_beside_what_is_missing() -> None:
    lines = render(a_report(parts=(OTHER,)), colour=False).splitlines()
    at = lines.index("Read in another version")
    assert lines[at + 1] == "  nodepools: karpenter.sh/v1beta1, because karpenter.sh/v1 fails"
    assert "Not read whole" not in lines


def test_without_an_answered_check_the_table_says_what_is_not_known() -> None:
    assert "Target      none: the running release could not be told" in render(without_path()).splitlines()
    lines = render(of_unknown_release()).splitlines()
    at = lines.index("Hop 1.99  NEEDS FACTS  0 % of checks passed or waived")
    assert lines[at + 1] == "  Cannot tell: 1.99.0 is newer than 1.14.1"
