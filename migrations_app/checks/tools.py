"""The tools that the remedies of a check may be for, as several checks name them."""

from collections.abc import Mapping
from typing import Final

from migrations_app.checks import changes
from migrations_app.checks.base import How

CHART_TOOLS: tuple[How, ...] = ("helm", "terraform", "flux", "argocd")
"""What the values or the version of a chart may be changed with."""
OBJECT_TOOLS: tuple[How, ...] = ("kubectl", *CHART_TOOLS)
"""What an object in the cluster may be changed with: directly, or where its source is."""
TOOLS_OF: Final[Mapping[type[changes.ChangeBase], tuple[How, ...]]] = {
    changes.HelmChange: CHART_TOOLS,
    changes.ObjectPatch: OBJECT_TOOLS,
    changes.ObjectApply: OBJECT_TOOLS,
    changes.ObjectDelete: OBJECT_TOOLS,
    changes.ObjectLabels: OBJECT_TOOLS,
    changes.ObjectAnnotations: OBJECT_TOOLS,
    changes.NodeTaint: OBJECT_TOOLS,
    changes.QueryRename: OBJECT_TOOLS,
    changes.DeliveryPause: ("flux", "argocd"),
    changes.DeliveryResume: ("flux", "argocd"),
    changes.IamStatements: ("terraform", "iam"),
    changes.AwsCall: ("iam",),
    changes.KarpdashAction: ("action",),
    changes.PersonTask: OBJECT_TOOLS,
}
"""The tools that `remedies_of` may write a change for, whoever keeps its object. An Observation and a group have those
of what stands beside them or in them."""
