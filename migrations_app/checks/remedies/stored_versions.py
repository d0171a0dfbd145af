"""How to see that the controller has rewritten every stored object as v1."""

from migrations_app.checks.base import Remedy
from migrations_app.checks.remedies.commands import kubectl
from migrations_app.checks.shell import words
from migrations_app.karpenter import kinds


def rewriting_watched() -> Remedy:
    """Commands that only look: the versions that are stored, and what the controller says where it gets stuck."""
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
