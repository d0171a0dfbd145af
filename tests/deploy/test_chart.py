"""The Helm chart: nothing by default that is secret, nothing with rights, and what a real API server makes of it."""

import threading

import pytest
import yaml

from karpdash.configuration.env import settings
from tests.deploy.helm import CHART, NEEDED, Refused, merged
from tests.deploy.roles import roles

EVERYTHING = {
    "image": {"digest": f"sha256:{'a' * 64}", "pullSecrets": ["registry"]},
    "settings": {"scan_interval": 900, "aws_ambient": True, "metrics_open": "0"},
    "extraEnv": [{"name": "KARPDASH_LOG_LEVEL", "value": "DEBUG"}],
    "ingress": {"enabled": True, "className": "nginx", "annotations": {"a/b": "c"}, "tlsSecret": "karpdash-tls"},
    "inCluster": {"scan": True, "act": True, "releaseNamespaces": ["kube-system"]},
    "serviceAccount": {"annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::111122223333:role/karpdash"}},
    "networkPolicy": {"webFrom": [{"namespaceSelector": {"matchLabels": {"name": "ingress"}}}]},
    "podAnnotations": {"mesh.example.org/inject": "false"},
    "podLabels": {"team": "platform", "app.kubernetes.io/component": "other"},
    "extraVolumes": [{"name": "ca", "configMap": {"name": "company-ca"}}],
    "extraVolumeMounts": [{"name": "ca", "mountPath": "/etc/company-ca", "readOnly": True}],
    "priorityClassName": "low",
    "nodeSelector": {"kubernetes.io/os": "linux"},
    "tolerations": [{"key": "tools", "operator": "Exists"}],
    "affinity": {"nodeAffinity": {}},
}


def of_kind(objects, *kinds):
    return [one for one in objects if one["kind"] in kinds]


def pods(objects):
    """Name -> pod specification of everything that runs."""
    return {one["metadata"]["name"]: one["spec"]["template"]["spec"] for one in of_kind(objects, "Deployment", "Job")}


def said(objects):
    return sorted(f"{one['kind']} {one['metadata']['name']}" for one in objects)


def test_what_it_brings_by_itself(helm):
    assert said(helm.objects()) == [
        "Deployment kd-action",
        "Deployment kd-beat",
        "Deployment kd-probe",
        "Deployment kd-scan",
        "Deployment kd-web",
        "Job kd-schema",
        "NetworkPolicy kd",
        "NetworkPolicy kd-web",
        "PodDisruptionBudget kd-action",
        "PodDisruptionBudget kd-scan",
        "PodDisruptionBudget kd-web",
        "Service kd-web",
        "ServiceAccount kd",
    ]


@pytest.mark.parametrize(
    ("without", "reason"),
    [
        ({"image": {"repository": ""}}, "image.repository"),
        ({"secrets": {"keys": ""}}, "secrets.keys"),
        ({"secrets": {"database": ""}}, "secrets.database"),
        ({"secrets": {"broker": ""}}, "secrets.broker"),
        ({"audit": {"url": ""}}, r"audit\.url or audit\.claim"),
        ({"audit": {"none": True}}, r"audit\.none: it is true"),
        ({"hosts": []}, "hosts"),
        ({"ingress": {"enabled": True}}, "ingress.tlsSecret"),
    ],
)
def test_without_what_is_needed_nothing_is_rendered(helm, without, reason):  # T30
    with pytest.raises(Refused, match=reason):
        helm.objects(without)


@pytest.mark.parametrize(
    "wrong",
    [
        {"settings": {"secret_key": "x"}},
        {"settings": {"database_url": "postgres://"}},
        {"settings": {"https": "0"}},
        {"settings": {"audit_url": "https://audit.example.org"}},
        {"audit": {"url": "http://audit.example.org"}},
        {"hosts": ["*"]},
        {"hosts": ["https://karpdash.example.org"]},
        {"image": {"digest": "latest"}},
        {"workers": {"scan": {"slots": 0}}},
        {"replicas": 3},
        {"extraVolumes": [{"name": "host", "hostPath": {"path": "/"}}]},
        {"podLabels": {"team": 1}},
        {"settings": {"scan_intervall": 900}},
        {"settings": {"email_url": "smtp://user:password@mail.example.org"}},
        {"settings": {"action_slots": 0}},
        {"extraEnv": [{"name": "KARPDASH_NAME", "value": "900"}]},
        {"workers": {"scan": {"replicas": 0}}},
        {"secrets": {"optional": ["secret-key"]}},
        {"metrics": {"serviceMonitor": {"token": "kd_1"}}},
    ],
    ids=str,
)
def test_wrong_values_are_refused(helm, wrong):  # T30
    with pytest.raises(Refused, match=r"values don't meet the specifications"):
        helm.objects(wrong)


@pytest.mark.parametrize("values", [{}, EVERYTHING], ids=["least", "all"])
def test_every_pod_is_locked_down(helm, values):  # T30
    for name, spec in pods(helm.objects(values)).items():
        (one,) = spec["containers"]
        assert spec["securityContext"]["runAsNonRoot"] is True, name
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
        assert one["securityContext"] == {
            "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
        }, name  # fmt: skip
        assert {volume["name"]: sorted(set(volume) - {"name"}) for volume in spec["volumes"]} == {
            "state": ["emptyDir"], "tmp": ["emptyDir"], **({"ca": ["configMap"]} if values else {}),
        }, name  # fmt: skip
        assert set(one["resources"]) == {"requests", "limits"}, name
        assert {key for key in spec if key.startswith("host")} == set(), name
        in_cluster = bool(values) and name != "kd-schema"
        assert (spec["automountServiceAccountToken"], spec["enableServiceLinks"]) == (in_cluster, False), name


@pytest.mark.parametrize(
    ("audit", "told"),
    [
        ({}, {"KARPDASH_AUDIT_URL": NEEDED["audit"]["url"]}),
        ({"url": "", "claim": "log"}, {"KARPDASH_AUDIT_FILE": "/var/lib/karpdash-audit/checkpoints.jsonl"}),
        ({"url": "", "none": True}, {}),
    ],
    ids=["url", "claim", "none"],
)
def test_checkpoints_of_the_audit_log_go_where_it_is_said(helm, audit, told):  # A53
    for name, spec in pods(helm.objects({"audit": audit})).items():
        (one,) = spec["containers"]
        env = {each["name"]: each.get("value") for each in one["env"]}
        assert {key: env[key] for key in ("KARPDASH_AUDIT_URL", "KARPDASH_AUDIT_FILE") if key in env} == told, name
        claims = [volume["persistentVolumeClaim"] for volume in spec["volumes"] if "persistentVolumeClaim" in volume]
        mounts = [mount["mountPath"] for mount in one["volumeMounts"] if mount["name"] == "audit"]
        carries = "KARPDASH_AUDIT_FILE" in told and name == "kd-action"
        assert (claims, mounts) == (([{"claimName": "log"}], ["/var/lib/karpdash-audit"]) if carries else ([], [])), (
            name
        )


def env_of(spec):
    (one,) = spec["containers"]
    return {each["name"]: each for each in one["env"]}


def test_every_process_has_its_probes(helm):
    probes = {}
    for name, spec in pods(helm.objects()).items():
        (one,) = spec["containers"]
        probes[name] = {key.removesuffix("Probe"): one[key] for key in one if key.endswith("Probe")}
    assert (probes.pop("kd-schema"), set(probes.pop("kd-web"))) == ({}, {"startup", "liveness", "readiness"})
    assert sorted(probes) == ["kd-action", "kd-beat", "kd-probe", "kd-scan"]
    for name, found in probes.items():
        assert set(found) == {"startup", "liveness"}, name
        path = env_of(pods(helm.objects())[name])["KARPDASH_ALIVE_FILE"]["value"]
        for one in found.values():
            assert one["exec"]["command"] == ["python", "-m", "karpdash.alive", path, "--broker"]
            assert 0 < one["timeoutSeconds"] <= one["periodSeconds"] * 2


def test_an_installation_that_only_looks_has_no_worker_of_actions(helm):
    values = {"workers": {"action": {"replicas": 0}}, "audit": {"url": "", "claim": "log"}}
    objects = helm.objects(values)
    found = pods(objects)
    assert sorted(found) == ["kd-beat", "kd-probe", "kd-scan", "kd-schema", "kd-upkeep", "kd-web"]
    assert found["kd-upkeep"]["containers"][0]["command"] == ["karpdash", "worker", "upkeep"]
    told = ("KARPDASH_ACTION_SLOTS", "KARPDASH_STOP_ALL_ACTIONS")
    for name, spec in found.items():
        assert [env_of(spec)[one]["value"] for one in told] == ["0", "1"], name
    assert {"name": "audit", "persistentVolumeClaim": {"claimName": "log"}} in found["kd-upkeep"]["volumes"]
    assert "PodDisruptionBudget kd-action" not in said(objects)
    own = pods(helm.objects(values | {"settings": {"stop_all_actions": False}}))["kd-web"]
    assert [one["value"] for one in own["containers"][0]["env"] if one["name"] == told[1]] == ["0"]


def test_secrets_come_as_files_where_that_is_asked(helm):  # T22
    asked = {"asFiles": True, "optional": ["audit-token"]}
    names = ("SECRET_KEY", "ENCRYPTION_KEYS", "AUDIT_TOKEN", "DATABASE_URL", "BROKER_URL")
    secret = {one.variable for one in settings() if one.secret}
    for name, spec in pods(helm.objects({"secrets": asked})).items():
        told = env_of(spec)
        assert [one for one in told.values() if "valueFrom" in one] == [], name
        assert set(told) & (secret | {f"{one}_FILE" for one in secret}) == {f"KARPDASH_{one}_FILE" for one in names}
        (volume,) = (one for one in spec["volumes"] if one["name"] == "secrets")
        (mount,) = (one for one in spec["containers"][0]["volumeMounts"] if one["name"] == "secrets")
        files = {
            f"{mount['mountPath']}/{item['path']}": (source["secret"]["name"], item["key"])
            for source in volume["projected"]["sources"]
            for item in source["secret"]["items"]
        }
        assert {told[f"KARPDASH_{one}_FILE"]["value"] for one in names} == set(files)
        assert files[told["KARPDASH_DATABASE_URL_FILE"]["value"]] == ("karpdash-database", "url")
        assert (mount["readOnly"], volume["projected"]["defaultMode"]) == (True, 0o440)


def test_a_secret_setting_is_named_by_its_file_only(helm):
    told = env_of(pods(helm.objects({"settings": {"email_url_file": "/etc/mail/url"}}))["kd-web"])
    assert told["KARPDASH_EMAIL_URL_FILE"]["value"] == "/etc/mail/url"


def test_every_pod_gets_labels_annotations_and_volumes_and_keeps_its_selector(helm):
    for one in of_kind(helm.objects(EVERYTHING), "Deployment", "Job"):
        template, part = one["spec"]["template"], one["metadata"]["labels"]["app.kubernetes.io/component"]
        labels = {"app.kubernetes.io/name": "karpdash", "app.kubernetes.io/instance": "kd"}
        assert template["metadata"] == {
            "labels": labels | {"app.kubernetes.io/component": part, "team": "platform"},
            "annotations": EVERYTHING["podAnnotations"],
        }
        assert one["spec"].get("selector", {"matchLabels": labels | {"app.kubernetes.io/component": part}}) == {
            "matchLabels": labels | {"app.kubernetes.io/component": part}
        }
        (container,) = template["spec"]["containers"]
        assert template["spec"]["volumes"][2] == EVERYTHING["extraVolumes"][0]
        assert container["volumeMounts"][2] == EVERYTHING["extraVolumeMounts"][0]


def test_pods_of_a_part_are_spread_unless_told_otherwise(helm):
    for one in of_kind(helm.objects(), "Deployment"):
        spread = one["spec"]["template"]["spec"]["topologySpreadConstraints"]
        told = [(rule["topologyKey"], rule["whenUnsatisfiable"], rule["labelSelector"]) for rule in spread]
        keys = ("kubernetes.io/hostname", "topology.kubernetes.io/zone")
        assert told == [(key, "ScheduleAnyway", one["spec"]["selector"]) for key in keys]
    bare = pods(helm.objects({"spread": False})).values()
    assert [pod for pod in bare if "topologySpreadConstraints" in pod] == []


def test_it_holds_no_secret_and_tells_only_settings_that_exist(helm):  # T22, T30
    objects = helm.objects(EVERYTHING)
    assert of_kind(objects, "Secret", "ConfigMap") == []
    known = {one.variable for one in settings()}
    for name, spec in pods(objects).items():
        told = {one["name"]: one for one in spec["containers"][0]["env"]}
        assert set(told) <= known, name
        plain = {key for key, one in told.items() if "value" in one}
        assert plain & {f"KARPDASH_{word}" for word in ("SECRET_KEY", "ENCRYPTION_KEYS", "DATABASE_URL")} == set()


def test_settings_become_variables(helm):
    told = {one["name"]: one.get("value") for one in pods(helm.objects(EVERYTHING))["kd-web"]["containers"][0]["env"]}
    wanted = {
        "KARPDASH_SCAN_INTERVAL": "900", "KARPDASH_AWS_AMBIENT": "1", "KARPDASH_METRICS_OPEN": "0",
        "KARPDASH_LOG_LEVEL": "DEBUG", "KARPDASH_HTTPS": "1", "KARPDASH_BEHIND_PROXY": "1",
        "KARPDASH_ALLOWED_HOSTS": "karpdash.example.org",
    }  # fmt: skip
    assert {name: told[name] for name in wanted} == wanted


def test_pages_are_asked_by_a_name_that_is_allowed(helm):
    (web,) = pods(helm.objects())["kd-web"]["containers"]
    asked = {name: web[f"{name}Probe"]["httpGet"] for name in ("startup", "liveness", "readiness")}
    assert {name: one["path"] for name, one in asked.items()} == {
        "startup": "/healthz", "liveness": "/healthz", "readiness": "/readyz?for=web",
    }  # fmt: skip
    for one in asked.values():
        assert {row["name"]: row["value"] for row in one["httpHeaders"]} == {
            "Host": "karpdash.example.org", "X-Forwarded-Proto": "https",
        }  # fmt: skip


def test_only_the_pages_are_reached(helm):
    closed, web = of_kind(helm.objects(), "NetworkPolicy")
    assert ("ingress" in closed["spec"], closed["spec"]["policyTypes"]) == (False, ["Ingress"])
    assert web["spec"]["podSelector"]["matchLabels"]["app.kubernetes.io/component"] == "web"
    assert web["spec"]["ingress"] == [{"ports": [{"protocol": "TCP", "port": 8000}]}]


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ({}, {}),
        ({"scan": True}, {"karpdash-kd-scan": "scan.yaml"}),
        ({"act": True}, {"karpdash-kd-scan": "scan.yaml", "karpdash-kd-act": "act.yaml"}),
    ],
    ids=str,
)
def test_rights_in_its_own_cluster_are_the_published_ones(helm, asked, given):  # A26, T18
    found = {
        one["metadata"]["name"]: one["rules"] for one in of_kind(helm.objects({"inCluster": asked}), "ClusterRole")
    }
    assert found == {name: roles(file)[0]["rules"] for name, file in given.items()}


def test_secrets_are_read_in_the_named_namespaces_only(helm):  # T18
    found = of_kind(helm.objects({"inCluster": {"scan": True, "releaseNamespaces": ["kube-system"]}}), "Role")
    assert [(one["metadata"]["namespace"], one["rules"]) for one in found] == [
        ("kube-system", roles("scan.yaml")[1]["rules"])
    ]


def test_the_linter_has_nothing_to_say(helm):
    told = helm.run("lint", str(CHART), "--strict", values=NEEDED)
    assert "1 chart(s) linted, 0 chart(s) failed" in told


@pytest.mark.parametrize("release", ["a" * 53, "karpdash"])
def test_names_are_short_enough(helm, release):
    text = helm.run("template", release, str(CHART), values=merged(EVERYTHING))
    names = [one["metadata"]["name"] for one in yaml.safe_load_all(text)]
    labels = {label for one in yaml.safe_load_all(text) for label in one["metadata"]["labels"].values()}
    assert (max(map(len, names)) <= 63, max(map(len, labels)) <= 63) == (True, True)


def missing_from(stored, sent, at=""):
    """Paths of what was sent and is not in what the server made of it: fields that it does not know."""
    if isinstance(sent, dict):
        for key, value in sent.items():
            if not isinstance(stored, dict) or key not in stored:
                yield f"{at}.{key}"
            else:
                yield from missing_from(stored[key], value, f"{at}.{key}")
    elif isinstance(sent, list):
        for number, value in enumerate(sent):
            if not isinstance(stored, list) or number >= len(stored):
                yield f"{at}[{number}]"
            else:
                yield from missing_from(stored[number], value, f"{at}[{number}]")


@pytest.fixture
def server(clean_apiserver):
    clean_apiserver.admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "karpdash"}})
    return clean_apiserver


@pytest.mark.parametrize("values", [{}, EVERYTHING], ids=["least", "all"])
def test_the_api_server_knows_every_field(helm, server, values):
    for one in helm.objects(values):
        place = {"namespace": "karpdash"} if not one["kind"].startswith("Cluster") else {}
        sent = {**one, "metadata": {**place, **one["metadata"]}}
        if sent["apiVersion"] == "policy/v1":
            sent["apiVersion"] = "policy/v1beta1"  # all that a server of 1.20 has
        stored = server.admin.create(sent, dryRun="All")
        unknown = [path for path in missing_from(stored, sent) if not _says_nothing(path)]
        assert unknown == [], one["kind"]


def _says_nothing(path):
    """Fields that a server leaves out."""
    return path.endswith(".nodeAffinity")


class Kubelet:
    """Ends the Jobs that a hook waits for, as their pods would."""

    def __init__(self, server):
        self.server, self.over, self.ended = server, threading.Event(), []
        self.thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def _work(self):
        path = "/apis/batch/v1/namespaces/karpdash/jobs"
        while not self.over.wait(0.2):
            for job in self.server.admin.items(path):
                if not job.get("status", {}).get("succeeded"):
                    name, done = job["metadata"]["name"], {"type": "Complete", "status": "True"}
                    status = {"status": {"succeeded": 1, "conditions": [done]}}
                    self.server.admin.request("PATCH", f"{path}/{name}/status", body=status,
                                              content_type="application/merge-patch+json")  # fmt: skip
                    self.ended.append(name)


def test_it_is_installed_upgraded_and_removed(helm, server):
    access, where = server.kubeconfig(server.admin_token), ("--namespace", "karpdash")
    path = "/apis/apps/v1/namespaces/karpdash/deployments"
    with Kubelet(server) as kubelet:
        helm.run("install", "kd", str(CHART), *where, values=NEEDED, kubeconfig=access)
        first = {one["metadata"]["name"]: one["spec"]["replicas"] for one in server.admin.items(path)}
        assert first == {"kd-action": 2, "kd-beat": 1, "kd-probe": 1, "kd-scan": 2, "kd-web": 2}
        helm.run("upgrade", "kd", str(CHART), *where, values=merged(EVERYTHING), kubeconfig=access)
        bound = server.admin.get("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/karpdash-kd-act")
        assert bound["subjects"] == [{"kind": "ServiceAccount", "name": "kd", "namespace": "karpdash"}]
        assert kubelet.ended == ["kd-schema", "kd-schema"]
        helm.run("uninstall", "kd", *where, kubeconfig=access)
    assert (server.admin.items(path), server.admin.items("/apis/policy/v1beta1/poddisruptionbudgets")) == ([], [])
