"""run, distill: do the due work, and print a report. Other commands share the printing."""

import shlex
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from skillvault import api
from skillvault.api import Vault, question
from skillvault.cli.hook import ask_in_background
from skillvault.cli.options import (
    MAX_LISTED,
    Options,
    echo,
    list_some,
    print_json,
    say,
    track,
    write_options,
)
from skillvault.inspect import lookup
from skillvault.learning.rejection import Rejection
from skillvault.loop.registry import STEPS
from skillvault.loop.run import ChangeResult, Report, WaitingWork, count_results
from skillvault.model.change import Change
from skillvault.model.errors import UnavailableError, UsageError
from skillvault.model.records import Link, Record, Ref, Skill
from skillvault.model.text.text import pluralize
from skillvault.vault.files import layout

_REMOVALS_FILE = "noted-removals"  # the file of the removals that a clone has printed


# ── run ──────────────────────────────────────────────────────────────────────────────


@click.command()
@click.argument("steps", nargs=-1, metavar="[STEP]...", type=click.Choice(list(STEPS)))
@click.option(
    "--batch", is_flag=True, help="Send all questions to Claude as one batch, at half price."
)
@click.option(
    "--code",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Search this folder of code instead of those in vault.yaml; repeatable.",
)
@click.option("--retry", is_flag=True, help="Ask the judge again about outcomes it failed at.")
@click.option(
    "--upgrade",
    is_flag=True,
    help="Weigh the records of earlier versions by the rules of today, in one commit.",
)
@click.option("-v", "--verbose", is_flag=True, help="Say why no skill and no fact was made.")
@write_options
def run(
    steps: tuple[str, ...],
    batch: bool,
    code: tuple[Path, ...],
    retry: bool,
    upgrade: bool,
    verbose: bool,
    options: Options,
) -> None:
    """Do what is due, and print one line for each commit.

    Does only these STEPs, or by default all, from the inbox to expiry.
    """
    vault = options.open_vault()
    if upgrade:
        if steps or batch or code or retry:
            raise UsageError("--upgrade learns again from all records; remove the other arguments")
        report = api.upgrade(vault, **options.keywords)
        print_json(run_shape(report)) if options.as_json else print_recomputed(report)
        return
    if batch and options.dry:
        raise UsageError(
            "--batch sends paid requests, so it cannot be a dry run; remove --batch or --dry-run"
        )
    if code and steps and "capture" not in steps:
        raise UsageError("--code is for the step capture; name that step too, or no step")
    if retry:
        vault.store.ledger.forget_failures()
    on_done = None if options.as_json else print_done
    report = vault.run(
        steps, **options.keywords, on_done=on_done, track=track, batch=batch, code=code
    )
    if options.as_json:
        print_json(run_shape(report))
        print_refused(report)
    else:
        print_run(vault, report, verbose=options.dry or verbose)
        if report.is_fruitless and steps != ("capture",):  # capture makes neither of them
            _explain_fruitless(vault, report, verbose=verbose)
    if not options.dry:
        ask_in_background(vault)
    if report.unavailable and not batch:
        sys.exit(UnavailableError.exit_code)


def run_shape(report: Report) -> dict[str, Any]:
    """Return the JSON of `run --json`."""
    return {
        "changes": [_change_shape(result) for result in report.done],
        "waiting": report.waiting,
        "rejected": report.rejected,
        "counts": count_results(report),
        "problems": report.problems,
        "broken": report.broken,
        "learner": report.learner,
    }


def _change_shape(result: ChangeResult) -> dict[str, Any]:
    change = result.change
    return {
        "step": change.step,
        "subject": change.headline,
        "targets": [str(ref) for ref in change.targets],
        "sources": [str(ref) for ref in change.sources],
        "commit": result.commit,
    }


def print_run(vault: Vault, report: Report, *, verbose: bool = False) -> None:
    """Print the report of a run except its commits, which are printed already."""
    print_refused(report)
    if report.learner:
        say(
            f"{report.learner} learns; this clone records (`skillvault sync --take-over` lets it "
            "learn)"
        )
    for problem in report.problems:
        say(f"{problem.path}: {problem.message} [{problem.code}]")
    for rule in report.broken:
        say(f"broken: {rule.rule}: {', '.join(rule.places)}")
    print_waiting(report.waiting)
    _print_proposed(report)
    _print_rejected(vault, report, verbose=verbose)


def _explain_fruitless(vault: Vault, report: Report, *, verbose: bool) -> None:
    """Say that a run made no skill and no fact. Reasons are slow, so they need `verbose`."""
    if not verbose:
        snapshot = vault.store.snapshot()
        if not (report.done or report.waiting or snapshot.outcomes or snapshot.sessions):
            say("nothing to learn from yet; `skillvault record --example` shows an outcome")
            return
        is_idle = not (report.done or report.waiting)
        made_none = "nothing due" if is_idle else "this run made no skill and no fact"
        say(f"{made_none}; `skillvault run -v` says why")
        return
    for kind, reasons in report.reasons().items():
        say(f"no new {kind}:")
        for reason in reasons:
            say(f"  {reason}")
    say("  (`skillvault why-not ID` for one outcome)")


def print_recomputed(report: Report) -> None:
    """Print a line for the commit of a recount, and one for each further change."""
    if not report.done:
        echo("nothing changes")
    for number, result in enumerate(report.done):
        if number and result.commit:
            echo(f"  {result.change.headline}")
        else:
            print_done(result)


# ── distill ──────────────────────────────────────────────────────────────────────────


@click.command()
@click.argument("session", metavar="FILE|ID")
@click.option(
    "--domain",
    metavar="NAME",
    help="Use this domain, if the session names none (default: the only one, else coding).",
)
@write_options
def distill(session: str, domain: str | None, options: Options) -> None:
    """Make a skill from a finished session.

    FILE is a session, or a transcript of Claude Code or Codex. ID is the id of a recorded session,
    or of one that outcomes name. A skill from a transcript waits in proposed/.
    """
    vault = options.open_vault()
    on_done = None if options.as_json else print_done
    name, not_understood, report = api.distill(
        vault, session, domain=domain, **options.keywords, on_done=on_done
    )
    for kind, count in sorted(not_understood.items()):
        say(f"not understood: {count} line{'s' * (count > 1)}: {kind}")
    if options.as_json:
        print_json({"session": name, **run_shape(report)})
    elif not (
        options.dry or report.quarantined or any(d.change.step == "distill" for d in report.done)
    ):
        _, answers = vault.why_not(name)
        echo(f"session {name}: {answers[-1].state}: {answers[-1].reason}")
    print_refused(report)
    print_waiting(report.waiting)
    _print_proposed(report)
    _print_rejected(vault, report, verbose=options.dry)
    if report.quarantined:
        sys.exit(1)


# ── printing that other commands share ───────────────────────────────────────────────


def print_done(result: ChangeResult) -> None:
    """Print one line for a commit; in a dry run print the change."""
    if not result.commit:
        echo(_preview(result.change))
    elif result.subject:
        echo(f"{result.commit[:10]} {result.subject}")


def decide_each(
    names: Iterable[str], options: Options, decide: Callable[..., Report], *words: str
) -> None:
    """Call `decide` for each name, and print its commit at once."""
    report = Report()
    for name in dict.fromkeys(names):
        decision = decide(name, *words, **options.keywords)
        report.include(decision)
        if not options.as_json:
            print_changes(decision, as_json=False)
    if options.as_json:
        print_changes(report, as_json=True)


def _preview(change: Change) -> str:
    lines = [f"would commit: {change.headline}"]
    lines += textwrap.indent(change.reason.strip(), "  ").splitlines()
    paths = [f"  + {_write_line(record)}" for record in change.writes]
    lines += paths[:MAX_LISTED]
    if len(paths) > MAX_LISTED:
        lines.append(f"  + {len(paths) - MAX_LISTED} more")
    texts = [record.body for record in change.writes if isinstance(record, Skill)]
    lines += textwrap.indent("\n\n".join(texts), "    | ", lambda _: True).splitlines()
    return "\n".join(line.rstrip() for line in lines)


def _write_line(record: Record) -> str:
    if isinstance(record, Link):
        return f"link {record.type}: {record.source} -> {record.target}"
    return layout.path_of(record)


def print_changes(report: Report, *, as_json: bool, **more: Any) -> None:
    """Print a line for each commit, or JSON with `more` values."""
    if as_json:
        print_json({**run_shape(report), **more})
        return
    for result in report.done:
        print_done(result)


def print_waiting(entries: Sequence[WaitingWork]) -> None:
    """Print the changes that cannot be made now. Many with the same reason share a line."""
    paths_by_reason: dict[str, list[str]] = {}
    for entry in entries:
        paths_by_reason.setdefault(entry.reason, []).append(entry.path)
    for reason, paths in paths_by_reason.items():
        for name in paths if len(paths) <= MAX_LISTED else [list_some(paths, 1)]:
            say(f"waiting: {name}: {reason}")


def print_refused(report: Report) -> None:
    """Print a line for each file that was refused."""
    for refusal in report.quarantined:
        say(f"refused: {refusal.file}: {refusal.message} [{refusal.code}]")


def _print_rejected(vault: Vault, report: Report, *, verbose: bool) -> None:
    """Print the commits that are not made again, because a person removed their result.

    A clone prints each removal once; `verbose` prints all of them and remembers nothing.
    """
    rejections = report.rejected if verbose else _take_unnoted(vault, report.rejected)
    by_commit: dict[tuple[str, str], list[str]] = {}
    for rejection in rejections:
        if rejection.like:
            say(f"not made: {rejection.target} {rejection.sentence}")
        else:
            reason = f": {rejection.reason}" if rejection.reason else ""
            by_commit.setdefault((rejection.commit, reason), []).append(rejection.target)
    for (commit, reason), targets in by_commit.items():
        sentence = f"not made again: {list_some(targets, 1)}, made in {commit[:10]}"
        say(f"{sentence}, was removed by a person{reason}")


def _take_unnoted(vault: Vault, rejections: Sequence[Rejection]) -> list[Rejection]:
    """Return the rejections that this clone has not printed yet, and mark them as printed."""
    keys = {f"{entry.target} {entry.commit}": entry for entry in rejections}
    place = vault.store.git.dirs()[0] / "skillvault" / _REMOVALS_FILE
    notes = place.read_text(encoding="utf-8").splitlines() if keys and place.exists() else []
    new_keys = [key for key in keys if key not in notes]
    if new_keys:
        with place.open("a", encoding="utf-8") as file:
            file.writelines(f"{key}\n" for key in new_keys)
    return [keys[key] for key in new_keys]


def _print_proposed(report: Report) -> None:
    for result in report.done:
        skills = [record for record in result.change.writes if isinstance(record, Skill)]
        names = [skill.name for skill in skills if skill.status == "proposed"]
        paths = [path.split("/") for path, _ in result.change.files]
        names += [path[1] for path in paths if (path[0], path[-1]) == ("proposed", "SKILL.md")]
        for name in names:
            say(f"proposed: {name}; `skillvault skill approve {name}` serves it")


def end_intake(vault: Vault, report: Report, options: Options, *, asks: bool = True) -> None:
    """Print the recorded outcomes; exit with 1 if a file was refused.

    `asks` for the lesson of an outcome that failed without one.
    """
    _print_intake(vault, report, options)
    if asks and not (options.dry or options.as_json):
        ask_for_lesson(vault, report)
    if report.quarantined:
        sys.exit(1)


def _print_intake(vault: Vault, report: Report, options: Options) -> None:
    outcome_ids = _outcome_ids(report)
    if options.as_json:
        rows = [{"file": r.file, "code": r.code, "message": r.message} for r in report.quarantined]
        print_json({"recorded": outcome_ids, "known": len(report.known), "quarantined": rows})
        return
    for result in report.done:
        print_done(result)
    print_refused(report)
    print_waiting(report.waiting)
    _print_rejected(vault, report, verbose=options.dry)
    if report.known and not outcome_ids:
        count = len(report.known)
        outcomes = "this outcome is" if count == 1 else f"all {count} outcomes are"
        echo(f"nothing new: {outcomes} known already")
    elif outcome_ids and not options.dry:
        note = f", {len(report.known)} known already" if report.known else ""
        say(f"{len(outcome_ids)} recorded{note}; next: skillvault run")


def _outcome_ids(report: Report) -> list[str]:
    refs = (ref for result in report.done for ref in result.change.targets)
    return [ref.id for ref in refs if ref.kind == "outcome"]


def ask_for_lesson(vault: Vault, report: Report) -> None:
    """Say on stderr how to add a lesson, if a recorded outcome failed without one."""
    failures = vault.store.snapshot().outcomes.failures_without_lesson(_outcome_ids(report))
    if not failures:
        return
    outcome = failures[-1]
    decision, agent = outcome.decision.id, outcome.source.agent
    words = ["skillvault", "close", decision or outcome.id]
    words += ["--agent", agent] if decision and agent else []  # others may use the same id
    subject = f"{len(failures)} outcomes failed" if len(failures) > 1 else "it failed"
    hint = " of the latest" if len(failures) > 1 else ""
    say(f"{subject}; to add the lesson{hint}: `{shlex.join(words)} --lesson TEXT`")


def print_sides(vault: Vault, ref: Ref) -> None:
    """Print on stderr the runs that support or contradict a fact or a skill."""
    evidence = lookup.both_sides(question(vault).snapshot, ref)
    for word, ids in (("for", evidence.supporting), ("against", evidence.against)):
        if ids:
            say(f"{word} it: {pluralize(len(ids), 'run')}: {list_some(ids)}")


def print_committed(vault: Vault, path: str) -> None:
    """Print a committed file, and say if the file is edited locally."""
    content = vault.store.snapshot().files.read([path])[path]
    echo(content.decode("utf-8"), nl=False)
    place = vault.root / path
    if not place.is_file() or place.read_bytes() != content:
        say(f"{path} has edits that are not committed; commit them and they count")
