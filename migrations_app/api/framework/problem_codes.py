"""The codes of the API's problems, and the exception with such a code. Codes are stable; titles and texts may
change.

Imports no views, because REST framework's defaults name classes of this package.
"""

from dataclasses import dataclass

from rest_framework.exceptions import APIException


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """What a code means and what a client can do about it."""

    status: int
    title: str
    meaning: str


CODES: dict[str, ErrorCode] = {
    "bad_input": ErrorCode(400, "Bad input", "A value cannot be used; `errors` points at it."),
    "invalid": ErrorCode(400, "Invalid request", "Fields or parameters are missing, unknown or wrong; see `errors`."),
    "malformed": ErrorCode(400, "Malformed body", "The body is not the JSON or form it says it is."),
    "bad_cursor": ErrorCode(400, "Bad cursor", "The cursor is not from this list; start without one."),
    "no_earlier_snapshot": ErrorCode(
        400, "No earlier snapshot", "Name a snapshot of the same cluster that was taken before this one."
    ),
    "bad_kubeconfig": ErrorCode(
        400,
        "Kubeconfig refused",
        "It contains what karpdash does not accept, or lacks a required field; the detail says which.",
    ),
    "bad_bundle": ErrorCode(400, "Bundle refused", "The bundle cannot be read, or is larger than the limit."),
    "unknown_target": ErrorCode(
        400, "Unknown target", "The target is neither a known release, nor a minor, nor a hop."
    ),
    "unknown_member": ErrorCode(400, "Unknown cluster", "The campaign has no such cluster."),
    "no_clusters": ErrorCode(400, "No clusters", "The selection finds no cluster that the caller may operate."),
    "unknown_step": ErrorCode(400, "Unknown step", "The journey has no step of that id."),
    "unknown_action": ErrorCode(400, "Unknown action", "There is no action of that id."),
    "unknown_parameter": ErrorCode(400, "Unknown choice", "The action has no such choice."),
    "missing_parameter": ErrorCode(400, "Choice missing", "The action needs this choice."),
    "bad_parameter": ErrorCode(400, "Bad choice", "The choice has another type than the action needs."),
    "chosen_twice": ErrorCode(400, "Chosen twice", "An object is named by two choices that exclude each other."),
    "itself": ErrorCode(400, "The same one", "Two different registrations are needed."),
    "name_not_typed": ErrorCode(400, "Name not typed", "Send the cluster's name, exactly as it is, in `typed`."),
    "bad_network": ErrorCode(400, "Bad network", "A network is written as 192.0.2.0/24 or 2001:db8::/32."),
    "bad_group": ErrorCode(400, "Bad group", "There is no such group of clusters."),
    "bad_groups": ErrorCode(400, "Bad groups", "A role holds over every cluster, or over one group or more."),
    "bad_role": ErrorCode(400, "Bad role", "There is no such role for this account."),
    "no_file_change": ErrorCode(400, "In no file", "The fix changes no object or value that is in a repository."),
    "not_in_files": ErrorCode(
        400, "Not in the files", "The object is in none of the files that were read; name its file."
    ),
    "in_several_files": ErrorCode(400, "In several files", "The object is in more than one file; name one."),
    "too_many_files": ErrorCode(400, "Too many files", "Name the file, or the folder that it is in."),
    "edit_refused": ErrorCode(400, "Not changed here", "karpdash cannot change a file of this form; a person has to."),
    "secret_in_file": ErrorCode(400, "A Secret in the file", "karpdash does not change files that contain a Secret."),
    "nothing_to_change": ErrorCode(
        400, "Nothing to change", "The files already have the content that would be written."
    ),
    "not_converted": ErrorCode(400, "Not converted", "No object in the files can be converted; the detail says why."),
    "bad_path": ErrorCode(400, "Bad path", "A file or folder of the repository is needed."),
    "reason_needed": ErrorCode(400, "Reason needed", "Give a reason."),
    "bad_window": ErrorCode(400, "Bad window", "A change window has days 0 to 6 and goes from HH:MM to HH:MM, UTC."),
    "bad_approvals": ErrorCode(400, "Bad approvals", "Give a number for each risk; destructive plans need at least 1."),
    "out_of_range": ErrorCode(400, "Out of range", "The number is too small or too large; the detail has the limits."),
    "key_needed": ErrorCode(
        400, "Idempotency-Key needed", "Send a key of your choice; a retry with it takes effect only once."
    ),
    "not_signed_in": ErrorCode(
        401, "Not signed in", "Send a bearer token, or the session cookie of a signed-in browser."
    ),
    "bad_token": ErrorCode(
        401, "Token refused", "It is unknown, expired or revoked, its owner is disabled, or it is for another network."
    ),
    "forbidden": ErrorCode(
        403, "Not allowed", "The token lacks a scope, or its owner lacks a permission; the detail names it."
    ),
    "csrf": ErrorCode(
        403, "Cross-site request refused", "A browser's change needs the CSRF token, from our own pages."
    ),
    "password_change_needed": ErrorCode(403, "Choose a password first", "The account still has a one-time password."),
    "person_needed": ErrorCode(
        403, "A person is needed", "Only people can do this, in the browser; never over the API."
    ),
    "own_rights": ErrorCode(
        403, "Roles of its owner", "A token cannot give its own owner a role; a person does that in the browser."
    ),
    "second_person": ErrorCode(
        403, "A second person is needed", "The person who made or requested it cannot approve it alone."
    ),
    "sign_in_again": ErrorCode(403, "Sign in again", "This cannot be undone: sign in again in the browser first."),
    "not_found": ErrorCode(404, "Not found", "There is no such object, or you may not see it."),
    "method_not_allowed": ErrorCode(405, "Method not allowed", "The Allow header lists the methods of this address."),
    "conflict": ErrorCode(409, "Conflict", "It was changed meanwhile: read it again."),
    "name_taken": ErrorCode(409, "Name taken", "The name is in use already."),
    "last_admin": ErrorCode(409, "Last admin", "No account would be left that may give roles."),
    "own_account": ErrorCode(409, "One's own account", "An account cannot close itself."),
    "given_already": ErrorCode(409, "Given already", "The role is given already."),
    "derived": ErrorCode(
        409, "Set by the ARN", "The label's value comes from the cluster's ARN and cannot be changed."
    ),
    "draft_used": ErrorCode(409, "Draft used", "An external id belongs to one cluster; ask for a new draft."),
    "has_clusters": ErrorCode(409, "Clusters are registered", "Remove the clusters of the organization first."),
    "look_too_old": ErrorCode(409, "List too old", "Discover the organization again first."),
    "registered": ErrorCode(409, "Already registered", "A cluster of that ARN is registered already."),
    "no_identity": ErrorCode(
        409, "No AWS identity", "karpdash has no AWS identity of its own; the detail names the settings."
    ),
    "in_progress": ErrorCode(409, "Still under way", "The first request with this Idempotency-Key has no answer yet."),
    "answer_lost": ErrorCode(409, "Answer lost", "The request took effect, but its answer can no longer be read."),
    "moved": ErrorCode(
        409, "Moved", "The object is in another state now, in which this cannot be done; read it again."
    ),
    "digest_moved": ErrorCode(409, "Another plan", "The digest is not that of this plan or preview."),
    "approval_missing": ErrorCode(
        409, "Approval missing", "Too few approvals are valid now; people approve in the browser."
    ),
    "already_open": ErrorCode(
        409, "Open already", "There is a pull request for this change already, open or being opened."
    ),
    "branch_exists": ErrorCode(
        409, "Branch exists", "The branch exists without a pull request: delete it on the Git host."
    ),
    "nothing_open": ErrorCode(409, "Nothing open", "There is no open pull request."),
    "refused_by_host": ErrorCode(
        409, "Refused by the host", "The Git host refused the credential, the branch or the request."
    ),
    "repository_of_group": ErrorCode(
        409, "Repository of this group", "A Git repository is for the clusters of the group alone."
    ),
    "repository_of_others": ErrorCode(
        409, "Repository of other clusters", "The Git repository is for clusters of a group that this one is not in."
    ),
    "repository_gone": ErrorCode(409, "Repository removed", "The repository and its credential were removed."),
    "rehearsal_missing": ErrorCode(
        409, "Rehearsal missing", "The policy requires a rehearsal of this plan, and no rehearsal has finished."
    ),
    "node_sent": ErrorCode(
        409, "Sent already", "The deletion of the node was sent already: the node can no longer be skipped."
    ),
    "too_many": ErrorCode(409, "Too many", "The limit is reached; the detail has the number."),
    "closed": ErrorCode(409, "Closed", "The policy does not allow this now; the detail says why."),
    "policy_moved": ErrorCode(
        409, "Policy changed", "The policy was changed since the plan was made; make a new plan."
    ),
    "release_changed": ErrorCode(
        409, "Other release", "Another Karpenter release runs than at the preview; make a new preview."
    ),
    "kill_switch": ErrorCode(
        409, "Stopped", "All changes of clusters are stopped; two people turn the kill switch off, in the browser."
    ),
    "busy": ErrorCode(409, "Cluster busy", "Another rollout holds this cluster; the detail names it."),
    "expired": ErrorCode(409, "Plan too old", "A plan is valid for four hours; make a new one."),
    "disk_full": ErrorCode(
        409, "Disk full", "No scan begins while the disk is nearly full; scans resume automatically."
    ),
    "audit_blocked": ErrorCode(
        409, "Audit log behind", "No cluster is changed while the audit log cannot be sent to its sinks."
    ),
    "campaign_holds": ErrorCode(
        409, "Another campaign has it", "A cluster is in one campaign at a time, and cannot be removed meanwhile."
    ),
    "cluster_gone": ErrorCode(409, "Cluster removed", "The registration of the cluster was removed."),
    "author_gone": ErrorCode(409, "Author gone", "The account that made the campaign is closed; make a new one."),
    "member_stopped": ErrorCode(
        409, "A cluster is stopped", "Fix its journey, queue it again or leave it out; then resume the campaign."
    ),
    "journey_holds": ErrorCode(409, "A journey is under way", "A cluster cannot be removed while a journey holds it."),
    "journey_open": ErrorCode(409, "A journey is open", "The cluster has an open journey; end it first."),
    "plan_differs": ErrorCode(
        409, "The plan differs", "The plan of a step differs from the approved one: accept it, or plan the step again."
    ),
    "protects": ErrorCode(409, "The step protects", "A step that protects the cluster cannot be skipped."),
    "not_reached": ErrorCode(409, "Not reached", "The journey has not reached that step yet."),
    "step_failed": ErrorCode(409, "A step failed", "Retry the step or skip it; then the journey continues."),
    "read_only": ErrorCode(409, "Read-only", "karpdash does not change clusters of this source."),
    "not_same_cluster": ErrorCode(
        409,
        "Not known to be the same",
        "Only registrations can be joined that scans have proved to be the same cluster.",
    ),
    "not_read": ErrorCode(409, "Not read", "The newest scan of the registration that stays has to have succeeded."),
    "policies_differ": ErrorCode(409, "Policies differ", "Give both registrations the same policy first."),
    "scan_active": ErrorCode(409, "A scan is under way", "Wait until the scan of the cluster has ended."),
    "rollout_holds": ErrorCode(409, "A rollout is under way", "A cluster cannot be removed while a rollout holds it."),
    "export_unproven": ErrorCode(409, "Export unreadable", "The backup cannot be decrypted."),
    "stale": ErrorCode(412, "Changed meanwhile", "The If-Match or digest is not the current one: read again."),
    "too_large": ErrorCode(413, "Too large", "The body is larger than the limit."),
    "unsupported_media_type": ErrorCode(415, "Unsupported media type", "Send application/json, or a form for uploads."),
    "key_reused": ErrorCode(422, "Key reused", "This Idempotency-Key was sent with another request before."),
    "if_match_needed": ErrorCode(428, "If-Match needed", "Send the ETag that you have read in an If-Match header."),
    "throttled": ErrorCode(429, "Too many requests", "Wait as long as Retry-After says."),
    "failed": ErrorCode(500, "Server failed", "An internal error; search the log for the request id."),
    "not_answered": ErrorCode(
        503, "No answer", "AWS, the cluster or another host did not answer; the detail says why. Try again."
    ),
    "unavailable": ErrorCode(
        503, "Not available", "The database or a key of karpdash is not available; try again later."
    ),
}


def known_code(code: str, *, otherwise: str) -> str:
    """Returns the code itself if the catalogue has it, else the general one."""
    return code if code in CODES else otherwise


class Problem(APIException):
    """A refusal with a code of this API."""

    def __init__(self, code: str, detail: str = "", *, retry_after: int | None = None) -> None:
        super().__init__(detail or CODES[code].meaning, code=code)
        self.code = code
        self.status_code = CODES[code].status
        self.retry_after = retry_after
