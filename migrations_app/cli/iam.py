"""`karpdash iam`: compares policy files with what a Karpenter release needs from AWS, without database or network."""

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path

from migrations_app.clients.local_files import beginning
from migrations_app.errors import InvalidInput, InvalidPolicy
from migrations_app.iam.policy import IamPolicy, parse_policy
from migrations_app.iam.requirements.evaluation import CHOSEN, EvaluationRequest, EvaluationResult, evaluate_request
from migrations_app.iam.requirements.features import ASSUMED, Feature
from migrations_app.iam.requirements.gaps import BoundaryAnswer, Gap, GapReport
from migrations_app.iam.requirements.output import NEWEST_MODULE, REMEDY_FORMS, remedy, removal_lines
from migrations_app.iam.requirements.remedies import removable
from migrations_app.iam.templates import MAX_TEMPLATE_BYTES, policy_texts
from migrations_app.readiness.missing_rows import require_rows


def run(argv: list[str]) -> int:
    """Returns 0: nothing is missing; 1: there are gaps; 2: wrong usage or unreadable input."""
    try:
        return _judge(make_parser().parse_args(argv))
    except SystemExit as stop:  # argparse has printed its message
        return stop.code if isinstance(stop.code, int) else 2
    except InvalidInput as error:
        print(f"karpdash iam: {_escaped(str(error))}", file=sys.stderr)
        return 2


def make_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = argparse.ArgumentParser(
        prog="karpdash iam",
        description="Find what the policies of the controller lack for a release of Karpenter.",
        epilog="Exit codes: 0 nothing is missing; 1 there are gaps; 2 wrong usage or unreadable input.",
    )
    parser.add_argument(
        "--policy", metavar="FILE", nargs="+", action="extend", required=True, help="policy document; - for stdin"
    )
    parser.add_argument("--to", metavar="RELEASE", required=True, help="release to judge for, such as 0.32 or 1.0.14")
    parser.add_argument("--boundary", metavar="FILE", help="permissions boundary of the role")
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table")
    parser.add_argument("--remedy", choices=REMEDY_FORMS)
    parser.add_argument(
        "--module-version",
        metavar="V",
        default=NEWEST_MODULE,
        help="version of the Terraform EKS module, for --remedy module",
    )
    parser.add_argument("--after-hop", action="store_true", help="also list what may be removed after the hop")
    _add_site(parser)
    _add_assumptions(parser)
    return parser


def _add_site(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "names", "fill placeholders and requests; what is not told is read from the files"
    )
    group.add_argument("--cluster-name", metavar="N", default="")
    group.add_argument("--account", metavar="A", default="")
    group.add_argument("--region", metavar="R", default="")
    group.add_argument("--partition", metavar="P", default="")
    group.add_argument("--node-role", metavar="R", action="append", default=[], help="may be repeated")
    group.add_argument("--queue", metavar="Q", default="")
    group.add_argument(
        "--assume-role-arn", metavar="ARN", default="", help="role the controller assumes (0.30 to 0.37)"
    )
    group.add_argument(
        "--tag", metavar="KEY=VALUE", action="append", default=[], help="tag in spec.tags of node classes"
    )


def _add_assumptions(parser: argparse.ArgumentParser) -> None:
    choices = [feature.value for feature in CHOSEN]
    on = ", ".join(sorted(feature.value for feature in ASSUMED))
    group = parser.add_argument_group("settings of the cluster", f"on unless told otherwise: {on}")
    group.add_argument("--with", dest="turned_on", metavar="SETTING", choices=choices, action="append", default=[])
    group.add_argument("--without", dest="turned_off", metavar="SETTING", choices=choices, action="append", default=[])


def _judge(options: argparse.Namespace) -> int:
    require_rows()
    question = _request_of(options)
    for name, value in question.wrong():
        raise InvalidInput(f"{value[:60]!r} is not in the form wanted", where=f"--{name.replace('_', '-')}")
    answer = evaluate_request(question)
    _say(f"{name.replace('_', ' ')} not told, read from the policies: {value}" for name, value in answer.read.items())
    _say(answer.odd)
    if options.remedy:
        print(_remedy(options, answer))
    elif options.output == "json":
        print(json.dumps(answer.report.as_json(), indent=2))
    else:
        print("\n".join(_table(answer.report)))
    if options.after_hop:
        removals = removable(answer.policies, release=options.to, site=answer.site)
        _say(["may be removed once a rollback is no longer needed:", *removal_lines(removals)])
    return 0 if answer.report.ok else 1


def _request_of(options: argparse.Namespace) -> EvaluationRequest:
    return EvaluationRequest(
        release=options.to,
        policies=tuple(policy for path in options.policy for policy in _read(path)),
        boundary=None if options.boundary is None else _read(options.boundary),
        cluster_name=options.cluster_name,
        account=options.account,
        region=options.region,
        partition=options.partition,
        queue=options.queue,
        node_role=tuple(options.node_role),
        assume_role_arn=options.assume_role_arn,
        tag=tuple(options.tag),
        turned_on=frozenset(map(Feature, options.turned_on)),
        turned_off=frozenset(map(Feature, options.turned_off)),
    )


def _read(path: str) -> tuple[IamPolicy, ...]:
    """Returns the policy of a file, or the policies of a template."""
    texts = policy_texts(_content(path), name=path)
    if path not in texts:
        _say([f"policies read from the template: {', '.join(name.removeprefix(f'{path}: ') for name in texts)}"])
    return tuple(parse_policy(text, name=name) for name, text in texts.items())


def _content(path: str) -> bytes:
    try:
        return beginning(Path(path), MAX_TEMPLATE_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InvalidPolicy(f"cannot be read: {reason}", where=path) from error


def _remedy(options: argparse.Namespace, answer: EvaluationResult) -> str:
    added = remedy(answer.report, answer.site, policies=answer.policies)
    _say(added.remarks())
    return added.text(options.remedy, version=options.module_version)


def _table(report: GapReport) -> list[str]:
    always = sum(gap.required == "always" for gap in report.gaps)
    lines = [f"Karpenter {report.release}: {always} needed, {len(report.gaps) - always} only under certain settings"]
    for gap in report.gaps:
        lines += _entry(gap)
    if report.legacy_gaps:
        lines += ["", "For capacity that Provisioners still own (keep the older document beside the new one):"]
        for gap in report.legacy_gaps:
            lines += _entry(gap)
    return lines


_BOUNDARY: dict[BoundaryAnswer, str] = {
    "refused": "the permissions boundary refuses it and has to be extended as well",
    "unknown": "it is not certain that the permissions boundary lets it through",
}


def _entry(gap: Gap) -> list[str]:
    rows = [
        f"{gap.verdict.value.upper():<21} {gap.action}  on {', '.join(gap.resource)}",
        f"  needed for {', '.join(gap.needed_for)}" + (f", when {gap.when}" if gap.when else ""),
        f"  {gap.effect}",
        *(f"  cause: {cause}" for cause in gap.causes[:3]),
        *([f"  boundary: {_BOUNDARY[gap.boundary]}"] if gap.boundary else []),
        *(f"  logged: {log}" for log in gap.logs),
    ]
    return ["", *map(_escaped, rows)]


def _say(lines: Iterable[str]) -> None:
    for line in lines:
        print(f"karpdash iam: {_escaped(line)}", file=sys.stderr)


def _escaped(text: str) -> str:
    """Returns the text with control, bidi and invalid characters escaped, since names in files are untrusted."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)
