"""Commands that show whether the controller has rewritten every stored object as v1, and the change that is safe only
after that."""

from collections.abc import Iterable, Sequence

from migrations_app.checks.base import Remedy
from migrations_app.checks.changes import Change, ObjectPatch, PersonTask, group
from migrations_app.checks.remedies.commands import in_cluster, kubectl
from migrations_app.checks.remedies.crd_upgrade import crd_target
from migrations_app.checks.remedies.observations import read_command
from migrations_app.checks.shell import no_option, words
from migrations_app.karpenter import kinds
from migrations_app.karpenter.releases import find

REWRITTEN = "custom-columns=DONE:.metadata.annotations.karpenter\\.sh/stored-version-migrated"
SERVED = "custom-columns=NAME:.metadata.name,VERSIONS:.spec.versions[*].name,STORED:.status.storedVersions"
NOTHING_CONVERTS = "Right before the new CRDs, for nothing converts then: each line looks first that v1 alone is stored"


def all_rewritten(crd: str) -> tuple[tuple[str, ...], ...]:
    """A pipe that succeeds only if objects of that CRD exist and each has the annotation of a rewritten object."""
    return (
        ("kubectl", "get", crd, "--no-headers", "-o", REWRITTEN),
        ("sort", "-u"),
        ("tr", "-d", "[:space:]"),
        ("grep", "-qx", "true"),
    )


def serve_again(crds: Sequence[str]) -> Remedy:
    """What makes objects readable again that are stored in a version which their CRDs lack."""
    row = find("1.0")
    release = row.newest_good if row else "1.0"
    note = "Objects are stored in a version that the CRD lacks: until it is back, garbage collection waits everywhere"
    look = read_command("kubectl", "get", "crd", *map(no_option, crds), "-o", SERVED, notes=(note,))
    task = PersonTask(
        what=f"install the CRDs and the controller of {release} again: it reads these objects and rewrites them",
        why="the API server neither reads nor deletes what it cannot convert",
        where="stored_versions_clean, once they are rewritten, and then this upgrade again",
    )
    return in_cluster(group(look, task))


def only_v1_stored(crd: str) -> tuple[tuple[str, ...], ...]:
    """A pipe that succeeds only if the CRD lists v1 as its only stored version."""
    return ("kubectl", "get", "crd", crd, "-o", "jsonpath={.status.storedVersions[*]}"), ("grep", "-qx", "v1")


def end_conversion(crds: Iterable[str]) -> Change:
    """Turns off the conversion of each CRD that lists v1 as its only stored version."""
    steps = (
        ObjectPatch(
            target=crd_target(name), guard=only_v1_stored(name), needs=("stored_versions_clean",),
            body=({"op": "replace", "path": "/spec/conversion", "value": {"strategy": "None"}},),
            final="what converts is written anew by the chart of the release before",
            done="spec.conversion.strategy is None",
        )
        for name in crds
    )  # fmt: skip
    return group(*steps, notes=(NOTHING_CONVERTS,))


def watch_rewrite() -> Remedy:
    """Read-only commands: the stored versions, and the objects that are not rewritten yet."""
    crds = words(kind.crd_name for kind in kinds.CURRENT_KINDS)
    return kubectl(
        "# The controller rewrites every object, then trims the list by itself, with its webhook on: minutes to hours",
        f"kubectl get crd {crds} -o custom-columns=NAME:.metadata.name,STORED:.status.storedVersions",
        "# Done when each says [v1] alone. What is left is without the annotation:",
        "kubectl get nodepools.karpenter.sh,ec2nodeclasses.karpenter.k8s.aws,nodeclaims.karpenter.sh -o "
        "custom-columns='KIND:.kind,NAME:.metadata.name,DONE:.metadata.annotations.karpenter\\.sh/stored-version-migrated'",
        "# It tags each instance with its cluster, too: done when every NodeClaim says true",
        "kubectl get nodeclaims.karpenter.sh -o "
        "custom-columns='NAME:.metadata.name,TAGGED:.metadata.annotations.compatibility\\.karpenter\\.k8s\\.aws/cluster-name-tagged'",
    )
