"""`karpdash agent`: runs in a cluster that karpdash cannot reach, connects to karpdash, and forwards its requests to
the API server.
"""

import argparse
import re
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from migrations_app.cli import version
from migrations_app.cli.sources import reachable
from migrations_app.cli.terminal import Exit, show
from migrations_app.clients.secret import Secret
from migrations_app.errors import InvalidInput

if TYPE_CHECKING:
    from migrations_app.clients.agents.dial_loop import Agent
    from migrations_app.clients.kubernetes.connection import Connection

LONGEST_TOKEN = 1000
_NAMESPACE = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,250}")


def run(argv: list[str]) -> int:
    """Returns 0: stopped by a signal; 2: wrong usage, or a release that the server does not support; 3: refused."""
    options = make_parser().parse_args(argv)
    if options.print_manifest:
        show(_manifest(options))
        return int(Exit.READY)
    agent = _agent(options)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: agent.stop())
    agent.serve()
    return int(Exit.READY)


def make_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = argparse.ArgumentParser(
        prog="karpdash agent",
        description="Carry the requests of a karpdash server to a cluster that it cannot reach. The agent dials out; "
        "HTTPS_PROXY and NO_PROXY are followed.",
    )
    parser.add_argument("--server", metavar="URL", required=True, help="the karpdash server, an https URL")
    parser.add_argument("--token-file", metavar="FILE", type=Path, help="the agent's token, as the page showed it once")
    parser.add_argument("--ca-file", metavar="FILE", type=Path, help="CAs of the server; else those of the system")
    parser.add_argument(
        "--kubeconfig", metavar="FILE", type=Path, help="the cluster; else the service account of this pod"
    )
    parser.add_argument("--context", metavar="C", default="", help="context of the kubeconfig; else its current one")
    parser.add_argument(
        "--act",
        action="store_true",
        help="carry changes that the actions declare, too; the account needs the ClusterRole karpdash-act",
    )
    parser.add_argument(
        "--upgrade-controller",
        metavar="NAMESPACE",
        default="",
        help="with --act: carry runs of helm on Karpenter's release in that namespace, too; the account needs the "
        "roles karpdash-upgrade-controller",
    )
    parser.add_argument(
        "--alive-file", metavar="FILE", type=Path, help="a file to touch while it works, for `python -m karpdash.alive`"
    )
    manifest = parser.add_argument_group("the manifest that installs it")
    manifest.add_argument("--print-manifest", action="store_true", help="print it and end; a token is not needed")
    manifest.add_argument("--image", default="IMAGE", help="the image of karpdash (default: %(default)s)")
    manifest.add_argument("--namespace", default="karpdash", help="where the agent runs (default: %(default)s)")
    manifest.add_argument(
        "--release-namespace", default="kube-system", help="of Karpenter's Helm release (default: %(default)s)"
    )
    manifest.add_argument("--proxy", metavar="URL", default="", help="the way to the server; without a password")
    manifest.add_argument(
        "--ca-config-map", metavar="NAME", default="", help="with ca.crt: CAs of the server; else those of the system"
    )
    return parser


def _manifest(options: argparse.Namespace) -> str:
    from migrations_app.actions.registry import all_actions
    from migrations_app.clients.agents.server_link import checked_proxy, checked_url
    from migrations_app.readiness.rbac.agent_manifest import AgentInstallation, agent_manifest

    _check_helm(options)
    for name in ("image", "namespace", "release_namespace", "ca_config_map"):
        if not _WORD.fullmatch(getattr(options, name) or "none"):
            raise InvalidInput("is no name that a manifest can hold", where=f"--{name.replace('_', '-')}")
    installation = AgentInstallation(
        server=checked_url(options.server),
        image=options.image,
        namespace=options.namespace,
        release_namespace=options.release_namespace,
        proxy=checked_proxy(options.proxy) if options.proxy else "",
        ca_config_map=options.ca_config_map,
        actions=all_actions() if options.act else (),
        helm_in=options.upgrade_controller,
    )
    return agent_manifest(installation)


def _check_helm(options: argparse.Namespace) -> None:
    """Raises InvalidInput unless upgrades of the controller are requested for a namespace, and by an agent with write
    permissions.
    """
    if options.upgrade_controller and not options.act:
        raise InvalidInput("goes with --act only", where="--upgrade-controller")
    if options.upgrade_controller and not _NAMESPACE.fullmatch(options.upgrade_controller):
        raise InvalidInput("is no name of a namespace", where="--upgrade-controller")


def _agent(options: argparse.Namespace) -> "Agent":
    from migrations_app.clients.addresses import OutboundPolicy
    from migrations_app.clients.agents.api_target import ApiTarget
    from migrations_app.clients.agents.call_rules import AllowedCalls
    from migrations_app.clients.agents.dial_loop import Agent
    from migrations_app.clients.agents.server_link import ServerLink
    from migrations_app.clients.kubernetes.limits import DEFAULT
    from migrations_app.clients.liveness_file import LivenessFile

    if options.token_file is None:
        raise InvalidInput("is needed", where="--token-file")
    _check_helm(options)
    if options.context and not options.kubeconfig:
        raise InvalidInput("goes with --kubeconfig only", where="--context")
    server = ServerLink(options.server, _token(options.token_file), ca_file=options.ca_file)
    reachable_addresses = reachable()
    reach = OutboundPolicy(
        allow_loopback=reachable_addresses.allow_loopback,
        allow_private=reachable_addresses.allow_private,
        allowed=reachable_addresses.allowed,
    )
    target = ApiTarget(lambda: _connection(options), reach=reach, limits=DEFAULT)
    return Agent(
        server,
        target,
        allowed=AllowedCalls(acts=options.act, helm_in=options.upgrade_controller),
        version=version(),
        report=_say,
        alive=LivenessFile(options.alive_file),
    )


def _connection(options: argparse.Namespace) -> "Connection":
    from migrations_app.clients.kubernetes.kubeconfig import in_cluster, read_kubeconfig

    if options.kubeconfig is None:
        return in_cluster()
    return read_kubeconfig(_content(options.kubeconfig), context=options.context)


def _token(path: Path) -> Secret:
    text = _content(path).decode("ascii", "replace").strip()
    if not text or len(text) > LONGEST_TOKEN or not text.isprintable() or not text.isascii() or " " in text:
        raise InvalidInput("holds no token", where=str(path))
    return Secret(text)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"cannot be read: {error.strerror}", where=str(path)) from None


def _say(line: str) -> None:
    print(f"karpdash agent: {line}", file=sys.stderr, flush=True)
