"""Quality of serving through `recommend`: the right few skills, and nothing where none fits.

The vault learns the runs of `agent-runs` and the examples of `vault_template`. `tasks.jsonl` holds
tasks that somebody wrote who saw no skill, in three sets: the share at which a text answers was
chosen on set a, b was looked at meanwhile, c is for telling alone.
"""

import json
import shutil
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

import retrieval
from measures import mean, ndcg

from skillvault import Vault
from skillvault.learning.recommend.recommend import Selection
from skillvault.learning.recommend.render import prompt
from skillvault.model.text.text import count_tokens

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "vault_template" / "examples"
SETS = ("a", "b", "c")
DOMAIN = "office"  # that of agent-runs
FIRST = 2  # places among which the right skill should stand


class Task(NamedTuple):
    """A question in a domain; `subject` is its recorded subject, None for other work."""

    domain: str
    text: str
    subject: str | None


def told(bench: Path) -> Iterator[str]:
    """The lines of the table."""
    runs = bench.parent / "data" / "agent-runs" / "by-run.jsonl"
    prompts = (bench / "everyday" / "prompts.txt").read_text(encoding="utf-8").splitlines()
    with TemporaryDirectory() as folder:
        fresh, learned = Path(folder, "fresh"), Path(folder, "learned")
        _learn(fresh, ())
        shutil.copytree(fresh, learned, symlinks=True)
        office = _learn(learned, [runs])
        everyday = [prompt for prompt in prompts if prompt.strip()]
        for what, vault in (("a fresh vault", Vault.open(fresh)), ("agent-runs", office)):
            yield _everyday_row(what, vault, everyday)
        everything = _learn(learned, sorted(EXAMPLES.glob("*.jsonl")))
        yield _everyday_row("agent-runs and the examples", everything, everyday)
        for one in SETS:
            yield from _tasks_told(everything, one)
    yield from _routing_told(bench / "routing")


def _learn(root: Path, files: Sequence[Path]) -> Vault:
    """The vault at a place, made if it is not there, with what these outcomes taught it."""
    vault = Vault.open(root) if (root / "vault.yaml").is_file() else Vault.init(root, [DOMAIN])[0]
    vault.import_files("jsonl", files)
    vault.run()
    return vault


def _everyday_row(what: str, vault: Vault, prompts: Sequence[str]) -> str:
    """Return the row of prompts that are served a skill or a fact, each asked in every domain."""
    domains = vault.store.snapshot().domains
    answers = [vault.recommend(domain, text) for domain in domains for text in prompts]
    served = [answer for answer in answers if answer.recommended or answer.facts]
    of = f"everyday prompts in {len(domains)} domain(s), {what}"
    return _row(of, "served", len(served), len(answers))


# ── tasks ────────────────────────────────────────────────────────────────────────────


def _tasks_told(vault: Vault, of: str) -> Iterator[str]:
    tasks = [
        Task(one["domain"], one["task"], one["subject"])
        for one in retrieval.lines(HERE / "tasks.jsonl")
        if one["set"] == of
    ]
    about = _subjects(vault)
    answers = [(task, vault.recommend(task.domain, task.text)) for task in tasks]
    learned = {subject for subjects in about.values() for subject in subjects}
    right = [
        any(task.subject in about[name] for name in _names(answer)[:FIRST])
        for task, answer in answers
        if task.subject in learned
    ]
    unrelated = [
        any(not _is_related(name, task, about) for name in _names(answer))
        for task, answer in answers
    ]
    sizes = [count_tokens(prompt(answer)) for _, answer in answers if _names(answer)]
    yield _row(f"tasks, set {of}", f"right skill among the first {FIRST}", sum(right), len(right))
    yield _row(f"tasks, set {of}", "with an unrelated skill", sum(unrelated), len(unrelated))
    yield f"| tasks, set {of} | recommend | tokens, median {median(sizes):.0f} | | |"


def _subjects(vault: Vault) -> dict[str, set[str]]:
    """Skill -> what the outcomes behind it are about, as the tasks name it."""
    head = vault.shelf.ready()
    behind = head.skills.source_subjects(head.skills.names("skills"))
    named: dict[str, set[str]] = defaultdict(set)
    for name, subjects in behind.items():
        if not _is_general(name):
            named[name] = {"/".join(filter(None, (on, at))) for _, on, at in subjects}
    return named


def _is_related(name: str, task: Task, about: Mapping[str, Collection[str]]) -> bool:
    """Return True if a skill is about the action of a task, whatever its target.

    No skill is about other work, not even one about all of a domain.
    """
    if task.subject is None:
        return False
    actions = {subject.partition("/")[0] for subject in about[name]}
    return _is_general(name) or task.subject.partition("/")[0] in actions


def _is_general(name: str) -> bool:
    """Return True if a skill is about all of its domain, so that it fits every task there."""
    return name.startswith("strategy-")


def _names(answer: Selection) -> list[str]:
    """The skills that are shown, whole or named."""
    return [skill.name for skill in answer.recommended]


# ── routing ──────────────────────────────────────────────────────────────────────────


def _routing_told(folder: Path) -> Iterator[str]:
    """Yield the number of right skills that are shown, and nDCG@10 in the order shown."""
    gains: retrieval.Gains = defaultdict(dict)
    for row in retrieval.lines(folder / "qrels.jsonl"):
        gains[row["qid"]][row["did"].replace("_", "-")] = 1.0  # as a skill is named
    with TemporaryDirectory() as place:
        _learn(Path(place), ())
        for skill in retrieval.lines(folder / "corpus.jsonl"):
            _write(Path(place, "library"), skill)
        vault = Vault.open(place)
        vault.shelf.add_dir(Path(place, "library"))
        for kind, name in (("long", "queries.jsonl"), ("short", "queries_short.jsonl")):
            found: dict[str, list[str]] = {
                one["id"]: _names(vault.recommend(DOMAIN, one["text"]))
                for one in retrieval.lines(folder / name)
            }
            shown = sum(did in found[qid] for qid, right in gains.items() for did in right)
            yield _row(f"routing as shown, {kind}", "right skills", shown, _count(gains.values()))
            quality = mean([ndcg(names, gains[qid]) for qid, names in found.items()])
            yield f"| routing as shown, {kind} | recommend | nDCG@10 {quality:.3f} | | |"


def _write(library: Path, skill: dict[str, str]) -> None:
    """A labelled skill as a SKILL.md under its id."""
    place = library / skill["id"] / "SKILL.md"
    place.parent.mkdir(parents=True)
    description = json.dumps(skill["description"], ensure_ascii=False)
    front = f"---\nname: {skill['id']}\ndescription: {description}\n---\n"
    place.write_text(front + skill.get("body", ""), encoding="utf-8")


def _count(groups: Iterable[dict[str, float]]) -> int:
    return sum(map(len, groups))


def _row(what: str, measure: str, count: int, of: int) -> str:
    return f"| {what} | recommend | {measure}: {count} of {of} | | |"
