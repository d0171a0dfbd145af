"""A sketch of user data answers every question that is asked of it, and holds nothing of its text."""

from hypothesis import given
from hypothesis import strategies as st

from migrations_app.karpenter.labels import UNREGISTERED_TAINT
from migrations_app.karpenter.release_facts import AL2, AL2023, UBUNTU, starts_kubelet
from migrations_app.karpenter.user_data import configures_kubelet, sketch

PIECES = (
    "#!/bin/bash", "TOKEN=hunter2", "/etc/eks/bootstrap.sh shop", "nodeadm init", "nodeadm init -c file:///own.yaml",
    "nodeadm init --config-source imds://user-data", "nodeadm init -c 'imds://user-data'", "kind: NodeConfig",
    "apiVersion: node.eks.aws/v1alpha1", "  kubelet:", "kubelet: {}", "# kubelet: no", "echo ok; nodeadm init", "",
    f"--register-with-taints={UNREGISTERED_TAINT}:NoExecute", "-c own", "spec:",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=8).map("\n".join)


def answers(text: str) -> tuple[object, ...]:
    """All that checks and conversions ask of user data."""
    calls = tuple(starts_kubelet(family, text) for family in (AL2, AL2023, UBUNTU, "Custom"))
    words = tuple(word in text for word in (UNREGISTERED_TAINT, "NodeConfig", "node.eks.aws"))
    return (*calls, *words, configures_kubelet(text), bool(text))


@given(TEXTS)
def test_every_question_has_the_same_answer(text: str) -> None:
    assert answers(sketch(text)) == answers(text)
    assert answers(sketch(sketch(text))) == answers(text)


@given(TEXTS)
def test_nothing_of_the_text_is_kept(text: str) -> None:
    assert not any(secret in sketch(text) for secret in ("hunter2", "shop", "own.yaml", "TOKEN"))
