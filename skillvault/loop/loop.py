"""The loop: each step asks the vault what is due and yields Changes.

The command line, the daemon and a git hook call the same `run`. A dry run takes the same
path, lays each change on the snapshot, and publishes nothing.
"""

from collections.abc import Sequence

from skillvault.loop.learner import learner_elsewhere
from skillvault.loop.registry import STEPS, Step
from skillvault.loop.run import Report, Run
from skillvault.model.errors import PausedError, UsageError
from skillvault.model.records import Link, Recommendation


def run(state: Run, names: Sequence[str] = ()) -> Report:
    """Do what is due in these steps, all by default, in the order of the loop."""
    unknown = [name for name in names if name not in STEPS]
    if unknown:
        raise UsageError(f"{unknown[0]}: no such step; there are {', '.join(STEPS)}")
    paused = state.store.pause_reason(state.policy)
    if paused and not state.options.dry:
        raise PausedError(f"paused: {paused}")
    state.report.learner = learner_elsewhere(state.store.git, state.policy)
    chosen = [
        step
        for name, step in state.rules.steps.items()
        if (not names or name in names) and (step.everywhere or not state.report.learner)
    ]
    for step in chosen:
        has_changed = _do(state, step)
        for name in step.wakes if has_changed else ():
            if (woken := state.rules.steps[name]) in chosen:
                _do(state, woken)
    state.flush()
    state.report.rejected = sorted(set(state.report.rejected))
    return state.report


def _do(state: Run, step: Step) -> bool:
    """Do what is due in a step; whether that was anything."""
    count = 0
    for count, change in enumerate(step.run(state), 1):  # noqa: B007 (it is what is left)
        state.perform(change)
    return count > 0


def counts(report: Report) -> dict[str, int]:
    """How much a run did.

    How many insights became memory, how many patterns skills, how many links were made; how many
    receipts were taken in; of the decisions that it saw end how many uses of skills they show,
    how many of the skills that they were shown know it now, and of how many the numbers are new.
    """
    writes = [record for done in report.done for record in done.change.writes]
    links = [record for record in writes if isinstance(record, Link)]
    uses = report.uses()
    types = [link.type for link in links]
    return {
        "insights_to_memory": types.count("promoted"),
        "patterns_to_skills": len({link.target for link in links if link.type == "derived"}),
        "links_created": len(links),
        "recommendations_created": sum(isinstance(record, Recommendation) for record in writes),
        "detections": sum(use.match != "none" for use in uses),
        "skills_updated": sum(bool(use.offer) for use in uses),
        "effectiveness_recalculated": len({use.skill for use in uses}),
    }
