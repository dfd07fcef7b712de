"""Find the texts of rejected skills in git, so that no similar skill is made again.

Each run reads them once; `skill restore` reads the files of one. `learning/rejection.py` matches
rejections by the sources of a record.
"""

from collections.abc import Mapping

from skillvault.learning.naming import may_be_next
from skillvault.learning.recommend.duplicates import says_same
from skillvault.learning.rejection import REJECT, UNDO, RejectedSkill, Rejection, Rejections
from skillvault.model.change import FORGET, WHY_TRAILER, Change
from skillvault.model.errors import UsageError
from skillvault.model.link_lists import read_links
from skillvault.model.records import Link, Ref, Skill, ref_of
from skillvault.vault.commit.skill_versions import skill_files
from skillvault.vault.commit.store import Store
from skillvault.vault.files import layout
from skillvault.vault.files.work_tree import parse_record
from skillvault.vault.git.repository import Git
from skillvault.vault.index.records import parse_ref
from skillvault.vault.index.snapshot import Snapshot


def find_rejected_skills(git: Git, snapshot: Snapshot) -> list[RejectedSkill]:
    """Return the skills that persons rejected and did not restore, latest first.

    If a name was rejected several times, the latest text counts. All rejected next versions count,
    because their texts differ.
    """
    forget_pairs = _skills_of_steps(snapshot, FORGET)
    pairs = [
        (sha, name)
        for sha, name in _skills_of_steps(snapshot, REJECT, UNDO)
        if not any(skill == name and git.history.is_ancestor(sha, by) for by, skill in forget_pairs)
    ]
    existing_refs = snapshot.records.existing(Ref("skill", name) for _, name in pairs)
    missing_names = {name for _, name in pairs if Ref("skill", name) not in existing_refs}
    rejections = [(sha, name) for sha, name in pairs if name in missing_names or may_be_next(name)]
    if not rejections:
        return []
    reasons = git.history.trailer_values([sha for sha, _ in rejections], WHY_TRAILER)
    rejections_by_file = {
        (f"{sha}^", layout.skill_path(name)): (sha, name) for sha, name in rejections
    }
    contents = skill_files(git, rejections_by_file, {})
    rejected_skills: dict[tuple[str, str], RejectedSkill] = {}
    for file, (sha, name) in rejections_by_file.items():
        folder, content = contents.get(file, ("proposed", b""))
        skill = parse_record(layout.skill_path(name, folder), content)
        if isinstance(skill, Skill):
            rejected_skill = RejectedSkill(
                skill=name,
                domain=skill.domain,
                body=skill.body,
                commit=sha,
                reason=reasons.get(sha, ""),
                replaces=skill.replaces,
            )
            if skill.replaces or name in missing_names:
                key = (name, sha if skill.replaces else "")
                rejected_skills.setdefault(key, rejected_skill)
    return list(rejected_skills.values())


def _skills_of_steps(snapshot: Snapshot, *steps: str) -> list[tuple[str, str]]:
    """Return (commit, skill) for the targets of these steps, newest first."""
    commits = snapshot.history.commits_of_step(*steps)
    refs = [(commit.sha, parse_ref(target)) for commit in commits for target in commit.targets]
    return [(sha, ref.id) for sha, ref in refs if ref.kind == "skill"]


def find_rejection(change: Change, rejections: Rejections) -> Rejection | None:
    """Return the rejection of a skill that says the same as a skill of the change, or None."""
    skills = [record for record in change.writes if isinstance(record, Skill)]
    for skill in skills if rejections.proposals else ():
        for rejection in rejections.proposals:
            is_comparable = rejection.domain == skill.domain and not rejection.replaces
            if is_comparable and says_same(rejection.body, skill.body):
                target = f"skill:{skill.name}"
                return Rejection(target, rejection.commit, rejection.reason, rejection.skill)
    return None


def paths_of(snapshot: Snapshot, folder: str, name: str) -> list[str]:
    """Return the paths of a skill's files in a folder, and of the links to the skill."""
    links = snapshot.links.by_target([Ref("skill", name)])
    return [*snapshot.files.below(f"{folder}/{name}"), *(str(ref_of(link)) for link in links)]


def read_rejected_skill(
    store: Store, name: str
) -> tuple[RejectedSkill, Mapping[str, bytes], list[Link]]:
    """Return a rejected skill, its removed files, and its removed links.

    Raise UsageError if the skill is not rejected. Other skills of the same commit stay rejected.
    """
    rejected_skills = find_rejected_skills(store.git, store.snapshot())
    rejection = next((skill for skill in rejected_skills if skill.skill == name), None)
    if rejection is None:
        raise UsageError(f"{name}: is not rejected; `skillvault log --step reject` lists what is")
    parent = f"{rejection.commit}^"
    entries = {
        path: entry
        for path, entry in store.git.history.diff_trees(parent, rejection.commit).items()
        if path.split("/")[1:2] == [name] or path.split("/")[0] not in layout.SKILL_FOLDERS
    }
    lists = [path for path in entries if layout.links_owner(path)]
    deleted_paths = [path for path, entry in entries.items() if entry is None and path not in lists]
    revisions = [f"{parent}:{path}" for path in deleted_paths]
    revisions += [f"{commit}:{path}" for commit in (parent, rejection.commit) for path in lists]
    contents = store.git.objects.read_files(revisions)
    links: list[Link] = []
    for path in lists:
        old_data, new_data = (contents.get(f"{c}:{path}", b"") for c in (parent, rejection.commit))
        links += _removed_links(store.snapshot(), path, old_data, new_data)
    links = [link for link in links if link.target.kind != "skill" or link.target.id == name]
    return rejection, {path: contents[f"{parent}:{path}"] for path in deleted_paths}, links


def _removed_links(snapshot: Snapshot, path: str, old_data: bytes, new_data: bytes) -> list[Link]:
    owner = layout.links_owner(path)
    if owner is None or not (owner.kind == "skill" or owner in snapshot.records):
        return []
    old_links, new_links = (read_links(path, owner, data).links for data in (old_data, new_data))
    return [link for link in old_links if link not in new_links]
