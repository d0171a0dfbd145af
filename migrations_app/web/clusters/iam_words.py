"""The words, tones and icons of the IAM tab."""

from migrations_app.readiness.outputs.badge_style import BadgeStyle
from migrations_app.texts import text as _

NOT_NEEDED = BadgeStyle(_("Not needed"), "muted", "na", id="not_needed")
ALLOWED = BadgeStyle(_("Allowed"), "pass", "pass", id="allowed")
UNKNOWN = BadgeStyle(_("Unknown"), "unknown", "unknown", id="unknown")
VERDICT_WORDS = {
    "missing": _("Missing"),
    "denied": _("Denied"),
    "blocked_by_condition": _("Condition"),
    "blocked_by_resource": _("Resource"),
}
VERDICT_NOTES = {
    "missing": _("no statement names the action"),
    "denied": _("a Deny applies, or the boundary stops it"),
    "blocked_by_condition": _("named, but a condition is not met"),
    "blocked_by_resource": _("named, but not for this resource"),
    "unknown": _("depends on unknown settings"),
}
ANSWERS = {
    "yes": BadgeStyle(_("Enough"), "pass", "pass", id="yes"),
    "no": BadgeStyle(_("Not enough"), "blocker", "blocker", id="no"),
    "unknown": BadgeStyle(_("Cannot tell"), "unknown", "unknown", id="unknown"),
}
FOUND_BY = {
    "irsa": _("annotation of the service account (IRSA)"),
    "pod_identity": _("EKS Pod Identity association"),
    "pod_identity_target": _("target role of a Pod Identity association"),
    "environment": _("AWS_ROLE_ARN of the controller"),
    "assume_role": _("role that the settings tell the controller to assume"),
    "given": _("documents that were handed in"),
}
KINDS = {"aws_managed": _("managed by AWS"), "customer_managed": _("managed policy"), "inline": "inline"}
WITH_SETTING = _("needed with a setting that is on here")
NEEDED = {"doubt": _("Needed"), "doubt_set": _("Needed with a setting")}
"""The words of groups where no role was read."""
ACTION_GROUPS = (
    (BadgeStyle(_("Refused"), "blocker", "blocker", _("always needed"), id="refused"), False),
    (BadgeStyle(_("Refused with a setting"), "blocker", "blocker", WITH_SETTING, id="refused_set"), False),
    (BadgeStyle(_("Unknown"), "unknown", "unknown", _("always needed"), id="doubt"), False),
    (BadgeStyle(_("Unknown with a setting"), "unknown", "unknown", WITH_SETTING, id="doubt_set"), False),
    (BadgeStyle(_("Conditional"), "muted", "info", _("the setting is not on here"), id="rare"), True),
    (BadgeStyle(_("Allowed"), "pass", "pass", _("wherever they are needed"), id="allowed"), True),
)
