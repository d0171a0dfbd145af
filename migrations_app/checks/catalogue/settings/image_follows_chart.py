"""Fails for each Helm value that names the image of another release than the one whose chart the hop installs."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy, Unknown
from migrations_app.checks.changes import HelmValue
from migrations_app.checks.evidence import at_value, value_key
from migrations_app.checks.remedies.commands import as_json, helm_remedies
from migrations_app.checks.tools import CHART_TOOLS
from migrations_app.conversion.chart_values.convert import TAG, pinned_image
from migrations_app.conversion.chart_values.trees import value_of
from migrations_app.inventory.facts.controller import given_values, why_values_unknown
from migrations_app.karpenter.releases import as_tag

check = Check(
    __name__,
    title="The controller's image follows the chart",
    phase="controller",
    severity="warning",
    why=(
        "A tag or digest among the Helm values wins over that of the new chart: the old controller goes on with the "
        "new release's settings, permissions and CRDs."
    ),
    how=(
        "Reads controller.image.tag and controller.image.digest from the Helm values. A repository alone, as of a "
        "mirror, is no fault: the image has to be there under the tag of the target version."
    ),
    reads=("controller",),
    says=("{count} Helm value keeps the controller's image", "{count} Helm values keep the controller's image"),
    sources=("aws/karpenter-provider-aws@v1.14.1:charts/karpenter/templates/_helpers.tpl",),
    remedy_tools=CHART_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    values = given_values(case.inventory)
    if not case.inventory.controller.items:
        yield NotApplicable("there is no Karpenter Deployment")
    elif values is None:
        yield Unknown(why_values_unknown(case.inventory))
    else:
        for key in pinned_image(values.tree, case.hop.release):
            wanted = as_tag(case.hop.release) if key == TAG else "absent, or that of the same image"
            yield at_value(values, key, seen=str(value_of(values.tree, key)), wanted=wanted)


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    values, tag = given_values(case.inventory), as_json(as_tag(case.hop.release))
    keys = [value_key(values, row) for row in evidence if values]
    chosen = tuple(
        HelmValue(key, tag, "the new chart runs its own release; a mirror needs that image first")
        if key == TAG
        else HelmValue(key, '""', "the digest is that of another image")
        for key in keys
    )
    yield from helm_remedies(case, chosen)
