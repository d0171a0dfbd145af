"""Fails for each Helm release of Karpenter whose last run of Helm failed, or was begun and not finished."""

from collections.abc import Iterator

from msgspec.structs import replace

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
        "Helm refuses every upgrade of a release while its newest revision is pending, which a stopped pipeline leaves "
        "for good: the upgrade stops between the CRDs and the controller. A failed run leaves objects of both revisions."
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
_TAKE_BACK = (
    "wait for the run of release {name}; if nobody runs it any more, take it back to {revision}, with helm rollback or "
    "with the action that rolls Karpenter's Helm release back"
)
ENDS = {
    "failed": "upgrade release {name} again once the cause is gone, or take it back to {revision}, with helm rollback",
    "pending-install": "let whoever installs release {name} finish: there is nothing to take it back to",
    "uninstalling": "find out who uninstalls release {name}: what its chart holds is being deleted",
}
"""For each status but pending-upgrade and pending-rollback, what a person does."""


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    releases = case.inventory.helm_releases.items
    if unread := records_unread(case.inventory):
        yield Unknown(f"Helm's records could not be read ({unread})")
        yield SeverityCap("info")  # Helm refuses by itself before it changes the release
    elif not releases:
        yield NotApplicable("no Helm release of Karpenter is recorded")
    for release in releases:
        if release.unfinished:
            place = Evidence(kind="HelmRelease", namespace=release.namespace, name=release.name, path="info.status")
            ran = str(release.revision) if release.status == "deployed" else ""
            yield replace(place, seen=release.unfinished, wanted="deployed").with_data(ran=ran)


@check.advise
def advise(_case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    yield in_cluster(group(*(step for row in evidence for step in _steps(row))))


def _steps(row: Evidence) -> Iterator[Observation | PersonTask]:
    home, name, ran = no_option(row.namespace), no_option(row.name), row.value("ran")
    yield Observation(pipe=(("helm", "-n", home, "history", name, "--max", "5"),))
    records = ("-l", f"owner=helm,name={name}", "--sort-by=.metadata.creationTimestamp")
    yield Observation(pipe=(("kubectl", "-n", home, "get", "secrets", *records),))
    task = ENDS.get(row.seen, _TAKE_BACK)
    yield PersonTask(
        what=task.format(name=row.name, revision=f"revision {ran}" if ran else "the last revision that ran"),
        why="only who began the run knows whether it goes on; its description and the age of its record say more",
        where=f"helm -n {row.namespace} history {row.name}",
    )
