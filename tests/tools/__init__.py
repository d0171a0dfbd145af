"""Commands that run tests in other ways, or make what the docs show."""
