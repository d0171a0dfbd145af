"""From texts to a report: order of findings, exit codes, the two formats."""

import json

import pytest

from migrations_app.conversion.findings import ConversionFinding
from migrations_app.conversion.reports.report import ConversionReport, LocatedFinding, convert_texts

GOOD = """\
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: good}
spec: {providerRef: {name: z}, ttlSecondsAfterEmpty: 1, requirements: [{key: a, operator: Exist}]}
""".replace("Exist}", "Exists}")
OTHER = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"


def codes(report: ConversionReport) -> list[tuple[str, str]]:
    return [
        (finding.loss.code, finding.place)
        for finding in report.findings
        if finding.loss.severity in ("error", "action")
    ]


@pytest.mark.parametrize(
    ("texts", "code"),
    [
        ([GOOD], 0),
        ([OTHER, GOOD], 0),
        ([OTHER], 1),
        ([""], 1),
        ([], 1),
        (["{"], 2),
        (["{", OTHER], 1),
        (["{", GOOD], 1),
        ([GOOD.replace("1,", "x,")], 1),
        ([b"\xff"], 2),
    ],
)
def test_exit_codes(texts: list[str | bytes], code: int) -> None:
    assert convert_texts([(f"{index}.yaml", text) for index, text in enumerate(texts)]).exit_code == code


def test_a_file_that_cannot_be_opened() -> None:
    gone = LocatedFinding(ConversionFinding("file-unreadable", "", "", (), "no such file"), "gone.yaml")
    assert convert_texts([], unreadable=[gone]).exit_code == 2
    report = convert_texts([("a.yaml", GOOD)], unreadable=[gone])
    assert (report.exit_code, codes(report), len(report.objects)) == (1, [("file-unreadable", "gone.yaml")], 1)


def test_findings_follow_the_files() -> None:
    bad = GOOD.replace("good", "bad").replace("1,", "soon,")
    report = convert_texts([("b.yaml", f"{bad}---\n{{\n---\n{bad.replace('bad', 'worse')}"), ("a.yaml", "{")])
    assert codes(report) == [
        ("bad-type", "b.yaml, document 1, line 4"),
        ("not-yaml", "b.yaml, document 2, line 7"),
        ("bad-type", "b.yaml, document 3, line 11"),
        ("not-yaml", "a.yaml, document 1, line 2"),
    ]


def test_a_finding_for_json() -> None:
    (finding,) = (one for one in convert_texts([("a.yaml", GOOD.replace("1,", "x,"))]).findings)
    found = finding.as_dict()
    assert (found["code"], found["file"], found["document"], found["line"], found["path"]) == (
        "bad-type", "a.yaml", 1, 4, "spec.ttlSecondsAfterEmpty",
    )  # fmt: skip


def test_one_object_as_json() -> None:
    assert json.loads(convert_texts([("a", GOOD)]).as_json())["kind"] == "NodePool"


def test_several_objects_as_json() -> None:
    report = convert_texts([("a", GOOD), ("b", GOOD.replace("good", "more"))])
    found = json.loads(report.as_json())
    assert (found["apiVersion"], found["kind"], found["items"]) == ("v1", "List", report.objects)


def test_no_object_at_all() -> None:
    report = convert_texts([("a", OTHER)])
    assert (report.as_json(), report.as_yaml(), report.worst) == ("", "", "error")
