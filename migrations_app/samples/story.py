"""The type of a story: one sample cluster as a scan reads it. Expected results are in tests/samples/expected.py."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from migrations_app.manifests import JsonMap
from migrations_app.samples.aws_account import SampleAwsAccount


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """`docs` are the objects of the cluster; `refused` maps plurals that could not be listed to code and detail.

    `aws` is its AWS account; None if access to AWS is not configured.
    """

    name: str
    title: str
    about: str
    version: JsonMap
    docs: tuple[JsonMap, ...]
    refused: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    aws: SampleAwsAccount | None = None
