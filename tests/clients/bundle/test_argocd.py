"""T23: what a bundle keeps of the values of an Argo CD Application, for a scan of it to say the same."""

import json
from typing import Any

import pytest

from tests.clients.bundle.objects import doc
from tests.clients.bundle.test_writer import CANARY, redacted


def test_values_of_an_application_stay_what_they_are_to_a_scan() -> None:
    """Without the text and the names of parameters an Application read as one that gives no values at all."""
    text = f"settings: {{clusterName: prod}}\nlogConfig: {{enabled: true}}\ndatabase: {CANARY}\n"
    helm = {"values": text, "parameters": [{"name": "webhook.enabled", "value": CANARY}]}
    source = {"chart": "karpenter", "helm": helm}
    kept = redacted(doc("argoproj.io/v1alpha1", "Application", "karpenter", spec={"source": source}), "applications")
    assert kept is not None
    inner = kept["spec"]["source"]["helm"]
    assert json.loads(inner["values"]) == {
        "settings": {"clusterName": "prod"},
        "logConfig": {"enabled": True},
        "database": "(removed)",
    }
    assert inner["parameters"] == [{"name": "webhook.enabled"}]


@pytest.mark.parametrize(
    ("given", "left"),
    [([7, {"name": "a", "value": CANARY}], ["(removed)", {"name": "a"}]), ({"a": CANARY}, "(removed)")],
)
def test_parameters_in_no_known_form_stay_as_a_mark(given: Any, left: Any) -> None:
    """Without it, the values would be those of an Application that gives nothing beside them."""
    spec = {"source": {"chart": "karpenter", "helm": {"parameters": given}}}
    kept = redacted(doc("argoproj.io/v1alpha1", "Application", "karpenter", spec=spec), "applications")
    assert kept is not None
    assert kept["spec"]["source"]["helm"] == {"parameters": left}


def test_the_names_of_what_an_application_delivers_stay() -> None:
    """Without them, one that brings only node pools speaks for the controller whose name it has."""
    rows = [{"kind": "NodePool", "name": "web", "health": {"message": CANARY}}, CANARY]
    status = {"sync": {"status": "Synced"}, "resources": rows, "operationState": CANARY}
    application = doc("argoproj.io/v1alpha1", "Application", "karpenter", spec={}, status=status)
    assert redacted(application, "applications")["status"] == {
        "sync": {"status": "Synced"},
        "resources": [{"name": "web"}],
    }
