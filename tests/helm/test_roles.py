"""The roles for upgrades by helm: enough for a whole run, and nothing beside what they name."""

import secrets

import pytest

from migrations_app.models.cluster import Cluster
from migrations_app.use_cases.clusters.registration import Details, register_kubeconfig
from tests.actions.on_server import carried_out, previewed
from tests.deploy.roles import _binding, roles
from tests.helm.conftest import NEXT
from tests.helm.own_charts import HOOK, NAMESPACE, finish_hooks, play_controllers, played_beside
from tests.helm.test_on_server import image
from tests.servers.access import wait_for_access

pytestmark = pytest.mark.django_db(transaction=True)
SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: karpenter}\nspec: {ports: [{port: 8080}]}\n"
MORE_RIGHTS = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: karpenter}
rules: [{apiGroups: ["karpenter.sh"], resources: [nodepools], verbs: [get, patch]}]
"""


def bound_for_helm(server):
    """The kubeconfig of a user with the roles of scan, act and upgrade-controller, bound as the docs say."""
    user = f"karpdash-{secrets.token_hex(4)}"
    scan, releases = roles("scan.yaml")
    (act,) = roles("act.yaml")
    cluster, release = roles("upgrade-controller.yaml")
    for role in (scan, releases, act, cluster, release):
        server.admin.apply(role)
    for role in (scan, act, cluster):
        server.admin.create(_binding("ClusterRoleBinding", role, user=user))
    for role in (releases, release):
        server.admin.create(_binding("RoleBinding", role, user=user, namespace=NAMESPACE))
    pair = server.client_cert(user)
    wait_for_access(server.client(certificate=pair), cluster["rules"])
    return server.kubeconfig(certificate=pair)


def test_the_printed_roles_are_enough_for_a_whole_upgrade(stage):  # A26, T25
    access = bound_for_helm(stage.server).encode()
    cluster = Cluster.objects.get(pk=register_kubeconfig(access, Details(name="bound", by="ada")))
    source = stage.chart(hook=HOOK, service=SERVICE, rights=MORE_RIGHTS)
    row = previewed(cluster, "upgrade_controller", source=source)
    assert (row.state, row.cause) == ("previewed", "")
    mark = stage.server.audit_mark()
    with played_beside(lambda: finish_hooks(stage.server)):
        done = carried_out(row, between=lambda: play_controllers(stage.server))
    assert (done.state, done.cause, image(stage).rpartition(":")[2]) == ("succeeded", "", NEXT)
    ours = [one for one in stage.server.audit_events(mark) if one["user"]["username"].startswith("karpdash-")]
    assert [one["requestURI"] for one in ours if one.get("responseStatus", {}).get("code") == 403] == []


def test_secrets_of_other_namespaces_stay_closed_and_wide_rules_are_none():  # T18, T25
    cluster, release = roles("upgrade-controller.yaml")
    assert "secrets" not in str(cluster["rules"])
    every = [*cluster["rules"], *release["rules"]]
    assert [rule for rule in every if "*" in (*rule["apiGroups"], *rule["resources"])] == []
    verbs = {verb for rule in every for verb in rule["verbs"]}
    assert verbs == {"get", "list", "watch", "create", "update", "patch", "delete", "bind", "escalate"}
    unnamed = [rule["verbs"] for rule in cluster["rules"] if "resourceNames" not in rule]
    assert unnamed == [["create"]] * 3
