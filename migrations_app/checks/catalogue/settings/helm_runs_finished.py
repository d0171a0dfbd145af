"""Fails for each Helm release of Karpenter whose last run of Helm failed, or was begun and not finished."""

from collections.abc import Iterator

from migrations_app.checks.base import (
    Check,
    CheckContext,
    Evidence,
    JudgeResult,
    NotApplicable,
    Remedy,
    SeverityCap,
    Unknown,
)
from migrations_app.checks.changes import Observation, PersonTask, group
from migrations_app.checks.remedies.commands import in_cluster
from migrations_app.checks.shell import no_option
from migrations_app.inventory.facts.controller import records_unread

check = Check(
    __name__,
    title="The last run of Helm has succeeded",
    phase="controller",
    severity="warning",
    why=(
        "Helm refuses every upgrade of a release while its newest revision is pending: the upgrade stops between the "
        "CRDs and the controller. A pipeline that was stopped leaves it so for good. A run that failed leaves objects "
        "of both revisions."
    ),
    how="Reads the status of the newest revision of the releases of both charts.",
    reads=("controller",),
    says=(
        "{count} Helm release has a run that failed or did not end",
        "{count} Helm releases have a run that failed or did not end",
    ),
    sources=("helm/helm@v3.19.0:pkg/action/upgrade.go",),
    remedy_tools=("kubectl",),
)


HELM, FAILED = ("helm", "-n"), "failed"


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    releases, unread = case.inventory.helm_releases.items, records_unread(case.inventory)
    if unread:
        yield Unknown(f"Helm's records could not be read ({unread})")
        yield SeverityCap("info")  # Helm refuses by itself before it changes the release
    elif not releases:
        yield NotApplicable("no Helm release of Karpenter is recorded")
    for release in releases:
        if release.unfinished:
            yield Evidence(
                kind="HelmRelease",
                namespace=release.namespace,
                name=release.name,
                path="info.status",
                seen=release.unfinished,
                wanted="deployed",
            )


@check.advise
def advise(_case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    yield in_cluster(group(*(step for row in evidence for step in _steps(row))))


def _steps(row: Evidence) -> Iterator[Observation | PersonTask]:
    home, name = no_option(row.namespace), no_option(row.name)
    yield Observation(pipe=((*HELM, home, "history", name, "--max", "5"),))
    where = f"helm -n {row.namespace} history {row.name}"
    if row.seen == FAILED:
        what = f"upgrade release {row.name} again once the cause is gone, or roll it back with helm rollback"
        yield PersonTask(what=what, why="what failed stands in its description and in the events", where=where)
    else:
        what = f"wait for the run of release {row.name}, or take its pending revision back with helm rollback"
        yield PersonTask(what=what, why="only who began the run knows whether it goes on", where=where)
