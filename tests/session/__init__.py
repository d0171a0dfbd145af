"""What every run of the tests switches on; conftest.py calls it."""
