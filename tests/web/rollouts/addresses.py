"""The addresses of rollouts and policies: who may open them, and which take a POST only."""

from migrations_app.web.access import SIGNED_IN

OPERATE, APPROVE = "operate_rollout", "approve_rollout"
DECLARED = {
    "rollouts": SIGNED_IN,
    "rollouts-waiting": APPROVE,
    "rollout": SIGNED_IN,
    "rollout-live": SIGNED_IN,
    "rollout-receipt": SIGNED_IN,
    "rollout-exports": OPERATE,
    "cluster-rollouts": SIGNED_IN,
    "cluster-rollout-new": OPERATE,
    "cluster-policy": "administer_policy",
    "policy": "administer_policy",
    "kill-switch": OPERATE,
    "sign-in-again": SIGNED_IN,
    "rollout-ask": OPERATE,
    "rollout-approve": APPROVE,
    "rollout-approve-alone": "break_glass",
    "rollout-reject": OPERATE,
    "rollout-start": OPERATE,
    "rollout-pause": OPERATE,
    "rollout-resume": OPERATE,
    "rollout-abort": OPERATE,
    "rollout-settle": OPERATE,
    "rollout-skip-node": OPERATE,
    "rollout-roll-back": OPERATE,
}
READ = ("rollout-live", "rollout-receipt", "rollout-exports")
ACTS = sorted(name for name in DECLARED if name.startswith("rollout-") and name not in READ)
FORMS = ("cluster-rollout-new", "cluster-policy", "policy", "kill-switch", "sign-in-again")
