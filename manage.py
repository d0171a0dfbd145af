"""Django's own door: schema steps and the shell. Everything for users is in the `karpdash` command."""

import os
import sys

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "karpdash.settings")
    execute_from_command_line(sys.argv)
