"""The arrows, in order: register (draft, prove), connect, collect, evaluate, save (and keep), schedule, convert.

Transactions start and end here; no network call is made inside one."""
