"""import, export, install, learn: exchange outcomes, skills and rules with other programs.

The formats are in `exchange/`, the decisions about skills in `review/installing.py`.
"""

import re
import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

import click
import msgspec

from skillvault.api import Vault
from skillvault.cli.options import (
    MAX_LISTED,
    Options,
    common_options,
    dry_option,
    echo,
    json_option,
    print_json,
    progress_bar,
    say,
    track,
    verbose_option,
    write_options,
)
from skillvault.cli.recommend import learned_shape, print_cuts
from skillvault.cli.run import end_intake, print_done, print_waiting
from skillvault.exchange import formats
from skillvault.exchange.skills.formats import SKILL_FORMATS
from skillvault.exchange.source_tree import SkippedFile
from skillvault.exchange.sources import REGISTRY, SkillSource, parse_source
from skillvault.learning.lint import sum_up
from skillvault.loop.run import Report
from skillvault.model.errors import UsageError
from skillvault.model.records import Problem, Trust
from skillvault.model.text.text import flatten, join_items, pluralize, shorten
from skillvault.review.installing import InstalledSkill, InstallReport, SourceListing
from skillvault.review.skill_sources import FORMATS
from skillvault.serving.exporting import ExportReport
from skillvault.sessions.transcripts import (
    CLIENTS,
    ImportTally,
    transcript_files,
    transcript_folders,
)
from skillvault.sessions.trial import NewSessions
from skillvault.vault.files.arrival import make_printable

_EXPORT_FORMATS = sorted(name for name, format_ in SKILL_FORMATS.items() if format_.write)
CLIENT_NAMES = {"claude-code": "Claude Code", "codex": "Codex"}
_COLUMN_WIDTHS = (20, 8, 10, 8, 60)  # columns: time, status, observer, action, task
_SKILLS_FORMAT = "skills"
# A URL, one word with a slash or a suffix, or the path of a text below `.`, `..`, `~` or `/`.
_PLACE = re.compile(
    r"https?://.*|(?=[!-~]+$)(?!`).*(?:/|\.\w+$).*|(?:~|\.{0,2})/.*\.(?:md|mdc|markdown|txt)",
    re.DOTALL,
)
_REPORT_FORMATS = ("ctrf", "junit")


# ── install ──────────────────────────────────────────────────────────────────────────


@click.command()
@click.argument("source", required=False)
@click.option("--list", "lists", is_flag=True, help="Print what SOURCE offers; install nothing.")
@click.option(
    "--skill", "names", multiple=True, metavar="NAME", help="Install this skill; repeatable."
)
@click.option("--update", "updates", is_flag=True, help="Install newer versions of SOURCE, or all.")
@click.option("--seeds", is_flag=True, help="Copy the package's own skills into skills/.")
@click.option("--force", is_flag=True, help="With --seeds: replace the skills of these names.")
@click.option(
    "--with-secrets", is_flag=True, help="Install a public skill even if it seems to hold a secret."
)
@click.option(
    "--registry",
    envvar="CLAWHUB_REGISTRY",
    default=REGISTRY,
    metavar="URL",
    help="Ask this ClawHub registry (default: CLAWHUB_REGISTRY, else clawhub.ai).",
)
@verbose_option
@write_options
def install(  # noqa: PLR0913 (click hands a command one argument an option)
    source: str | None,
    lists: bool,
    names: tuple[str, ...],
    updates: bool,
    seeds: bool,
    force: bool,
    with_secrets: bool,
    registry: str,
    verbose: bool,
    options: Options,
) -> None:
    """Install skills of other people; they wait for your approval.

    SOURCE is a folder, a git URL (`#REF:FOLDER` behind it), owner/repo[/folder] on GitHub, a site
    with an index of skills, or clawhub:owner/name. With --update it is the name of a skill.
    """
    _check_options(source, names, lists=lists, updates=updates, seeds=seeds, force=force)
    vault = options.open_vault()
    installer = vault.curate.installer
    choices: dict[str, Any] = {**options.keywords, "with_secrets": with_secrets}
    if lists:
        _print_listing(
            installer.offers(_parse_source(source, registry), names), as_json=options.as_json
        )
        return
    if seeds:
        report = installer.seeds(force=force, **options.keywords)
    elif updates:
        report = installer.update([source] if source else [], **choices)
    else:
        report = installer.install(_parse_source(source, registry), names, **choices)
    origin = "" if updates or seeds else source or ""
    print_report(report, origin, as_json=options.as_json, dry=options.dry, verbose=verbose)


def _check_options(
    source: str | None,
    names: Sequence[str],
    *,
    lists: bool,
    updates: bool,
    seeds: bool,
    force: bool,
) -> None:
    if lists + updates + seeds > 1:
        raise UsageError("--list, --update and --seeds exclude each other; pass one of them")
    if force and not seeds:
        raise UsageError("--force works only with --seeds; remove it, or add --seeds")
    if seeds and source:
        raise UsageError(f"--seeds copies the package's own skills; leave {source} out")
    if names and (updates or seeds):
        raise UsageError("--skill selects from a SOURCE; remove it, or name a SOURCE")
    if not (source or updates or seeds):
        raise UsageError(
            "name a SOURCE: a folder, a git URL, owner/repo, a site, clawhub:owner/name"
        )


def _parse_source(text: str | None, registry: str) -> SkillSource:
    text = text or ""
    return parse_source(text, registry=registry, is_path=Path(text).expanduser().exists())


def _print_listing(listing: SourceListing, *, as_json: bool) -> None:
    if as_json:
        print_json(listing)
    else:
        names, paths = (
            max((len(getattr(skill, key)) for skill in listing.skills), default=0)
            for key in ("name", "path")
        )
        for skill in listing.skills:
            row = f"{skill.name:{names}}  {skill.path or '.':{paths}}"
            echo(f"{row}  {' '.join(skill.description.split())}")
            for copy in skill.copies:
                echo(f"{'':{names}}  {copy}  (the same files)")
            for link in skill.links:
                echo(f"{'':{names}}  {link}  (a link)")
        _say_passed_over(listing.passed_over)
        _say_problems(listing.problems)
        if listing.files:
            echo(_sum_up(listing))
    if listing.problems:
        sys.exit(1)


def _sum_up(listing: SourceListing) -> str:
    """Say what happened to each SKILL.md of a source."""
    pages = [entry for entry in listing.passed_over if entry.is_skill_file]
    counts = {
        "skill": len(listing.skills),
        "copy": sum(len(skill.copies) for skill in listing.skills),
        "passed over": len(pages),
        "not readable": len(listing.problems),
    }
    plurals = {"skill": "skills", "copy": "copies"}
    parts = [
        f"{count} {word if count == 1 else plurals.get(word, word)}"
        for word, count in counts.items()
        if count
    ]
    files = f"{listing.files} SKILL.md file{'s' * (listing.files != 1)}"
    return f"{files}: {', '.join(parts)}"


def print_report(
    report: InstallReport, source: str = "", *, as_json: bool, dry: bool, verbose: bool
) -> None:
    """Print what was installed; exit with 1 if a skill was not installed.

    More than ten skills are counted, unless `verbose`. `source` selects them for an approval.
    """
    if as_json:
        print_json(_report_shape(report))
    else:
        _print_proposed(report, source, dry=dry, verbose=verbose)
        for result in report.done:
            print_done(result)
        if report.rules:
            is_one = len(report.rules) == 1
            waits = "would wait" if dry else f"wait{'s' * is_one}; `skillvault review` shows them"
            say(f"{len(report.rules)} rule{'s' * (not is_one)} {waits}")
        if report.passages:
            passages = pluralize(len(report.passages), "passage")
            asking = "`skillvault run` asks Claude, `ask --send` a client, `ask` an agent"
            say(f"{passages} for the judge to decide; {asking}")
        limit = None if verbose or len(report.known) <= MAX_LISTED else MAX_LISTED
        for sentence in report.known[:limit]:
            say(sentence)
        if limit:
            say(f"and {len(report.known) - limit:,} more like this; -v prints each")
        print_waiting(report.waiting)
        _say_passed_over(report.passed_over, verbose=verbose)
        _say_problems(report.problems)
    if report.problems or report.waiting:
        sys.exit(1)


def _print_proposed(report: InstallReport, source: str, *, dry: bool, verbose: bool) -> None:
    """Print each installed skill, or for many skills only counts and the next commands."""
    count = len(report.installed)
    if verbose or count <= MAX_LISTED:
        for installed in report.installed:
            _print_installed(installed)
        return
    echo(f"{'would propose' if dry else 'proposed'} {pluralize(count, 'skill')}; -v prints each")
    say(sum_up([skill.findings for skill in report.installed]))
    if not dry:
        origin = f" --from {shlex.quote(source)}" if source else ""
        say("next: skillvault review (it selects, filters and takes all like one), or")
        say(f"      skillvault skill approve --clean{origin} (those with nothing but links), or")
        say(f"      skillvault skill approve{origin or ' NAME...'}")


def _print_installed(skill: InstalledSkill) -> None:
    for result in skill.done:
        print_done(result)
    for line in skill.lint:
        say(line)
    if skill.lint:
        say(
            f"proposed: {skill.name}; `skillvault skill show {skill.name}` reads it, "
            f"`skillvault skill approve {skill.name}` serves it"
        )


def _say_passed_over(entries: Sequence[SkippedFile], *, verbose: bool = True) -> None:
    if verbose or len(entries) <= MAX_LISTED:
        for entry in entries:
            say(f"passed over: {entry.path}: {entry.reason}")
        return
    # Without the name of another file, which differs from reason to reason.
    reasons = Counter(re.split(r"[,;(]|\S*[./]\S*", entry.reason)[0] for entry in entries)
    counts = ", ".join(f"{count:,} {reason.strip()}" for reason, count in reasons.most_common())
    say(f"passed over: {pluralize(len(entries), 'place')}: {counts}; -v names each")


def _say_problems(problems: Sequence[Problem]) -> None:
    for problem in problems:
        say(f"not installed: {problem.path}: {problem.message} [{problem.code}]")


def _report_shape(report: InstallReport) -> dict[str, Any]:
    rows = [
        {
            "name": skill.name,
            "source": skill.url,
            "digest": skill.digest,
            "lint": skill.lint,
            "commits": [result.commit for result in skill.done],
        }
        for skill in report.installed
    ]
    rules, passages, facts = (
        [{"id": record.id, "text": record.text} for record in records]
        for records in (report.rules, report.passages, report.facts)
    )
    plain = msgspec.to_builtins(
        {key: getattr(report, key) for key in ("known", "passed_over", "waiting", "problems")}
    )
    return {"installed": rows, "rules": rules, "passages": passages, "facts": facts, **plain}


# ── export ───────────────────────────────────────────────────────────────────────────


@click.command()
@click.option(
    "--to",
    required=True,
    type=click.Choice(_EXPORT_FORMATS),
    help="Write the files that this program reads.",
)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@click.option("--domain", metavar="NAME", help="Export only skills of this domain or none.")
@click.option(
    "--budget",
    type=click.IntRange(min=1),
    metavar="CHARACTERS",
    help="Limit rules and list of skills to so many characters (default: the host's limit).",
)
@common_options(dry_option, json_option)
def export(to: str, folder: Path, domain: str | None, budget: int | None, options: Options) -> None:
    """Write the live skills for another program.

    Writes the most helpful skills first, and removes those of an earlier export that are no longer
    live. Exits with 1 if it left a changed file in DIR as it is.
    """
    exporter, dry = options.open_vault().exporter, options.dry
    report = exporter.export(to, folder, domain=domain, budget=budget, dry=dry)
    print_json(report) if options.as_json else _print_export(report, dry=dry)
    if report.left:
        sys.exit(1)


def _print_export(report: ExportReport, *, dry: bool) -> None:
    for path in report.removed:
        say(f"{'would remove' if dry else 'removed'}: {path}")
    if report.cut:
        say(f"descriptions are cut to {report.cut} characters to fit; --budget allows more")
    for skill in report.left_out:
        say(f"left out: {skill.skill}: {skill.reason}")
    for problem in report.left:
        say(f"left as it is: {problem.path}: {problem.message}")
    verb, content = "would export" if dry else "exported", pluralize(len(report.changed), "skill")
    if report.rules:
        content += f" and {pluralize(len(report.rules), 'rule')}"
    echo(
        f"{verb} {content} to {report.folder}; files: {len(report.written)} written, "
        f"{len(report.removed)} removed, {report.unchanged} as before"
    )


# ── import ───────────────────────────────────────────────────────────────────────────


@click.command("import")
@click.argument(
    "format_name",
    metavar="FORMAT",
    type=click.Choice([*sorted(formats.FORMATS), *CLIENTS, _SKILLS_FORMAT]),
)
@click.argument("files", nargs=-1, type=click.Path(path_type=Path, exists=True))
@click.option(
    "--domain", metavar="NAME", help="Put the outcomes into this domain (default: the only one)."
)
@click.option("--decision", metavar="ID", help="Take a test report as the end of this decision.")
@click.option(
    "--trust",
    type=click.Choice(get_args(Trust)),
    default="local",
    help="Mark transcripts of other people as untrusted.",
)
@click.option(
    "--from",
    "skill_format",
    type=click.Choice(FORMATS),
    help="Read skills in this format (default: recognized from the files).",
)
@verbose_option
@write_options
def import_(
    format_name: str,
    files: tuple[Path, ...],
    domain: str | None,
    decision: str | None,
    trust: Trust,
    skill_format: str | None,
    verbose: bool,
    options: Options,
) -> None:
    """Import results or skills of other tools.

    FORMAT names the tool that wrote FILES. For claude-code and codex, FILES are transcripts or
    folders of them (default: all of yours), and each prompt becomes one outcome. For skills, FILES
    are folders or files of another program, and the skills wait for your approval; memories become
    facts.
    """
    files = files or tuple(transcript_folders(format_name) if format_name in CLIENTS else ())
    if not files:
        raise UsageError(f"name the FILES to import: `skillvault import {format_name} PATH`")
    if format_name == _SKILLS_FORMAT and domain is not None:
        raise UsageError("--domain is for outcomes; a skill has the domain that it names")
    if format_name != _SKILLS_FORMAT and skill_format is not None:
        raise UsageError("--from is for skills; write `skillvault import skills PATH`")
    if decision is not None and format_name not in _REPORT_FORMATS:
        raise UsageError("--decision is for test reports; write junit or ctrf")
    if trust != "local" and format_name not in CLIENTS:
        raise UsageError("--trust is for transcripts; drop a file into inbox/untrusted/ instead")
    if format_name in CLIENTS:
        _import_transcripts(options, format_name, files, domain=domain, trust=trust)
        return
    vault = options.open_vault()
    if format_name != _SKILLS_FORMAT:
        report = vault.import_files(
            format_name, files, domain=domain, decision=decision, **options.keywords, track=track
        )
        end_intake(vault, report, options)
        return
    install_report = InstallReport()
    for path in files:
        install_report.include(
            vault.curate.installer.import_skills(path, skill_format, **options.keywords)
        )
    origin = str(files[0]) if len(files) == 1 else ""
    print_report(install_report, origin, as_json=options.as_json, dry=options.dry, verbose=verbose)


def _import_transcripts(
    options: Options, client: str, paths: Sequence[Path], *, domain: str | None, trust: Trust
) -> None:
    """Import transcripts, and print the result."""
    vault, is_table = options.open_vault(), options.dry and not options.as_json
    if is_table:
        echo(_row("made at", "status", "seen by", "action", "task"))
    report, transcripts = _read_transcripts(
        vault,
        client,
        paths,
        domain=domain,
        trust=trust,
        **options.keywords,
        on_outcomes=_print_rows if is_table else None,
    )
    for kind, count in sorted(transcripts.unread.items()):
        lines = f"{count} line{'s were' if count > 1 else ' was'}"
        say(make_printable(f"{lines} not understood: {kind}; the rest was read"))
    for sentence in sorted(transcripts.versions):
        say(make_printable(sentence))
    if is_table:
        report.done = []  # the table lists the outcomes already
    # A transcript has what the user said next, from which `run` makes the lessons.
    end_intake(vault, report, options, asks=False)


def _print_rows(outcomes: Sequence[dict[str, Any]]) -> None:
    for outcome in outcomes:
        decision, result = outcome["decision"], outcome["result"]
        made_at = decision.get("made_at", outcome["occurred_at"])
        observer = result.get("observed_by", "nobody")
        echo(_row(made_at, result["status"], observer, decision["action"], decision["task"]))


def _row(*values: str) -> str:
    cells = (
        shorten(flatten(value), width) for value, width in zip(values, _COLUMN_WIDTHS, strict=True)
    )
    columns = (f"{cell:{width}}" for cell, width in zip(cells, _COLUMN_WIDTHS, strict=True))
    return make_printable("  ".join(columns)).rstrip()


def _read_transcripts(
    vault: Vault, client: str, paths: Sequence[Path], **options: Any
) -> tuple[Report, ImportTally]:
    """Import transcripts with a progress bar."""
    size = sum(path.stat().st_size for path in transcript_files(paths))
    with progress_bar(f"Reading {CLIENT_NAMES[client]}", length=size) as bar:
        return vault.import_transcripts(client, paths, advance=bar.update, **options)


# ── transcripts that a vault lacks ───────────────────────────────────────────────────


def offer_sessions(
    vault: Vault,
    groups: Sequence[NewSessions],
    scope: str,
    command: Sequence[str],
    *,
    imports: bool | None,
) -> None:
    """Read the sessions that a vault lacks, if the person wants that.

    A person in a terminal is asked; otherwise a line names the `command` that reads them. `scope`
    says where they were found.
    """
    counts = Counter[str]()
    for group in groups:
        counts[group.client] += len(group.sessions)
    if not counts or imports is False:
        return
    (client, count), *counts_left = counts.items()
    parts = [f"{pluralize(count, 'session')} of {CLIENT_NAMES[client]}"]
    parts += [f"{count:,} of {CLIENT_NAMES[client]}" for client, count in counts_left]
    sentence = f"{join_items(parts)} {'was' if counts.total() == 1 else 'were'} found {scope}"
    question, line = f"{sentence}; read them now?", shlex.join(command)
    if imports is None and not sys.stdin.isatty():
        say(f"{sentence}; `{line}` reads them")
    elif imports is None and not click.confirm(question, default=True, err=True):
        say(f"`{line}` reads them later")
    else:
        report = learn_from_transcripts(
            vault, [(group.client, group.domain, group.files) for group in groups]
        )
        snapshot = vault.store.snapshot()
        refs = {ref for result in report.done for ref in result.change.targets}
        kinds = Counter(ref.kind for ref in refs if ref in snapshot.records)
        learned = join_items(pluralize(kinds[kind], kind) for kind in ("skill", "fact"))
        say(f"learned {learned}")
        if rules := vault.memory.waiting():
            review = shlex.join(["skillvault", "--vault", str(vault.root), "review"])
            say(f"waits for you: {pluralize(len(rules), 'rule')}; `{review}`")


def learn_from_transcripts(
    vault: Vault, groups: Iterable[tuple[str, str, Sequence[Path]]]
) -> Report:
    """Import the transcripts of each (client, domain), learn from them, and return the run."""
    for client, domain, files in groups:
        report, _ = _read_transcripts(vault, client, files, domain=domain)
        for refusal in report.quarantined:
            say(f"not read: {refusal.file}: {refusal.message}")
    return vault.run(track=_track_evaluation)


def _track_evaluation(items: Sequence[Any], description: str) -> Iterator[Any]:
    """Show the progress of the longest step alone, so that only one more bar appears."""
    if not description.startswith("evaluating"):
        yield from items
        return
    with progress_bar("Learning", iterable=items) as bar:
        yield from bar


# ── learn ────────────────────────────────────────────────────────────────────────────


@click.command()
@click.argument("rule", required=False)
@click.option(
    "--scope",
    multiple=True,
    metavar="PATTERN",
    help="Search only these files, such as '*.yaml'; repeatable (default: no YAML, no markdown).",
)
@click.option("--list", "lists", is_flag=True, help="Print the patterns and the latest rules.")
@click.option("--domain", metavar="NAME", help="Put the rules of documents into this domain.")
@click.option("--keep-both", is_flag=True, help="Keep older versions of the rule beside it.")
@verbose_option
@common_options(dry_option, json_option)
def learn(
    rule: str | None,
    scope: tuple[str, ...],
    lists: bool,
    domain: str | None,
    keep_both: bool,
    verbose: bool,
    options: Options,
) -> None:
    """Note a RULE, read documents, or list what was learned.

    A RULE goes to LEARNINGS.md, in the place of an older version such as another port; if enough
    files of your code support it, it becomes a pattern (`skillvault run capture`).
    RULE may also be a folder, a file or a URL, such as CONTRIBUTING.md or a runbook. The rules
    and how-tos in it wait for your approval.
    """
    if lists == (rule is not None):
        raise UsageError('pass a rule, as in `skillvault learn "RULE"`, or --list')
    if lists and scope:
        raise UsageError("--scope works only with a rule; pass one")
    if lists and options.dry:
        raise UsageError("--dry-run works only with a rule; pass one")
    vault, dry, as_json = options.open_vault(), options.dry, options.as_json
    if rule is not None and _is_place(rule):
        if scope:
            raise UsageError("--scope works only with a rule; remove it")
        report = vault.curate.installer.learn(rule, domain=domain, dry=dry)
        print_report(report, rule, as_json=as_json, dry=dry, verbose=verbose)
    elif domain is not None:
        raise UsageError("--domain works only with a folder, a file or a URL; remove it")
    elif rule is not None:
        _note_rule(vault, rule, scope, keep_both=keep_both, dry=dry, as_json=as_json)
    else:
        _print_learned(vault, as_json=as_json)


def _is_place(text: str) -> bool:
    """Return True for a URL, for the path of something on this machine, and for a mistyped path."""
    try:
        return bool(_PLACE.fullmatch(text)) or Path(text).expanduser().exists()
    except (OSError, RuntimeError):  # too long for a path, or `~` and the name of no account
        return False


def _print_learned(vault: Vault, *, as_json: bool) -> None:
    learned, count = vault.notebook.learned_rules(), len(vault.notebook.uncommitted_rules())
    if as_json:
        print_json(learned_shape(learned.text))
    elif learned.text.prompt_text or not count:
        echo(learned.text.prompt_text or "nothing learned yet; note a rule")
    print_cuts(learned)
    if count:
        rules = f"{count} rule" + "s" * (count > 1)
        say(f"not committed yet: {rules}; next: skillvault run")


def _note_rule(
    vault: Vault, rule: str, scope: tuple[str, ...], *, keep_both: bool, dry: bool, as_json: bool
) -> None:
    remarks = vault.notebook.remarks(rule, keep_both=keep_both)
    text = vault.learn(rule, scope, keep_both=keep_both, dry=dry)
    for remark in remarks:
        say(remark)
    if as_json:
        print_json({"rule": text})
    elif dry:
        echo(f"would note in LEARNINGS.md: {text}")
    else:
        echo(f"noted in LEARNINGS.md: {text}")
        say("next: skillvault run (it looks for the rule in your code)")
