"""Fails for each post-install hook Job of a Karpenter chart that has not succeeded."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.changes import ChangeTarget, ObjectDelete, group
from migrations_app.checks.evidence import at_object
from migrations_app.checks.remedies.commands import in_cluster
from migrations_app.checks.remedies.observations import read_command
from migrations_app.checks.shell import no_option
from migrations_app.inventory.facts.controller import is_hook_job

check = Check(
    __name__,
    title="Every hook Job has succeeded",
    phase="crds",
    severity="warning",
    why="Six patches set up conversion in a Job: until it succeeds, CRDs do not convert and Argo CD waits.",
    how="Reads status.succeeded of Jobs named *-post-install-hook that belong to a chart of Karpenter.",
    reads=("jobs",),
    says=("{count} hook Job has not succeeded", "{count} hook Jobs have not succeeded"),
    sources=(
        "aws/karpenter-provider-aws#6765",
        "aws/karpenter-provider-aws@v1.0.0:charts/karpenter/templates/post-install-hook.yaml",
    ),
    remedy_tools=("kubectl",),
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    hooks = [job for job in case.inventory.jobs.items if is_hook_job(job)]
    if not hooks:
        yield NotApplicable("no Job of a hook is there")
    for job in hooks:
        status = job.status
        if not (status and status.succeeded):
            failed = (status and status.failed) or 0
            seen = f"{failed} pods failed" if failed else "still running, or never started"
            yield at_object(job, "status.succeeded", seen=seen, wanted="1, or the next patch, which has no such Job")


@check.advise
def advise(_case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    looks = (
        read_command("kubectl", "-n", no_option(row.namespace), "logs", f"job/{row.name}", "--tail=20")
        for row in evidence
    )
    jobs = (
        ObjectDelete(
            target=ChangeTarget(row.kind, row.name, row.namespace),
            final="the next upgrade of the chart makes the Job anew, where it has one",
            done=f"Job {row.name} is gone",
        )
        for row in evidence
    )
    note = "Only the Job goes; upgrade to the next patch of the minor, which needs none"
    yield in_cluster(group(*looks, *jobs, notes=(note,)))
