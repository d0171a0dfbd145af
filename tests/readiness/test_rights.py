"""The printed rule grants reading and nothing else."""

import yaml

from migrations_app.inventory.inventory import PART_NAMES
from migrations_app.readiness import rbac
from migrations_app.use_cases.collect import parts


def test_every_part_says_what_it_is_read_from():
    assert set(rbac.PART_KINDS) | {"version", "discovery"} == set(PART_NAMES)
    given = [name for job in (parts.VERSION, parts.DISCOVERY, *parts.FIRST, *parts.SECOND) for name in job.gives]
    assert sorted(given) == sorted(PART_NAMES)


def test_the_role_lists_all_kinds_and_only_reads():
    role = yaml.safe_load(rbac.cluster_role(rbac.everything()))
    assert {verb for rule in role["rules"] for verb in rule["verbs"]} == {"list"}
    listed = {(group, plural) for rule in role["rules"] for group in rule["apiGroups"] for plural in rule["resources"]}
    assert listed == {(kind.group, kind.plural) for kind in rbac.READ}


def test_only_what_is_missing_is_asked_for():
    role = yaml.safe_load(rbac.cluster_role(rbac.kinds_of(["pods", "controller_pods", "machines"])))
    assert [(rule["apiGroups"], rule["resources"]) for rule in role["rules"]] == [
        ([""], ["pods"]),
        (["karpenter.sh"], ["machines"]),
    ]
    assert rbac.cluster_role([]) == ""
