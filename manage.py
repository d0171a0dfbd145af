"""Django's own door: schema steps and the shell. Everything for users is in the `karpdash` command."""

import os
import sys

from karpdash.processes.python_gc import collect_seldom

if __name__ == "__main__":
    collect_seldom()
    from django.core.management import execute_from_command_line

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "karpdash.settings")
    import karpdash.monitoring.schema  # noqa: F401 - its check of the database is one of `migrate`

    execute_from_command_line(sys.argv)
