"""Writes the files that are generated from the code: `python -m karpdash.docs`; with --check it only lists outdated
files.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from karpdash.configuration.declaration import PREFIX, Setting
from karpdash.configuration.env import settings
from migrations_app.actions.registry import all_actions
from migrations_app.checks.docs import coverage_page
from migrations_app.checks.docs import page as checks_page
from migrations_app.checks.registry import all_checks
from migrations_app.karpenter.coverage.entries import CHANGES, KNOWN_PROBLEMS
from migrations_app.readiness.outputs.json_schema import scan_schema, typed_plan_schema
from migrations_app.readiness.rbac import docs
from migrations_app.readiness.rbac.agent_manifest import AgentInstallation, agent_manifest
from migrations_app.readiness.rbac.controller_roles import cluster_rules, controller_file, release_rules
from migrations_app.readiness.rbac.delivery_roles import deliveries_file
from migrations_app.readiness.rbac.roles import body, scan_rules

DOCS = Path(__file__).resolve().parent.parent / "docs"
DEPLOY = "../deploy"
CHARTS = f"{DEPLOY}/helm"
SERVER = "https://karpdash.example.com"
OF_CHART = frozenset({
    "data_dir", "database_url", "broker_url", "secret_key", "encryption_keys", "audit_signing_key", "audit_token",
    "audit_url", "audit_file", "allowed_hosts", "https", "behind_proxy", "plain_http", "probe_slots", "worker_slots",
    "action_slots", "alive_file",
})  # fmt: skip
"""Settings that the chart derives from other values; its `settings` value may not contain them."""


def pages() -> dict[str, str]:
    """Returns the text of each generated file, by its path relative to docs."""
    scan = json.dumps(scan_schema(), indent=2) + "\n"
    return {
        "settings.md": settings_page(),
        "checks.md": checks_page(all_checks()),
        "coverage.md": coverage_page(CHANGES, KNOWN_PROBLEMS),
        "permissions.md": docs.permissions_page(all_actions()),
        "schema/scan-v1.json": scan,
        "schema/plan-v2.json": json.dumps(typed_plan_schema(), indent=2) + "\n",
        f"{DEPLOY}/rbac/scan.yaml": docs.scan_file(),
        f"{DEPLOY}/rbac/act.yaml": docs.act_file(all_actions()),
        f"{DEPLOY}/rbac/upgrade-controller.yaml": controller_file(),
        f"{DEPLOY}/rbac/deliveries.yaml": deliveries_file(all_actions()),
        **_chart_files(),
        f"{DEPLOY}/agent/agent.yaml": agent_manifest(AgentInstallation(server=SERVER)),
        f"{DEPLOY}/agent/agent-acting.yaml": agent_manifest(AgentInstallation(server=SERVER, actions=all_actions())),
    }


def _chart_files() -> dict[str, str]:
    """Returns the files of the charts that are generated or copied: rules of the roles, alerts, dashboard, names of
    settings.
    """
    rules = docs.chart_files(all_actions())
    files = {f"{CHARTS}/{chart}/files/{name}": text for chart in ("karpdash", "karpdash-agent")
             for name, text in rules.items()}  # fmt: skip
    of_agent = {"scan": scan_rules(), "upgrade": cluster_rules(), "upgrade-release": release_rules()}
    files |= {
        f"{CHARTS}/karpdash-agent/files/{name}-rules.yaml": body(role_rules) for name, role_rules in of_agent.items()
    }
    for name, source in (("alerts.yaml", "prometheus/alerts.yaml"), ("dashboard.json", "grafana/karpdash.json")):
        files[f"{CHARTS}/karpdash/files/{name}"] = (DOCS / DEPLOY / source).read_text()
    schema = f"{CHARTS}/karpdash/values.schema.json"
    return files | {schema: values_schema((DOCS / schema).read_text())}


def values_schema(text: str) -> str:
    """Returns the schema of the chart's values, which allows exactly the settings of this release."""
    schema = json.loads(text)
    names = {setting.variable.removeprefix(PREFIX).lower(): setting.secret for setting in settings()}
    allowed = {
        *(name for name, secret in names.items() if not secret),
        *(f"{name}_file" for name in names if names[name]),
    }
    of_chart = OF_CHART | {f"{name}_file" for name in OF_CHART}
    schema["properties"]["settings"]["propertyNames"] = {"enum": sorted(allowed - of_chart)}
    known = [PREFIX + name.upper() for name in sorted({*names, *allowed} - of_chart)]
    schema["definitions"]["variable"] = {"anyOf": [{"not": {"pattern": f"^{PREFIX}"}}, {"enum": known}]}
    return json.dumps(schema, indent=2) + "\n"


def settings_page() -> str:
    """Returns the page with the table of settings."""
    lines = [
        "# Settings",
        "",
        "Environment variables, read once at start. A wrong value stops the start with its name; so does a variable",
        "that begins with `KARPDASH_` and is not in the table. Where a file is allowed, `NAME_FILE` may give the path",
        "of a file that holds the value, such as a Docker or Kubernetes secret, instead of `NAME`.",
        "",
        "| variable | default | allowed | what it does |",
        "| --- | --- | --- | --- |",
    ]
    lines += map(_setting_row, settings())
    return "\n".join(lines) + "\n"


def _setting_row(setting: Setting) -> str:
    allowed = "text or file" if setting.secret else setting.allowed
    return f"| `{setting.variable}` | {_code(setting.default)} | {allowed} | {setting.doc} |"


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def outdated_pages(folder: Path = DOCS) -> list[str]:
    """Returns the names of the pages whose file differs from the code."""
    return [name for name, text in pages().items() if not _is_current(folder / name, text)]


def _is_current(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text() == text


def main(argv: Sequence[str]) -> int:
    """Returns 0 if no file is outdated any more; 1 if --check finds an outdated file."""
    outdated = outdated_pages()
    if list(argv) == ["--check"]:
        print("\n".join(f"out of date: {_display_path(name)}" for name in outdated), file=sys.stderr)
        return 1 if outdated else 0
    for name in outdated:
        (DOCS / name).parent.mkdir(parents=True, exist_ok=True)
        (DOCS / name).write_text(pages()[name])
        print(f"wrote {_display_path(name)}")
    return 0


def _display_path(name: str) -> str:
    return name.removeprefix("../") if name.startswith("../") else f"docs/{name}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
