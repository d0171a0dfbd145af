"""What a cluster cannot show: words to search for in queries, scripts and manifests kept elsewhere.

One row for each word and release. Renamed metrics are in metric_rows; these rows hold what else queries refer to.
"""

from typing import Literal, NamedTuple

OutsidePlace = Literal["queries", "sources"]


class OutsideRow(NamedTuple):
    """`release` is the first minor in which the searched text no longer works; `change` is the id of the coverage
    entry.
    """

    place: OutsidePlace
    release: str
    search: str
    where: str
    instead: str
    change: str


OUTSIDE_ROWS: tuple[OutsideRow, ...] = (
    OutsideRow("sources", "0.29", "subnetSelector, securityGroupSelector",
               "AWSNodeTemplates changed since their instances started", "drift of those nodes", "sg-subnet-drift"),
    OutsideRow("sources", "0.32", "Name = karpenter.sh/provisioner-name/", "cost reports and scripts",
               "the EC2 tag karpenter.sh/nodepool", "instance-name-tag"),
    OutsideRow("sources", "0.33", "MachineLaunched, MachineRegistered, MachineInitialized",
               "scripts that read conditions", "the same without Machine", "status-conditions-renamed-beta"),
    OutsideRow("sources", "0.33", "karpenter.sh/provisioner-name",
               "IAM and service control policies, event rules, cost reports", "karpenter.sh/nodepool", "IAM-08"),
    OutsideRow("queries", "0.37", 'logger="controller.', "queries over logs", "the field controller", "logger-name"),
    OutsideRow("queries", "0.37", 'controller="nodeclass"', "rules over controller_runtime_ metrics",
               "nodeclass.status, nodeclass.hash, nodeclass.termination", "nodeclass-controller-names"),
    OutsideRow("sources", "1.0", "karpenter.sh/managed-by", "IAM and service control policies, cost reports",
               "the EC2 tag eks:eks-cluster-name", "managed-by-tag-dropped"),
    OutsideRow("queries", "1.0", "karpenter_cloudprovider_errors_total", "alerts that count every error",
               'error!="NodeClaimNotFoundError" beside it', "instance-termination-wait"),
    OutsideRow("sources", "1.1", "apiVersion: karpenter.sh/v1beta1, apiVersion: karpenter.k8s.aws/v1beta1",
               "Git, Terraform, charts and pipelines", "v1", "v1beta1-dropped"),
    OutsideRow("sources", "1.1", "karpenter.k8s.aws/cluster", "IAM and service control policies",
               "eks:eks-cluster-name", "cluster-tag-on-launch-templates"),
    OutsideRow("queries", "1.1", "operator_status_condition_, operator_termination_", "rules and dashboards",
               "operator_nodeclaim_, operator_nodepool_, operator_ec2nodeclass_, operator_node_",
               "operator-metrics-per-resource"),
    OutsideRow("queries", "1.2", 'controller="nodeclass.status", controller="nodeclass.termination"',
               "rules over controller_runtime_ metrics", "nodeclass", "nodeclass-controller-merged"),
    OutsideRow("sources", "1.3", "helm template", "pipelines that render the chart with serviceMonitor.enabled",
               "helm template --api-versions monitoring.coreos.com/v1, or the chart leaves the ServiceMonitor out",
               "service-monitor-needs-api"),
    OutsideRow("sources", "1.10", "EC2 Spot Instance Interruption Warning",
               "the EventBridge rules that fill the interruption queue",
               "EC2 Capacity Reservation Instance Interruption Warning beside it, for interruptible reservations",
               "eventbridge-capacity-reservation"),
)  # fmt: skip
