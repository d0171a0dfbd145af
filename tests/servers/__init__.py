"""Real servers for tests: etcd with kube-apiserver, Redis, PostgreSQL, chromium. One module for each server.

Nothing here imports the product. Every server listens on loopback only and ends with the process that started it.
"""
