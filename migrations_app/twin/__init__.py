"""The twin: a Kubernetes API server in memory, with the rules by which a real one accepts, changes and deletes objects.

Here belongs what the API server itself does, and its garbage collector. Schedulers, kubelets, budget controllers and
Karpenter do not: the simulator plays them. `server.Twin.request` is the one entrance; `ports` gives it the shapes that
scans, rollouts and the simulator ask for. Documents that go in or come out are never changed in place afterwards.
`docs/twin.md` lists where the twin differs from a real server, and why.
"""
