"""What an agent lets through: the requests of scans and, with the acting role, of actions, and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.clients.agents.call_rules import AllowedCalls
from migrations_app.clients.agents.protocol import AgentCall

READING, ACTING = AllowedCalls(acts=False), AllowedCalls(acts=True)
MERGE = "application/merge-patch+json"
NODES = "/api/v1/nodes"
REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
LIMIT = (("limit", "500"),)
HELM = (("labelSelector", "owner=helm"), ("limit", "20"))


def call(method: str, path: str, **more) -> AgentCall:
    if method != "GET":
        more = {"body": b"{}", "content_type": "application/json"} | more
    return AgentCall(nonce="1", method=method, path=path, **more)


READS = [
    call("GET", "/version"),
    call("GET", "/apis"),
    call("GET", "/api/v1"),
    call("GET", "/apis/karpenter.sh/v1"),
    call("GET", NODES, query=LIMIT),
    call("GET", "/apis/karpenter.sh/v1beta1/nodepools", query=(*LIMIT, ("continue", "token"))),
    call("GET", "/api/v1/namespaces/kube-system"),
    call("GET", "/api/v1/namespaces/karpenter/secrets", query=HELM),
    call("GET", "/apis/constraints.gatekeeper.sh/v1beta1/k8srequiredlabels", query=LIMIT),
    call("POST", REVIEW),
]
CHANGES = [
    call("PATCH", f"{NODES}/one", content_type=MERGE, query=(("fieldManager", "karpdash"),)),
    call("PATCH", "/apis/karpenter.sh/v1/nodepools/web", content_type=MERGE, query=(("dryRun", "All"),)),
    call("DELETE", "/apis/karpenter.sh/v1beta1/provisioners/web"),
    call("POST", "/apis/karpenter.sh/v1/nodepools"),
    call("GET", f"{NODES}/one"),
]
NEVER = [
    call("GET", "/api/v1/secrets", query=HELM),
    call("GET", "/api/v1/namespaces/karpenter/secrets", query=LIMIT),
    call("GET", "/api/v1/namespaces/karpenter/secrets/token"),
    call("GET", "/api/v1/namespaces/other"),
    call("GET", NODES, query=(("watch", "true"),)),
    call("GET", NODES, query=(("resourceVersion", "0"),)),
    call("GET", NODES, query=(("limit", "1"), ("limit", "2"))),
    call("GET", f"{NODES}/one/proxy/metrics"),
    call("GET", "/logs"),
    call("GET", "/metrics"),
    call("GET", "/api/v1/namespaces/karpenter/pods/one/log"),
    call("GET", NODES, user_agent="one\r\nImpersonate-User: admin"),
    call("GET", NODES, content_type="application/json\r\nImpersonate-User: admin"),
    call("GET", NODES, body=b"{}"),
    call("DELETE", NODES),
    call("DELETE", "/api/v1/namespaces/kube-system"),
    call("DELETE", "/api/v1/namespaces/karpenter/pods/one"),
    call("PUT", f"{NODES}/one"),
    call("POST", "/api/v1/namespaces/karpenter/pods/one/exec"),
    call("POST", f"{REVIEW}/one"),
    call("PATCH", f"{NODES}/one", content_type="application/x-yaml"),
    call("PATCH", f"{NODES}/one", content_type=MERGE, query=(("force", "true"),)),
    call("PATCH", f"{NODES}/../secrets/one", content_type=MERGE),
    call("PATCH", NODES, content_type=MERGE),
    call("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"),
    call("CONNECT", NODES),
]  # fmt: skip


@pytest.mark.parametrize("asked", READS, ids=lambda one: one.path)
def test_a_scan_passes_either_way(asked: AgentCall) -> None:
    assert (READING.refusal(asked), ACTING.refusal(asked)) == ("", "")


@pytest.mark.parametrize("asked", CHANGES, ids=lambda one: f"{one.method}-{one.path}")
def test_a_change_passes_with_the_acting_role_alone(asked: AgentCall) -> None:  # A26
    assert (bool(READING.refusal(asked)), ACTING.refusal(asked)) == (True, "")


@pytest.mark.parametrize("asked", NEVER, ids=lambda one: f"{one.method}-{one.path}")
def test_all_else_is_refused(asked: AgentCall) -> None:  # T18, K13
    assert (bool(READING.refusal(asked)), bool(ACTING.refusal(asked))) == (True, True)


PARTS = st.sampled_from(
    [
        "api",
        "apis",
        "v1",
        "karpenter.sh",
        "nodes",
        "secrets",
        "namespaces",
        "kube-system",
        "pods",
        "..",
        "",
        "x",
        "exec",
    ]
)


@given(
    st.sampled_from(["POST", "PUT", "PATCH", "DELETE"]),
    st.lists(PARTS, max_size=8),
    st.sampled_from(["application/json", MERGE]),
)
def test_whatever_the_path_a_reading_agent_changes_nothing(method: str, parts: list[str], content: str) -> None:
    asked = call(method, "/" + "/".join(parts), content_type=content)
    assert READING.refusal(asked) or asked.path == REVIEW


LABELS = st.lists(
    st.tuples(st.sampled_from(["labelSelector", "limit", "continue"]), st.sampled_from(["owner=helm", "a=b", "", "5"])),
    max_size=3,
)


@given(LABELS)
def test_secrets_are_read_by_the_label_of_helm_alone(query: list[tuple[str, str]]) -> None:  # T23
    asked = call("GET", "/api/v1/namespaces/karpenter/secrets", query=tuple(query))
    names = [name for name, _ in query]
    wanted = ("labelSelector", "owner=helm") in query and len(set(names)) == len(names)
    assert (READING.refusal(asked) == "") is wanted


# --- runs of helm

UPGRADING = AllowedCalls(acts=True, helm_in="karpenter")
HOME = "/api/v1/namespaces/karpenter"
RECORD = "sh.helm.release.v1.karpenter.v2"
STRATEGIC = "application/strategic-merge-patch+json"
TOKEN_TYPE = "kubernetes.io/service-account-token"


def written(name: str, kind: str = "helm.sh/release.v1", more: str = "") -> bytes:
    return f'{{"metadata": {{"name": "{name}"}}, "type": "{kind}"{more}}}'.encode()


RUN = [
    call("GET", "/api", query=(("timeout", "32s"),)),
    call("GET", "/openapi/v2", query=(("timeout", "32s"),)),
    call("GET", f"{HOME}/secrets", query=(("labelSelector", "name=karpenter,owner=helm"),)),
    call("GET", f"{HOME}/secrets/{RECORD}"),
    call("POST", f"{HOME}/secrets", body=written(RECORD)),
    call("POST", f"{HOME}/secrets", body=written("sh.helm.release.v1.karpenter-crd.v12")),
    call("POST", f"{HOME}/secrets", body=b'{"metadata": {"name": "karpenter-cert"}}'),
    call("PUT", f"{HOME}/secrets/{RECORD}", body=written(RECORD)),
    call("GET", f"{HOME}/secrets/karpenter-cert", content_type="application/json"),
    call("DELETE", f"{HOME}/configmaps/karpenter-global-settings"),
    call("PATCH", "/apis/rbac.authorization.k8s.io/v1/clusterroles/karpenter", content_type=STRATEGIC),
    call("POST", "/apis/batch/v1/namespaces/karpenter/jobs", query=(("dryRun", "All"),)),
    call("GET", "/apis/batch/v1/namespaces/karpenter/jobs", query=(("watch", "true"), ("timeoutSeconds", "3"))),
]
BEYOND = [
    call("GET", f"{HOME}/secrets", query=LIMIT),
    call("GET", f"{HOME}/secrets", query=(("labelSelector", "owner=helm,name in (a,b)"),)),
    call("GET", f"{HOME}/secrets", query=(("labelSelector", "name=karpenter"),)),
    call("GET", f"{HOME}/secrets/database-password"),
    call("PUT", f"{HOME}/secrets/database-password"),
    call("POST", f"{HOME}/secrets", body=b'{"metadata": {"name": "mine"}}'),
    call("POST", f"{HOME}/secrets", body=b"[1]"),
    call("POST", f"{HOME}/secrets", body=written(RECORD, TOKEN_TYPE)),
    call("POST", f"{HOME}/secrets", body=written(RECORD, more=f', "type": "{TOKEN_TYPE}"')),
    call("POST", f"{HOME}/secrets", body=written("karpenter-cert", TOKEN_TYPE)),
    call("POST", f"{HOME}/secrets", body=b'{"metadata": {"name": "%s"}}' % RECORD.encode()),
    call("PUT", f"{HOME}/secrets/{RECORD}", body=written(RECORD, TOKEN_TYPE)),
    call("GET", f"{HOME}/secrets/database-cert"),
    call("PATCH", f"{HOME}/secrets/database-cert", content_type=STRATEGIC),
    call("GET", f"{HOME}/secrets/sh.helm.release.v1.database.v1"),
    call("PUT", f"{HOME}/secrets/sh.helm.release.v1.database.v1", body=written("sh.helm.release.v1.database.v1")),
    call("DELETE", f"{HOME}/secrets/sh.helm.release.v1.database.v1"),
    call("GET", f"{HOME}/pods", query=(("watch", "true"),)),
    call("GET", f"/api/v1/namespaces/other/secrets/{RECORD}"),
    call("DELETE", "/api/v1/namespaces/other/configmaps/karpenter-global-settings"),
    call("PATCH", "/apis/rbac.authorization.k8s.io/v1/clusterroles/cluster-admin", content_type=STRATEGIC),
    call("DELETE", HOME),
    call("DELETE", f"{HOME}/secrets"),
    call("POST", f"{HOME}/pods/one/exec"),
    call("GET", f"{HOME}/pods/one/log"),
    call("GET", "/apis/batch/v1/namespaces/karpenter/jobs", query=(("watch", "true"), ("timeoutSeconds", "3600"))),
    call("GET", "/apis/batch/v1/namespaces/karpenter/jobs", query=(("watch", "true"),)),
    call("GET", NODES, query=(("watch", "true"), ("timeoutSeconds", "3"))),
    call("GET", "/openapi/v2", query=(("limit", "1"),)),
]


@pytest.mark.parametrize("asked", RUN, ids=lambda one: f"{one.method}-{one.path}")
def test_a_run_of_helm_passes_where_it_was_installed_for_it(asked: AgentCall) -> None:  # T25
    assert (UPGRADING.refusal(asked), bool(ACTING.refusal(asked))) == ("", True)


BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
"""RBAC cannot narrow `create` to names: the role for helm has it, and the server asks for `escalate` beside."""


@pytest.mark.parametrize("asked", [*BEYOND, *(one for one in NEVER if one.path != BINDINGS)], ids=lambda one: one.path)
def test_helm_opens_nothing_beyond_its_release(asked: AgentCall) -> None:  # T18, T23, T25
    assert UPGRADING.refusal(asked) != ""


@pytest.mark.parametrize("asked", [*READS, *CHANGES], ids=lambda one: f"{one.method}-{one.path}")
def test_scans_and_actions_pass_beside_it(asked: AgentCall) -> None:
    assert UPGRADING.refusal(asked) == ""


def test_without_the_acting_role_there_is_no_helm() -> None:
    assert [one.path for one in RUN if not AllowedCalls(acts=False, helm_in="karpenter").refusal(one)] == []
