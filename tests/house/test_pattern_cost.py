"""T04, T06: regular expressions take time and memory as the length of foreign text, whatever stands in it.

What they cost is invisible to tests/house/growth.py, which counts lines of Python.
"""

import time
from collections.abc import Callable

import pytest

from migrations_app.clients.kubernetes.salvage import parsable_items
from migrations_app.iam.patterns import tokens_of
from migrations_app.karpenter.release_facts import AL2023, starts_kubelet
from migrations_app.readiness.pull_requests.proposal import edited_file
from tests.house.growth import peak_mib

SIZE = 40_000
"""Repetitions; tried from each of them to the end, the text costs seconds."""
MAX_SECONDS = 0.5


def a_list_whose_text_does_not_end() -> object:
    return parsable_items(b'{"items":["' + b'\\"' * SIZE)


def user_data_that_names_one_call_again_and_again() -> object:
    return starts_kubelet(AL2023, "nodeadm init " * SIZE)


def a_policy_variable_of_spaces() -> object:
    return tokens_of(f"${{aws:{' ' * SIZE}}}", lambda _: None, variables=True, wildcards=True)


def a_file_of_empty_lines() -> object:
    return edited_file("\n" * SIZE, {}, path="a.yaml")


TEXTS = [
    a_list_whose_text_does_not_end,
    user_data_that_names_one_call_again_and_again,
    a_policy_variable_of_spaces,
    a_file_of_empty_lines,
]


@pytest.mark.parametrize("work", TEXTS, ids=lambda work: work.__name__)
def test_no_text_is_tried_from_each_of_its_places(work: Callable[[], object]) -> None:
    begun = time.thread_time()
    work()
    assert time.thread_time() - begun < MAX_SECONDS


def test_a_long_text_in_a_list_takes_no_memory_for_each_character() -> None:
    body = b'{"items":["' + b"a" * 2**22 + b'"]}'
    assert peak_mib(lambda: parsable_items(body)) < 20
