"""What is known of each skill's use: outcomes joined with what was shown, added up, estimated.

Computed from HEAD and kept in the index, which can be deleted at
any time; only what changed is looked at again.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, cast

from msgspec.structs import replace

from skillvault.learning.assess import STEP as ASSESS
from skillvault.learning.assess import AssessedSkill
from skillvault.learning.contrast import episodes
from skillvault.learning.effect import COUNT, LIFT, NAME, USE, VERSION, detect, estimate, mentions
from skillvault.learning.effect import verdict as effect
from skillvault.learning.effect.lift import Observation, Offer, Prior, Sums
from skillvault.learning.effect.verdict import Evidence
from skillvault.learning.expire import lifetime, time_of
from skillvault.loop.registry import MOVERS, STEPS
from skillvault.model.change import BATCH
from skillvault.model.policy import Policy
from skillvault.model.records import Outcome, Ref
from skillvault.vault.commit.skill_versions import skill_texts
from skillvault.vault.commit.store import Store
from skillvault.vault.index.rows import micros, moment
from skillvault.vault.index.skills import SkillStatusRow
from skillvault.vault.index.snapshot import Staged, Topics
from skillvault.vault.index.uses import DecisionRow, SkillUse, SumsEnd

_PAGE = 500  # outcomes that are read at once
_APPLIED = frozenset({"tool", "explicit", "implicit"})


class UseCounts(NamedTuple):
    """A skill's counts, and the last outcome among them; "" if they are always counted anew."""

    evidence: Evidence
    last: str


class Uses:
    """The uses of a vault's skills, and of those of the layers before the vault's."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: tuple[object, dict[str, Evidence]] | None = None
        self._names: tuple[list[str], dict[str, tuple[str, ...]]] = [], {}

    def follow(self, head: Staged) -> None:
        """Compute what changed since it was computed last."""
        self._follow_uses(head)
        self._follow_versions(head)
        self._follow_lifts(head)

    def evidence(self, head: Topics) -> dict[str, Evidence]:
        """Skill -> what is known of its use, as it was computed last."""
        state = head.uses.state
        evidence = self._known
        if evidence is None or evidence[0] != state:
            evidence = self._known = state, head.uses.evidence(Evidence)
        return evidence[1]

    # ── which skills a decision used ─────────────────────────────────────────────────

    def names(self, head: Topics) -> dict[str, tuple[str, ...]]:
        """Every skill that a decision may name, by its first word."""
        stored = [
            name for place in ("skills", "proposed", "archive") for name in head.skills.names(place)
        ]
        names = [*stored, *head.layers.names()]
        by_first_word = self._names
        if names != by_first_word[0]:
            by_first_word = self._names = names, mentions.by_first_word(names)
        return by_first_word[1]

    def read(self, head: Topics) -> "detect.ReadText":
        """Reads a skill's text at a version: what git has, or another layer as it is now."""

        def read(name: str, blob: str) -> str:
            other = head.layers.of_name(name)
            if other is not None and other.blob == blob:
                return other.skill.body
            return head.skills.read_body(name, blob)

        return read

    def _follow_uses(self, head: Staged) -> None:
        renamed = head.due.keys(NAME)
        forms = map(mentions.shortest_form, renamed) if renamed else ()
        due = sorted({*head.due.keys(USE), *(head.outcomes.mentioning(forms) if renamed else ())})
        head.due.mark_done(NAME, renamed)
        known = self.names(head) if due else {}
        read = self.read(head)
        for start in range(0, len(due), _PAGE):
            page = due[start : start + _PAGE]
            outcomes = head.outcomes.get_many(page).values()
            rows = [row for outcome in outcomes for row in _used(head, outcome, known, read)]
            head.uses.keep(page, rows)
            head.due.mark_done(USE, page)

    # ── which text it had ────────────────────────────────────────────────────────────

    def _follow_versions(self, head: Staged) -> None:
        """Note when a person rewrote a skill's text, or brought the skill back."""
        due = head.due.keys(VERSION)
        if not due:
            return
        commits = {
            name: self._by_persons(head, name) for name in head.history.skills_touched_twice(due)
        }
        places = [
            (commit, name)
            for name, found in commits.items()
            for sha, _ in found
            for commit in (f"{sha}^", sha)
        ]
        texts = skill_texts(self._store.git, places)
        begun = {
            name: {at for sha, at in commits.get(name, ()) if _begins(texts, name, sha)}
            | _trial_start(head, name)
            for name in due
        }
        head.uses.keep_version_starts({name: sorted(starts) for name, starts in begun.items()})
        head.due.mark_done(VERSION, due)

    @staticmethod
    def _by_persons(head: Topics, name: str) -> list[tuple[str, int]]:
        """(sha, when) of a person's commits on a skill; the first that touches it rewrites none."""
        found = head.history.commits_touching([Ref("skill", name)])[::-1]
        theirs = (commit for commit in found[1:] if commit.step not in STEPS)
        return [(one.sha, micros(datetime.fromisoformat(one.date))) for one in theirs]

    # ── what it changed ──────────────────────────────────────────────────────────────

    def _follow_lifts(self, head: Staged) -> None:
        changes, touched = head.due.keys(LIFT), head.due.keys(COUNT)
        is_summed = _add_up(head, changes)
        if is_summed or touched:
            self._keep_evidence(head, _counted(head, set(touched)), are_lifts_new=is_summed)
        head.due.mark_done(LIFT, changes)
        head.due.mark_done(COUNT, touched)

    def _keep_evidence(
        self, head: Staged, counted: Mapping[str, UseCounts], *, are_lifts_new: bool
    ) -> None:
        """Keep what was counted anew; where sums changed, the lift of every skill is another."""
        if are_lifts_new:
            before = head.uses.evidence(Evidence)
            sums = head.uses.sums(Sums).values()
            lifted = estimate.estimate_lifts(sums, _prior(head.policy))
        else:
            found = ((name, head.uses.evidence_of(name, Evidence)) for name in counted)
            before = {name: one for name, one in found if one}
            lifted = {
                (name, place): version.lift
                for name, one in before.items()
                for place, version in enumerate((*one.earlier, one))
                if version.lift
            }
        kept = {
            skill: effect.with_lifts(
                one, [lifted.get((skill, i)) for i in range(len(one.earlier) + 1)]
            )
            if one.of_any
            else None
            for skill, one in {**before, **{n: one.evidence for n, one in counted.items()}}.items()
        }
        changed = [(s, one) for s, one in kept.items() if s in counted or before.get(s) != one]
        head.uses.keep_evidence(changed, {name: one.last for name, one in counted.items()})


def _used(
    head: Topics, outcome: Outcome, known: Mapping[str, Iterable[str]], read: "detect.ReadText"
) -> Iterator[SkillUse]:
    decision = outcome.decision.id
    shown = head.recommendations.by_decision(decision) if decision else []
    ends = head.outcomes.ends(decision) if decision and shown else []
    for one in detect.detected_uses(outcome, shown, known, read, ends=ends):
        told = (one.match, one.confidence, one.quote, one.offer)
        yield SkillUse(outcome.id, one.skill, micros(one.made), *told)


def _begins(texts: Mapping[tuple[str, str], Any], name: str, sha: str) -> bool:
    """Whether a commit gave a skill another text, or took it out of archive/."""
    old, new = texts.get((f"{sha}^", name)), texts.get((sha, name))
    if old is None or new is None:
        return False
    back = old.shelf == "archive" and new.shelf != "archive"
    return bool(back or old.body.strip() != new.body.strip())


def _trial_start(head: Topics, name: str) -> set[int]:
    """From when on a skill is tried again: after all that was known when it was decided."""
    skill = head.skills.find(name)
    at = time_of(skill.trial) if skill else None
    return set() if at is None else {micros(at) + 1}


def _add_up(head: Staged, changes: Iterable[str]) -> bool:
    """Add up the domains of which more decisions are to be counted, or others than before.

    `changes` say in which domain something changed, and when it ended. True if any was added up.
    """
    earliest: dict[str, int] = {}
    for domain, _, time in (key.rpartition(" ") for key in changes):
        earliest[domain] = min(int(time), earliest.get(domain, int(time)))
    is_summed = False
    for domain, at in earliest.items():
        last = head.uses.sums_end(domain)
        end = _reach(head, domain, last if at > last.at else SumsEnd())
        if end != last or at <= last.at:
            head.uses.keep_sums(domain, _sums(head, domain, end), end)
            is_summed = True
    return is_summed


def _reach(head: Topics, domain: str, end: SumsEnd) -> SumsEnd:
    """The last decision of a domain up to which its sums go, from one on of which it is known."""
    while later_end := head.uses.later_end(domain, end, estimate.more_to_add(end.decisions)):
        end = later_end
    return end


def _sums(head: Topics, domain: str, end: SumsEnd) -> object | None:
    """What a domain's closed decisions up to one come to; None if there are none."""
    if not end.decisions:
        return None
    totals, exposures = head.uses.totals(domain, end), head.uses.exposures(domain, end)
    used = {row.skill for row in exposures}
    merged = head.uses.merges()
    begun = head.uses.version_starts(used | {_whole(skill, merged) for skill in used})
    rows = head.uses.decisions(domain, end) if exposures else ()
    episode_of = _episodes(rows, head.policy.evaluate.episode_minutes)
    found = (
        Observation(
            decision=row.outcome,
            skill=_whole(row.skill, merged),
            group=row.group,
            success=row.status == "success",
            made=row.made,
            applied=row.match in _APPLIED,
            weight=detect.weight(row.match, row.confidence),
            offer=cast("Offer", row.offer),
            episode=episode_of.get(row.outcome, ""),
        )
        for row in exposures
    )
    return estimate.add_up(found, totals, begun, _prior(head.policy))


def _prior(policy: Policy) -> "Prior":
    rules = policy.effect
    return Prior(scale=rules.scale, carry=rules.carry, latest=rules.latest)


def _episodes(rows: Sequence[DecisionRow], minutes: int) -> dict[str, str]:
    """Decision -> the episode that it is of."""
    occasions = [
        episodes.Occasion(
            id=row.outcome,
            at=row.at if row.made is None else row.made,
            about=row.action,
            is_timed=row.made is not None and not (row.batch and row.task),
            session=(row.agent, row.session) if row.session else None,
            task=row.task or (row.target,),
        )
        for row in rows
    ]
    numbers = episodes.group_episodes(occasions, minutes)
    return {row.outcome: str(number) for row, number in zip(rows, numbers, strict=True)}


def _whole(skill: str, merged: Mapping[str, str]) -> str:
    """The skill that stands for one that was merged, and again."""
    if skill not in merged:  # as nearly all of a million uses
        return skill
    seen: set[str] = set()
    while skill in merged and skill not in seen:
        seen.add(skill)
        skill = merged[skill]
    return skill


def _counted(head: Topics, skills: set[str]) -> dict[str, UseCounts]:
    """Skill -> its counts; those of what was merged into it among them."""
    merged = head.uses.merges_of(skills)
    wanted = {_whole(name, merged) for name in skills} | skills
    sources = {name: [one for one in merged if _whole(one, merged) == name] for name in wanted}
    return {
        name: (None if others else _counted_on(head, name)) or _counted_anew(head, name, others)
        for name, others in sources.items()
    }


def _counted_on(head: Topics, name: str) -> UseCounts | None:
    """A skill's counts with the decisions after the last counted; None if they cannot be added."""
    last = head.uses.last_counted(name)
    before = head.uses.evidence_of(name, Evidence) if last else None
    if before is None:
        return None
    starts = head.uses.version_starts([name]).get(name, [])
    decisions = _decisions(head, [name], last)
    trial = _is_tried(head, name, starts)
    found = effect.evidence_with_later(before, decisions, starts, trial=trial)
    return UseCounts(found, max([last, *(one.outcome for one in decisions)])) if found else None


def _counted_anew(head: Topics, name: str, merged: Sequence[str]) -> UseCounts:
    """A skill's counts of all its decisions, and of those of what was merged into it."""
    starts = head.uses.version_starts([name]).get(name, [])
    decisions = _decisions(head, [name, *merged])
    trial = _is_tried(head, name, starts)
    found = effect.evidence_by_version(decisions, starts, trial=trial)
    last = "" if merged else max((one.outcome for one in decisions), default="")
    return UseCounts(found, last)


def _is_tried(head: Topics, name: str, starts: Sequence[int]) -> bool:
    return bool(starts) and starts[-1] in _trial_start(head, name)


def _decisions(
    head: Topics, skills: Iterable[str], after: str = ""
) -> list["effect.ClosedDecision"]:
    """The closed decisions that had to do with these skills, by outcomes after one."""
    rows = head.uses.by_skill(skills, after)
    # A bulk is looked at when all of it is there, not after each of its full commits.
    bulk = head.uses.large_commits({row.commit for row in rows if row.commit}, BATCH)
    return [
        effect.ClosedDecision(
            outcome=row.outcome,
            at=moment(row.at),
            status=row.status,
            made=row.made,
            applied=row.match in _APPLIED,
            offer=row.offer,
            overruled=row.match == "overruled",
            look=0 if row.commit is None or row.commit in bulk else row.commit,
        )
        for row in rows
    ]


def assessed(
    view: Topics, row: SkillStatusRow, evidence: Evidence, clock: datetime
) -> AssessedSkill:
    """A skill as it stands at its domain's time; of one that was never retired no file is read."""
    ref = Ref("skill", row.name)
    ours = row.shelf == "archive" and view.history.last_step(ref, MOVERS) == ASSESS
    shown = AssessedSkill(
        name=row.name,
        shelf=row.shelf,
        status=row.status,
        evidence=evidence,
        clock=clock,
        ours=ours,
    )
    skill = view.skills.find(row.name) if ours or evidence.trial else None
    if skill is None:
        return shown
    retired, life = time_of(skill.retired), lifetime(skill, view.policy)
    last = view.history.commits_touching([ref])[:1]
    return replace(
        shown,
        retired=retired,
        trial=time_of(skill.trial),
        since=view.uses.closed_since(row.domain, micros(retired)) if ours and retired else 0,
        is_rejected=any(commit.step not in STEPS for commit in last)
        or (life is not None and life.ends < clock),
    )
