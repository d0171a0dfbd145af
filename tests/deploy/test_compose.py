"""docker-compose.yml: strictly read, without default secrets, nothing as root, nothing with a disk to write on."""

import re

import compose_spec
import pytest
import yaml

from karpdash.configuration.env import settings
from karpdash.processes.queues import WORKERS
from karpdash.processes.supervise import STOP_SECONDS
from tests.deploy import compose
from tests.deploy.test_chart import pods

SECRETS = {
    "POSTGRES_PASSWORD": "p" * 32, "VALKEY_PASSWORD": "v" * 32,
    "KARPDASH_SECRET_KEY": "s" * 64, "KARPDASH_ENCRYPTION_KEYS": "k1:abc",
}  # fmt: skip
OURS = ("schema", "web", "worker-probe", "worker-scan", "worker-action", "beat")


@pytest.fixture
def services():
    return compose.services(SECRETS)


def test_it_is_what_the_specification_says():
    whole = yaml.safe_load(compose.text(SECRETS))
    read = compose_spec.PyCompose.from_yaml(yaml.safe_dump(whole))
    read.validate()
    assert sorted(read.service_names()) == sorted([*OURS, "web-second", "database", "queue", "proxy"])


def test_a_wrong_word_would_be_found():
    whole = yaml.safe_load(compose.text(SECRETS))
    whole["services"]["web"]["read_olny"] = True
    with pytest.raises(ValueError, match="read_olny"):
        compose_spec.PyCompose.from_yaml(yaml.safe_dump(whole))


@pytest.mark.parametrize("name", SECRETS)
def test_without_a_secret_it_refuses(name):  # T30
    with pytest.raises(compose.Unset, match=f"{name}: set it in .env"):
        compose.services({key: value for key, value in SECRETS.items() if key != name})


def test_nothing_secret_stands_in_the_file():  # T22, T30
    text = re.sub(r"\$\{[^}]*\}", "$", compose.FILE.read_text())
    assert re.findall(r"(?i)(?:password|secret|\bkeys?|_keys?|token)\w*\s*[:=]\s*[^\s$\"'{|]\S*", text) == []


def test_nothing_runs_as_root_or_writes_where_it_should_not(services):  # T30
    for name, service in services.items():
        assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"]), name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert int(service["user"].split(":")[0]) > 0, name
        assert "privileged" not in service, name
        assert all(":/var/run/docker" not in str(volume) for volume in service.get("volumes", ())), name


def test_only_the_proxy_is_reached_from_other_machines(services):
    ports = {name: service["ports"] for name, service in services.items() if "ports" in service}
    assert ports == {"web": ["127.0.0.1:8000:8000"], "web-second": [], "proxy": ["443:8443", "80:8080"]}
    assert [services[name]["profiles"] for name in ("proxy", "web-second")] == [["tls"], ["tls"]]
    assert [services[name]["networks"] for name in ("database", "queue")] == [["inside"], ["inside"]]
    assert yaml.safe_load(compose.text(SECRETS))["networks"]["inside"] == {"internal": True}


def test_checkpoints_of_the_audit_log_leave_the_database(services):  # A53
    place = "/var/lib/karpdash/audit"
    for name in OURS:
        assert services[name]["environment"]["KARPDASH_AUDIT_FILE"] == f"{place}/checkpoints.jsonl", name
    assert [name for name, one in services.items() if f"audit:{place}" in one.get("volumes", ())] == ["worker-action"]
    assert all("audit:" not in str(services[name].get("volumes", ())) for name in ("database", "queue"))
    assert f"--owner 10001 --group 10001 {place}\n" in (compose.ROOT / "Dockerfile").read_text()


def test_every_lane_has_its_worker(services):  # R20
    assert [services[f"worker-{lane}"]["command"] for lane in WORKERS] == [["karpdash", "worker", x] for x in WORKERS]
    assert {services[f"worker-{lane}"]["stop_signal"] for lane in WORKERS} == {"SIGQUIT"}
    assert all(float(services[f"worker-{x}"]["stop_grace_period"].removesuffix("s")) >= STOP_SECONDS for x in WORKERS)


def test_the_proxy_is_told_both_web_processes_by_one_name(services):  # R27
    first, second = services["web"], services["web-second"]
    assert first["networks"] == second["networks"] == {"front": {"aliases": ["pages"]}, "inside": {}}
    assert [name for name in first if first[name] != second.get(name)] == ["ports"]
    text = (compose.ROOT / "deploy" / "compose" / "nginx.conf").read_text()
    assert "set $pages pages:8000;" in text
    assert services["proxy"]["networks"] == ["front"]


def test_what_is_waited_for_tells_its_health(services):
    for name, service in services.items():
        for other, condition in service.get("depends_on", {}).items():
            healthy = condition["condition"] == "service_healthy"
            assert ("healthcheck" in services[other]) == healthy, (name, other)


def test_it_sets_only_what_exists(services):
    known = {one.variable for one in settings()}
    for name in OURS:
        assert set(services[name]["environment"]) <= known, name


def test_compose_and_chart_run_the_same(services, helm):
    containers = {name: spec["containers"][0] for name, spec in pods(helm.objects()).items()}
    of_chart = {name: one["command"] for name, one in containers.items()}
    of_compose = {f"kd-{name.removeprefix('worker-')}": services[name]["command"] for name in OURS}
    assert of_chart == of_compose
    probed = {
        name: ["CMD", *one["livenessProbe"]["exec"]["command"]]
        for name, one in containers.items()
        if "exec" in one.get("livenessProbe", {})
    }
    checked = {f"kd-{name.removeprefix('worker-')}": services[name] for name in OURS}
    assert sorted(probed) == ["kd-action", "kd-beat", "kd-probe", "kd-scan"]
    assert probed == {name: checked[name]["healthcheck"]["test"] for name in probed}
