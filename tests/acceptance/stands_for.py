"""Entries of the coverage that a planted fault stands for beside the one that it is named after.

The same thing in a cluster is often both a change of a release and a pain of the field, or two pains.
"""

STANDS_FOR: dict[str, tuple[str, ...]] = {
    "CRD-02": ("crd-helm-ownership",),
    "CRD-12": ("crd-chart-removes-alpha-crds",),
    "CTL-04": ("dns-policy-clusterfirst",),
    "WL-01": ("provisioner-name-selectors",),
    "WL-03": ("annotations-dropped-v1",),
    "WL-11": ("imds-hop-limit",),
    "alpha-kinds-replaced": ("PATH-02",),
    "ami-selector-terms-required": ("V1-04",),
    "capacity-type-default": ("CONV-01",),
    "consolidate-after-required": ("ROLL-10",),
    "container-runtime-dropped": ("CONV-09",),
    "crd-conversion-leftovers": ("CRD-09",),
    "crd-upgrade-manual": ("CRD-01",),
    "disruption-defaults-beta": ("CONV-04", "disruption-block"),
    "disruption-taint-beta": ("WL-04",),
    "drift-gate-dropped": ("ROLL-08",),
    "drift-on-by-default": ("ROLL-07",),
    "global-settings-configmap-removed": ("AWS-02", "V1-05"),
    "launch-template-removed": ("CONV-07",),
    "metrics-renamed-v1": ("V1-06",),
    "post-install-hook": ("CRD-15",),
    "rbac-v1": ("CTL-05",),
    "stale-admission-webhooks": ("CRD-14",),
    "static-drift-alpha": ("ROLL-01", "rollout-drift-vs-expiration"),
    "ubuntu-22.04-ami": ("V1-02", "ubuntu-family-dropped"),
    "v1-conversion-webhook": ("CRD-06",),
    "version-outside-matrix": ("PATH-04",),
}
