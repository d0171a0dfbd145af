"""What the chart brings for Prometheus and Grafana."""

import pytest
import yaml

from tests.deploy.helm import Refused
from tests.deploy.roles import DEPLOY
from tests.deploy.test_chart import env_of, of_kind, pods


def test_it_brings_monitor_alerts_and_board_where_that_is_asked(helm):
    on = {"enabled": True, "labels": {"release": "prometheus"}}
    asked = {"serviceMonitor": on | {"tokenSecret": "karpdash-metrics"}, "rules": on, "dashboard": on}
    objects = helm.objects({"metrics": asked})
    (monitor,) = of_kind(objects, "ServiceMonitor")
    (service,) = of_kind(objects, "Service")
    (endpoint,) = monitor["spec"]["endpoints"]
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert endpoint["port"] in [one["name"] for one in service["spec"]["ports"]]
    assert endpoint["authorization"]["credentials"] == {"name": "karpdash-metrics", "key": "token"}
    # One target whatever the number of pods, by a name that the pages take, and not in clear, which is refused.
    host = env_of(pods(objects)["kd-web"])["KARPDASH_ALLOWED_HOSTS"]["value"]
    assert (endpoint["scheme"], endpoint["relabelings"][0]) == (
        "https", {"targetLabel": "__address__", "replacement": f"{host}:443"},
    )  # fmt: skip
    (rules,) = of_kind(objects, "PrometheusRule")
    assert rules["spec"] == yaml.safe_load((DEPLOY / "prometheus" / "alerts.yaml").read_text())
    (board,) = of_kind(objects, "ConfigMap")
    assert board["data"] == {"karpdash.json": (DEPLOY / "grafana" / "karpdash.json").read_text()}
    assert {one["metadata"]["labels"]["release"] for one in (monitor, rules, board)} == {"prometheus"}
    assert board["metadata"]["labels"]["grafana_dashboard"] == "1"
    with pytest.raises(Refused, match=r"metrics\.serviceMonitor\.tokenSecret"):
        helm.objects({"metrics": {"serviceMonitor": {"enabled": True}}})
