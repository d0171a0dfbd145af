"""Each planted fault, judged once in a process: the scan, the report, and the findings at the hop it is looked for."""

from functools import cache
from typing import Any, NamedTuple

import pytest

from migrations_app.checks.base import Finding
from migrations_app.readiness.evaluate import evaluate
from migrations_app.readiness.report import CollectResult, Report
from tests.acceptance.clusters import find, objects
from tests.acceptance.dumping import with_managed_fields
from tests.acceptance.judging import as_list, at, collected
from tests.acceptance.planting import Fault

ONE_WORKER = pytest.mark.xdist_group("planted-faults")
"""Of tests that ask about planted faults: one worker judges each once, and tries their patches on its API server."""


class JudgedFault(NamedTuple):
    """`documents` are those of the cluster with the fault; nobody changes them."""

    documents: tuple[dict[str, Any], ...]
    collected: CollectResult
    report: Report
    hop: str

    @property
    def findings(self) -> tuple[Finding, ...]:
        return at(self.report, self.hop)


@cache
def judged_fault(fault: Fault) -> JudgedFault:
    """The cluster with that fault alone, through a whole scan."""
    clean, documents = find(fault.on), objects(find(fault.on))
    fault.plant(documents)
    shown = with_managed_fields(documents)
    seen = collected(clean.name, as_list(shown, kubernetes=fault.kubernetes or clean.kubernetes))
    return JudgedFault(tuple(documents), seen, evaluate(seen).report, fault.hop or clean.hop)
