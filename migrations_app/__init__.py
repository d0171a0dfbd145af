"""karpdash: knowledge about Karpenter, readings of clusters, their evaluation, and changes of them.

karpenter/   knowledge: releases, kinds, labels, hops; conversion/ and iam/ convert and permit
inventory/   what was read from one cluster at one time
checks/      evaluation: one check a file
readiness/   from findings to a checklist, a verdict and an upgrade path
clients/     the network: API servers, AWS, bundles
models/      rows; queries/ reads them; use_cases/ changes them
tasks.py     Celery tasks; web/ serves browsers, api/ tools, cli/ terminals
samples/     the sample fleet

The upper four use neither Django nor the network, and this module only holds the version, so that they can be
imported without both.
"""

__version__ = "0.1.0"
"""The release, for package metadata, `karpdash --version`, reports and the User-Agent."""
HOME_PAGE = "https://github.com/karpdash/karpdash"
"""The project's address, for links in package metadata and reports."""
