"""Projections of pods, the workloads that run them, and disruption budgets: only the fields that
upgrade checks read.
"""

from migrations_app.inventory.objects.base import Metadata, NamedObject, Projection, StatusCondition, Strings

JOB_OVER = ("Complete", "Failed")
"""The conditions after which a Job starts no more pods."""


class Toleration(Projection, frozen=True):
    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None
    toleration_seconds: int | None = None


class SelectorExpression(Projection, frozen=True):
    key: str = ""
    operator: str = ""
    values: list[str] | None = None


class NodeTerm(Projection, frozen=True):
    match_expressions: list[SelectorExpression] | None = None


class WeightedNodeTerm(Projection, frozen=True):
    weight: int | None = None
    preference: NodeTerm | None = None


class NodeTerms(Projection, frozen=True):
    node_selector_terms: list[NodeTerm] | None = None


class NodeAffinity(Projection, frozen=True):
    required_during_scheduling_ignored_during_execution: NodeTerms | None = None
    preferred_during_scheduling_ignored_during_execution: list[WeightedNodeTerm] | None = None


class PodAffinityTerm(Projection, frozen=True):
    topology_key: str | None = None


class WeightedPodAffinityTerm(Projection, frozen=True):
    pod_affinity_term: PodAffinityTerm | None = None


class PodAffinity(Projection, frozen=True):
    required_during_scheduling_ignored_during_execution: list[PodAffinityTerm] | None = None
    preferred_during_scheduling_ignored_during_execution: list[WeightedPodAffinityTerm] | None = None


class Affinity(Projection, frozen=True):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class Spread(Projection, frozen=True):
    topology_key: str | None = None
    when_unsatisfiable: str | None = None


class UnreadField(Projection, frozen=True):
    """A field of which only the presence matters."""


class EnvironmentVariable(Projection, frozen=True):
    """A variable; of a reference to another object only the presence is kept, in `value_from`."""

    name: str = ""
    value: str | None = None
    value_from: UnreadField | None = None


class EnvironmentSource(Projection, frozen=True):
    """Shows that variables come from another object; which one is not kept."""


class Resources(Projection, frozen=True):
    """Quantities by resource name; numbers and strings are both accepted."""

    requests: dict[str, str | int | float] | None = None
    limits: dict[str, str | int | float] | None = None


class Container(Projection, frozen=True):
    name: str = ""
    image: str | None = None
    env: list[EnvironmentVariable] | None = None
    env_from: list[EnvironmentSource] | None = None
    args: list[str] | None = None
    resources: Resources | None = None


class Placement(Projection, frozen=True):
    """Where a pod may run: the part of the pod spec that upgrade checks read."""

    node_name: str | None = None
    node_selector: Strings | None = None
    affinity: Affinity | None = None
    tolerations: list[Toleration] | None = None
    topology_spread_constraints: list[Spread] | None = None
    resource_claims: list[UnreadField] | None = None
    host_network: bool | None = None
    service_account_name: str | None = None


class EmptyDir(Projection, frozen=True):
    medium: str | None = None


class Volume(Projection, frozen=True):
    empty_dir: EmptyDir | None = None
    host_path: UnreadField | None = None
    persistent_volume_claim: UnreadField | None = None
    ephemeral: UnreadField | None = None


class PodSpec(Placement, frozen=True):
    volumes: list[Volume] | None = None
    termination_grace_period_seconds: int | None = None


class PodStatus(Projection, frozen=True):
    phase: str | None = None


class Pod(NamedObject, frozen=True):
    spec: PodSpec = PodSpec()
    status: PodStatus | None = None


class TerminatedState(Projection, frozen=True):
    reason: str | None = None


class ContainerState(Projection, frozen=True):
    terminated: TerminatedState | None = None


class ContainerStatus(Projection, frozen=True):
    name: str = ""
    restart_count: int | None = None
    last_state: ContainerState | None = None


class ControllerPodStatus(PodStatus, frozen=True):
    container_statuses: list[ContainerStatus] | None = None


class ControllerPod(Pod, frozen=True):
    """A pod of the controller, with the status of its containers."""

    status: ControllerPodStatus | None = None


class ControllerPlacement(Placement, frozen=True):
    containers: list[Container] | None = None
    dns_policy: str | None = None


class PodTemplate(Projection, frozen=True):
    metadata: Metadata = Metadata()
    spec: ControllerPlacement = ControllerPlacement()


class LabelSelector(Projection, frozen=True):
    match_labels: Strings | None = None
    match_expressions: list[SelectorExpression] | None = None


class WorkloadSpec(Projection, frozen=True):
    replicas: int | None = None
    template: PodTemplate = PodTemplate()
    job_template: "JobTemplate | None" = None
    selector: LabelSelector | None = None


class JobTemplateSpec(Projection, frozen=True):
    template: PodTemplate = PodTemplate()


class JobTemplate(Projection, frozen=True):
    metadata: Metadata = Metadata()
    spec: JobTemplateSpec = JobTemplateSpec()


class WorkloadStatus(Projection, frozen=True):
    replicas: int | None = None
    """For a Deployment: the pods of all templates, older ones too."""
    ready_replicas: int | None = None
    updated_replicas: int | None = None
    """For a Deployment: the pods of the newest template. The API server leaves a 0 out."""
    observed_generation: int | None = None
    """For a Deployment: the generation that its controller has handled; it writes this with all other counts."""
    desired_number_scheduled: int | None = None
    """For a DaemonSet: the nodes that should run its pod."""
    succeeded: int | None = None
    """For a Job: pods that succeeded."""
    failed: int | None = None
    conditions: list[StatusCondition] | None = None

    @property
    def older_pods(self) -> int:
        """For a Deployment: the pods of older templates. 0 if the count of the newest is left out of a status that the
        Deployment controller did not write, as in a manifest.
        """
        if self.updated_replicas is None and self.observed_generation is None:
            return 0
        return (self.replicas or 0) - (self.updated_replicas or 0)


class Workload(NamedObject, frozen=True):
    """A Deployment, StatefulSet, DaemonSet, Job or CronJob: placement and annotations of its pods."""

    spec: WorkloadSpec = WorkloadSpec()
    status: WorkloadStatus | None = None

    @property
    def has_no_pods(self) -> bool:
        """Whether it is scaled to 0 and no pod is left of it."""
        return self.spec.replicas == 0 and not (self.status and (self.status.replicas or self.status.ready_replicas))

    @property
    def template(self) -> PodTemplate:
        return self.spec.job_template.spec.template if self.spec.job_template else self.spec.template

    @property
    def over(self) -> bool:
        """Whether it is a finished Job (succeeded or failed), which starts no more pods from its template."""
        conditions = (self.status and self.status.conditions) or ()
        return any(condition.type in JOB_OVER and condition.status == "True" for condition in conditions)


class BudgetSpec(Projection, frozen=True):
    min_available: int | str | None = None
    max_unavailable: int | str | None = None
    selector: LabelSelector | None = None


class BudgetStatus(Projection, frozen=True):
    disruptions_allowed: int | None = None
    expected_pods: int | None = None
    current_healthy: int | None = None
    desired_healthy: int | None = None


class DisruptionBudget(NamedObject, frozen=True):
    spec: BudgetSpec = BudgetSpec()
    status: BudgetStatus | None = None


class PodGroup(Projection, frozen=True):
    """Pods that are equal in what upgrade checks read, so that memory depends on the number of groups, not of pods."""

    namespace: str
    owner_kind: str
    owner_name: str
    markers: Strings
    """Annotations of the pods with Karpenter keys."""
    placement: list["Constraint"]
    """Selectors, affinities, topology spread keys and tolerations that name a Karpenter key."""
    count: int
    samples: list[str]
    """Names of the first pods of the group, at most three."""
    nodes: list[str]
    """Nodes they run on, at most 50; for a DaemonSet only if the group has markers."""
    labels: Strings = {}
    """The labels of the first pod: pods of one workload share those that budgets select by."""
    storage: list[str] = []
    """Kinds of volumes that matter when a pod moves: `claim`, `emptyDir` (on disk), `hostPath`."""
    grace_seconds: int = 0
    """The longest terminationGracePeriodSeconds among them."""
    claims_devices: bool = False
    """Whether they name ResourceClaims, for devices by Dynamic Resource Allocation."""


class Constraint(Projection, frozen=True):
    """One mention of a Karpenter key in a placement. `path` is for example spec.nodeSelector or spec.tolerations."""

    path: str
    key: str
    value: str
