"""Show the proposals that wait for a person: text, diff and evidence.

`curate` carries out the decision. The branch and the work tree of the vault do not change here.
"""

import difflib
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from skillvault.inspect.logbook import Basis, basis_of, outcomes_under
from skillvault.inspect.lookup import both_sides
from skillvault.learning.recommend.duplicates import likeness
from skillvault.learning.skill_stats import SkillStats
from skillvault.loop.next_versions import skill_after_approval
from skillvault.loop.run import Run
from skillvault.model.errors import UsageError
from skillvault.model.records import PROGRAM_ORIGINS, Outcome, Ref, Skill, ref_of
from skillvault.model.text import markdown
from skillvault.vault.files import layout
from skillvault.vault.files.work_tree import parse_record
from skillvault.vault.index.snapshot import Snapshot, evidence_of

_MIN_SHARE = 0.25  # of the statements of a skill that a similar text says too


class TextPair(Struct, frozen=True):
    """The old and the new text of a skill, each with its path; "" without a text."""

    old: str
    new: str
    before: str
    after: str

    @property
    def diff(self) -> list[str]:
        """The lines that differ, as a unified diff."""
        texts = self.before.splitlines(), self.after.splitlines()
        return list(difflib.unified_diff(*texts, self.old, self.new, lineterm=""))


class SimilarText(Struct, frozen=True):
    """Another skill with a similar text; `reason` says why it was rejected."""

    skill: str
    share: float
    reason: str = ""


class WaitingSkill(Struct, frozen=True, kw_only=True):
    """A skill in proposed/ with the information that a person needs for a decision.

    `diff` compares it with the skills in `replaces`. `nearest` is the most similar live skill,
    `rejected` a similar proposal that was rejected. `supporting` and `against` are the runs whose
    evaluations support or contradict it. `stats` is its use, if it was ever shown.
    """

    name: str
    path: str
    kind: str
    domain: str | None
    origin: str
    trust: str
    created: str | None
    description: str
    body: str
    replaces: tuple[str, ...]
    diff: tuple[str, ...]
    basis: Basis
    facts: tuple[str, ...]
    supporting: tuple[str, ...]
    against: tuple[str, ...]
    nearest: SimilarText | None = None
    rejected: SimilarText | None = None
    stats: SkillStats | None = None


def proposals(run: Run) -> Iterator[WaitingSkill]:
    """Yield all skills that wait, by name."""
    for name, skill in sorted(run.snapshot.skills.proposed.items()):
        yield proposal(run, name, skill)


def proposal(run: Run, name: str, skill: Skill) -> WaitingSkill:
    """Return a skill that waits."""
    snapshot = run.snapshot
    old_ref = Ref("skill", skill.replaces or "")  # a person may have removed or renamed this skill
    shown_name = (
        old_ref.id if skill.origin in PROGRAM_ORIGINS and old_ref in snapshot.records else name
    )
    refs = [Ref("skill", skill_name) for skill_name in dict.fromkeys([shown_name, name])]
    pair = compare_with_replaced(run, name, skill)
    evidences = [both_sides(run.snapshot, ref) for ref in refs]
    links = snapshot.links.by_target(refs)
    stats = run.shelf.effects(shown_name, now=run.now) if name in snapshot.skills.proposed else []
    usage = next((numbers for numbers in stats if numbers.times_applied or numbers.shown), None)
    return WaitingSkill(
        name=name,
        path=snapshot.records.path_of(Ref("skill", name)) or "",
        kind=skill.kind,
        domain=skill.domain,
        origin=skill.origin,
        trust=skill.trust,
        created=skill.created,
        description=skill.description,
        body=skill.body.strip(),
        replaces=replaced_skills(run, name, skill),
        diff=tuple(pair.diff) if pair.before else (),
        basis=basis_of(_outcomes_read(run, name, refs), run.policy.evaluate.episode_minutes),
        facts=tuple(sorted(link.source.id for link in links if link.source.kind == "fact")),
        supporting=tuple(sorted({run for evidence in evidences for run in evidence.supporting})),
        against=tuple(sorted({run for evidence in evidences for run in evidence.against})),
        nearest=_nearest(run, skill),
        rejected=_similar_rejection(run, skill),
        stats=usage,
    )


def _outcomes_read(run: Run, name: str, refs: Sequence[Ref]) -> list[Outcome]:
    """Return the outcomes from which the text of a proposal was made.

    A strategy without a former action keeps the links to the outcomes of that action.
    """
    outcomes = outcomes_under(run.snapshot, refs)
    evidence = evidence_of(run.snapshot, Ref("skill", name))
    ids = set(evidence.read) if evidence else set[str]()
    return [outcome for outcome in outcomes if outcome.id in ids] or outcomes


def replaced_skills(run: Run, name: str, skill: Skill) -> tuple[str, ...]:
    """Return the names of the skills that a proposal replaces, in any folder."""
    links = run.snapshot.links.by_target([Ref("skill", name)])
    names = (link.source.id for link in links if link.type == "merged")
    return tuple(dict.fromkeys([*([skill.replaces] if skill.replaces else []), *names]))


def compare_with_replaced(run: Run, name: str, skill: Skill) -> TextPair:
    """Pair a proposal with the text that it replaces, or with an empty text."""
    path = run.snapshot.records.path_of(Ref("skill", name)) or ""
    old_skill = run.snapshot.skills.get_many([skill.replaces or ""]).get(skill.replaces or "")
    if old_skill is not None and skill.origin in PROGRAM_ORIGINS:
        new_skill = skill_after_approval(run.store.git, run.snapshot, skill, old_skill)
        return TextPair(old_skill.name, path, old_skill.body.strip(), new_skill.body.strip())
    old_names = replaced_skills(run, name, skill)
    old_skills = map(run.snapshot.skills.find, old_names)
    old_text = "\n\n".join(old_skill.body.strip() for old_skill in old_skills if old_skill)
    return TextPair(", ".join(old_names) or "/dev/null", path, old_text, skill.body.strip())


def _nearest(run: Run, skill: Skill) -> SimilarText | None:
    rows = run.snapshot.skills.candidates(skill.domain)
    names = [row.name for row in rows if row.name != skill.replaces]
    skills = run.snapshot.skills.get_many(names)
    return _most_similar(skill, [(name, live.body, "") for name, live in skills.items()])


def _similar_rejection(run: Run, skill: Skill) -> SimilarText | None:
    """Return the rejected version of the same skill, or else a similar rejected proposal."""
    rejections = run.rejections.proposals
    versions = [r for r in rejections if skill.replaces and r.replaces == skill.replaces][:1]
    rows = versions or [r for r in rejections if r.domain == skill.domain]
    texts = [(r.skill, r.body, r.reason) for r in rows]
    return _most_similar(skill, texts, 0.0 if versions else _MIN_SHARE)


def _most_similar(
    skill: Skill, rows: Iterable[tuple[str, str, str]], min_share: float = _MIN_SHARE
) -> SimilarText | None:
    """Return the most similar of these (name, text, reason); None if all differ too much."""
    texts = [
        SimilarText(name, round(likeness(skill.body, body), 2), reason)
        for name, body, reason in rows
    ]
    nearest = max(texts, key=lambda text: (text.share, text.skill), default=None)
    return nearest if nearest and nearest.share >= min_share else None


def quotes_removed_lines(snapshot: Snapshot, skill: Skill) -> bool:
    """Return True if the description of a skill quotes a statement that the text lacks."""
    evidence = evidence_of(snapshot, ref_of(skill))
    texts = [statement.statement for statement in evidence.statements] if evidence else []
    statements = {*markdown.statements(skill.body)}
    return any(text in skill.description for text in texts if text not in statements)


def text_pair(run: Run, name: str, revision: str | None = None) -> TextPair:
    """Pair the text of a skill with its text at a revision.

    Without a revision, a proposal is paired with the text that it replaces, any other skill with
    its text before the latest commit. Raise UsageError if there is no such skill or commit.
    """
    snapshot, git = run.snapshot, run.store.git
    name = name.replace("_", "-")
    path = snapshot.records.path_of(Ref("skill", name))
    skill = snapshot.skills.find(name)
    if path is None or skill is None:
        raise UsageError(f"{name}: no such skill; `skillvault skill list` lists them")
    if revision is None and path.startswith("proposed/"):
        return compare_with_replaced(run, name, skill)
    if revision is None:
        commits = snapshot.history.commits_touching([Ref("skill", name)])
        revision = f"{commits[0].sha}^" if commits else "HEAD"
    commit = git.history.commit_named(revision)
    if commit is None and not revision.endswith("^"):
        raise UsageError(f"{revision}: no such commit; `skillvault log --skill {name}` lists some")
    file = path.partition("/")[2]  # whatever name a person gave its folder
    names = [f"{commit}:{folder}/{file}" for folder in layout.SKILL_FOLDERS] if commit else []
    contents = git.objects.read_files(names)
    blob_name = next(iter(contents), None)
    if blob_name is None:
        return TextPair("/dev/null", path, "", skill.body.strip())
    sha, _, old_path = blob_name.partition(":")
    old_skill = parse_record(old_path, contents[blob_name])
    text = old_skill.body.strip() if isinstance(old_skill, Skill) else ""
    return TextPair(f"{old_path} at {sha[:10]}", path, text, skill.body.strip())
