"""What only AWS shows: each fault is found, and the lines of its fix, run as they stand, make the check pass."""

from collections.abc import Iterator

import pytest

from migrations_app.checks.base import Finding
from migrations_app.readiness.report import Report
from tests.acceptance.aws_account import CleanAccount, moto
from tests.acceptance.aws_program import run
from tests.acceptance.clusters import find
from tests.acceptance.faults_aws import ALPHA, AWS_FAULTS, BETA, CURRENT, EARLIER, AwsFault
from tests.acceptance.judging import at, loud

pytestmark = [pytest.mark.moto, pytest.mark.xdist_group("moto")]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with moto() as url:
        yield url


def finding(report: Report, fault: AwsFault) -> Finding:
    hop = fault.hop or fault.clean.hop
    return next(one for one in at(report, hop) if one.id == fault.check)


def told(found: Finding) -> str:
    return " ".join((found.summary, *(f"{row.name} {row.path} {row.seen} {row.wanted}" for row in found.evidence)))


def lines_of(found: Finding) -> list[str]:
    """The texts of its fixes that are lines for the aws program, each once."""
    texts = dict.fromkeys(one.text for one in found.remedies if one.how == "iam")
    return [text for text in texts if any(line.startswith("aws ") for line in text.splitlines())]


@pytest.mark.parametrize(
    ("name", "tags"),
    [("alpha-028", EARLIER), ("alpha-031", ALPHA), ("beta-033", BETA), ("v1-13", CURRENT), ("v1-18", CURRENT)],
)
def test_an_account_as_the_guides_want_it_is_found_clean(address: str, name: str, tags: tuple[str, ...]) -> None:
    _, report = CleanAccount(address, find(name), tags=tags).scan()
    ours = {fault.check for fault in AWS_FAULTS}
    loud_ones = {one.id for one in at(report, find(name).hop) if one.status in ("fail", "unknown")}
    assert loud_ones & ours == set()


@pytest.mark.parametrize("fault", AWS_FAULTS, ids=lambda fault: fault.name)
def test_a_fault_is_found_and_its_lines_clear_it(address: str, fault: AwsFault) -> None:
    account = CleanAccount(address, fault.clean, tags=fault.tags, passes=fault.passes)
    fault.plant(account)
    _, before = account.scan(fault.in_cluster)
    found = finding(before, fault)
    assert (found.status, fault.says in told(found)) == ("fail", True), told(found)
    if fault.not_in_moto:
        return
    lines = lines_of(found)
    assert lines
    for text in lines:
        run(text, account.client)
    _, after = account.scan(fault.in_cluster)
    assert finding(after, fault).status == "pass"
    hop = fault.clean.hop
    assert loud(at(after, hop)) <= loud(at(before, hop)) - {fault.check}


def test_the_program_refuses_what_the_real_one_would() -> None:
    with pytest.raises(ValueError, match="kubectl is not the aws program"):
        run("kubectl get pods", lambda _: None)
