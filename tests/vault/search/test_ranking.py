"""ranking: texts are found by what they say, without a model."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillvault.model.english import FUNCTION_WORDS, REQUEST_WORDS, other_forms
from skillvault.model.records import Fact, Skill
from skillvault.vault.search.ranking import (
    Document,
    Filters,
    add_documents,
    create_tables,
    document_of,
    keep_tasks,
    remove_documents,
    search_texts,
    split_unspaced,
)


@pytest.fixture
def database() -> Iterator[sqlite3.Connection]:
    made = sqlite3.connect(":memory:")
    create_tables(made)
    yield made
    made.close()


def skill(name: str, description: str = "", body: str = "", domain: str | None = None) -> Document:
    return Document(name, "skill", name.replace("-", " "), description, body, domain)


def fact(name: str, text: str) -> Document:
    return Document(name, "fact", body=text)


def names(database: sqlite3.Connection, query: str, filters: Filters | None = None) -> list[str]:
    return [hit.id for hit in search_texts(database, query, 10, filters)]


def test_other_forms_of_a_word_are_found(database: sqlite3.Connection) -> None:
    add_documents(database, [skill("a", "Parses meshes"), skill("b", "Reads spreadsheets")])
    assert names(database, "mesh parsing") == ["a"]


def test_irregular_forms_of_a_word_are_found(database: sqlite3.Connection) -> None:
    add_documents(database, [fact("a", "Ada went to Paris"), fact("b", "Ada sings")])
    assert names(database, "go") == ["a"]


def test_the_name_counts_more_than_the_description_and_that_more_than_the_body(
    database: sqlite3.Connection,
) -> None:
    rest = " ".join(f"word{i}" for i in range(30))
    long = f"funding {10 * (rest + ' ')}"
    texts = [skill("c", rest, long), skill("b", f"funding {rest}"), skill("funding")]
    add_documents(database, texts)
    assert names(database, "funding") == ["funding", "b", "c"]


def test_a_rare_word_counts_more_than_a_common_one(database: sqlite3.Connection) -> None:
    common = [skill(f"s{i}", "trading") for i in range(8)]
    add_documents(database, [*common, skill("z", "liquidation")])
    assert names(database, "trading liquidation")[0] == "z"


def test_a_word_of_a_long_body_counts_less(database: sqlite3.Connection) -> None:
    filler = " ".join(f"word{i}" for i in range(900))
    add_documents(database, [skill("a", body=f"funding {filler}"), skill("b", body="funding")])
    assert names(database, "funding") == ["b", "a"]


def test_function_words_find_nothing(database: sqlite3.Connection) -> None:
    add_documents(database, [skill("a", "how to do this with the")])
    assert names(database, "how do I do this?") == []


def test_a_general_word_of_a_query_counts_less(database: sqlite3.Connection) -> None:
    add_documents(
        database, [fact("a", "Ada has many kinds of tea"), fact("b", "Ada has a boat of oak")]
    )
    assert names(database, "what kind of boat") == ["b", "a"]
    assert names(database, "kind") == ["a"]


def test_another_form_of_a_word_counts_less_than_the_word(database: sqlite3.Connection) -> None:
    add_documents(database, [fact("a", "Ada has sung"), fact("b", "Ada may sing")])
    assert names(database, "sing") == ["b", "a"]


def test_what_is_taken_back_is_not_remembered_by_a_later_search(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "i.db", isolation_level=None)) as database:
        create_tables(database)
        add_documents(database, [skill("a", "funding")])
        for name in ("b", "c"):
            database.execute("begin")
            add_documents(database, [skill(name, "funding rate")])
            assert names(database, "funding rate") == [name, "a"]
            database.execute("rollback")
            assert names(database, "funding rate") == ["a"]


def test_what_another_connection_adds_or_removes_is_seen(tmp_path: Path) -> None:
    place = tmp_path / "i.db"
    with closing(sqlite3.connect(place)) as one, closing(sqlite3.connect(place)) as other:
        create_tables(one)
        add_documents(one, [skill("a", "funding")])
        one.commit()
        assert names(other, "funding") == ["a"]
        add_documents(one, [skill("b", "funding")])
        remove_documents(one, ["a"])
        one.commit()
        assert names(other, "funding") == ["b"]


def test_a_fact_is_about_those_whom_it_names_wherever_they_stand(
    database: sqlite3.Connection,
) -> None:
    texts = [fact("a", "a hunter met at the lake"), fact("b", "at the lake, Hunter")]
    add_documents(database, texts)
    assert names(database, "hunter lake") == ["b", "a"]


def test_a_skill_is_found_by_the_tasks_behind_it(database: sqlite3.Connection) -> None:
    add_documents(database, [skill("a", "x"), skill("b", "y")])
    keep_tasks(database, {"b": "reconcile the ledger", "c": "balance the ledger"})
    assert names(database, "ledger") == ["b"]
    add_documents(database, [skill("b", "z"), skill("c", "x")])
    assert names(database, "ledger") == ["b", "c"]
    keep_tasks(database, {"b": ""})
    assert names(database, "ledger") == ["c"]


def test_documents_of_equal_score_stand_in_the_order_of_their_ids(
    database: sqlite3.Connection,
) -> None:
    add_documents(database, [Document(name, "skill", "same", "text") for name in "dbca"])
    assert names(database, "same") == ["a", "b", "c", "d"]


def test_a_score_is_a_share_of_the_query(database: sqlite3.Connection) -> None:
    add_documents(database, [skill("a", "funding rate"), skill("b", "rate")])
    scores = {hit.id: hit.score for hit in search_texts(database, "funding rate unheard")}
    assert 0 < scores["b"] < scores["a"] <= 1


def test_words_that_no_document_says_lower_the_score(database: sqlite3.Connection) -> None:
    add_documents(database, [skill("a", "funding"), skill("b", "rate")])
    alone, beside = (
        search_texts(database, "funding")[0].score,
        search_texts(database, "funding cake")[0].score,
    )
    assert beside < 0.6 * alone


def shares(database: sqlite3.Connection, query: str) -> dict[str, float]:
    return {hit.id: hit.evidence for hit in search_texts(database, query, 50)}


ASKED = "reconcile the quarterly ledger with the exported invoices"


def test_a_text_that_says_what_is_asked_answers_it_though_all_texts_do(
    database: sqlite3.Connection,
) -> None:
    add_documents(database, [skill(f"s{i}", ASKED) for i in range(8)])
    assert min(shares(database, ASKED).values()) > 0.25


def test_what_a_text_answers_hardly_depends_on_the_other_texts(
    database: sqlite3.Connection,
) -> None:
    add_documents(database, [skill("a", "reconciles a ledger with invoices"), skill("b", "x")])
    alone = shares(database, ASKED)["a"]
    add_documents(database, [skill(f"s{i}", f"parses mesh{i} files") for i in range(500)])
    assert abs(shares(database, ASKED)["a"] - alone) < 0.1


def test_each_telling_word_in_common_adds_to_the_evidence(database: sqlite3.Connection) -> None:
    add_documents(database, [skill("a", "invoices"), skill("b", "a quarterly ledger of invoices")])
    evidence = shares(database, ASKED)
    assert 0.14 < evidence["a"] < evidence["b"]


@pytest.mark.parametrize("request_text", ["add a page", "please fix the test", "update the file"])
def test_a_verb_and_a_common_noun_are_no_evidence(
    database: sqlite3.Connection, request_text: str
) -> None:
    add_documents(database, [skill("a", f"Use when asked to {request_text} of the shop.")])
    assert shares(database, request_text)["a"] == 0.0


@pytest.mark.parametrize(
    "clause",
    [
        ". Not for invoices.",
        ". Do not use when invoices are due.",
        "; skip for invoices",
        " - not for invoices",
    ],
)
def test_what_a_description_excludes_counts_against_it(
    database: sqlite3.Connection, clause: str
) -> None:
    add_documents(database, [skill("a", f"Writes quarterly ledgers{clause}"), skill("b", "x")])
    assert shares(database, "a quarterly report")["a"] > 0.14
    assert shares(database, "a quarterly report on invoices")["a"] < 0.14
    assert "a" not in shares(database, "print invoices")


def test_a_word_of_uses_and_exclusions_counts_for_neither(database: sqlite3.Connection) -> None:
    uses = "Designs ledgers. Do not use for schema design."
    add_documents(database, [skill("a", uses), skill("b", "x")])
    assert shares(database, "design ledgers") == shares(database, "ledgers")


def test_a_word_of_the_body_alone_is_less_evidence(database: sqlite3.Connection) -> None:
    add_documents(database, [skill("a", "about ledgers", "invoices"), skill("b", "about invoices")])
    evidence = shares(database, "invoices")
    assert 0 < evidence["a"] < evidence["b"] / 2


def test_a_rare_word_alone_is_a_question(database: sqlite3.Connection) -> None:
    add_documents(database, [skill("a", "Migrations with postgres.", "Call the function twice.")])
    assert shares(database, "postgres")["a"] > 0.14
    assert shares(database, "the function")["a"] < 0.14


def test_words_of_courtesy_answer_nothing(database: sqlite3.Connection) -> None:
    add_documents(database, [skill("a", "yes please, say thanks")])
    assert shares(database, "yes, thanks")["a"] < 0.14


def test_only_what_the_filters_let_through_is_found(database: sqlite3.Connection) -> None:
    add_documents(database, [skill("a", "x", domain="perps"), skill("b", "x"), fact("c", "x")])
    assert names(database, "x", Filters(kinds=("skill",))) == ["a", "b"]
    assert names(database, "x", Filters(domains=("perps", None))) == ["a", "b", "c"]
    assert names(database, "x", Filters(kinds=("skill",), domains=("perps",))) == ["a"]
    assert names(database, "x", Filters(kinds=())) == []


@pytest.mark.parametrize("query", ["", "   ", "?!", '"', "a AND (b", "name:x", "NEAR(", "*", "\0"])
def test_no_query_is_a_syntax_error(database: sqlite3.Connection, query: str) -> None:
    add_documents(database, [skill("mesh", "parses")])
    assert names(database, query) == []
    assert names(database, f"{query} mesh") == ["mesh"]


def test_a_query_of_any_length_is_answered(database: sqlite3.Connection) -> None:
    add_documents(database, [skill("mesh", "parses")])
    assert names(database, "mesh " + " ".join(f"w{i}" for i in range(50_000))) == ["mesh"]


@pytest.mark.parametrize("limit", [0, -1])
def test_none_are_found_where_none_are_asked(database: sqlite3.Connection, limit: int) -> None:
    add_documents(database, [skill("mesh", "parses")])
    assert search_texts(database, "mesh", limit) == []


def test_texts_without_spaces_are_found_by_their_parts(database: sqlite3.Connection) -> None:
    add_documents(database, [fact("a", "资金费率高时不要追多"), fact("b", "止损要早")])
    assert names(database, "费率") == ["a"]


def test_particles_of_unspaced_texts_find_nothing(database: sqlite3.Connection) -> None:
    add_documents(database, [fact("a", "早く寝たいです"), fact("b", "我可以睡觉")])
    assert names(database, "これをしたい 怎么可以") == []


@pytest.mark.parametrize(
    ("description", "query", "other_text"),
    [
        ("旅行安排", "計劃一下", "旧事"),
        ("поездка", "маршрут", "прошлое"),
        ("رحلة", "طريق", "قديم"),
    ],
)
def test_of_equal_skills_the_skill_described_in_the_script_of_the_query_is_first(
    database: sqlite3.Connection, description: str, query: str, other_text: str
) -> None:
    described = f"Plan a trip, {description}."
    add_documents(database, [skill("a", "Plan a trip."), skill("b", described)])
    assert names(database, "plan a trip") == ["a", "b"]
    assert names(database, f"plan trip {query}")[0] == "b"
    assert shares(database, other_text)["b"] == 0


def test_an_empty_index_answers_with_nothing(database: sqlite3.Connection) -> None:
    assert search_texts(database, "anything at all") == []


def test_a_document_of_the_same_id_takes_the_others_place(database: sqlite3.Connection) -> None:
    add_documents(database, [skill("a", "meshes")])
    add_documents(database, [skill("a", "spreadsheets")])
    assert (names(database, "meshes"), names(database, "spreadsheets")) == ([], ["a"])


def test_making_the_tables_again_keeps_what_they_hold(database: sqlite3.Connection) -> None:
    add_documents(database, [skill("a", "meshes")])
    database.commit()
    create_tables(database)
    assert names(database, "meshes") == ["a"]


def test_a_skill_is_found_by_its_tags() -> None:
    found = document_of(Skill("fano", "A method.", "Text.", tags=("lower-bound",), domain="d"))
    assert (found.id, found.kind, found.domain) == ("skill:fano", "skill", "d")
    assert found.name == "fano lower-bound"


def test_a_fact_is_a_text_alone() -> None:
    found = document_of(Fact(id="f-1", domain="perps", text="Funding flips."))
    assert found == Document("fact:f-1", "fact", body="Funding flips.", domain="perps")


WORDS = st.sampled_from("funding rate mesh went going parse parses lake 费率 the of".split())
TEXTS = st.lists(WORDS, max_size=40).map(" ".join)
DOCUMENTS = st.builds(skill, st.sampled_from("abcdefgh"), TEXTS, TEXTS)


@settings(max_examples=50)
@given(st.lists(st.tuples(DOCUMENTS, st.booleans()), max_size=20), TEXTS)
def test_adding_and_removing_ranks_as_a_database_made_anew(
    steps: list[tuple[Document, bool]], query: str
) -> None:
    one_by_one, anew = sqlite3.connect(":memory:"), sqlite3.connect(":memory:")
    for database in (one_by_one, anew):
        create_tables(database)
    left: dict[str, Document] = {}
    for document, stays in steps:
        add_documents(one_by_one, [document])
        left[document.id] = document
        if not stays:
            remove_documents(one_by_one, [document.id, "never-there"])
            del left[document.id]
    add_documents(anew, sorted(left.values(), key=lambda document: document.id))
    assert search_texts(one_by_one, query) == search_texts(anew, query)
    one_by_one.close()
    anew.close()


def test_function_words_are_known_in_lower_case_only() -> None:
    assert all(word == word.lower() for word in FUNCTION_WORDS | REQUEST_WORDS)


@pytest.mark.parametrize(
    ("word", "forms"),
    [("went", ["go", "gone", "goes"]), ("go", ["went", "gone", "goes"]), ("x", [])],
)
def test_an_irregular_word_has_its_other_forms(word: str, forms: list[str]) -> None:
    assert other_forms(word) == forms


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("plain text", "plain text"),
        ("见费率高", " 见费 费率 率高 "),
        ("a 费 b", "a 费 b"),
        ("PDF를 2页", "PDF 를 2 页"),
    ],
)
def test_runs_without_spaces_are_cut_into_pairs(text: str, cut: str) -> None:
    assert split_unspaced(text) == cut
