"""A stand-in for everything that acts in a cluster beside its API server, as far as rollouts need it.

`Standin` is Karpenter, the scheduler, kubelets, the controllers of replicas and budgets, and the garbage collector in
one thread. It speaks to the API server only, decides the same in every run, and can be told to misbehave.
"""
