"""try: show a person what skillvault learns from their transcripts.

`sessions/trial.py` provides the temporary vault, `inspect/first_look.py` chooses the lessons.
"""

import shlex
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from skillvault.api import Vault
from skillvault.cli.exchange import CLIENT_NAMES, learn_from_transcripts
from skillvault.cli.options import echo, say
from skillvault.cli.setup import setup
from skillvault.clients.hook_client import own_vault_path
from skillvault.clients.notes import project_of
from skillvault.inspect.first_look import FirstLook, Moment, Takeaway, format_times, take_first_look
from skillvault.loop.learned import learned_text
from skillvault.model.errors import UsageError
from skillvault.model.text.text import join_items, pluralize, sentences, shorten
from skillvault.sessions.transcripts import CODING
from skillvault.sessions.trial import (
    InstructionFiles,
    TranscriptFolder,
    find_transcripts,
    keep_vault,
    prepare_repository,
    select_project,
    temporary_folder,
)
from skillvault.vault.files import layout

_COUNTS = ("", "", "two ", "three ")
_NEWEST = 100  # the number of transcripts that are read
_MAX_RULES = 5  # that are shown
_MAX_COLUMNS = 88  # columns at most
_MAX_TASK_LENGTH = 100  # characters of a request
_MAX_LINES, _MAX_LINE_LENGTH = 6, 280  # of what a prompt gets
_POINTER = "- (The rest: "  # names a file that is gone when the vault is
_MAX_NAMES = 3  # days, repositories and sessions that are named
_SESSION_LENGTH = 8  # characters of a session's id


@click.command("try")
@click.argument("folder", required=False, type=click.Path(path_type=Path, exists=True))
@click.option("--yes", is_flag=True, help="Read the transcripts without asking, as in a script.")
def try_(folder: Path | None, yes: bool) -> None:
    """Show what your own transcripts teach, in a temporary vault.

    Reads the transcripts of Claude Code and Codex on this machine, or those in FOLDER, offline and
    without secrets. Nothing is sent, and nothing is written elsewhere unless you say so at the end.
    Without transcripts it plays an example.
    """
    groups = find_transcripts(folder)
    if folder is not None and not groups:
        raise UsageError(f"{folder}: holds no transcripts of Claude Code or Codex; name another")
    project = project_of(Path.cwd())
    if groups:
        _introduce(groups)
        must_ask = folder is None and not yes
        if must_ask and not _ask_to_read():
            groups = []
        project_groups = [] if folder is not None else select_project(groups, project)
        if must_ask and groups:
            groups = _ask_scope(groups, project_groups, project)
        if not groups:
            echo("Nothing was learned, and nothing was written.")
            return
    with temporary_folder() as place:
        root = place / "vault"
        prepare_repository(root)
        vault, _ = Vault.init(root, [CODING])
        if not groups:
            _play_example(vault)
            return
        learn_from_transcripts(
            vault, [(group.client, CODING, group.files[:_NEWEST]) for group in groups]
        )
        files = InstructionFiles(tuple(path for group in groups for path in group.files[:_NEWEST]))
        look = take_first_look(vault.store.snapshot(), files.have_rule)
        _print_look(look)
        _print_next_prompt(vault, look)
        clients = list(dict.fromkeys(group.client for group in groups))
        _offer_vault(vault, clients, project if project_groups else None)


# ── before anything is read ──────────────────────────────────────────────────────────


def _introduce(groups: Sequence[TranscriptFolder]) -> None:
    """Say which transcripts there are, and what happens to them."""
    echo("Found:")
    for group in groups:
        count = len(group.files)
        newest = f", of which the newest {_NEWEST} are read" if count > _NEWEST else ""
        transcripts = pluralize(count, "transcript")
        echo(f"  {transcripts} of {CLIENT_NAMES[group.client]} in {group.folder}{newest}")
    echo("They are read on this machine, without secrets, into a temporary vault.")


def _ask_to_read() -> bool:
    """Ask before anything is read, also to which project a transcript belongs."""
    if not sys.stdin.isatty():
        raise UsageError("nobody is here to ask; pass --yes to read them, or name a FOLDER")
    return click.confirm("Read them?", default=True, err=True)


def _ask_scope(
    groups: list[TranscriptFolder], project_groups: list[TranscriptFolder], project: Path
) -> list[TranscriptFolder]:
    """Ask whether all transcripts are read, if some are of the project and others are not."""
    counts = [sum(len(group.files) for group in part) for part in (project_groups, groups)]
    if counts[0] in (0, counts[1]):
        return groups
    echo(f"{counts[0]} of them are from this project, {project.name}.")
    answer = _ask_letter("Read [t]his project's, [a]ll, or [n]one?", "tan", default="t")
    return {"t": project_groups, "a": groups, "n": []}[answer]


def _ask_letter(question: str, letters: str, *, default: str) -> str:
    choice = click.Choice([*letters], case_sensitive=False)
    answer: str = click.prompt(question, default, type=choice, show_choices=False, err=True)
    return answer


# ── what was learned ─────────────────────────────────────────────────────────────────


def _print_look(look: FirstLook) -> None:
    prompts = sum(look.ended.values())
    failures, successes = (look.ended.get(status, 0) for status in ("failure", "success"))
    echo()
    if look.span is None:
        echo("They hold no prompt for which an agent did something, so there is nothing to learn.")
        return
    first, last = (f"{time:%Y-%m-%d}" for time in look.span)
    places = f" in {_join_few(look.repositories)}" if look.repositories else ""
    remainder = ", nothing shows how the rest ended" if prompts > failures + successes else ""
    _print_paragraph(
        f"{pluralize(prompts, 'prompt')} of {pluralize(look.sessions, 'session')}{places}, "
        f"{first} to {last}: {failures} failed by a check, a revert or your words, "
        f"{successes} worked{remainder}."
    )
    if not (look.lessons or look.rules):
        _print_paragraph(
            "There is too little to learn from yet. A lesson needs your words after an answer "
            '("no, we use uv here, never pip"), or a check that failed and passed later.'
        )
    for number, lesson in enumerate(look.lessons, 1):
        if number == 1:
            best = f"The {_COUNTS[len(look.lessons)]}best lesson{'s' * (len(look.lessons) > 1)}"
            _print_heading(best)
        _print_lesson(number, lesson)
    if look.rules:
        _print_heading("What you said, and no CLAUDE.md or AGENTS.md here keeps")
    for rule in look.rules[:_MAX_RULES]:
        place = _describe_origins(rule.origins)
        _print_paragraph(f'"{shorten(rule.text, _MAX_LINE_LENGTH)}"', "- ")
        _print_paragraph(f"you said so {format_times(len(rule.origins))}, on {place}", "  ")
    if len(look.rules) > _MAX_RULES:
        echo(f"  and {len(look.rules) - _MAX_RULES} more; keep the vault, and `review` lists them")


def _print_heading(text: str) -> None:
    echo(f"\n{text}\n{'-' * len(text)}")


def _print_lesson(number: int, lesson: Takeaway) -> None:
    _print_paragraph(lesson.heading, f"{number}. ")
    for label, text in lesson.lines:
        _print_paragraph(f"{label}: {text}", "   ")
    _print_paragraph(f"from {_describe_origins(lesson.origins)}", "   ")


def _describe_origins(origins: Sequence[Moment]) -> str:
    """Return the days, the repositories and the sessions, at most three of each."""
    moments = sorted(origins, key=lambda origin: origin.at)
    days = dict.fromkeys(f"{origin.at:%Y-%m-%d}" for origin in moments)
    repositories = dict.fromkeys(filter(None, (origin.repository for origin in moments)))
    sessions = dict.fromkeys(origin.session[:_SESSION_LENGTH] for origin in moments)
    place = f" in {_join_few(repositories)}" if repositories else ""
    noun = "session" if len(sessions) == 1 else "sessions"
    return f"{_join_few(days)}{place} ({noun} {_join_few(sessions)})"


def _join_few(items: Iterable[str]) -> str:
    """Join the first items, and count the others."""
    few, others = [*items][:_MAX_NAMES], [*items][_MAX_NAMES:]
    return join_items([*few, f"{len(others)} more"] if others else few)


def _print_paragraph(text: str, indent: str = "") -> None:
    """Print a paragraph. The first line begins with `indent`, the others are indented as far."""
    width = min(shutil.get_terminal_size().columns, _MAX_COLUMNS)
    echo(
        textwrap.fill(
            text,
            width,
            initial_indent=indent,
            subsequent_indent=" " * len(indent),
            break_long_words=False,
            break_on_hyphens=False,
        )
    )


def _print_next_prompt(vault: Vault, look: FirstLook) -> None:
    """Print the text that an agent would get with a prompt like one that failed."""
    answers = [(need, _prompt_lines(vault, need.repository, need.task)) for need in look.needs]
    answers = [(need, lines) for need, lines in answers if lines]
    if answers:
        need, lines = max(answers, key=lambda answer: answer[0].is_met(answer[1][:_MAX_LINES]))
        _print_heading("What the next prompt like this one would get")
        _print_paragraph(f'"{shorten(need.task, _MAX_TASK_LENGTH)}"', "> ")
        for line in lines[:_MAX_LINES]:
            _print_paragraph(shorten(line, _MAX_LINE_LENGTH).removeprefix("- "), "  - ")
        if len(lines) > _MAX_LINES:
            echo(f"  and {pluralize(len(lines) - _MAX_LINES, 'more line')}")


def _prompt_lines(vault: Vault, repository: str, task: str) -> list[str]:
    """Return the lines that an agent gets with a prompt: stated rules, then skills."""
    learned = learned_text(vault.store, repository or None, is_whole=True).text.matching(task)
    answer = vault.recommend(CODING, task).prompt.partition("<instruction>")[0]
    lines = [*learned.prompt_text.splitlines(), *answer.splitlines()]
    return [line for line in lines if line.startswith("- ") and not line.startswith(_POINTER)]


# ── what may stay ────────────────────────────────────────────────────────────────────


def _offer_vault(vault: Vault, clients: Sequence[str], project: Path | None) -> None:
    """Ask whether to keep the vault, and whether to install hooks for each client.

    `project` is the project of the working directory, if it has sessions.
    """
    echo()
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        echo("The vault is gone now; run `skillvault try` in a terminal to keep it.")
        return
    _print_paragraph(
        "All of this is in a vault, a git repository, which is removed now unless you keep it."
    )
    if not click.confirm("Keep it, so that your agents can get it?", default=False, err=True):
        echo("Nothing was kept.")
        return
    target = _ask_place(vault.root)
    is_default = target == layout.real_path(Path(own_vault_path()))
    name = "" if is_default else f" --vault {shlex.quote(str(target))}"
    _print_paragraph(f"The vault is in {target}; `skillvault{name} review` shows what waits there.")
    for client in clients:
        if scope := _ask_hook_scope(CLIENT_NAMES[client], project):
            options = [*scope, "--domain", CODING, "--judge", "offline", "--vault", str(target)]
            options += ["--yes", "--no-import"]
            setup.main([client, *options], "skillvault setup", standalone_mode=False)
        else:
            echo("To hook up one project, go to its folder and type")
            echo(f"  skillvault setup {client} --domain {CODING}{name}")


def _ask_hook_scope(client: str, project: Path | None) -> list[str]:
    """Return the options of `setup` for the projects in which a client gets hooks; [] for none."""
    if project is None:
        question = f"Hook up {client} in all of your projects, so that prompts get this?"
        return ["--user"] if click.confirm(question, default=False, err=True) else []
    question = f"Hook up {client}, so that prompts get this: in [t]his project, [a]ll, or [n]one?"
    answer = _ask_letter(question, "tan", default="n")
    return {"n": [], "t": ["--project", str(project)], "a": ["--user"]}[answer]


def _ask_place(root: Path) -> Path:
    """Move the vault to a folder that the person names. Ask again if the folder is in use."""
    default = Path(own_vault_path())
    while True:
        answer = click.prompt(
            "In this folder", default=str(default), err=True, type=click.Path(path_type=Path)
        )
        target = layout.real_path(answer.expanduser())
        try:
            keep_vault(root, target)
        except (UsageError, OSError) as error:
            say(str(error))
        else:
            return target


# ── without transcripts ──────────────────────────────────────────────────────────────


def _play_example(vault: Vault) -> None:
    """Record an example, and print in ten lines what an agent gets with the next prompt."""
    path = layout.resource("vault_template") / "examples" / "outcome.yaml"
    vault.record([(path.name, path.read_bytes())])
    vault.run()
    (outcome,) = vault.store.snapshot().outcomes.values()
    (name,) = vault.store.snapshot().skills
    task = "A test of the checkout service is flaky"
    lines = _prompt_lines(vault, "", task)
    echo("There are no transcripts of Claude Code or Codex here, so this is an example.")
    _print_paragraph(sentences(outcome.decision.reasoning)[-1], "An agent decides: ")
    _print_paragraph(outcome.result.evidence.strip(), "The result:       ")
    _print_paragraph(f"{name}, made of this one failure", "The skill:        ")
    _print_paragraph(f'"{task}"', "The next prompt:  ")
    _print_paragraph(shorten(lines[-1], _MAX_TASK_LENGTH).removeprefix("- "), "It also gets:     ")
    echo("To begin: skillvault init ~/vault --domain coding; cd your/project")
    echo("          skillvault setup claude-code --domain coding --vault ~/vault")
