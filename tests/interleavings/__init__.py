"""Every order of what workers, people, the sweep, kills and API answers do to a rollout, with the product's own code.

The product runs as it is, on SQLite and a twin; each place where a worker reads, writes or asks the API server is a
place where something else may come between. `python -m tests.interleavings --depth 2` walks all orders with two
interruptions.
"""
