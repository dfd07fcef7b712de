"""Find out if skillvault may change or archive a skill, or if a person decided on it.

The steps ask these functions before they change a skill. The answers come from the commits: they
show which texts the program wrote and which it archived.
"""

from collections.abc import Collection, Iterable

from skillvault.learning import sections
from skillvault.learning.length import References
from skillvault.learning.next_version import APPROVE
from skillvault.loop.accounts import RESTORING_STEPS
from skillvault.loop.next_versions import program_commits, with_waiting_accounts
from skillvault.loop.registry import WRITERS
from skillvault.loop.run import Run
from skillvault.model.change import REVERT
from skillvault.model.records import Outcome, Ref, Skill
from skillvault.vault.commit.skill_versions import skill_files
from skillvault.vault.files import layout


def derived_skills(run: Run, names: Collection[str]) -> dict[str, Skill]:
    """Return the skills that are in use or that `promote` archived, by name."""
    snapshot = run.snapshot
    skills = snapshot.skills.live(names)
    for name in sorted(snapshot.skills.names_in_folder("archive", set(names).difference(skills))):
        skill = snapshot.skills.find(name)
        commits = snapshot.history.commits_touching([Ref("skill", name)])
        if skill and commits and commits[0].step == "promote" and skill.status != "retired":
            skills[name] = skill
    return with_waiting_accounts(snapshot, skills)


def skill_folder(run: Run, skill: Skill) -> str:
    """Return the top folder of a skill: skills, proposed or archive."""
    return (run.snapshot.records.path_of(Ref("skill", skill.name)) or "skills/").partition("/")[0]


def may_archive(run: Run, skill: Skill) -> bool:
    """Return True if a skill is in use, managed by skillvault, and unedited."""
    if skill_folder(run, skill) == "archive" or not run.accounts.is_managed(skill):
        return False
    return not is_edited(run, skill.name)


def is_mergeable(run: Run, name: str) -> bool:
    """Return True if a skill may be archived when it is merged into another."""
    skill = run.snapshot.skills.find(name)
    # With this gate a person approved each served skill.
    if skill is None or skill.replaces or run.policy.generate.gate == "always":
        return False
    is_new = not run.snapshot.history.commits_touching([Ref("skill", name)])  # made in a dry run
    is_managed = is_new or run.accounts.is_managed(skill)
    return is_managed and not is_edited(run, name) and not is_restored(run, name)


def is_edited(run: Run, name: str) -> bool:
    """Return True if a person edited the text of a skill."""
    skill = run.snapshot.skills.find(name)
    return bool(skill and sections.edited_sections(run.written_texts(name).bodies, skill.body))


def is_restored(run: Run, name: str) -> bool:
    """Return True if a person restored a skill that skillvault had archived."""
    return find_archived_file(run, name, RESTORING_STEPS) is not None


def find_archived_file(run: Run, name: str, steps: Collection[str]) -> bytes | None:
    """Return the file of a skill that these steps archived, or None if a commit came later."""
    commits = run.commits_of(Ref("skill", name), steps)
    addresses = [(commit.sha, layout.skill_path(name)) for commit in commits[-1:]]
    files = skill_files(run.store.git, addresses, run.snapshot.history.former_names()).values()
    return next((content for folder, content in files if folder == "archive"), None)


def sources_of_skill(run: Run, outcomes: Iterable[Outcome], name: str) -> set[str]:
    """Return the outcomes that made a skill, even if a person removed the link."""
    refs = [Ref("evaluation", outcome.id) for outcome in outcomes]
    history = run.snapshot.history
    return {
        source
        for step in ("generate", "refresh", "merge")
        for source, target in history.targets_of(step, "skill", refs)
        if target == name
    }


def read_references(run: Run, folder: str, skill: Skill) -> References:
    """Return the names of a skill's files in references/, generated and edited files apart."""
    snapshot, git = run.snapshot, run.store.git
    files = snapshot.files.read(snapshot.files.below(f"{folder}/{skill.name}/references"))
    commits = run.commits_of(Ref("skill", skill.name), {*WRITERS, APPROVE, REVERT})
    shas = [commit.sha for commit in program_commits(git, snapshot, skill.name, commits)]
    addresses = [(at, path) for sha in shas for at in (f"{sha}^", sha) for path in files]
    old_files = skill_files(git, addresses, snapshot.history.former_names())
    contents = {address: data for address, (_, data) in old_files.items()}
    unedited_names: set[str] = set()
    edited_names: set[str] = set()
    for path, data in files.items():
        versions = ((contents.get((f"{sha}^", path)), contents.get((sha, path))) for sha in shas)
        # A merge of two clones takes the version of either.
        is_program = any(text == data for previous, text in versions if previous != text)
        (unedited_names if is_program else edited_names).add(path.rpartition("/")[2])
    return References(unedited_names, edited_names)
