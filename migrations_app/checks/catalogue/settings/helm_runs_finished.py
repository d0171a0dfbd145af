"""Fails for each Helm release of Karpenter whose last run of Helm failed, or was begun and not finished."""

from collections.abc import Iterator

from msgspec.structs import replace

from migrations_app.checks import base
from migrations_app.checks.base import CheckContext, Evidence, JudgeResult
from migrations_app.checks.changes import Observation, PersonTask, group
from migrations_app.checks.remedies.commands import in_cluster
from migrations_app.checks.shell import no_option
from migrations_app.inventory.facts.controller import records_unread, upgrade_is_refused

check = base.Check(
    __name__,
    title="The last run of Helm has succeeded",
    phase="controller",
    severity="blocker",
    why=(
        "Helm refuses every upgrade of a release while its newest revision is pending, which a stopped pipeline leaves "
        "for good: the upgrade stops between CRDs and controller. A failed run, a mix of two revisions, only warns."
    ),
    how="Reads the status of the newest revision of the releases of both charts, and which tools deliver them.",
    reads=("controller",),
    says=("The last run of Helm release {name} is {seen}", "The last runs of {count} Helm releases have not succeeded"),
    sources=("helm/helm@v3.19.0:pkg/action/upgrade.go",),
    remedy_tools=("kubectl",),
)
HELM, _BY_AGE = ("helm", "-n"), ("--sort-by=.metadata.creationTimestamp",)
_ROLL_BACK = (
    "wait for the run of release {name}; if nobody runs it any more, roll it back to {revision}, with helm rollback or "
    "with the action that rolls Karpenter's Helm release back; helm-controller of Flux from 0.37 on ends it by itself"
)
ENDS = {
    "failed": "upgrade release {name} again once the cause is gone; if one ran before, helm rollback restores it",
    "pending-install": "let whoever installs release {name} finish: there is no revision to roll it back to",
    "uninstalling": "find out who uninstalls release {name}: what its chart holds is being deleted",
}
"""For each status but the other two pending ones, what a person does."""


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    open_runs = [release for release in case.inventory.helm_releases.items if release.unfinished]
    if unread := records_unread(case.inventory):
        yield base.Unknown(f"Helm's records could not be read ({unread})")
        yield base.SeverityCap("blocker" if open_runs else "info")  # Helm refuses before it changes the release
    elif not case.inventory.helm_releases.items:
        yield base.NotApplicable("no Helm release of Karpenter is recorded")
    if open_runs and not any(upgrade_is_refused(case.inventory, release) for release in open_runs):
        yield base.SeverityCap("warning")
    for release in open_runs:
        row = Evidence(kind="HelmRelease", namespace=release.namespace, name=release.name, path="info.status")
        ran = str(release.revision) if release.status == "deployed" else ""
        yield replace(row, seen=release.unfinished, wanted="deployed").with_data(ran=ran)


@check.advise
def advise(_case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[base.Remedy]:
    yield in_cluster(group(*(step for row in evidence for step in _steps(row))))


def _steps(row: Evidence) -> Iterator[Observation | PersonTask]:
    home, name, ran = no_option(row.namespace), no_option(row.name), row.value("ran")
    yield Observation(pipe=((*HELM, home, "history", name, "--max", "5"),))
    yield Observation(pipe=(("kubectl", "-n", home, "get", "secrets", "-l", f"owner=helm,name={name}", *_BY_AGE),))
    past = f"revision {ran}" if ran else "the last revision that ran"
    yield PersonTask(
        what=ENDS.get(row.seen, _ROLL_BACK).format(name=row.name, revision=past),
        why="only who began the run knows whether it goes on; its description and the age of its record say more",
        where=f"helm -n {row.namespace} history {row.name}",
    )
