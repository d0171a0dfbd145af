"""moto lets everybody take every role: just what a registration must refuse (T20). It judges nothing else here."""

import dataclasses

import pytest

from migrations_app.clients.aws.cross_account import OwnIdentity
from migrations_app.use_cases.clusters.eks_registration import draft_access, try_eks
from tests.clients.aws.moto_account import ACCOUNT, KEYS, REGION, arn

CLUSTER = arn("cluster", "shop", "eks", REGION)


@pytest.fixture
def draft(settings, moto_url):
    settings.ENV = dataclasses.replace(settings.ENV, aws=OwnIdentity(keys=KEYS, endpoint=moto_url))
    return draft_access(CLUSTER, by="ada")


def test_a_role_of_moto_is_found_unguarded(draft):  # T20
    tried = try_eks(draft.text, role_arn=arn("role", "any"), by="ada")
    assert (tried.guarded, tried.result.error) == (False, "role_unguarded")


def test_motos_own_identity_is_named_in_the_trust_policy(draft):
    assert draft.trust["Statement"][0]["Principal"]["AWS"].startswith((f"arn:aws:sts::{ACCOUNT}:", "arn:aws:iam::"))
