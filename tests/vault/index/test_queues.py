"""Tests of the conditions that make a step due: the declarations, and the index that marks them."""

import pytest

from skillvault.model.due import (
    Agenda,
    DomainRecords,
    IdPrefix,
    LinkClosure,
    LinkedRecords,
    LinkSource,
    LinkTarget,
    Predecessor,
    Queue,
    Referrers,
    RelatedOutcomes,
    Trigger,
)
from skillvault.model.records import Fact, Link, Record, Ref, Skill, link_of
from skillvault.vault.files import layout
from skillvault.vault.index.connection import IndexDatabase
from skillvault.vault.index.schema import shape
from skillvault.vault.index.snapshot import Staging
from tests.given import NOW, evaluation, outcome, raw, trade
from tests.vault.given import record_files

ONE, OTHER, TRADE = outcome(raw(1)), outcome(raw(2)), outcome(trade(3))
RECORDS = (
    ONE,
    OTHER,
    evaluation(ONE),
    Skill("old", "It was.", domain="perps"),
    Skill("new", "It is.", domain="perps"),
    link_of("generated", Ref("evaluation", ONE.id), Ref("skill", "old"), NOW),
    link_of("merged", Ref("skill", "old"), Ref("skill", "new"), NOW),
    Fact(id="first", domain="perps", text="It rises."),
    Fact(id="then", domain="perps", text="It falls.", supersedes="first"),
    link_of("derived", Ref("fact", "first"), Ref("skill", "new"), NOW),
    link_of("derived", Ref("fact", "then"), Ref("skill", "new"), NOW),
    link_of("contradicted", Ref("evaluation", OTHER.id), Ref("fact", "then"), NOW),
)
ORIGINS = (LinkClosure("merged"), Referrers("evaluation", "generated"))


def marking(*queues: Queue) -> Staging:
    """A vault with these records and queues, in which nothing is due."""
    view = Staging(IndexDatabase(None, lambda: None, Agenda(queues)), lambda _: {})
    view.stage(record_files(*RECORDS))
    for queue in queues:
        view.due.mark_done(queue.name, view.due.keys(queue.name))
    return view


@pytest.mark.parametrize(
    ("when", "record", "due"),
    [
        (Trigger("outcome"), ONE, [ONE.id]),
        (Trigger("outcome"), RECORDS[3], []),
        (Trigger("evaluation"), RECORDS[2], [ONE.id]),
        (
            Trigger("outcome", "gone", along=(RelatedOutcomes("action"),)),
            ONE,
            sorted([ONE.id, OTHER.id]),
        ),
        (Trigger("skill", along=(Referrers("evaluation"),)), RECORDS[4], []),
        (Trigger("skill", along=ORIGINS), RECORDS[4], [ONE.id]),
        (Trigger("skill", "moved", along=ORIGINS), RECORDS[4], []),
        (
            Trigger("link", types=("merged",), along=(LinkSource("skill"), *ORIGINS)),
            RECORDS[6],
            [ONE.id],
        ),
        (Trigger("link", types=("derived",), along=(LinkSource("skill"),)), RECORDS[6], []),
        (Trigger("outcome", along=(LinkedRecords("skill"),)), ONE, ["new", "old"]),
        (Trigger("outcome", along=(LinkedRecords("skill"),)), OTHER, []),
        (Trigger("link", along=(LinkTarget("skill"), LinkedRecords("skill"))), RECORDS[6], ["new"]),
        (Trigger("outcome", "gone", along=(LinkedRecords("fact"),)), OTHER, ["then"]),
        (Trigger("fact", along=(Predecessor(),)), RECORDS[8], ["first"]),
        (Trigger("fact", along=(Predecessor(),)), RECORDS[7], []),
        (Trigger("skill", along=(Referrers("fact"),)), RECORDS[4], ["first", "then"]),
        (Trigger("skill", along=(Referrers("fact", first=True),)), RECORDS[4], ["first"]),
        (Trigger("skill", along=(IdPrefix("ne"), Referrers("fact", first=True))), RECORDS[3], []),
        (Trigger("skill", along=(IdPrefix("ne"),)), RECORDS[4], ["new"]),
    ],
)
def test_what_a_changed_record_makes_due(when: Trigger, record: Record, due: list[str]) -> None:
    view = marking(Queue(name="toy", every=None, when=(when,)))
    changed = record_files(record)
    view.stage(dict.fromkeys(changed) if isinstance(record, Link) else changed)  # it goes
    assert view.due.keys("toy") == due


def test_a_link_that_stays_in_its_list_makes_nothing_due() -> None:
    view = marking(
        Queue(name="toy", every=None, when=(Trigger("link", along=(LinkTarget("skill"),)),))
    )
    later = link_of("generated", Ref("evaluation", ONE.id), Ref("skill", "new"), NOW)
    view.stage(record_files(ONE, evaluation(ONE), RECORDS[5], later))
    assert view.due.keys("toy") == ["new"]


@pytest.mark.parametrize(
    ("name", "due"), [("new", [TRADE.id]), ("gone", sorted([ONE.id, OTHER.id, TRADE.id]))]
)
def test_a_skill_that_may_be_made_again_makes_its_domain_due(name: str, due: list[str]) -> None:
    """All of them if it is gone, as nobody knows whose it was."""
    when = Trigger("skill", "readmitted", along=(DomainRecords("outcome"),))
    index = IndexDatabase(
        None, lambda: None, Agenda((Queue(name="toy", every=None, when=(when,)),))
    )
    view = Staging(index, lambda _: {})
    view.stage(record_files(*RECORDS, TRADE))
    index.mark("readmitted", [name])
    assert view.due.keys("toy") == due


def test_a_key_is_made_of_the_fields_that_its_queue_names() -> None:
    view = marking(
        Queue(name="toy", every=None, key=("domain", "trust"), when=(Trigger("outcome"),))
    )
    view.stage(record_files(ONE))
    assert view.due.keys("toy") == [f"{ONE.domain} {ONE.trust}"]


def test_what_has_the_other_record_is_never_due() -> None:
    both = (Trigger("outcome"), Trigger("evaluation"))
    view = marking(Queue(name="toy", every="outcome", without="evaluation", when=both))
    view.stage(record_files(ONE, OTHER))
    assert view.due.keys("toy") == [OTHER.id]
    view.stage({layout.path_of(RECORDS[2]): None})
    assert view.due.keys("toy") == sorted([ONE.id, OTHER.id])


def test_an_index_of_other_declarations_is_of_another_version() -> None:
    queue = Queue(name="toy", every="outcome", when=(Trigger("outcome"),))
    agendas = [Agenda(), Agenda((queue,)), Agenda((queue,), ("toy",))]
    assert len(set(map(shape, agendas))) == len(agendas)
