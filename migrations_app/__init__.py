"""The product: what is known about Karpenter, what was seen in a cluster, how it is judged, what may be done.

karpenter/   knowledge: releases, kinds, labels, hops; conversion/ and iam/ what they convert and permit
inventory/   what was seen in one cluster at one moment
checks/      judging: one question a file
readiness/   from findings to a checklist, a verdict and a path
clients/     the network: API servers, AWS, bundles
models/      rows; queries/ reads them; use_cases/ changes them
tasks.py     Celery tasks; web/ serves browsers, api/ tools, cli/ terminals
samples/     the sample fleet

The upper four hold no Django and no network, and this module holds only the version, so that they import
without either.
"""

__version__ = "0.1.0"
"""The release. Metadata of the package, `karpdash --version`, reports and the User-Agent take it from here."""
HOME_PAGE = "https://github.com/karpdash/karpdash"
"""Where the project lives: links of the package's metadata and of reports begin with it."""
