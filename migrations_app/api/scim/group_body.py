"""Parses the bodies of SCIM groups (teams): whole for POST and PUT, operations for PATCH, in the variants of Okta and
Entra ID.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from migrations_app.api.scim.endpoint import ScimError
from migrations_app.api.scim.paths import identifier, plain_name, read_filter, read_path
from migrations_app.api.scim.user_body import READ_ONLY, operations, text_of
from migrations_app.use_cases.accounts.directory_teams import TeamAttributes

FIXED = tuple(name for name in READ_ONLY if name != "groups")


def team_of_body(body: Mapping[str, Any], *, as_put: bool) -> TeamAttributes:
    """Returns the team of a POST or PUT. Raises ScimError."""
    team = TeamAttributes(external_id="", members=frozenset()) if as_put else TeamAttributes()
    for name, value in body.items():
        team = _with_value(team, plain_name(name), value=value, verb="replace")
    if not team.name:
        raise ScimError("displayName is needed", kind="invalidValue")
    return team


def team_of_patch(body: Mapping[str, Any]) -> TeamAttributes:
    """Returns the changes of a PATCH: its operations, one after the other. Raises ScimError."""
    team = TeamAttributes()
    for verb, path, value in operations(body):
        if path:
            team = _with_operation(team, path, value=value, verb=verb)
            continue
        if not isinstance(value, dict):
            raise ScimError("without a path the value is an object", kind="invalidValue")
        for name, item in value.items():
            team = _with_value(team, plain_name(str(name)), value=item, verb=verb)
    return team


def _with_operation(team: TeamAttributes, path: str, *, value: Any, verb: str) -> TeamAttributes:  # noqa: ANN401 - a JSON value
    name, bracket, _part = read_path(path)
    if name in FIXED:
        raise ScimError(f"{name} is set by karpdash", kind="mutability")
    if name == "members" and bracket:
        if verb != "remove":
            raise ScimError("members are added and removed, not changed", kind="invalidPath")
        return _without_members(
            team, frozenset(key for _name, key in read_filter(_keyed(bracket), filterable=("members.value",)))
        )
    if verb == "remove" and name == "displayname":
        raise ScimError("displayName is needed", kind="invalidValue")
    if verb == "remove" and name == "members" and value in (None, "", []):
        return replace(team, members=frozenset(), add=frozenset(), remove=frozenset())
    return _with_value(team, name, value=None if verb == "remove" and name != "members" else value, verb=verb)


def _keyed(bracket: str) -> str:
    """Returns the filter in brackets, as in `members[value eq "7"]`, with the full name of its attribute."""
    return f"members.{bracket.strip()}"


def _with_value(team: TeamAttributes, name: str, *, value: Any, verb: str) -> TeamAttributes:  # noqa: ANN401 - a JSON value
    if name == "displayname":
        return replace(team, name=text_of(name, value))
    if name == "externalid":
        return replace(team, external_id=text_of(name, value))
    if name != "members":
        return team
    keys = _members(value)
    if verb == "replace":
        return replace(team, members=keys, add=frozenset(), remove=frozenset())
    return (
        _without_members(team, keys)
        if verb == "remove"
        else replace(team, add=team.add | keys, remove=team.remove - keys)
    )


def _without_members(team: TeamAttributes, keys: frozenset[int]) -> TeamAttributes:
    return replace(team, remove=team.remove | keys, add=team.add - keys)


def _members(value: Any) -> frozenset[int]:  # noqa: ANN401 - a JSON value
    rows = value if isinstance(value, list) else [value] if isinstance(value, dict) else []
    if value is not None and not isinstance(value, list | dict):
        raise ScimError("members is a list", kind="invalidValue")
    if not all(isinstance(row, dict) and isinstance(row.get("value"), str) for row in rows):
        raise ScimError("a member has a value, the id of a user", kind="invalidValue")
    if any(str(row.get("type") or "User").lower() != "user" for row in rows):
        raise ScimError("members of a team are people, not teams", kind="invalidValue")
    return frozenset(identifier(row["value"]) for row in rows)
