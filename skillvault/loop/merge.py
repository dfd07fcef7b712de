"""merge: skills of sessions that say the same become one."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from skillvault.learning import sections
from skillvault.learning.generate.warning_pattern import STEP as GENERATE
from skillvault.learning.length import References
from skillvault.learning.merge.sessions import STEP
from skillvault.learning.next_version import APPROVE
from skillvault.learning.refresh import STEP as REFRESH
from skillvault.loop.accounts import BACK
from skillvault.loop.next_versions import programs_words
from skillvault.loop.registry import WRITERS
from skillvault.loop.run import Run
from skillvault.loop.session_merges import session_changes
from skillvault.model.change import Change
from skillvault.model.records import Outcome, Ref, Skill
from skillvault.vault.commit.skill_versions import skill_files
from skillvault.vault.files import layout


def step(run: Run) -> Iterator[Change]:
    """Yield one change a skill that comes of it or grows."""
    run.settle(STEP, run.view.due.keys(STEP))  # skills of outcomes are merged by `seed` alone
    yield from session_changes(run, partial(is_mergeable, run), references)


def is_mergeable(run: Run, name: str) -> bool:
    """Whether a skill is the program's to put away: nobody decided on it or wrote in it."""
    skill = run.view.skills.find(name)
    is_new = not run.view.history.commits_touching([Ref("skill", name)])  # in a dry run
    ours = skill is not None and (is_new or run.accounts.is_ours(skill))
    if run.policy.generate.gate == "always":  # then a served one was let in
        return False
    if skill is not None and skill.replaces:
        return False
    return ours and not is_edited(run, f"skills/{name}") and not is_brought_back(run, name)


def is_edited(run: Run, place: str) -> bool:
    """Whether a person wrote in the text of the skill at `<shelf>/<name>`."""
    name = place.partition("/")[2]
    skill = run.view.skills.find(name)
    return skill is not None and bool(
        sections.edited_sections(run.versions(name).bodies, skill.body)
    )


def is_brought_back(run: Run, name: str) -> bool:
    """Whether a living skill was put away by the program last, so that a person brought it back."""
    commits = run.commits_on(Ref("skill", name), BACK)
    places = [(commit.sha, layout.skill_path(name)) for commit in commits[-1:]]
    return any(shelf == "archive" for shelf, _ in skill_files(run.store.git, places).values())


def unlinked(run: Run, outcomes: Iterable[Outcome], name: str) -> set[str]:
    """The outcomes that a skill was made of, linked still or by a person's word no more."""
    sources = [Ref("evaluation", outcome.id) for outcome in outcomes]
    made = (
        pair
        for step_name in (GENERATE, REFRESH, STEP)
        for pair in run.view.history.targets_of(step_name, "skill", sources)
    )
    return {source for source, target in made if target == name}


def references(run: Run, shelf: str, skill: Skill) -> References:
    """A skill's files in references/: those that are as the program left them, and the others."""
    folder = f"{shelf}/{skill.name}/references"
    now = run.view.files.read(run.view.files.below(folder))
    written = _written_of(run, skill.name, list(now))
    names = {path: path.rpartition("/")[2] for path in now}
    # Of two clones' versions a merge takes either.
    ours = {
        names[path]
        for path, data in now.items()
        if data in {after for before, after in written[path] if before != after}
    }
    return References(ours, set(names.values()) - ours)


def _written_of(
    run: Run, name: str, paths: Sequence[str]
) -> dict[str, list[tuple[bytes | None, bytes | None]]]:
    """path -> (before, after) of each commit of the program on a skill, oldest first."""
    every = run.commits_on(Ref("skill", name), {*WRITERS, APPROVE})
    words = programs_words(run.store.git, run.view, name, every)
    commits = [commit.sha for commit in words]
    places = [(at, path) for sha in commits for at in (f"{sha}^", sha) for path in paths]
    there = {place: data for place, (_, data) in skill_files(run.store.git, places).items()}
    return {
        path: [(there.get((f"{sha}^", path)), there.get((sha, path))) for sha in commits]
        for path in paths
    }
