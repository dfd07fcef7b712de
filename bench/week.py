"""Play thirty sessions of one developer, and count which rules are learned and served.

    python bench/week.py [--client] [-v] [--keep FOLDER]

A week of sessions (bench/quality/week) is played in two temporary repositories, and a vault learns
after each of them, without a model as judge. By default the transcripts are written here and
imported. With `--client` the real Claude Code of SKILLVAULT_INTEROP runs in a terminal, hooked up
by `setup`, and a scripted model answers it. Afterwards the hooks get 34 prompts of the week after,
and all transcripts are imported again. `-v` prints what is missing; `--keep` leaves it in FOLDER.
"""

import argparse
import json
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from week_client import Client, find_client
from week_place import Workplace, session_uuid
from week_script import Probe, Rule, Session, Week, read_week
from week_transcripts import Transcripts

from skillvault import Vault
from skillvault.model.text.text import count_tokens
from tests.interop.desk import end_hook_server

DOMAIN = "coding"
POLICY = "effect: {holdout: 0}"
PATIENCE = 60  # seconds until the hooks of a session have handed in what they noted


class Answer(NamedTuple):
    """The text that comes with a prompt, and the one that opened its session."""

    probe: Probe
    text: str
    briefing: str

    @property
    def is_right(self) -> bool:
        """True if one of the right words stands in it, or nothing does where nothing should."""
        if not self.probe.has:
            return not self.text
        return any(word.lower() in self.text.lower() for word in self.probe.has)

    @property
    def is_of_rules(self) -> bool:
        """True if it holds what the user stated, and neither skill nor fact."""
        return not re.search("<(?:skills|facts)>", self.text)


class Learner:
    """A vault beside the workplace, and the hooks of the client on it."""

    def __init__(self, place: Workplace, *, has_client: bool) -> None:
        self.place = place
        self._skillvault("blog", "init", str(place.root / "vault"), "--domain", DOMAIN)
        self.vault = Vault.open(place.root / "vault")
        rules = self.vault.root / "vault.yaml"
        rules.write_text(rules.read_text(encoding="utf-8") + f"\n{POLICY}\n", encoding="utf-8")
        program = find_client() if has_client else None
        self._client = Client(place, program) if program else None
        self._transcripts = Transcripts(place)
        if self._client:
            for repo in ("shop", "pickup"):
                self._skillvault(repo, "setup", "claude-code", "--domain", DOMAIN)

    def play(self, session: Session) -> None:
        """Play a session, and learn from it."""
        self.place.begin(session)
        if self._client:
            self._client.play(session)
            self._await_hooks()
        else:
            self._transcripts.play(session)
            self.import_all()
        self._skillvault(session.repo, "run")
        self.place.end(session)

    def import_all(self) -> None:
        """Import every transcript of the week so far; what is known changes nothing."""
        folder = self.place.home / ".claude" / "projects"
        self._skillvault("blog", "import", "claude-code", str(folder), "--domain", DOMAIN)

    def ask(self, number: int, probe: Probe) -> Answer:
        """Send a prompt to the hooks, in a session of its own."""
        about = {
            "session_id": session_uuid(f"probe {number}"),
            "cwd": str(self.place.root / probe.repo),
        }
        briefing = self._hook("SessionStart", about | {"source": "startup"})
        identity = session_uuid(f"prompt {number}")
        asked = {"prompt": probe.text, "prompt_id": identity}
        return Answer(probe, self._hook("UserPromptSubmit", about | asked), briefing)

    def close(self) -> None:
        """End the process that answers hooks."""
        end_hook_server(self.vault.root)

    def _hook(self, event: str, about: dict[str, str]) -> str:
        payload = json.dumps({"hook_event_name": event, **about})
        words = ("hook", event, "--client", "claude-code", "--domain", DOMAIN)
        return self._skillvault("blog", *words, text=payload)

    def _skillvault(self, repo: str, *words: str, text: str = "") -> str:
        attended = {"CLAUDE_CODE_ENTRYPOINT": "cli", "CLAUDE_CODE_SESSION_ATTENDED": "1"}
        environment = {**self.place.environment, "PYTHONPATH": str(Path(__file__).parents[1])}
        done = subprocess.run(
            [sys.executable, "-m", "skillvault", *words],
            cwd=self.place.root / repo,
            env=environment | attended | {"SKILLVAULT_VAULT": str(self.place.root / "vault")},
            input=text,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    def _await_hooks(self) -> None:
        end = time.monotonic() + PATIENCE
        while self.vault.inbox.names() and time.monotonic() < end:
            time.sleep(0.2)


# ── what a vault holds ──────────────────────────────────────────────────────────────────


def proposed_rules(vault: Vault) -> list[str]:
    """Return the words of each correction that waits for approval."""
    return [_plain(correction.text) for correction in vault.memory.waiting()]


def missing_confirmations(vault: Vault, week: Week) -> list[str]:
    """Return the words that state a rule again in another session, and confirm none."""
    sessions = {name for rule in vault.memory.waiting() for name in rule.confirmed}
    return [
        prompt.text
        for session in week.sessions
        for prompt in session.prompts
        if prompt.confirmed and not session.origin and session_uuid(session.id) not in sessions
    ]


def states(rule: Rule, words: Iterable[str]) -> bool:
    """Return True if a rule stands in one of the texts."""
    return any(_plain(rule.words) in text for text in words)


def _plain(text: str) -> str:
    return " ".join(text.split()).lower()


def generated_texts(vault: Vault) -> Iterator[tuple[str, str]]:
    """Yield (name, line) of each name and text in the vault that no person wrote."""
    head = vault.store.head()
    for skill in head.skills.values():
        yield skill.name, skill.name
        for line in (skill.description, *skill.body.splitlines()):
            yield skill.name, line
    for fact in head.facts.values():
        if fact.kind != "correction":
            yield fact.id, fact.id
            yield from ((fact.id, line) for line in fact.text.splitlines())


def frame_words(week: Week) -> re.Pattern[str]:
    """Return a pattern for texts and names that say under which model, branch or folder it was."""
    models = "|".join(sorted({re.escape(session.model) for session in week.sessions}))
    branches = {re.sub(r"\W", "-", session.branch) for session in week.sessions}
    folders = "|".join(week.repositories.files)
    names = "|".join(sorted({*branches, "branch", "model"}))
    return re.compile(
        rf"{models}|\b(?:branch|model) is\b|\bon (?:{folders})\b|^[a-z0-9-]+-(?:{folders}|{names})$"
    )


def refuted_successes(vault: Vault, week: Week) -> list[str]:
    """Return the tasks of runs that count as a success though the next words say the opposite."""
    refuted = {
        prompt.text
        for session in week.sessions
        for prompt, following in zip(session.prompts, session.prompts[1:], strict=False)
        if following.refutes
    }
    outcomes = vault.store.head().outcomes.values()
    return [
        outcome.decision.task
        for outcome in outcomes
        if outcome.decision.task in refuted and outcome.result.status == "success"
    ]


def repeated_runs(vault: Vault) -> list[str]:
    """Return the tasks of runs that are there more than once; no two prompts are the same."""
    counts = Counter(outcome.decision.task for outcome in vault.store.head().outcomes.values())
    return [task for task, count in counts.items() if count > 1]


def wrongly_served(week: Week, answers: list[Answer]) -> list[str]:
    """Return the rules that wait for an approval or are withdrawn, and stand in an answer."""
    texts = [_plain(f"{answer.briefing} {answer.text}") for answer in answers]
    rules = week.rules.items()
    return [name for name, rule in rules if (rule.waits or rule.withdrawn) and states(rule, texts)]


# ── the table ───────────────────────────────────────────────────────────────────────────


def main() -> None:
    """Play the week, ask, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--client", action="store_true", help="Play it in the real Claude Code.")
    parser.add_argument("-v", "--verbose", action="store_true", help="Print what is missing.")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="Leave everything in FOLDER.")
    options = parser.parse_args()
    if options.client and find_client() is None:
        print("no Claude Code: set SKILLVAULT_INTEROP to the folder of `make interop`")
        return
    with TemporaryDirectory() as folder:
        measure(options.keep or Path(folder), options)


def measure(root: Path, options: argparse.Namespace) -> None:
    """Play the week in a folder, and print what came of it."""
    week = move_to_now(read_week())
    learner = Learner(Workplace(root.resolve(), week.repositories), has_client=options.client)
    late: list[str] = []
    try:
        for session in week.sessions:
            learner.play(session)
            stated = [prompt.rule for prompt in session.prompts if prompt.rule]
            words = proposed_rules(learner.vault)
            late += [name for name in stated if not states(week.rules[name], words)]
        answers = [learner.ask(number, probe) for number, probe in enumerate(week.probes)]
        learner.import_all()
    finally:
        learner.close()
    print_table(learner.vault, week, late, answers, is_verbose=options.verbose)


def move_to_now(week: Week) -> Week:
    """Move the week so that its last session was yesterday."""
    yesterday = datetime.now(UTC).replace(microsecond=0) - timedelta(days=1)
    shift = timedelta(days=(yesterday - week.sessions[-1].at).days)
    sessions = [session._replace(at=session.at + shift) for session in week.sessions]
    return week._replace(sessions=sessions)


def print_table(
    vault: Vault, week: Week, late: list[str], answers: list[Answer], *, is_verbose: bool
) -> None:
    """Print the counts, and in detail what falls short."""
    pattern = frame_words(week)
    frames = [(name, line) for name, line in generated_texts(vault) if pattern.search(line)]
    traps = {prompt.trap for session in week.sessions for prompt in session.prompts if prompt.trap}
    trapped = [trap for trap in traps if any(trap in text for text in proposed_rules(vault))]
    related = [answer for answer in answers if answer.probe.has]
    unrelated = [answer for answer in answers if not answer.probe.has]
    missed = [answer for answer in related if not answer.is_right]
    needless = [answer for answer in unrelated if not answer.is_right]
    refuted, repeated = refuted_successes(vault, week), repeated_runs(vault)
    unconfirmed = missing_confirmations(vault, week)
    served = wrongly_served(week, answers)
    tokens = sorted(count_tokens(answer.text) for answer in related)
    print(f"sessions                          {len(week.sessions)}")
    print(f"corrections proposed              {len(week.rules) - len(late)}/{len(week.rules)}")
    print(f"confirmations missed              {len(unconfirmed)}")
    print(f"traps taken for corrections       {len(trapped)}/{len(traps)}")
    print(f"waiting or withdrawn, but served  {len(served)}")
    print(f"successes that were refuted       {len(refuted)}")
    print(f"runs that count twice             {len(repeated)}")
    print(f"texts with a model, branch, folder {len(frames)}")
    print(f"related prompts answered          {len(related) - len(missed)}/{len(related)}")
    print(f"unrelated prompts answered        {len(needless)}/{len(unrelated)}")
    print(f"  by nothing but stated rules     {sum(one.is_of_rules for one in needless)}")
    print(f"tokens of an answer, median, most {tokens[len(tokens) // 2]}, {tokens[-1]}")
    if is_verbose:
        _print_lines("not proposed", [f"{name}: {week.rules[name].words}" for name in late])
        _print_lines("confirms no rule", unconfirmed)
        _print_lines("taken for a correction", trapped)
        _print_lines("waits or is withdrawn, but served", served)
        _print_lines("refuted success", refuted)
        _print_lines("counts twice", repeated)
        _print_lines("names the frame", [f"{name}: {line}" for name, line in frames])
        for title, group in (("missed", missed), ("needless", needless)):
            lines = [f"{one.probe.text} {list(one.probe.has)}\n{one.text}" for one in group]
            _print_lines(title, lines)


def _print_lines(title: str, lines: list[str]) -> None:
    for line in lines:
        print(f"- {title}: {line}")


if __name__ == "__main__":
    main()
