"""merge: subjects that say the same get one skill, which is written anew as they go on."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from hashlib import sha256
from typing import TypeVar

from skillvault.learning import sections
from skillvault.learning.account.account import KINDS, calls_for_skill
from skillvault.learning.account.reading import last_point
from skillvault.learning.expire import is_cut_short, lifetime
from skillvault.learning.generate.warning_pattern import STEP as GENERATE
from skillvault.learning.generate.warning_pattern import Present, expiry_after, made_at
from skillvault.learning.length import References
from skillvault.learning.merge import evolved
from skillvault.learning.merge.evolved import Merging, TakenIn, taken_in
from skillvault.learning.merge.groups import STEP, Group
from skillvault.learning.next_version import APPROVE
from skillvault.learning.refresh import STEP as REFRESH
from skillvault.loop.accounts import BACK
from skillvault.loop.clock import clock
from skillvault.loop.judging.judge_replies import draft_by, told_by
from skillvault.loop.next_versions import (
    approved_name,
    programs_words,
    with_version,
    with_waiting_account,
)
from skillvault.loop.registry import WRITERS
from skillvault.loop.run import Run
from skillvault.loop.session_merges import session_changes, session_merges
from skillvault.model.brief import Agreement, Findings
from skillvault.model.change import Change
from skillvault.model.records import Outcome, Placed, Ref, Skill, stamp
from skillvault.vault.commit.skill_versions import skill_files
from skillvault.vault.files import layout

_Value = TypeVar("_Value")


def step(run: Run) -> Iterator[Change]:
    """One change a skill that comes of it, grows, or stands for nothing any more."""
    yield from _by_causes(run)
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


def _by_causes(run: Run) -> Iterator[Change]:
    for domain, keys in _changed(run).items():
        kept = False
        for kind in KINDS:
            groups = run.accounts.groups(domain, kind)
            changed = (group for group in groups if run.accounts.is_changed(group))
            merges = [merge for group in changed if (merge := merging(run, group))]
            for merge in merges:
                changes = list(run.written(partial(composed, run, merge), merge.group.subject))
                kept = kept or bool(changes) or run.report.unavailable is not None
                yield from changes
            yield from _left(run, domain, kind, groups)
            if not run.options.asks:
                members = {v.subject: group.subject for group in groups for v in group.voices}
                run.store.staged.subjects.keep_groups(domain, kind, members)
        # Its subjects are read: one key says that the domain is to be looked at again.
        run.settle(STEP, sorted(keys)[1:] if kept else keys)


def waiting(run: Run) -> int:
    """How many skills come of it or grow."""
    joined = len(list(session_merges(run, partial(is_mergeable, run))))
    return joined + sum(
        merging(run, group) is not None
        for domain in _changed(run)
        for kind in KINDS
        for group in run.accounts.groups(domain, kind)
    )


def _changed(run: Run) -> dict[str, set[str]]:
    """The domains in which something changed, with the keys that say so."""
    keys = set(run.view.due.keys(STEP))
    run.accounts.due(STEP)
    return settled_by_domain(run, keys)


def settled_by_domain(run: Run, keys: set[str]) -> dict[str, set[str]]:
    """The domains of what is due; settles what has none."""
    by_domain = run.view.outcomes.ids_by_domain(keys)
    run.settle(STEP, keys.difference(*by_domain.values()))
    return by_domain


def merging(run: Run, group: Group, *, current: bool = False) -> Merging | None:
    """What is to be done about a group's skill; None for nothing.

    `current`: what it is written from if it says what its subjects say by now.
    """
    voices = (voice.first for voice in group.voices)
    histories = [run.accounts.read_part(h) for h in run.accounts.histories(voices, set())]
    union = sorted((placed for read in histories for placed in read), key=lambda p: p[:2])
    firsts = {read[0].id for read in histories if read}
    every = max((n for n, placed in enumerate(union, 1) if placed.id in firsts), default=0)
    read = union[: max(last_point(len(union)), every)]  # of each subject at least its first
    present = _present(run, group, read)
    own = _own(run, group, present)
    counted = (f"{placed.id} {' '.join(placed.marks or ())}" for placed in read)
    names = "\n".join([*sorted(group.subjects), *counted])
    digest = sha256(names.encode()).hexdigest()[:12]
    skill = present.skill
    if present.put_away or (skill and skill.status in ("pinned", "retired")):
        return None
    is_current = skill and (skill.account, skill.subject) == (digest, group.subject)
    if current != bool(is_current and not own and present.shelf != "archive"):
        return None
    account = run.accounts.account(read)
    together = run.accounts.findings(account, group.kind)
    if not calls_for_skill(together, run.policy) or _is_over(run, group, together, present):
        return None
    ids = {placed.id for placed in read}
    parts = ([placed for placed in each if placed.id in ids] for each in histories)
    apart = tuple(
        run.accounts.findings(run.accounts.account(part), group.kind) for part in parts if part
    )
    brief = Agreement(together=together, apart=apart)
    return Merging(
        group=group,
        brief=brief,
        read=digest,
        present=present,
        own=own,
        taken=tuple(_taken(run, group, present)),
        fresh=evolved.fresh_of(brief, present.linked),
    )


def _is_over(run: Run, group: Group, together: Findings, present: Present) -> bool:
    """Whether its time to live would be over by its domain's clock; not as long as it lives."""
    ends = expiry_after(made_at(together), run.policy.generate.evolved_days)
    at = clock(run.view, group.domain, run.now, run.rules)
    living = present.skill if present.shelf != "archive" else None
    life = lifetime(living, run.policy) if living else None
    return at is not None and ends < stamp(at) and not (life and at <= life.ends)


def _present(run: Run, group: Group, read: Sequence[Placed]) -> Present:
    """What there is of a group's skill."""
    view = run.view
    places = view.skills.by_subject(group.stated_subject)
    places = [place for place in places if approved_name(view, place.name) == place.name]
    living = [place for place in places if place.shelf != "archive"]
    place = next(iter(living or places), None)
    skill = view.skills.find(place.name) if place else None
    if place is None or skill is None:
        return Present()
    sources = [Ref("evaluation", placed.id) for placed in read]
    linked = unlinked(run, read, skill.name)
    ends = with_version(view, skill.name)
    linked.update(*(view.links.sources_among(sources, ref) for ref in ends))
    return Present(
        skill=with_waiting_account(view, skill),
        shelf=place.shelf,
        linked=frozenset(linked),
        put_away=run.accounts.put_away(skill) if place.shelf == "archive" else None,
    )


def _own(run: Run, group: Group, present: Present) -> tuple[str, ...]:
    """The living skills of a group's subjects that are the program's to put away.

    What waits for a person takes the place of what waits, and of nothing that is served.
    """
    skill = present.skill
    waits = run.policy.generate.gate == "always" or (skill and skill.status == "proposed")
    shelves = ("proposed",) if waits else ("skills", "proposed")
    places: list[str] = []
    for voice in group.voices:
        for place in run.view.skills.by_subject(voice.subject):
            skill = run.view.skills.find(place.name)
            if place.shelf not in shelves or place.kind != group.kind or skill is None:
                continue
            if skill.replaces:
                continue  # it waits for what becomes of the skill that it replaces
            at = f"{place.shelf}/{place.name}"
            ours = skill.origin == "generated" and run.accounts.is_ours(skill)
            if ours and not is_edited(run, at) and not is_brought_back(run, skill.name):
                places.append(at)
    return tuple(places)


def _taken(run: Run, group: Group, present: Present) -> Iterator[TakenIn]:
    """The living skills that a person edited while another clone merged them into this one."""
    evolved_skill = present.skill
    if evolved_skill is None or not evolved_skill.written or present.shelf == "archive":
        return
    into = Ref("skill", evolved_skill.name)
    for voice in group.voices:
        for place in run.view.skills.by_subject(voice.subject):
            skill = run.view.skills.find(place.name)
            if skill is None or place.shelf != "skills" or skill.status in ("pinned", "retired"):
                continue
            ref, at = Ref("skill", skill.name), f"{place.shelf}/{place.name}"
            taken = taken_in(at, skill, run.versions(skill.name).bodies)
            merged = run.view.links.sources_among([ref], into)
            if taken and merged and not _knew_of_merge(run, ref, into):
                yield taken


def _knew_of_merge(run: Run, ref: Ref, into: Ref) -> bool:
    """Whether the person who wrote in a skill last had its merge in their clone already."""
    history = run.view.history
    merges = (c for c in history.commits_from(ref) if c.step == STEP and str(into) in c.targets)
    merge = next(merges, None)
    edit = next((commit for commit in history.commits_touching([ref]) if not commit.step), None)
    return not (merge and edit) or run.store.git.history.is_ancestor(merge.sha, edit.sha)


def is_edited(run: Run, place: str) -> bool:
    """Whether a person wrote in the text of the skill at `<shelf>/<name>`."""
    name = place.partition("/")[2]
    skill = run.view.skills.find(name)
    return skill is not None and bool(sections.theirs(run.versions(name).bodies, skill.body))


def is_brought_back(run: Run, name: str) -> bool:
    """Whether a living skill was put away by the program last, so that a person brought it back."""
    commits = run.commits_on(Ref("skill", name), BACK)
    places = [(commit.sha, layout.skill_path(name)) for commit in commits[-1:]]
    return any(shelf == "archive" for shelf, _ in skill_files(run.store.git, places).values())


def _left(run: Run, domain: str, kind: str, groups: Sequence[Group]) -> Iterator[Change]:
    """The evolved skills of a domain that no group is behind any more leave."""
    subjects = {subject for group in groups for subject in (group.subject, group.stated_subject)}
    every = (
        (shelf, n) for shelf in ("skills", "proposed") for n in run.view.skills.names(shelf, domain)
    )
    for shelf, name in every:
        skill = run.view.skills.find(name)
        if skill is None or (skill.kind, skill.origin) != ("evolved", "generated"):
            continue
        if skill.replaces:
            continue  # it goes with the skill that it replaces
        # One without a subject is from before membership was computed.
        ours = skill.subject is None or skill.subject.startswith(f"{domain} / {kind} / ")
        alive = run.accounts.is_ours(skill) and skill.subject not in subjects
        left = ours and alive and not is_edited(run, f"{shelf}/{name}")
        if left and not is_brought_back(run, name):
            yield evolved.leave_change(skill, shelf)


def unlinked(run: Run, outcomes: Iterable[Placed | Outcome], name: str) -> set[str]:
    """The outcomes that a skill was made of, linked still or by a person's word no more."""
    sources = [Ref("evaluation", outcome.id) for outcome in outcomes]
    made = (
        pair
        for step_name in (GENERATE, REFRESH, STEP)
        for pair in run.view.history.targets_of(step_name, "skill", sources)
    )
    return {source for source, target in made if target == name}


def composed(run: Run, due: Merging) -> Change | None:
    """The change, if the judge writes a text; else none."""
    draft = draft_by(run.judge, due.brief)
    if draft is None:
        return None
    skill = due.present.skill
    if skill is None:
        change = evolved.merge_change(
            due, draft, taken=run.view.skills.is_name_taken, policy=run.policy
        )
        return told_by(change, draft, run.view)
    written = run.versions(skill.name)
    if due.present.shelf == "archive" and is_cut_short(skill, written.ends, run.policy):
        return None  # a person said when it ends
    change = evolved.growth_change(
        due,
        draft,
        written,
        references=references(run, due.present.shelf, skill),
        policy=run.policy,
    )
    return told_by(change, draft, run.view)


def references(run: Run, shelf: str, skill: Skill) -> References:
    """A skill's files in references/: those that are as the program left them, and the others."""
    folder = f"{shelf}/{skill.name}/references"
    now = run.view.files.read(run.view.files.below(folder))
    written = _written_of(run, skill.name, list(now))
    names = {path: path.rpartition("/")[2] for path in now}
    ours = {names[path] for path, data in now.items() if _last(written[path]) == data}
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


def _last(pairs: Sequence[tuple[_Value, _Value]]) -> _Value | None:
    """What the program wrote when it last changed a thing; None if it never did."""
    return next((after for before, after in reversed(pairs) if before != after), None)
