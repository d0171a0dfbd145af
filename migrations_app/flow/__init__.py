"""The arrows, in order: register, connect, collect, evaluate, save, schedule.

Transactions start and end here; no network call is made inside one."""
