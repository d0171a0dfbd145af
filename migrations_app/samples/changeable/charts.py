"""The chart of a release as far as samples need it: its CRDs, made from the tables, so that nothing is downloaded."""

import msgspec

from migrations_app.samples.changeable.objects import definitions

CHART = "Chart.yaml"


def chart(version: str) -> dict[str, bytes]:
    """Returns Chart.yaml and the CRDs, as JSON by file name."""
    files = {CHART: msgspec.json.encode({"name": "karpenter", "version": version})}
    for definition in definitions(version):
        bare = {"name": definition["metadata"]["name"]}
        body = {key: value for key, value in definition.items() if key != "status"} | {"metadata": bare}
        files[f"crds/{bare['name']}.yaml"] = msgspec.json.encode([body])
    return files
