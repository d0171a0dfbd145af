"""The words, tones and icons of rollouts."""

from migrations_app.readiness.look import Look

STATES: dict[str, Look] = {
    "draft": Look("Being worked out", "accent", "going", "A worker looks at the cluster and works the plan out."),
    "previewed": Look("Preview", "accent", "info", "Worked out and proven; nobody was asked yet, nothing was changed."),
    "awaiting_approval": Look("Waits for approval", "warning", "manual", "Frozen; nothing was changed."),
    "approved": Look("Approved", "pass", "pass", "May be started; nothing was changed yet."),
    "running": Look("Running", "accent", "going", "A worker goes through the steps."),
    "paused": Look("Paused", "warning", "warning", "Nothing is sent until somebody lets it go on."),
    "succeeded": Look("Succeeded", "pass", "done", "Every step is through and verified."),
    "failed": Look("Failed", "blocker", "blocker", "Ended before its last step."),
    "aborted": Look("Aborted", "muted", "cut", "Ended by a person before its last step."),
    "rolled_back": Look("Rolled back", "muted", "history", "What it did was taken back."),
    "rejected": Look("Rejected", "muted", "na", "Nobody will carry it out; nothing was changed."),
    "expired": Look("Expired", "muted", "na", "It was never started; nothing was changed."),
    "rolling_back": Look("Being rolled back", "accent", "going", "Another rollout takes it back."),
    "needs_attention": Look("Needs attention", "unknown", "unknown", "A person has to look and say what it came to."),
}
RISKS: dict[str, Look] = {
    "low": Look("Low risk", "pass", "pass"),
    "medium": Look("Medium risk", "accent", "info"),
    "high": Look("High risk", "warning", "warning"),
    "destructive": Look("Destructive", "blocker", "blocker"),
}
STANDINGS: dict[str, Look] = {
    "todo": Look("To do", "muted", "never"),
    "sent": Look("Sent, no answer yet", "accent", "going"),
    "unknown": Look("Outcome unknown", "unknown", "unknown"),
    "applied": Look("Applied, not yet verified", "accent", "going"),
    "noop": Look("Was so already", "accent", "pass"),
    "refused": Look("Refused", "blocker", "blocker"),
    "changed_by_other": Look("Changed by somebody else", "warning", "warning"),
    "done": Look("Done", "pass", "done"),
}
OUTCOME_TONES: dict[str, str] = {
    "": "accent",
    "applied": "pass",
    "unknown": "unknown",
    "refused": "blocker",
    "changed_by_other": "blocker",
}
"""The tone of what came of a request; an empty outcome is one that has no answer yet."""
CAUSES: dict[str, str] = {
    "pause": "A person asked it to pause.",
    "asked": "A person ended it.",
    "kill_switch": "Everything that changes clusters was stopped.",
    "changed": "An object is not as it was at the preview.",
    "changed_by_other": "Somebody else changed an object while an outcome was unknown.",
    "gate": "The cluster was not calm in time.",
    "not_verified": "The cluster does not show what a step was to bring.",
    "unreachable": "The cluster did not answer.",
    "other_cluster": "Another cluster answers under this name.",
    "strange_plan": "The plan is not the one that was approved.",
    "audit_blocked": "The audit log can not be carried outside.",
    "expired": "It was too old.",
    "withdrawn": "It was withdrawn.",
    "rejected": "Somebody said no.",
    "cluster_changed": "The way to the cluster was changed since it was made.",
    "missing_rights": "karpdash lacks rights on the cluster.",
    "read_only": "A bundle or a sample is only looked at.",
    "break_glass": "Approved by one person alone, in an emergency.",
    "no_approval_asked": "The policy asks nobody about a plan of this risk.",
    "settled": "A person told what it came to.",
}
"""What a cause's code means; the cause's own words stand beside it."""
