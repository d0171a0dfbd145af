"""API servers: kubeconfig, transport, reading and writing."""
