"""The objects that actions work on: nodes, pools, CRDs, workloads."""
