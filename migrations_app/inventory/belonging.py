"""Which objects of a cluster are Karpenter's own, or speak of it."""

from migrations_app.inventory.keys import KARPENTER_DOMAINS
from migrations_app.inventory.objects import CRD, ServiceReference, WebhookConfiguration, Workload

CRD_GROUPS = (*KARPENTER_DOMAINS, "compute.k8s.aws", "autoscaling.x-k8s.io")
NAME_LABEL = "app.kubernetes.io/name"
CHART_LABEL = "helm.sh/chart"
HOOK_SUFFIX = "-post-install-hook"
OTHER_AUTOSCALER = "cluster-autoscaler"
_KNOWN_CRDS_ELSEWHERE = ("capacitybuffers.autoscaling.x-k8s.io",)


def is_karpenter_crd(crd: CRD) -> bool:
    """Of one of Karpenter's groups; of the shared autoscaling group only the CRD that Karpenter brings."""
    return crd.spec.group in CRD_GROUPS[:3] or crd.name in _KNOWN_CRDS_ELSEWHERE


def is_controller(workload: Workload) -> bool:
    """A Karpenter controller Deployment: by the chart's label, or by the image, which mirrors leave recognisable."""
    if workload.metadata.label(NAME_LABEL) == "karpenter":
        return True
    images = (container.image or "" for container in workload.template.spec.containers or ())
    return any(_is_controller_image(image) for image in images)


def is_hook_job(job: Workload) -> bool:
    """A Job of a Karpenter chart's post-install hook: by name, with a sign that the chart is Karpenter's.

    The release may have any name, and a nameOverride changes the chart's name in the labels but not in helm.sh/chart.
    """
    chart = job.metadata.label(CHART_LABEL) or ""
    ours = "karpenter" in job.name or job.metadata.label(NAME_LABEL) == "karpenter" or chart.startswith("karpenter-")
    return job.name.endswith(HOOK_SUFFIX) and ours


def is_other_autoscaler(workload: Workload) -> bool:
    """The Kubernetes cluster autoscaler, by its name or its image."""
    images = (container.image or "" for container in workload.template.spec.containers or ())
    return OTHER_AUTOSCALER in workload.name or any(_image_name(image) == OTHER_AUTOSCALER for image in images)


def is_karpenter_webhook(configuration: WebhookConfiguration) -> bool:
    """By name, by the service it calls, or by the groups it is asked about."""
    if "karpenter" in configuration.name:
        return True
    for webhook in configuration.webhooks or ():
        service = webhook.client_config and webhook.client_config.service
        groups = {group for rule in webhook.rules or () for group in rule.api_groups or ()}
        if (service and "karpenter" in service.name) or groups & set(KARPENTER_DOMAINS):
            return True
    return False


def webhook_services(crds: tuple[CRD, ...], webhooks: tuple[WebhookConfiguration, ...]) -> tuple[ServiceReference, ...]:
    """Every service that a conversion or admission webhook of Karpenter calls; each once."""
    found = [_conversion_service(crd) for crd in crds]
    for configuration in webhooks:
        found += [hook.client_config.service if hook.client_config else None for hook in configuration.webhooks or ()]
    return tuple(dict.fromkeys(service for service in found if service))


def _conversion_service(crd: CRD) -> ServiceReference | None:
    webhook = crd.spec.conversion and crd.spec.conversion.webhook
    target = webhook.client_config if webhook else None
    return target.service if target else None


def _image_name(image: str) -> str:
    return image.partition("@")[0].rpartition("/")[2].partition(":")[0]


def _is_controller_image(image: str) -> bool:
    path = image.partition("@")[0].rpartition(":")[0] or image.partition("@")[0]
    pieces = path.split("/")
    return "karpenter" in pieces and pieces[-1] in ("controller", "karpenter")
