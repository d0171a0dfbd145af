"""A number is written so that readers of YAML 1.1 and 1.2 read the same number."""

import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from migrations_app.manifests.writer import text_and_lines
from migrations_app.manifests.yaml_reader import json_value


@given(st.floats(allow_nan=False, allow_infinity=False))
@example(1e308)
@example(-5e-324)
@example(1e16)
def test_a_number_stays_a_number(value: float) -> None:
    text, _ = text_and_lines({"size": value})
    written = text.removeprefix("size:").strip()
    assert repr(yaml.safe_load(text)["size"]) == repr(value)
    if 1e-99 < abs(value) < 1e99:  # our own reader takes exponents of two digits
        assert repr(json_value(written)) == repr(value)
