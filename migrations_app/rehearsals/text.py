"""A rehearsal as text for a terminal."""

from collections.abc import Iterator

from migrations_app.rehearsals.result import NodeGroupCount, PoolUse, RehearsalResult

SCENARIOS = {
    "none": "as the cluster is",
    "full_zone": "no capacity in zone {zone}",
    "nodes_never_ready": "no new node becomes Ready",
    "webhook_down": "no webhook of Karpenter answers",
}
WHY = {
    "no_pool": "no pool takes them",
    "limit": "the limit of a pool is reached",
    "pod_rules": "their rules about other pods (affinity, spread) or the limits of pools leave no place",
    "no_capacity": "there is no capacity in a zone that they may run in",
    "no_size": "no instance size is large enough or allowed",
    "unknown": "no reason is known",
}
GIB = 2**30
_BAR = 40


def render(result: RehearsalResult) -> str:
    """The whole text; it ends in a line break."""
    return "\n".join(_lines(result)) + "\n"


def duration(seconds: int) -> str:
    """Text such as `2 h 05 min`, `12 min` or `40 s`: published as it is, for columns of a terminal. Pages write
    `duration_text`.
    """
    hours, minutes = seconds // 3600, seconds % 3600 // 60
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min" if minutes else f"{seconds} s"


def _lines(result: RehearsalResult) -> Iterator[str]:
    failure = SCENARIOS[result.scenario].format(zone=result.zone)
    yield f"{result.cluster}: {result.title} ({failure}; read {result.taken_at}; seed {result.seed})"
    yield from _ending(result)
    yield ""
    yield from _nodes(result)
    yield from _pods(result)
    yield from _timeline(result)
    if result.unknown:
        yield ""
        yield "Not known:"
        yield from (f"  {unknown_part.words}" for unknown_part in result.unknown)
    yield ""
    yield "Assumed:"
    yield from (f"  {words}" for words in result.assumptions)


def _ending(result: RehearsalResult) -> Iterator[str]:
    steps = f"{result.steps_done} of {result.steps} steps"
    if result.stopped is None:
        yield f"Finished after {duration(result.seconds)}: {steps}."
        return
    yield f"Stops after {duration(result.seconds)}: {steps}."
    yield f"  {result.stopped.step} ({result.stopped.code}): {result.stopped.words}"


def _nodes(result: RehearsalResult) -> Iterator[str]:
    peak = "not known" if result.nodes_peak is None else str(result.nodes_peak)
    yield f"Nodes: {result.nodes_before} before, {peak} at the peak, {result.nodes_after} at the end."
    yield from map(_group, result.groups or ())
    yield from (_use(pool) for pool in result.pools or () if limit_words(pool))


def _group(count: NodeGroupCount) -> str:
    pool = count.pool or "not Karpenter's"
    return f"  {pool:<28} {count.size:<14} {count.zone:<16} {count.before:>5} {count.peak:>5} {count.after:>5}"


def _use(pool_use: PoolUse) -> str:
    return f"  limit of {pool_use.pool}: {limit_words(pool_use)}"


def limit_words(pool_use: PoolUse) -> str:
    """Text of the pool's use and limits; empty for a pool without limits."""
    parts = []
    if pool_use.cpu_limit is not None:
        least, most = _cores(pool_use.cpu), _cores(pool_use.cpu_peak)
        parts.append(f"at most {most}, at the end {least} of {_cores(pool_use.cpu_limit)} cores")
    if pool_use.memory_limit is not None:
        least, most = _gib(pool_use.memory), _gib(pool_use.memory_peak)
        parts.append(f"at most {most}, at the end {least} of {_gib(pool_use.memory_limit)} GiB")
    return "; ".join(parts)


def _cores(thousandths: int | None) -> str:
    return "not known" if thousandths is None else f"{thousandths / 1000:g}"


def _gib(count: int | None) -> str:
    return "not known" if count is None else f"{count / GIB:.0f}"


def _pods(result: RehearsalResult) -> Iterator[str]:
    yield f"Pods: {result.pods_moved} moved; the longest wait for a place was {duration(result.longest_wait)}."
    for eviction in result.held or ():
        by = "annotations" if eviction.by == "annotation" else f"budget {eviction.by}"
        yield f"  {by} held {eviction.pods} pods, over {duration(eviction.seconds)}"
    if result.held is None:
        yield "  which evictions budgets refuse is not known"
    for gap in result.workloads:
        times = f"{duration(gap.seconds)}, at most {duration(gap.longest)} at a time"
        yield f"  {gap.workload} has no Ready pod for {times}"
    for budget in result.budgets or ():
        yield f"  budget {budget.budget} is {-budget.lowest} pods below for {duration(budget.seconds)}"
    for left in result.no_place or ():
        yield f"  no place for {left.count} pods such as {left.pod}: {WHY[left.why]}"
    if result.no_place is None:
        yield "  which pods find no place is not known"


def _timeline(result: RehearsalResult) -> Iterator[str]:
    moments = result.timeline
    if len(moments) < 2:
        return
    most = max(moment.nodes for moment in moments)
    yield ""
    yield f"{'time':>12}  nodes (of at most {most}), draining, coming, pods that wait"
    step = max(1, -(-len(moments) // 20))
    for moment in [*moments[::step], *moments[-1:]]:
        bar = "#" * round(moment.nodes / most * _BAR)
        counts = f"{moment.nodes:>5} {moment.draining:>4} {moment.coming:>4} {moment.waiting:>5}"
        yield f"{duration(moment.seconds):>12}  {bar:<{_BAR}} {counts}"
