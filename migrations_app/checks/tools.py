"""Groups of tools that the remedies of several checks are written for."""

from collections.abc import Mapping
from typing import Final

from migrations_app.checks import changes
from migrations_app.checks.base import RemedyTool

CHART_TOOLS: tuple[RemedyTool, ...] = ("helm", "terraform", "flux", "argocd")
"""Tools that can change the values or the version of a chart."""
OBJECT_TOOLS: tuple[RemedyTool, ...] = ("kubectl", *CHART_TOOLS)
"""Tools that can change an object in the cluster, directly or in its source."""
TOOLS_OF: Final[Mapping[type[changes.ChangeBase], tuple[RemedyTool, ...]]] = {
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
"""The tools for which `remedies_of` can write a change, whatever tool manages the object. An Observation and a group
have the tools of the changes next to them or in them."""
