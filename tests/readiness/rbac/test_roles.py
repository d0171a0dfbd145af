"""The printed rule grants reading and nothing else."""

from typing import Any

import yaml

from migrations_app.collect import parts
from migrations_app.inventory.inventory import PART_NAMES
from migrations_app.readiness.rbac import roles
from migrations_app.readiness.rbac.docs import scan_file


def test_every_part_says_what_it_is_read_from():
    assert set(roles.PART_KINDS) | {"version", "discovery"} == set(PART_NAMES)
    given = [name for job in (parts.VERSION, parts.DISCOVERY, *parts.FIRST, *parts.SECOND) for name in job.gives]
    assert sorted(given) == sorted(PART_NAMES)


def granted(role: dict[str, Any]) -> set[tuple[str, str, str]]:
    """(group, resource, verb) of all rules."""
    return {
        (group, plural, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for plural in rule["resources"]
        for verb in rule["verbs"]
    }


def test_the_roles_list_all_kinds_and_only_read():
    scan, releases = yaml.safe_load_all(roles.scan_roles(roles.all_scan_permissions()))
    lists = {(group, plural) for group, plural, verb in granted(scan) | granted(releases) if verb == "list"}
    assert lists == {(kind.group, kind.plural) for kind in roles.SCANNED_KINDS}
    assert {one for one in granted(scan) if one[2] != "list"} == {
        ("", "namespaces", "get"),
        ("", "nodes", "watch"),
        ("", "pods", "watch"),
        ("authorization.k8s.io", "selfsubjectaccessreviews", "create"),
    }


def test_a_printed_role_is_the_published_one_so_that_it_takes_nothing_away():
    (role,) = yaml.safe_load_all(roles.scan_roles(roles.kinds_of(["pods", "machines"])))
    (published, _) = yaml.safe_load_all(scan_file())
    assert role == published
    assert roles.scan_roles([]) == ""


def test_secrets_are_a_role_of_their_own_for_one_namespace():
    text = roles.scan_roles(roles.kinds_of(["helm_releases"]))
    (role,) = yaml.safe_load_all(text)
    assert (role["metadata"]["name"], granted(role)) == ("karpdash-scan-releases", {("", "secrets", "list")})
    assert "RoleBinding in the namespace" in text
    (whole, _) = yaml.safe_load_all(roles.scan_roles(roles.all_scan_permissions()))
    assert "secrets" not in {plural for _, plural, _ in granted(whole)}
