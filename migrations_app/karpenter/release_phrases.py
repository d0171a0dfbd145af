"""What several release rows have in common: API groups, switches, sentences."""

from migrations_app.karpenter.kinds import AWS_GROUP, CORE_GROUP
from migrations_app.karpenter.release_shape import Api, Webhooks

GUIDE = "aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md"

ALPHA_APIS = (
    Api(CORE_GROUP, "v1alpha5", ("Provisioner", "Machine")),
    Api(AWS_GROUP, "v1alpha1", ("AWSNodeTemplate",)),
)
BETA_APIS = (
    Api(CORE_GROUP, "v1beta1", ("NodePool", "NodeClaim")),
    Api(AWS_GROUP, "v1beta1", ("EC2NodeClass",)),
)
V1_APIS = (
    Api(CORE_GROUP, "v1", ("NodePool", "NodeClaim")),
    Api(AWS_GROUP, "v1", ("EC2NodeClass",)),
)

CONFIG_MAP_SWITCH = "settings.featureGates.driftEnabled (ConfigMap karpenter-global-settings)"
BOTH_SWITCHES = "settings.featureGates.drift (env FEATURE_GATES), settings.featureGates.driftEnabled still honoured"
GATE_SWITCH = "settings.featureGates.drift (env FEATURE_GATES; a value that leaves Drift out turns it off)"

ALWAYS_ADMITTED = Webhooks(admission="always_on", conversion="none")
NO_WEBHOOKS = Webhooks(admission="removed", conversion="removed")

UNGUIDED = "The upgrade guides do not describe this way back"
NEVER_REGISTERED = "a node that joins without the taint karpenter.sh/unregistered is never registered"
