"""Whether the Services of an admission webhook answer, and whether they do once the controller runs."""

from migrations_app.checks.base import CheckContext
from migrations_app.inventory.facts.controller import installation, webhooks_off
from migrations_app.inventory.facts.conversion_webhook import service_problem, webhook_service
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import ServiceReference, WebhookConfiguration
from migrations_app.inventory.parts import Unseen
from migrations_app.karpenter.release_facts import admission_row, admits


def backend_problem(inventory: Inventory, configuration: WebhookConfiguration) -> str | Unseen:
    """Why a Service of the webhook cannot answer; empty if each can, Unseen if that cannot be determined."""
    for target in _services(configuration):
        if problem := service_problem(inventory, target):
            return problem if isinstance(problem, Unseen) else f"{target.namespace}/{target.name}: {problem}"
    return ""


def waits_for_controller(case: CheckContext, configuration: WebhookConfiguration) -> bool:
    """Whether the running release serves the webhook and its Service is the controller's: then it answers as soon as
    the controller's pods are ready."""
    running, row, real = case.running.release, admission_row(configuration.name), webhook_service(case.inventory)
    if running is None or row is None or real is None or not row.shipped_by(running):
        return False
    off = webhooks_off(installation(case.inventory), running)
    named = {(target.namespace, target.name) for target in _services(configuration)}
    return admits(running, webhooks_off=off) is True and named == {(real.namespace, real.name)}


def _services(configuration: WebhookConfiguration) -> list[ServiceReference]:
    configs = [webhook.client_config for webhook in configuration.webhooks or ()]
    return [config.service for config in configs if config is not None and config.service is not None]
