"""What the cases produce would be taken by the API server, unless a finding says that a person has to act first."""

from typing import Any

import pytest

from migrations_app.conversion.objects import Options
from migrations_app.conversion.reports.report import convert_texts
from tests.conversion import case_files, crd_checks

_cases = [case for case in case_files.own_cases() if "error" not in case]


@pytest.mark.parametrize("to", [None, "v1"])
@pytest.mark.parametrize("case", _cases, ids=lambda case: case["name"])
def test_results_fit_the_crds(case: dict[str, Any], to: Any) -> None:
    report = convert_texts([("case", case_files.text_of(case))], Options(to=to, node_role="acme-nodes"))
    for one in report.converted:
        if one.item.generation in ("alpha", "beta") and not any(loss.severity == "action" for loss in one.item.losses):
            assert [crd_checks.refusals(body) for body in one.objects] == [[] for _ in one.objects]


def test_the_checks_can_refuse() -> None:
    body = {
        "apiVersion": "karpenter.k8s.aws/v1",
        "kind": "EC2NodeClass",
        "spec": {
            "role": "r",
            "instanceProfile": "p",
            "amiSelectorTerms": [{"id": "ami-1", "name": "x"}],
            "tags": {"": "x"},
        },
    }
    found = [line for line in crd_checks.refusals(body) if "$" not in line]
    assert found == ["role or instanceProfile", "id beside another filter", "tag "]
