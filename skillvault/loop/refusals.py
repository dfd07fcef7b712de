"""The proposals that persons rejected, by what they said: what says the same is not made again.

A rejection by its sources stands in `Rejections`.
"""

from collections.abc import Mapping, Sequence

from skillvault.learning.naming import may_be_next
from skillvault.learning.recommend.duplicates import says_same
from skillvault.learning.rejection import REJECT, UNDO, RejectedSkill, Rejection, Rejections
from skillvault.model.change import FORGET, WHY, Change
from skillvault.model.errors import UsageError
from skillvault.model.link_lists import read_links
from skillvault.model.records import Link, Ref, Skill, ref_of
from skillvault.vault.commit.skill_versions import skill_files
from skillvault.vault.commit.store import Store
from skillvault.vault.files import layout
from skillvault.vault.files.work_tree import parse_record
from skillvault.vault.git.repository import Git
from skillvault.vault.index.records import parse_ref
from skillvault.vault.index.snapshot import Topics


def refusals(git: Git, view: Topics) -> list[RejectedSkill]:
    """What persons rejected and did not take back, the latest rejection first.

    Of one name the latest alone, but for next versions: each of those said something else.
    """
    pairs = _skills_of(view, REJECT, UNDO)
    forgets = _skills_of(view, FORGET)
    pairs = [pair for pair in pairs if not _is_forgotten(git, pair, forgets)]
    there = view.records.existing(Ref("skill", name) for _, name in pairs)
    missing = {name for _, name in pairs if Ref("skill", name) not in there}
    away = [(sha, name) for sha, name in pairs if name in missing or may_be_next(name)]
    if not away:
        return []
    reasons = git.history.trailer_values([sha for sha, _ in away], WHY)
    places = {(f"{sha}^", layout.skill_path(name)): (sha, name) for sha, name in away}
    contents = skill_files(git, places)
    by_text: dict[tuple[str, str], RejectedSkill] = {}
    for place, (sha, name) in places.items():
        shelf, content = contents.get(place, ("proposed", b""))
        skill = parse_record(layout.skill_path(name, shelf), content)
        if isinstance(skill, Skill):
            refusal = RejectedSkill(
                skill=name,
                domain=skill.domain,
                body=skill.body,
                commit=sha,
                reason=reasons.get(sha, ""),
                replaces=skill.replaces,
            )
            if skill.replaces or name in missing:
                by_text.setdefault((name, sha if skill.replaces else ""), refusal)
    return list(by_text.values())


def _skills_of(view: Topics, *steps: str) -> list[tuple[str, str]]:
    """(commit, skill) of what these steps were about, newest first."""
    commits = [commit for step in steps for commit in view.history.commits_of_step(step)]
    refs = [(commit.sha, parse_ref(target)) for commit in commits for target in commit.targets]
    return [(sha, ref.id) for sha, ref in refs if ref.kind == "skill"]


def _is_forgotten(git: Git, pair: tuple[str, str], forgets: Sequence[tuple[str, str]]) -> bool:
    """Whether a rejection was taken back, whatever became of the skill since."""
    rejection, name = pair
    later = (commit for commit, skill in forgets if skill == name)
    return any(git.history.is_ancestor(rejection, commit) for commit in later)


def refused(change: Change, rejections: Rejections, report: list[Rejection]) -> bool:
    """Whether a change makes a skill that says what a person rejected in its domain; reports it."""
    skills = [record for record in change.writes if isinstance(record, Skill)]
    for skill in skills if rejections.proposals else ():
        for refusal in rejections.proposals:
            is_near = refusal.domain == skill.domain and not refusal.replaces
            if is_near and says_same(refusal.body, skill.body):
                report.append(
                    Rejection(f"skill:{skill.name}", refusal.commit, refusal.reason, refusal.skill)
                )
                return True
    return False


def paths_of(head: Topics, shelf: str, name: str) -> list[str]:
    """What goes with a skill on a shelf: all of its files, and the links to it."""
    links = head.links.by_target([Ref("skill", name)])
    return [*head.files.below(f"{shelf}/{name}"), *(str(ref_of(link)) for link in links)]


def rejected(store: Store, name: str) -> tuple[RejectedSkill, Mapping[str, bytes], list[Link]]:
    """(the rejection of a skill, the files and links it removed); UsageError without one."""
    refusal = next(
        (refusal for refusal in refusals(store.git, store.head()) if refusal.skill == name), None
    )
    if refusal is None:
        raise UsageError(f"{name}: is not rejected; `skillvault log --step reject` lists what is")
    parent = f"{refusal.commit}^"
    changed = store.git.history.diff_trees(parent, refusal.commit)
    lists = [path for path in changed if layout.links_owner(path)]
    removed = [path for path, entry in changed.items() if entry is None and path not in lists]
    places = [f"{commit}:{path}" for commit in (parent, refusal.commit) for path in lists]
    contents = store.git.objects.read_files([*(f"{parent}:{path}" for path in removed), *places])
    links: list[Link] = []
    for path in lists:
        before, after = (contents.get(f"{at}:{path}", b"") for at in (parent, refusal.commit))
        links += _links_removed(store.head(), path, before, after)
    return refusal, {path: contents[f"{parent}:{path}"] for path in removed}, links


def _links_removed(head: Topics, path: str, before: bytes, after: bytes) -> list[Link]:
    """The links that a list had before, and whose owner is still there."""
    owner = layout.links_owner(path)
    if owner is None or not (owner.kind == "skill" or owner in head.records):
        return []
    old, new = (read_links(path, owner, content).links for content in (before, after))
    return [link for link in old if link not in new]
