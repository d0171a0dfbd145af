"""karpdash: facts about Karpenter, readings of clusters, their evaluation, and changes of them. Lower layers first:

errors.py       the tree of errors, with stable codes; redaction.py and texts.py work on text
manifests/      reads and writes YAML and JSON under limits
karpenter/      facts about Karpenter's releases, as tables with sources
iam/            evaluates IAM policies; below requirements/ what the controller needs
conversion/     converts objects to the next generation
inventory/      what one scan read from one cluster
checks/         evaluation: one check a file, and the changes that fix what fails
actions/        what rollouts can do: steps with preconditions, postconditions, undo and gates
simulator/      plays Karpenter, the scheduler and kubelets
readiness/      from findings to a verdict, a runbook and offers of actions
access.py       who may prepare, start, stop and approve
journeys/       one hop of one cluster: its steps and their states
campaigns/      one recipe over many clusters: waves, limits and gates
clients/        the network: API servers, AWS, Helm, bundles
models/         rows; queries/ reads them
twin/           a Kubernetes API server in memory
collect/        reads one cluster into an inventory
execution/      carries out the steps of a plan, and proves them beforehand
rehearsals/     plays a plan on a twin before it is carried out on the cluster
use_cases/      changes rows and clusters
tasks.py        Celery tasks
web/            serves browsers, api/ other tools, cli/ terminals; templatetags/ helps the templates
samples/        the sample fleet
audit_verify.py verifies an exported audit log on its own

Everything from karpenter/ to campaigns/ uses neither Django nor the network, and neither do errors.py, redaction.py and
manifests/. clients/, twin/, collect/, execution/ and rehearsals/ use the network, but neither Django nor rows.
This module only holds the version and an address, so that they can be imported without both.
"""

__version__ = "0.1.0"
"""The release, for package metadata, `karpdash --version`, reports and the User-Agent."""
HOME_PAGE = "https://github.com/karpdash/karpdash"
"""The project's address, for links in package metadata and reports."""
