"""`karpdash iam`: what a release of Karpenter asks of AWS, judged on policy files, without database or network."""

import argparse
import json
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from migrations_app.errors import BadInput, BadPolicy
from migrations_app.karpenter.iam.evaluate import oddities
from migrations_app.karpenter.iam.features import ASSUMED, Feature
from migrations_app.karpenter.iam.gaps import Gap, Report, find_gaps
from migrations_app.karpenter.iam.guess import guessed
from migrations_app.karpenter.iam.module import Setting, inline_setting, module_settings, module_version
from migrations_app.karpenter.iam.policy import MAX_BYTES, Policy, filled, parse_policy
from migrations_app.karpenter.iam.remedies import MANAGED_LIMIT, Closing, closing, merged, merged_size
from migrations_app.karpenter.iam.removal import removable
from migrations_app.karpenter.iam.render import as_cloudformation, as_json, as_module_statements, as_terraform
from migrations_app.karpenter.iam.site import SOME_ACCOUNT, SOME_CLUSTER, SOME_REGION, Site

_OPTION_FORMS = {
    "cluster_name": r"[0-9A-Za-z][0-9A-Za-z_-]{0,99}",
    "account": r"\d{12}",
    "region": r"[a-z]{2,}(-[a-z]+)+-\d{1,2}",
    "partition": r"aws(-[a-z]+)*",
    "queue": r"(arn:[^*?${}\s]+:)?[0-9A-Za-z_-]{1,80}(\.fifo)?",
    "node_role": r"(arn:[^*?${}\s]+:role/)?[0-9A-Za-z_+=,.@/-]{1,600}",
    "assume_role_arn": r"arn:[^*?${}\s]+:role/[0-9A-Za-z_+=,.@/-]{1,600}",
    "tag": r"[^=]{1,128}=.{0,256}",
}


def run(argv: list[str]) -> int:
    """Exit code: 0 nothing is missing, 1 there are gaps, 2 wrong usage or unreadable input."""
    try:
        return _judge(_parser().parse_args(argv))
    except SystemExit as stop:  # argparse has printed its say
        return stop.code if isinstance(stop.code, int) else 2
    except BadInput as error:
        print(f"karpdash iam: {_shown(str(error))}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="karpdash iam", description="Find what the policies of the controller lack for a release of Karpenter."
    )
    parser.add_argument("--policy", metavar="FILE", nargs="+", action="extend", required=True, help="policy document")
    parser.add_argument("--to", metavar="RELEASE", required=True, help="release to judge for, such as 0.32 or 1.0.14")
    parser.add_argument("--boundary", metavar="FILE", help="permissions boundary of the role")
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table")
    parser.add_argument("--remedy", choices=("json", "cloudformation", "terraform", "module", "merged"))
    parser.add_argument(
        "--module-version", metavar="V", help="version of the Terraform EKS module, for --remedy module"
    )
    parser.add_argument("--after-hop", action="store_true", help="also list what may be removed after the hop")
    _add_site(parser)
    _add_assumptions(parser)
    return parser


def _add_site(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "names", "fill placeholders and requests; what is not told is read from the files"
    )
    group.add_argument("--cluster-name", metavar="N")
    group.add_argument("--account", metavar="A")
    group.add_argument("--region", metavar="R")
    group.add_argument("--partition", metavar="P")
    group.add_argument("--node-role", metavar="R", action="append", default=[], help="may be repeated")
    group.add_argument("--queue", metavar="Q")
    group.add_argument(
        "--assume-role-arn", metavar="ARN", default="", help="role the controller assumes (0.30 to 0.37)"
    )
    group.add_argument(
        "--tag", metavar="KEY=VALUE", action="append", default=[], help="tag in spec.tags of node classes"
    )


def _add_assumptions(parser: argparse.ArgumentParser) -> None:
    choices = [feature.value for feature in Feature if feature is not Feature.ASSUME_ROLE]
    on = ", ".join(sorted(feature.value for feature in ASSUMED))
    group = parser.add_argument_group("settings of the cluster", f"on unless told otherwise: {on}")
    group.add_argument("--with", dest="turned_on", metavar="SETTING", choices=choices, action="append", default=[])
    group.add_argument("--without", dest="turned_off", metavar="SETTING", choices=choices, action="append", default=[])


def _judge(options: argparse.Namespace) -> int:
    policies = [_read(path) for path in options.policy]
    boundary = None if options.boundary is None else [_read(options.boundary)]
    site = _site(options, policies)
    for policy in (*policies, *(boundary or ())):
        _say(oddities(filled(policy, site)))
    report = find_gaps(policies, release=options.to, site=site, assumed=_assumed(options), boundary=boundary)
    if options.remedy:
        print(_remedy(options, report, site=site, policies=policies))
    elif options.output == "json":
        print(json.dumps(report.as_json(), indent=2))
    else:
        print("\n".join(_table(report)))
    if options.after_hop:
        _say(_removals(policies, site, release=options.to))
    return 0 if report.ok else 1


def _read(path: str) -> Policy:
    try:
        with Path(path).open("rb") as file:
            text = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise BadPolicy(f"cannot be read: {reason}", where=path) from error
    return parse_policy(text, name=path)


def _site(options: argparse.Namespace, policies: Sequence[Policy]) -> Site:
    _check(options)
    told = {
        "cluster": options.cluster_name, "account": options.account, "region": options.region,
        "partition": options.partition or _partition_of(options.region), "queue": options.queue,
        "node_role": options.node_role or None,
    }  # fmt: skip
    read = {name: value for name, value in guessed(policies).items() if told[name] is None}
    _say(f"{name.replace('_', ' ')} not told, read from the policies: {value}" for name, value in sorted(read.items()))
    plain = {name: value for name, value in told.items() if value} | read
    roles = plain.pop("node_role", ())
    return Site(
        **plain,
        node_roles=(roles,) if isinstance(roles, str) else tuple(roles),
        assume_role_arn=options.assume_role_arn,
        extra_tags=dict(tag.split("=", 1) for tag in options.tag),
    )


def _partition_of(region: str | None) -> str | None:
    if region is None:
        return None
    return "aws-cn" if region.startswith("cn-") else "aws-us-gov" if region.startswith("us-gov-") else "aws"


def _check(options: argparse.Namespace) -> None:
    for name, form in _OPTION_FORMS.items():
        given = getattr(options, name)
        for value in given if isinstance(given, list) else [given]:
            if value and not re.fullmatch(form, value):
                raise BadInput(f"{value[:60]!r} is not in the form wanted", where=f"--{name.replace('_', '-')}")


def _assumed(options: argparse.Namespace) -> frozenset[Feature]:
    on = {Feature(name) for name in options.turned_on} | ({Feature.ASSUME_ROLE} if options.assume_role_arn else set())
    return (ASSUMED | on) - {Feature(name) for name in options.turned_off}


def _remedy(options: argparse.Namespace, report: Report, *, site: Site, policies: Sequence[Policy]) -> str:
    added = closing(report, site)
    _say(_stand_ins(site))
    _say(f"{one.probe.action}: no added statement helps, {one.answer.because}" for one in added.stubborn)
    if not added.statements:
        _say(["no statement has to be added"])
    documents = added.documents()
    match options.remedy:
        case "cloudformation":
            return as_cloudformation(documents, release=report.release)
        case "terraform":
            return as_terraform(documents, release=report.release)
        case "module":
            crowded = merged_size(policies, added.statements, site=site) > MANAGED_LIMIT
            return _module(options.module_version, report, added=added, crowded=crowded)
        case "merged":
            return as_json(merged(policies, added.statements, site=site))
        case _:
            return as_json(documents)


def _stand_ins(site: Site) -> list[str]:
    """Names in a remedy that nobody told, to be put right before it is used."""
    stand_ins = {"cluster name": SOME_CLUSTER, "account": SOME_ACCOUNT, "region": SOME_REGION}
    used = {"cluster name": site.cluster, "account": site.account, "region": site.region}
    return [f"{name} not told: {used[name]} stands in for it" for name, some in stand_ins.items() if used[name] == some]


def _module(told: str | None, report: Report, *, added: Closing, crowded: bool) -> str:
    version = module_version(told or "21.19.0")
    lines = [f"# terraform-aws-modules/eks/aws//modules/karpenter {version[0]}.{version[1]}"]
    for setting in module_settings(report, version):
        lines.append(f"# closes {', '.join(setting.closes)}: {setting.why}")
        lines.append(_setting(setting, added, major=version[0]))
    if crowded and (inline := inline_setting(version)):
        lines += [f"# more than 6,144 characters in all: {inline.why}", f"{inline.variable} = {inline.value}"]
    return "\n".join(lines)


def _setting(setting: Setting, added: Closing, *, major: int) -> str:
    if setting.variable == "iam_policy_statements":
        wanted = [one for one in added.statements if set(one.actions) & set(setting.closes)]
        return as_module_statements(wanted, major=major)
    return f"{setting.variable} = {setting.value}" if setting.variable else f'version = "~> {setting.upgrade_to}"'


def _removals(policies: Sequence[Policy], site: Site, *, release: str) -> list[str]:
    found = [
        f"{one.statement.where}: {'all of it' if one.whole else ', '.join(one.actions)}"
        for one in removable(policies, release=release, site=site)
    ]
    return ["may be removed once nobody wants to roll back:", *(found or ["nothing"])]


def _table(report: Report) -> list[str]:
    always = sum(gap.required == "always" for gap in report.gaps)
    lines = [f"Karpenter {report.release}: {always} needed, {len(report.gaps) - always} only under certain settings"]
    for gap in report.gaps:
        lines += _entry(gap)
    if report.legacy_gaps:
        lines += ["", "For capacity that Provisioners still own (keep the older document beside the new one):"]
        for gap in report.legacy_gaps:
            lines += _entry(gap)
    return lines


def _entry(gap: Gap) -> list[str]:
    rows = [
        f"{gap.verdict.value.upper():<21} {gap.action}  on {', '.join(gap.resource)}",
        f"  needed for {', '.join(gap.needed_for)}" + (f", when {gap.when}" if gap.when else ""),
        f"  {gap.effect}",
        *(f"  cause: {cause}" for cause in gap.causes[:3]),
        *(f"  logged: {log}" for log in gap.logs),
    ]
    return ["", *map(_shown, rows)]


def _say(lines: Iterable[str]) -> None:
    for line in lines:
        print(f"karpdash iam: {_shown(line)}", file=sys.stderr)


def _shown(text: str) -> str:
    """The text with control, bidi and broken characters as escapes: names in files are other people's."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)
