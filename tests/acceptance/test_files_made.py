"""No runbook names a file that none of its steps makes, and none reads a policy document out of one."""

import re

import pytest

from migrations_app.clients.bundle.bundle import open_bundle
from migrations_app.collect.aws import add_aws
from migrations_app.collect.collect import collect
from migrations_app.readiness.evaluate import evaluate
from migrations_app.readiness.outputs import runbook_markdown, runbook_table
from migrations_app.readiness.runbook.runbook import Runbook, runbook
from migrations_app.samples.fleet import aws, files, stories
from tests.acceptance.advice import advice, planned
from tests.acceptance.judged_faults import ONE_WORKER

NAMES = [story.name for story in stories()]
READS = re.compile(
    r"(?:^|\s)(?:-f|--filename|--values|--patch-file|--from-file|--template-file|<)[= ]*"
    r"(?P<name>[\w./~-]+\.(?:ya?ml|json|tf|sh|txt))"
)
"""A word of shell that a program reads a file by."""
MAKES = re.compile(r"(?:>|-O|--out|--output-document)\s*(?P<name>[\w./~-]+\.(?:ya?ml|json|tf|sh|txt))")


def plan_of(name: str) -> Runbook:
    story = next(one for one in stories() if one.name == name)
    collected = add_aws(collect(open_bundle(dict(files(story))), cluster=story.name), aws(story))
    return runbook(evaluate(collected).report)


def never_made(text: str) -> set[str]:
    """The files that the lines read and that none of them makes."""
    told = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    made = {found["name"] for line in told for found in MAKES.finditer(line)}
    return {found["name"] for line in told for found in READS.finditer(line)} - made


def test_what_the_rule_takes_for_a_file() -> None:
    assert never_made("helm upgrade a b -f a.values.yaml") == {"a.values.yaml"}
    assert never_made("helm get values a > a.values.yaml\nhelm upgrade a b \\\n  -f a.values.yaml") == set()
    assert never_made("kubectl apply -f - <<'EOF'") == set()
    assert never_made("kubectl apply -f pools.yaml") == {"pools.yaml"}


@pytest.mark.parametrize("name", NAMES)
def test_no_plan_names_a_file_that_no_step_makes(name: str) -> None:
    plan = plan_of(name)
    for text in (runbook_table.render(plan), runbook_markdown.render(plan)):
        assert "file://" not in text
    for hop in plan.hops:
        commands = [one for stage in hop.stages for one in stage.commands]
        commands += [one for step in hop.steps for one in step.remedies]
        assert {one.text for one in commands if "file://" in one.text} == set()
        assert {one.text: never_made(one.text) for one in commands if never_made(one.text)} == {}
    beside = runbook_markdown.render_files(plan)
    named = set(re.findall(r"`([\w.-]+\.(?:ya?ml|json|tf|sh|txt))`", beside[0].text))
    assert named == {file.name for file in beside[1:]}


@ONE_WORKER
def test_no_fix_of_any_planted_fault_names_a_file_that_it_does_not_make() -> None:
    every = [*advice(), *planned()]
    assert len(every) > 100
    assert [str(one) for one in every if "file://" in one.remedy.text] == []
    assert {str(one): never_made(one.remedy.text) for one in every if never_made(one.remedy.text)} == {}
