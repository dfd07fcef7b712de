"""Count the uses of each skill: join outcomes with the skills that agents got.

The counts come from HEAD and are stored in the index, so a run reads only what changed. To change
a formula, see `learning/effect/`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple, cast

from msgspec.structs import replace

from skillvault.learning.assess import STEP as ASSESS
from skillvault.learning.assess import AssessedSkill
from skillvault.learning.contrast import episodes
from skillvault.learning.effect import detect, estimate, mentions, verdict
from skillvault.learning.effect.lift import Observation, Offer, Sums
from skillvault.learning.effect.verdict import Evidence
from skillvault.learning.expire import lifetime, time_of
from skillvault.loop.registry import COUNTS, LIFTS, MOVERS, NAMES, STEPS, USES, VERSIONS
from skillvault.model.change import INTAKE_BATCH
from skillvault.model.records import Outcome, Ref
from skillvault.vault.commit.skill_versions import skill_texts
from skillvault.vault.commit.store import Store
from skillvault.vault.index.rows import micros, moment
from skillvault.vault.index.skills import SkillStatusRow
from skillvault.vault.index.snapshot import Staging, Topics
from skillvault.vault.index.uses import DecisionRow, SkillUse, SumsEnd

_PAGE_SIZE = 500  # outcomes that are read at once


class UseCounts(NamedTuple):
    """The counts of a skill, and its last outcome; "" if the counts never continue from it."""

    evidence: Evidence
    last_outcome: str


class Uses:
    """The evidence of use of each skill, also of skills from elsewhere, kept up to date."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._evidence: tuple[object, dict[str, Evidence]] | None = None
        self._names: tuple[list[str], dict[str, tuple[str, ...]]] = [], {}

    def count_uses(self, head: Staging) -> None:
        """Update the stored evidence by everything that changed since the last call."""
        self._follow_uses(head)
        self._follow_versions(head)
        self._follow_lifts(head)

    def evidence(self, head: Topics) -> dict[str, Evidence]:
        """Return skill -> the evidence of its use, as last computed."""
        state = head.uses.state
        if self._evidence is None or self._evidence[0] != state:
            self._evidence = state, head.uses.evidence(Evidence)
        return self._evidence[1]

    # ── the uses of skills by decisions ──────────────────────────────────────────────

    def skill_names(self, head: Topics) -> dict[str, tuple[str, ...]]:
        """Return every skill that a decision may name, by the words of its name."""
        shelves = (head.skills.names(shelf) for shelf in ("skills", "proposed", "archive"))
        names = [*(name for shelf in shelves for name in shelf), *head.layers.names()]
        names += head.history.former_names()
        if names != self._names[0]:
            self._names = names, mentions.index_by_word(names)
        return self._names[1]

    def _follow_uses(self, head: Staging) -> None:
        new_names = head.due.keys(NAMES)
        mentioning: Iterable[str] = ()
        if new_names:
            mentioning = head.outcomes.mentioning(map(mentions.shortest_form, new_names))
        due_ids = sorted({*head.due.keys(USES), *mentioning})
        head.due.mark_done(NAMES, new_names)
        names = self.skill_names(head) if due_ids else {}
        for start in range(0, len(due_ids), _PAGE_SIZE):
            page = due_ids[start : start + _PAGE_SIZE]
            outcomes = head.outcomes.get_many(page).values()
            rows = [row for outcome in outcomes for row in _find_uses(head, outcome, names)]
            head.uses.keep(page, rows)
            head.due.mark_done(USES, page)

    # ── versions of a text ───────────────────────────────────────────────────────────

    def _follow_versions(self, head: Staging) -> None:
        """Store the times at which a person rewrote or restored a skill."""
        due_names = head.due.keys(VERSIONS)
        if not due_names:
            return
        commits: dict[str, list[tuple[str, int]]] = {}
        former_names = head.history.former_names()
        renamed_names = {former_names.get(name, name) for name in due_names} & {
            *former_names.values()
        }
        due_names = sorted({*due_names, *renamed_names})
        for name in {*head.history.skills_touched_twice(due_names), *renamed_names}:
            # The first commit that touches a skill rewrites nothing.
            later_commits = head.history.commits_touching([Ref("skill", name)])[::-1][1:]
            commits[name] = [
                (commit.sha, micros(datetime.fromisoformat(commit.date)))
                for commit in later_commits
                if commit.step not in STEPS
            ]
        addresses = [
            (commit, name)
            for name, edits in commits.items()
            for sha, _ in edits
            for commit in (f"{sha}^", sha)
        ]
        texts = skill_texts(self._store.git, addresses, former_names)
        starts: dict[str, list[int]] = {}
        for name in due_names:
            times = {time for sha, time in commits.get(name, ()) if _is_new_text(texts, name, sha)}
            starts[name] = sorted(times | _trial_starts(head, name))
        head.uses.keep_version_starts(starts)
        head.due.mark_done(VERSIONS, due_names)

    # ── lifts ────────────────────────────────────────────────────────────────────────

    def _follow_lifts(self, head: Staging) -> None:
        changes, names = head.due.keys(LIFTS), head.due.keys(COUNTS)
        is_summed = _update_sums(head, changes)
        if is_summed or names:
            self._keep_evidence(head, _count_uses(head, set(names)), are_lifts_new=is_summed)
        head.due.mark_done(LIFTS, changes)
        head.due.mark_done(COUNTS, names)

    def _keep_evidence(
        self, head: Staging, counts: Mapping[str, UseCounts], *, are_lifts_new: bool
    ) -> None:
        """Store the evidence; if sums changed, store a new lift for every skill."""
        if are_lifts_new:
            stored = head.uses.evidence(Evidence)
            sums = head.uses.sums(Sums).values()
            lifts = estimate.estimate_lifts(sums, head.policy.effect)
        else:
            pairs = ((name, head.uses.evidence_of(name, Evidence)) for name in counts)
            stored = {name: evidence for name, evidence in pairs if evidence}
            lifts = {
                (name, number): version.lift
                for name, evidence in stored.items()
                for number, version in enumerate((*evidence.earlier, evidence))
                if version.lift
            }
        changes: list[tuple[str, Evidence | None]] = []
        for name, evidence in {**stored, **{n: c.evidence for n, c in counts.items()}}.items():
            new_evidence = None
            if evidence.has_decisions:
                own_lifts = [lifts.get((name, i)) for i in range(len(evidence.earlier) + 1)]
                new_evidence = verdict.with_lifts(evidence, own_lifts)
            if name in counts or stored.get(name) != new_evidence:
                changes.append((name, new_evidence))
        head.uses.keep_evidence(changes, {name: c.last_outcome for name, c in counts.items()})


def read_version(head: Topics, name: str, blob: str) -> str:
    """Return the text of a skill's version, from git or from a layer."""
    layered = head.layers.of_name(name)
    if layered is not None and layered.blob == blob:
        return layered.skill.body
    return head.skills.read_body(name, blob)


def _find_uses(
    head: Topics, outcome: Outcome, names: Mapping[str, Iterable[str]]
) -> Iterator[SkillUse]:
    decision = outcome.decision.id
    receipts = head.recommendations.by_decision(decision) if decision else []
    claims = head.outcomes.ends(decision) if decision and receipts else []
    read_text = partial(read_version, head)
    for use in detect.detected_uses(outcome, receipts, names, read_text, ends=claims):
        details = (use.match, use.confidence, use.quote, use.offer)
        yield SkillUse(outcome.id, use.skill, micros(use.made), *details)


def _is_new_text(texts: Mapping[tuple[str, str], Any], name: str, sha: str) -> bool:
    """Return True if a commit gave a skill another text, or took it out of archive/."""
    previous_text, current_text = texts.get((f"{sha}^", name)), texts.get((sha, name))
    if previous_text is None or current_text is None:
        return False
    is_back = previous_text.shelf == "archive" and current_text.shelf != "archive"
    return bool(is_back or previous_text.body.strip() != current_text.body.strip())


def _trial_starts(head: Topics, name: str) -> set[int]:
    """Return the start of a skill's new trial, just after the decision to try it."""
    skill = head.skills.find(name)
    trial = time_of(skill.trial) if skill else None
    return set() if trial is None else {micros(trial) + 1}


def _update_sums(head: Staging, changes: Iterable[str]) -> bool:
    """Sum the domains with new or changed decisions; return True if there were any.

    `changes` maps each changed domain to the time when a changed decision ended.
    """
    earliest_times: dict[str, int] = {}
    for domain, _, time in (key.rpartition(" ") for key in changes):
        earliest_times[domain] = min(int(time), earliest_times.get(domain, int(time)))
    is_summed = False
    for domain, at in earliest_times.items():
        last_end = head.uses.sums_end(domain)
        end = last_end if at > last_end.at else SumsEnd()
        while later_end := head.uses.later_end(domain, end, estimate.recount_after(end.decisions)):
            end = later_end
        if end != last_end or at <= last_end.at:
            head.uses.keep_sums(domain, _sums_until(head, domain, end), end)
            is_summed = True
    return is_summed


def _sums_until(head: Topics, domain: str, end: SumsEnd) -> object | None:
    """Return the sums of a domain's closed decisions until `end`; None without decisions."""
    if not end.decisions:
        return None
    totals, exposures = head.uses.totals(domain, end), head.uses.exposures(domain, end)
    skills = {row.skill for row in exposures}
    merges = head.uses.merges()
    starts = head.uses.version_starts(skills | {_survivor_of(skill, merges) for skill in skills})
    rows = head.uses.decisions(domain, end) if exposures else ()
    episode_of = _number_episodes(rows, head.policy.evaluate.episode_minutes)
    observations = (
        Observation(
            decision=row.outcome,
            skill=_survivor_of(row.skill, merges),
            group=row.group,
            success=row.status == "success",
            made=row.made,
            applied=row.match in detect.APPLIED,
            weight=detect.weight(row.match, row.confidence),
            offer=cast("Offer", row.offer),
            episode=episode_of.get(row.outcome, ""),
        )
        for row in exposures
    )
    return estimate.add_up(observations, totals, starts, head.policy.effect)


def _number_episodes(rows: Sequence[DecisionRow], minutes: int) -> dict[str, str]:
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


def _survivor_of(skill: str, merged: Mapping[str, str]) -> str:
    if skill not in merged:  # nearly all of a million uses
        return skill
    visited_names: set[str] = set()
    while skill in merged and skill not in visited_names:
        visited_names.add(skill)
        skill = merged[skill]
    return skill


def _count_uses(head: Topics, skills: set[str]) -> dict[str, UseCounts]:
    """Return skill -> its counts, including the skills that were merged into it."""
    merged_names = head.uses.merges_of(skills)
    names = {_survivor_of(name, merged_names) for name in skills} | skills
    counts: dict[str, UseCounts] = {}
    for name in names:
        sources = [source for source in merged_names if _survivor_of(source, merged_names) == name]
        counts[name] = _count_skill(head, name, sources)
    return counts


def _count_skill(head: Topics, name: str, merged_names: Sequence[str]) -> UseCounts:
    """Return the counts of a skill; read only later decisions if they can be added."""
    starts = head.uses.version_starts([name]).get(name, [])
    trial = bool(starts) and starts[-1] in _trial_starts(head, name)
    last = "" if merged_names else head.uses.last_counted(name)
    if stored_evidence := head.uses.evidence_of(name, Evidence) if last else None:
        decisions = _closed_decisions(head, [name], last)
        if evidence := verdict.evidence_with_later(stored_evidence, decisions, starts, trial=trial):
            return UseCounts(evidence, max([last, *(decision.outcome for decision in decisions)]))
    decisions = _closed_decisions(head, [name, *merged_names])
    evidence = verdict.evidence_by_version(decisions, starts, trial=trial)
    last = "" if merged_names else max((decision.outcome for decision in decisions), default="")
    return UseCounts(evidence, last)


def _closed_decisions(
    head: Topics, skills: Iterable[str], last_id: str = ""
) -> list["verdict.ClosedDecision"]:
    rows = head.uses.by_skill(skills, last_id)
    # A bulk counts as one look when it is complete, not each of its full commits.
    bulk = head.uses.large_commits({row.commit for row in rows if row.commit}, INTAKE_BATCH)
    return [
        verdict.ClosedDecision(
            outcome=row.outcome,
            at=moment(row.at),
            status=row.status,
            made=row.made,
            applied=row.match in detect.APPLIED,
            offer=row.offer,
            overruled=row.match == "overruled",
            look=0 if row.commit is None or row.commit in bulk else row.commit,
        )
        for row in rows
    ]


def load_assessed_skill(
    view: Topics, row: SkillStatusRow, evidence: Evidence, clock: datetime
) -> AssessedSkill:
    """Return a skill with its evidence; read files only if the skill was retired before."""
    ref = Ref("skill", row.name)
    is_retired = row.shelf == "archive" and view.history.last_step(ref, MOVERS) == ASSESS
    last_outcome = view.uses.last_counted(row.name)
    assessed = AssessedSkill(
        name=row.name,
        shelf=row.shelf,
        status=row.status,
        evidence=evidence,
        clock=clock,
        is_archived_here=is_retired,
        last_outcome=last_outcome if Ref("outcome", last_outcome) in view.records else "",
    )
    skill = view.skills.find(row.name) if is_retired or evidence.trial else None
    if skill is None:
        return assessed
    end, life = time_of(skill.retired), lifetime(skill, view.policy)
    last_commits = view.history.commits_touching([ref])[:1]
    count = view.uses.closed_since(row.domain, micros(end)) if is_retired and end else 0
    return replace(
        assessed,
        retired=end,
        trial=time_of(skill.trial),
        decisions_since=count,
        is_rejected=any(commit.step not in STEPS for commit in last_commits)
        or (life is not None and life.end < clock),
    )
