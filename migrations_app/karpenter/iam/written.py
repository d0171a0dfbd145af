"""What closes the gaps, in the form somebody works with: one place for the command line, the API and the page."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from migrations_app.karpenter.iam.gaps import Report
from migrations_app.karpenter.iam.module import Setting, inline_setting, module_settings, module_version
from migrations_app.karpenter.iam.policy import Policy
from migrations_app.karpenter.iam.remedies import MANAGED_LIMIT, Closing, Document, closing, merged, merged_size
from migrations_app.karpenter.iam.removal import Removal
from migrations_app.karpenter.iam.render import as_cloudformation, as_json, as_module_statements, as_terraform
from migrations_app.karpenter.iam.site import SOME_ACCOUNT, SOME_CLUSTER, SOME_REGION, Site

Form = Literal["json", "cloudformation", "terraform", "module", "merged"]
REMEDY_FORMS: tuple[Form, ...] = get_args(Form)
NEWEST_MODULE = "21.19.0"


@dataclass(frozen=True, kw_only=True)
class Remedy:
    """What has to be added to the policies of a report, before it is written down."""

    report: Report
    site: Site
    policies: tuple[Policy, ...]
    added: Closing

    def documents(self, form: Form = "json") -> tuple[Document, ...]:
        """The documents of the two forms that are documents; BadPolicy where one statement alone is too large."""
        if form == "merged":
            return merged(self.policies, self.added.statements, site=self.site)
        return self.added.documents()

    def text(self, form: Form, *, version: str = NEWEST_MODULE) -> str:
        """The remedy as text; `version` is that of the Terraform EKS module. Raises BadInput for one that is none."""
        match form:
            case "cloudformation":
                return as_cloudformation(self.documents(), release=self.report.release)
            case "terraform":
                return as_terraform(self.documents(), release=self.report.release)
            case "module":
                return self._module(version)
            case _:
                return as_json(self.documents(form))

    def remarks(self) -> tuple[str, ...]:
        """What to know before using it: names nobody told, refusals that no statement lifts, nothing to add."""
        stubborn = (
            f"{one.probe.action}: no added statement helps, {one.answer.because}" for one in self.added.stubborn
        )
        nothing = () if self.added.statements else ("no statement has to be added",)
        return (*stand_ins(self.site), *dict.fromkeys(stubborn), *nothing)

    def _module(self, told: str) -> str:
        version = module_version(told)
        lines = [f"# terraform-aws-modules/eks/aws//modules/karpenter {version[0]}.{version[1]}"]
        for setting in module_settings(self.report, version):
            lines.append(f"# closes {', '.join(setting.closes)}: {setting.why}")
            lines.append(_setting(setting, self.added, major=version[0]))
        crowded = merged_size(self.policies, self.added.statements, site=self.site) > MANAGED_LIMIT
        if crowded and (inline := inline_setting(version)):
            lines += [f"# more than 6,144 characters in all: {inline.why}", f"{inline.variable} = {inline.value}"]
        return "\n".join(lines)


def remedy(report: Report, site: Site, *, policies: Iterable[Policy]) -> Remedy:
    """What closes the gaps that are always needed, and those of capacity that Provisioners still own."""
    return Remedy(report=report, site=site, policies=tuple(policies), added=closing(report, site))


def stand_ins(site: Site) -> tuple[str, ...]:
    """Names in a remedy that nobody told, to be put right before it is used."""
    some = {"cluster name": SOME_CLUSTER, "account": SOME_ACCOUNT, "region": SOME_REGION}
    used = {"cluster name": site.cluster, "account": site.account, "region": site.region}
    return tuple(f"{name} not told: {used[name]} stands in for it" for name, word in some.items() if used[name] == word)


def removal_lines(removals: Sequence[Removal]) -> tuple[str, ...]:
    """Each removal in a line; one that says so where there is nothing."""
    found = tuple(f"{one.statement.where}: {'all of it' if one.whole else ', '.join(one.actions)}" for one in removals)
    return found or ("nothing",)


def _setting(setting: Setting, added: Closing, *, major: int) -> str:
    if setting.variable == "iam_policy_statements":
        wanted = [one for one in added.statements if set(one.actions) & set(setting.closes)]
        return as_module_statements(wanted, major=major)
    return f"{setting.variable} = {setting.value}" if setting.variable else f'version = "~> {setting.upgrade_to}"'
