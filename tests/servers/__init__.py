"""Real servers for tests: etcd with kube-apiserver, Redis, PostgreSQL, chromium. One module a server.

Nothing here knows the product. Everything listens on loopback only and dies with the process that started it.
"""
