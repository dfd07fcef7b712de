"""Play thirty sessions of one developer, and count which rules are learned and served.

    python bench/week.py [--client] [-v] [--keep FOLDER]
    python bench/week.py --only-play FOLDER

A week of sessions (bench/quality/week) is played in two temporary repositories, and a vault learns
after each of them, without a model as judge. By default the transcripts are written here and
imported. With `--client` the real Claude Code of SKILLVAULT_INTEROP runs in a terminal, hooked up
by `setup`, and a scripted model answers it. Afterwards the hooks get 34 prompts of the week after,
and all transcripts are imported again. `-v` prints what is missing; `--keep` leaves it in FOLDER.
`--only-play` leaves the repositories and the transcripts in FOLDER, and learns nothing.
"""

import argparse
import json
import re
import subprocess
import sys
import time
from collections import Counter, defaultdict
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
from skillvault.model.decision_outcomes import complete_outcomes
from skillvault.model.records import Outcome
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
        return not re.search("^<(?:skills|facts)>$", self.text, re.MULTILINE)


class Shortcoming(NamedTuple):
    """Something that falls short: `lines` says where, of how many cases."""

    title: str
    lines: list[str]
    total: int = 0


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
    head = vault.store.snapshot()
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
    runs = [run for run in counting_runs(vault) if run.result.status == "success"]
    return [run.decision.task for run in runs if run.decision.task in refuted]


def repeated_runs(vault: Vault) -> list[str]:
    """Return the tasks of runs that count more than once; no two prompts are the same."""
    counts = Counter(run.decision.task for run in counting_runs(vault))
    return [task for task, count in counts.items() if count > 1]


def counting_runs(vault: Vault) -> list[Outcome]:
    """Return the outcome that counts of each decision."""
    outcomes: defaultdict[str, list[Outcome]] = defaultdict(list)
    for outcome in vault.store.snapshot().outcomes.values():
        outcomes[outcome.decision.id or outcome.id].append(outcome)
    completed = [run for group in outcomes.values() for run in complete_outcomes(group, ())]
    return [run.outcome for run in completed if run.counts]


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
    parser.add_argument("--only-play", type=Path, metavar="FOLDER", help="Leave transcripts there.")
    options = parser.parse_args()
    if options.only_play:
        play_only(options.only_play.resolve())
        return
    if options.client and find_client() is None:
        print("no Claude Code: set SKILLVAULT_INTEROP to the folder of `make interop`")
        return
    with TemporaryDirectory() as folder:
        measure(options.keep or Path(folder), options)


def play_only(root: Path) -> None:
    """Play the week in a folder, at the times of its script."""
    week = read_week()
    place = Workplace(root, week.repositories)
    transcripts = Transcripts(place)
    for session in week.sessions:
        place.begin(session)
        transcripts.play(session)
        place.end(session)


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
        learned = [*shortcomings_of_rules(learner.vault, week, late, answers)]
        learned += shortcomings_of_texts(learner.vault, week, answers)
        learner.import_all()
    finally:
        learner.close()
    repeated = Shortcoming("runs that count twice", repeated_runs(learner.vault))
    print_table([*learned, repeated], answers, is_verbose=options.verbose)


def move_to_now(week: Week) -> Week:
    """Move the week so that its last session was yesterday."""
    yesterday = datetime.now(UTC).replace(microsecond=0) - timedelta(days=1)
    shift = timedelta(days=(yesterday - week.sessions[-1].at).days)
    sessions = [session._replace(at=session.at + shift) for session in week.sessions]
    return week._replace(sessions=sessions)


def shortcomings_of_rules(
    vault: Vault, week: Week, late: list[str], answers: list[Answer]
) -> Iterator[Shortcoming]:
    """Yield what falls short of the person's words."""
    prompts = [prompt for session in week.sessions for prompt in session.prompts]
    traps = [_plain(prompt.trap) for prompt in prompts if prompt.trap]
    trapped = [trap for trap in traps if any(trap in text for text in proposed_rules(vault))]
    rules = [f"{name}: {week.rules[name].words}" for name in late]
    yield Shortcoming("corrections not proposed", rules, len(week.rules))
    yield Shortcoming("confirmations missed", missing_confirmations(vault, week))
    yield Shortcoming("other words taken for corrections", trapped, len(traps))
    yield Shortcoming("waiting or withdrawn, but served", wrongly_served(week, answers))
    yield Shortcoming("successes that were refuted", refuted_successes(vault, week))


def shortcomings_of_texts(vault: Vault, week: Week, answers: list[Answer]) -> Iterator[Shortcoming]:
    """Yield what falls short of good texts and answers."""
    pattern = frame_words(week)
    texts = [f"{name}: {line}" for name, line in generated_texts(vault) if pattern.search(line)]
    yield Shortcoming("texts with a model, branch or folder", texts)
    groups = {"related prompts not answered": True, "unrelated prompts answered": False}
    for title, is_related in groups.items():
        group = [answer for answer in answers if bool(answer.probe.has) == is_related]
        wrong = [answer for answer in group if not answer.is_right]
        lines = [f"{one.probe.text} {list(one.probe.has)}\n{one.text}" for one in wrong]
        yield Shortcoming(title, lines, len(group))
    stated = [one.probe.text for one in wrong if one.is_of_rules]
    yield Shortcoming("... by nothing but stated rules", stated)


def print_table(
    shortcomings: Iterable[Shortcoming], answers: list[Answer], *, is_verbose: bool
) -> None:
    """Print the counts, and in detail what falls short."""
    for title, lines, total in shortcomings:
        print(f"{title:<38} {len(lines)}" + (f" of {total}" if total else ""))
        if is_verbose:
            print("".join(f"  - {line}\n" for line in lines), end="")
    tokens = sorted(count_tokens(answer.text) for answer in answers if answer.probe.has)
    print(f"{'tokens of an answer, median and most':<38} {tokens[len(tokens) // 2]}, {tokens[-1]}")


if __name__ == "__main__":
    main()
