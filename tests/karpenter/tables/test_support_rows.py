from datetime import timedelta
from itertools import pairwise

import pytest

from migrations_app.karpenter.tables.support_rows import EKS_SUPPORT, support_of


def test_the_server_of_eks_names_its_minor():
    assert [support_of(f"v{row.minor}.3-eks-99d6cc0") for row in EKS_SUPPORT] == list(EKS_SUPPORT)
    assert support_of("1.33.4-eks") == support_of("v1.33.0-eks-1")


@pytest.mark.parametrize(
    "version", ["", "v1.33.4", "v1.33.4+k3s1", "v1.33.4-gke.1", "v1.9.3-eks-1", "v1.99.0-eks-1", "eks"]
)
def test_what_is_not_told_has_no_day(version):
    assert support_of(version) is None


def test_extended_support_is_a_year_and_days_ascend():
    assert {row.extended.replace(year=row.standard.year) - row.standard for row in EKS_SUPPORT} == {timedelta()}
    assert {row.extended.year - row.standard.year for row in EKS_SUPPORT} == {1}
    assert all(low.standard < high.standard for low, high in pairwise(EKS_SUPPORT))
