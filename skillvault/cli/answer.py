"""answer: what an agent says to a question that `ask` printed."""

from datetime import datetime
from pathlib import Path

import click

from skillvault.cli.ask import SESSION
from skillvault.cli.options import echo, input_file, now_option, open_vault, say, vault_option
from skillvault.loop.judging.question_queue import AgentReply, replies_in
from skillvault.model.errors import UsageError


@click.command()
@click.argument("key", required=False)
@click.argument("file", metavar="FILE|-", required=False)
@click.option("--all", "every", metavar="FILE.jsonl", help="Take a file with a reply a line.")
@click.option("--session", envvar=SESSION, metavar="ID", help="Say which session answers.")
@vault_option
@now_option
def answer(
    key: str | None,
    file: str | None,
    every: str | None,
    session: str | None,
    vault_path: Path | None,
    now: datetime | None,
) -> None:
    """Answer a question of `ask`; it is checked and committed.

    FILE holds JSON in the shape that the question prints. Exit code 1 with every reason if it
    cannot be used, and then nothing is changed.
    """
    if (every is None) != (key is not None and file is not None):
        raise UsageError("pass KEY and FILE (or - for stdin), or --all FILE.jsonl")
    if every is not None:
        answers = replies_in(input_file(every)[1])
    else:
        assert key is not None
        assert file is not None
        answers = [AgentReply(key, input_file(file)[1].decode(errors="replace"))]
    report = open_vault(vault_path).queue.answer(answers, session=session, now=now)
    for done in report.done if report else ():
        if done.subject:
            echo(f"{(done.commit or '')[:10]} {done.subject}")
    for waiting in report.waiting if report else ():
        say(f"waits: {waiting.path}: {waiting.reason}")
    if report is None:
        say("answered so already; nothing to do")
