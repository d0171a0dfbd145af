"""Names in the order in which people look for them."""

import random

from migrations_app.manifests.natural_order import natural

ORDERED = ["", "0.9.1", "0.31.5", "0.36.9", "1.14.1", "node", "node-0", "node-01", "node-1", "node-2", "node-10",
           "node-10a", "node-11", f"node-{'9' * 5000}", "pool"]  # fmt: skip


def test_numbers_count_as_numbers_whatever_their_length():
    mixed = random.Random(7).sample(ORDERED, len(ORDERED))
    assert sorted(mixed, key=natural) == ORDERED
    assert sorted(mixed) != ORDERED


def test_a_digit_of_another_script_is_a_letter():
    assert sorted(["n\u0662", "n10", "n9"], key=natural) == ["n9", "n10", "n\u0662"]
