"""status: what is in the vault and what waits."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from skillvault.inspect.status import JudgeStatus, Status
    from skillvault.learning.accuracy import Accuracy
from skillvault.cli.options import echo, json_option, open_vault, print_json, vault_option

_SHOWN = 3  # edited files that are named


@click.command()
@vault_option
@json_option
def status(vault_path: Path | None, as_data: bool) -> None:
    """Show what is in the vault and what waits."""
    state = open_vault(vault_path).status()
    if as_data:
        print_json(state)
        return
    links = state.links["total"]
    echo(f"domains: {', '.join(state.domains) or 'none yet'}")
    echo(
        f"{_of(state.outcomes, 'outcome')}, {state.evaluations} evaluated, "
        f"{_of(state.facts, 'fact')}"
    )
    echo(
        f"{_of(state.skills, 'skill')}, {state.proposed} proposed, {state.archived} archived, "
        f"{_of(links, 'link')}"
    )
    if state.patterns or state.rules:
        click.echo(f"{_of(state.patterns, 'pattern')}, {_of(state.rules, 'rule')} in LEARNINGS.md")
    todo = [f"{step} {count}" for step, count in state.waiting.items() if count]
    echo(f"waiting: {', '.join(todo)}{_next_step(state)}" if todo else "nothing waits")
    later = {name: count for name, count in state.tomorrow.items() if count}
    if later:
        echo(f"until tomorrow (UTC): {_later(later)}; raise it in vault.yaml, or wait")
    if state.edited:
        files = ", ".join(state.edited[:_SHOWN])
        more = f" and {len(state.edited) - _SHOWN} more" if len(state.edited) > _SHOWN else ""
        echo(f"edited and not committed, so that what concerns it waits: {files}{more}")
    _print_judge(state.judge)
    if state.quarantine:
        echo(f"quarantine: {state.quarantine} file(s); `skillvault quarantine list` says why")
    if state.git:
        echo(f"{state.git}; {_of(state.inbox, 'file')} in inbox/ wait for it to end")
    _print_team(state)
    if state.paused:
        echo(f"paused: {state.paused}")


def _print_team(state: "Status") -> None:
    """What a person of a team has to see to."""
    if state.unpushed:
        echo(f"{_of(state.unpushed, 'commit')} not pushed; next: skillvault sync")
    if state.silent:
        echo(state.silent)
    for key, values in state.undecided.items():
        echo(f"vault.yaml: {key} is {' or '.join(values)}; write one, and remove the comment")


def _later(counts: dict[str, int]) -> str:
    """What of untrusted sources waits, and for which setting."""
    words = {
        "record": ("file", "in inbox/untrusted/ (record.untrusted_per_day)"),
        "evaluate": ("untrusted outcome", "without a verdict (evaluate.untrusted_per_day)"),
    }
    return ", ".join(f"{_of(n, words[step][0])} {words[step][1]}" for step, n in counts.items())


def _next_step(state: "Status") -> str:
    """What a person can do about what waits; nothing while the vault is paused."""
    if state.paused:
        return ""
    step = (
        "commit or undo what is edited, then skillvault run" if state.edited else "skillvault run"
    )
    return f"; next: {step}"


def _print_judge(judge: "JudgeStatus") -> None:
    """What a paid judge took today, whether it is asked, and how often it was right."""
    if judge.provider == "agent":
        echo("judge: agent; `skillvault ask` prints what it may answer")
    if judge.provider == "claude":
        took = f"{_of(judge.calls, 'call')}, {_of(judge.tokens, 'token')}, ${judge.usd:.4f}"
        echo(f"judge: {judge.model}; today {took}")
        if judge.closed:
            echo(f"not asked now: {judge.closed}")
    if judge.aside:
        count = _of(len(judge.aside), "outcome")
        echo(f"set aside: {count} that the judge failed at; `skillvault run --retry` asks again")
    if judge.accuracy:
        echo(f"verdicts: {_record(judge.accuracy)}")


def _record(accuracy: "Accuracy") -> str:
    """A judge's balanced accuracy, on what it rests, and what follows if it is chance."""
    rests = f"{accuracy.successes} that succeeded and {accuracy.failures} that failed"
    ends = f"{accuracy.low:.2f} to {accuracy.high:.2f}"
    chance = "; no better than chance, so that the judge does not advise" * accuracy.is_chance
    return f"balanced accuracy {accuracy.balanced:.2f} ({ends}) on {rests}{chance}"


def _of(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
