"""Keep the evidence of each skill up to date: uses, versions, counts and lifts.

A run calls `Uses.count_uses` before its steps. It reads only records that changed since the last
call, in the state of HEAD, and stores its results in the index. To change how a use is detected or
a lift computed, see `learning/effect/`.
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
from skillvault.vault.index.snapshot import Snapshot, Staging
from skillvault.vault.index.uses import DecisionRow, SkillUse, SumsEnd

_PAGE_SIZE = 500  # outcomes to read at once


class UseCounts(NamedTuple):
    """The counts of a skill and the last outcome in them, or "" if they are always recounted."""

    evidence: Evidence
    last_outcome: str


class Uses:
    """The stored evidence of each skill, including skills of shared layers."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._evidence: tuple[object, dict[str, Evidence]] | None = None
        self._names: tuple[list[str], dict[str, tuple[str, ...]]] = [], {}

    def count_uses(self, snapshot: Staging) -> None:
        """Update the stored evidence with everything that changed since the last call."""
        self._update_uses(snapshot)
        self._update_versions(snapshot)
        self._update_lifts(snapshot)

    def evidence(self, snapshot: Snapshot) -> dict[str, Evidence]:
        """Map each skill to its stored evidence."""
        state = snapshot.uses.state
        if self._evidence is None or self._evidence[0] != state:
            self._evidence = state, snapshot.uses.evidence(Evidence)
        return self._evidence[1]

    # ── the uses of skills by decisions ──────────────────────────────────────────────

    def skill_names(self, snapshot: Snapshot) -> dict[str, tuple[str, ...]]:
        """Map each word to the names with this word, of all skills that a decision may name."""
        folders = (snapshot.skills.names(folder) for folder in ("skills", "proposed", "archive"))
        names = [*(name for folder in folders for name in folder), *snapshot.layers.names()]
        names += snapshot.history.former_names()
        if names != self._names[0]:
            self._names = names, mentions.index_by_word(names)
        return self._names[1]

    def _update_uses(self, snapshot: Staging) -> None:
        new_names = snapshot.due.keys(NAMES)
        mentioning_ids: Iterable[str] = ()
        if new_names:
            mentioning_ids = snapshot.outcomes.mentioning(map(mentions.shortest_form, new_names))
        due_ids = sorted({*snapshot.due.keys(USES), *mentioning_ids})
        snapshot.due.mark_done(NAMES, new_names)
        names = self.skill_names(snapshot) if due_ids else {}
        for start in range(0, len(due_ids), _PAGE_SIZE):
            page = due_ids[start : start + _PAGE_SIZE]
            outcomes = snapshot.outcomes.get_many(page).values()
            rows = [row for outcome in outcomes for row in _find_uses(snapshot, outcome, names)]
            snapshot.uses.keep(page, rows)
            snapshot.due.mark_done(USES, page)

    # ── versions of a text ───────────────────────────────────────────────────────────

    def _update_versions(self, snapshot: Staging) -> None:
        """Store the times at which a person rewrote or restored a skill."""
        due_names = snapshot.due.keys(VERSIONS)
        if not due_names:
            return
        commits: dict[str, list[tuple[str, int]]] = {}
        former_names = snapshot.history.former_names()
        renamed_names = {former_names.get(name, name) for name in due_names} & {
            *former_names.values()
        }
        due_names = sorted({*due_names, *renamed_names})
        for name in {*snapshot.history.skills_touched_twice(due_names), *renamed_names}:
            # The first commit of a skill does not rewrite it.
            later_commits = snapshot.history.commits_touching([Ref("skill", name)])[::-1][1:]
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
            starts[name] = sorted(times | _trial_starts(snapshot, name))
        snapshot.uses.keep_version_starts(starts)
        snapshot.due.mark_done(VERSIONS, due_names)

    # ── lifts ────────────────────────────────────────────────────────────────────────

    def _update_lifts(self, snapshot: Staging) -> None:
        changes, names = snapshot.due.keys(LIFTS), snapshot.due.keys(COUNTS)
        is_summed = _update_sums(snapshot, changes)
        if is_summed or names:
            self._keep_evidence(
                snapshot, _count_uses(snapshot, set(names)), are_lifts_new=is_summed
            )
        snapshot.due.mark_done(LIFTS, changes)
        snapshot.due.mark_done(COUNTS, names)

    def _keep_evidence(
        self, snapshot: Staging, counts: Mapping[str, UseCounts], *, are_lifts_new: bool
    ) -> None:
        """Store the evidence of counted skills, or of all skills if the lifts are new."""
        if are_lifts_new:
            stored = snapshot.uses.evidence(Evidence)
            sums = snapshot.uses.sums(Sums).values()
            lifts = estimate.estimate_lifts(sums, snapshot.policy.effect)
        else:
            pairs = ((name, snapshot.uses.evidence_of(name, Evidence)) for name in counts)
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
                own_lifts = [lifts.get((name, index)) for index in range(len(evidence.earlier) + 1)]
                new_evidence = verdict.with_lifts(evidence, own_lifts)
            if name in counts or stored.get(name) != new_evidence:
                changes.append((name, new_evidence))
        snapshot.uses.keep_evidence(changes, {name: c.last_outcome for name, c in counts.items()})


def read_version(snapshot: Snapshot, name: str, blob: str) -> str:
    """Return the text of one version of a skill, from git or from a layer."""
    layered_skill = snapshot.layers.of_name(name)
    if layered_skill is not None and layered_skill.blob == blob:
        return layered_skill.skill.body
    return snapshot.skills.read_body(name, blob)


def _find_uses(
    snapshot: Snapshot, outcome: Outcome, names: Mapping[str, Iterable[str]]
) -> Iterator[SkillUse]:
    decision = outcome.decision.id
    receipts = snapshot.recommendations.by_decision(decision) if decision else []
    claims = snapshot.outcomes.ends(decision) if decision and receipts else []
    read_text = partial(read_version, snapshot)
    for use in detect.detected_uses(outcome, receipts, names, read_text, claims=claims):
        details = (use.match, use.confidence, use.quote, use.offer)
        yield SkillUse(outcome.id, use.skill, micros(use.made), *details)


def _is_new_text(texts: Mapping[tuple[str, str], Any], name: str, sha: str) -> bool:
    previous_text, current_text = texts.get((f"{sha}^", name)), texts.get((sha, name))
    if previous_text is None or current_text is None:
        return False
    is_restored = previous_text.folder == "archive" and current_text.folder != "archive"
    return bool(is_restored or previous_text.body.strip() != current_text.body.strip())


def _trial_starts(snapshot: Snapshot, name: str) -> set[int]:
    skill = snapshot.skills.find(name)
    trial = time_of(skill.trial) if skill else None
    return set() if trial is None else {micros(trial) + 1}


def _update_sums(snapshot: Staging, changes: Iterable[str]) -> bool:
    """Sum the domains with new or changed decisions; return True if a sum was stored.

    Each change is a domain and the time at which a changed decision ended, separated by a space.
    """
    earliest_times: dict[str, int] = {}
    for domain, _, time in (key.rpartition(" ") for key in changes):
        earliest_times[domain] = min(int(time), earliest_times.get(domain, int(time)))
    is_summed = False
    for domain, at in earliest_times.items():
        last_end = snapshot.uses.sums_end(domain)
        end = last_end if at > last_end.at else SumsEnd()
        while later_end := snapshot.uses.later_end(
            domain, end, estimate.recount_after(end.decisions)
        ):
            end = later_end
        if end != last_end or at <= last_end.at:
            snapshot.uses.keep_sums(domain, _sums_until(snapshot, domain, end), end)
            is_summed = True
    return is_summed


def _sums_until(snapshot: Snapshot, domain: str, end: SumsEnd) -> object | None:
    if not end.decisions:
        return None
    totals, exposures = snapshot.uses.totals(domain, end), snapshot.uses.exposures(domain, end)
    skills = {row.skill for row in exposures}
    merges = snapshot.uses.merges()
    starts = snapshot.uses.version_starts(
        skills | {_survivor_of(skill, merges) for skill in skills}
    )
    rows = snapshot.uses.decisions(domain, end) if exposures else ()
    episode_of = _number_episodes(rows, snapshot.policy.evaluate.episode_minutes)
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
    return estimate.add_up(observations, totals, starts, snapshot.policy.effect)


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


def _survivor_of(skill: str, merges: Mapping[str, str]) -> str:
    if skill not in merges:  # nearly always, and there may be a million uses
        return skill
    visited_names: set[str] = set()
    while skill in merges and skill not in visited_names:
        visited_names.add(skill)
        skill = merges[skill]
    return skill


def _count_uses(snapshot: Snapshot, skills: set[str]) -> dict[str, UseCounts]:
    """Map each skill to its counts, which include the skills that were merged into it."""
    merges = snapshot.uses.merges_of(skills)
    names = {_survivor_of(name, merges) for name in skills} | skills
    counts: dict[str, UseCounts] = {}
    for name in names:
        sources = [source for source in merges if _survivor_of(source, merges) == name]
        counts[name] = _count_skill(snapshot, name, sources)
    return counts


def _count_skill(snapshot: Snapshot, name: str, merged_names: Sequence[str]) -> UseCounts:
    """Count the decisions of a skill; if possible, read only those after the stored counts."""
    starts = snapshot.uses.version_starts([name]).get(name, [])
    trial = bool(starts) and starts[-1] in _trial_starts(snapshot, name)
    last = "" if merged_names else snapshot.uses.last_counted(name)
    if stored_evidence := snapshot.uses.evidence_of(name, Evidence) if last else None:
        decisions = _closed_decisions(snapshot, [name], last)
        if evidence := verdict.evidence_with_later(stored_evidence, decisions, starts, trial=trial):
            return UseCounts(evidence, max([last, *(decision.outcome for decision in decisions)]))
    decisions = _closed_decisions(snapshot, [name, *merged_names])
    evidence = verdict.evidence_by_version(decisions, starts, trial=trial)
    last = "" if merged_names else max((decision.outcome for decision in decisions), default="")
    return UseCounts(evidence, last)


def _closed_decisions(
    snapshot: Snapshot, skills: Iterable[str], last_id: str = ""
) -> list["verdict.ClosedDecision"]:
    rows = snapshot.uses.by_skill(skills, last_id)
    # A bulk import counts as one look when it is complete. Only its last commit is not full.
    bulk = snapshot.uses.large_commits({row.commit for row in rows if row.commit}, INTAKE_BATCH)
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
    snapshot: Snapshot, row: SkillStatusRow, evidence: Evidence, clock: datetime
) -> AssessedSkill:
    """Return a skill with its evidence; read its file only if it was retired before."""
    ref = Ref("skill", row.name)
    is_retired = row.folder == "archive" and snapshot.history.last_step(ref, MOVERS) == ASSESS
    last_outcome = snapshot.uses.last_counted(row.name)
    assessed_skill = AssessedSkill(
        name=row.name,
        folder=row.folder,
        status=row.status,
        evidence=evidence,
        clock=clock,
        is_archived_here=is_retired,
        last_outcome=last_outcome if Ref("outcome", last_outcome) in snapshot.records else "",
    )
    skill = snapshot.skills.find(row.name) if is_retired or evidence.trial else None
    if skill is None:
        return assessed_skill
    end, life = time_of(skill.retired), lifetime(skill, snapshot.policy)
    last_commits = snapshot.history.commits_touching([ref])[:1]
    count = snapshot.uses.closed_since(row.domain, micros(end)) if is_retired and end else 0
    return replace(
        assessed_skill,
        retired=end,
        trial=time_of(skill.trial),
        decisions_since=count,
        is_rejected=any(commit.step not in STEPS for commit in last_commits)
        or (life is not None and life.end < clock),
    )
