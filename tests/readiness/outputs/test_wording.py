"""How texts call what evidence names."""

import pytest

from migrations_app.checks.base import Evidence
from migrations_app.readiness.outputs.wording import kind_word, object_line
from migrations_app.templatetags.readiness_tags import evidence_kind


@pytest.mark.parametrize(
    ("kind", "path", "word"),
    [
        ("HelmRelease", "config.settings.assumeRoleARN", "Helm release"),
        ("HelmRelease", "chart", "Helm release"),
        ("HelmRelease", "manifest", "Helm release"),
        ("HelmRelease", "spec.values.settings.assumeRoleARN", "HelmRelease"),
        ("HelmRelease", "spec.chart.spec.version", "HelmRelease"),
        ("HelmRelease", "metadata.annotations[a.b/config.c]", "HelmRelease"),
        ("HelmRelease", "", "HelmRelease"),
        ("Secret", "config.x", "Secret"),
    ],
)
def test_helms_record_is_no_object_of_flux(kind, path, word):
    row = Evidence(kind=kind, namespace="kube-system", name="karpenter", path=path, seen="a", wanted="b")
    assert (kind_word(row), evidence_kind(row)) == (word, word)
    named = " ".join(part for part in (word, "kube-system/karpenter", path) if part)
    assert object_line(row) == f"{named}: seen a, wanted b"
