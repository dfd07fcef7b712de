"""The day's work: STEPS and run(). Each step asks the vault what is due and yields Changes.

The command line, the daemon and a git hook call the same `run`. A dry run takes the same
path, lays each change on the snapshot, and publishes nothing.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from skillvault.change import Change
from skillvault.errors import PausedError, UsageError
from skillvault.records import Link
from skillvault.steps import assess, evaluate, expire, generate, merge, promote, record
from skillvault.steps.run import Report, Run

Step = Callable[[Run], Iterator[Change]]

STEPS: Mapping[str, Step] = {
    "record": record.step,
    "evaluate": evaluate.step,
    "promote": promote.step,
    "generate": generate.step,
    "merge": merge.step,
    "assess": assess.step,
    "expire": expire.step,
}


def run(state: Run, wanted: Sequence[str] = ()) -> Report:
    """Do what is due in these steps, all by default, in the order of the loop."""
    unknown = [name for name in wanted if name not in STEPS]
    if unknown:
        raise UsageError(f"{unknown[0]}: no such step; there are {', '.join(STEPS)}")
    paused = state.store.paused(state.policy)
    if paused and not state.dry:
        raise PausedError(f"paused: {paused}")
    for name, step in STEPS.items():
        if not wanted or name in wanted:
            # What is learned rests on what is published; a verdict needs its outcome alone.
            if name != evaluate.STEP:
                state.flush()
            for change in step(state):
                state.perform(change)
    state.flush()
    state.report.rejected = sorted(set(state.report.rejected))
    return state.report


def counts(report: Report) -> dict[str, int]:
    """How many insights became memory, how many patterns skills, how many links were made."""
    links = [w for done in report.done for w in done.change.writes if isinstance(w, Link)]
    types = [link.type for link in links]
    return {
        "insights_to_memory": types.count("promoted"),
        "patterns_to_skills": len({link.target for link in links if link.type == "derived"}),
        "links_created": len(links),
    }
