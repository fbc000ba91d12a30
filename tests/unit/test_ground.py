from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.consolidation.draft import Line
from ricordo.consolidation.ground import Checked, check
from ricordo.consolidation.sentences import sentences
from tests.unit.planted import BANKS, INVENTED, MISPLACED, OPENING, TRUE, Case, cases

UNTOLD = {OPENING: 0.8, "altered common word": 0.0}
"""Falsehoods that no atom shows, with the share that is caught all the same."""


def line(text: str, *sources: int) -> Line:
    return Line(section="technical", text=text, sources=sources)


def faults(text: str, *messages: str) -> tuple[str, ...]:
    """Return the faults of a line that cites all the messages."""
    sources = dict(enumerate(messages, start=1))
    return check([line(text, *sources)], sources)[0].faults


def all_cases() -> list[Case]:
    return [case for bank in BANKS for case in cases(bank)]


def found(case: Case) -> Checked:
    return check([case.line], case.sources)[0]


def test_the_banks_are_large_enough() -> None:
    kinds = Counter(case.kind for case in all_cases())
    assert kinds[TRUE] >= 300
    assert kinds.total() - kinds[TRUE] - kinds[INVENTED] >= 200
    assert len(kinds) == 11


def test_planted_falsehoods_are_caught_and_true_lines_kept() -> None:
    planted: Counter[str] = Counter()
    flagged: Counter[str] = Counter()
    for case in all_cases():
        planted[case.kind] += 1
        flagged[case.kind] += not found(case).grounded
    for kind in planted:
        print(f"{kind:40} {planted[kind]:5} flagged {flagged[kind]:5}")
    assert flagged[TRUE] < 0.02 * planted[TRUE]
    for kind in planted.keys() - {TRUE}:
        assert flagged[kind] >= UNTOLD.get(kind, 1.0) * planted[kind], kind


def test_each_fault_begins_with_its_code() -> None:
    codes = {INVENTED: "unknown_source: ", MISPLACED: "not_in_source: "}
    for case in all_cases():
        if case.kind in codes:
            assert any(fault.startswith(codes[case.kind]) for fault in found(case).faults)


def test_a_line_without_citation_is_at_fault() -> None:
    assert check([line("All is well")], {1: "All is well"})[0].faults == ("no_source: the line cites no message",)


def test_an_invented_citation_is_named() -> None:
    assert check([line("All is well", 1, 17)], {1: "All is well"})[0].faults == ("unknown_source: 17",)


def test_only_cited_messages_count() -> None:
    sources = {1: "It costs 400 euros.", 2: "Fine."}
    assert check([line("It costs 400 euros.", 2)], sources)[0].faults == ('not_in_source: "400 euros"',)
    assert check([line("It costs 400 euros.", 1, 2)], sources)[0].grounded


def test_lines_come_back_in_order() -> None:
    lines = [line("One", 1), line("Two 2", 1), line("Three")]
    assert [checked.line for checked in check(lines, {1: "One"})] == lines
    assert check([], {1: "One"}) == ()


def test_a_fault_is_told_once() -> None:
    assert faults("400 euros, again 400 euros", "nothing") == ('not_in_source: "400 euros"',)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("Anna pays 300, Marco 500.", "Anna pays 500."),
        ("Anna pays 300 and Marco pays 500.", "Marco pays 300."),
        ("300 euros from Anna, 500 euros from Marco.", "Marco pays 300 euros."),
        ("Anna pays 300, Marco 500.", "Anna pays 500 and Marco pays 300."),
        ("Flight HAT136 costs $300; flight HAT039 costs $500.", "HAT136 costs $500."),
        ("Anna arriva il 3 maggio, Marco il 5 maggio.", "Anna arriva il 5 maggio."),
    ],
)
def test_facts_of_two_people_are_not_mixed(source: str, text: str) -> None:
    assert [fault.partition(":")[0] for fault in faults(text, source)][:1] == ["mixed"]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("Anna pays 300, Marco 500.", "Anna pays 300 and Marco 500."),
        ("Anna pays 300, Marco 500.", "Marco pays 500, Anna 300."),
        ("Anna pays 300, Marco 500.", "Anna and Marco pay 300 and 500 respectively."),
        ("Anna pays 300, and she owes 500 more.", "Anna owes 500."),
        ("Anna pays 300. Marco thinks she owes 500.", "Anna owes 500."),
        ("Anna pays 300 for Rome, and 500 for Milan.", "Anna pays 500."),
        ("Anna gives Marco 500 and keeps 300.", "Anna gives 500."),
        ('[{"price": 300, "name": "Anna"}, {"price": 500, "name": "Marco"}, {"price": 7}]', "Marco pays 500."),
    ],
)
def test_a_true_pairing_is_kept(source: str, text: str) -> None:
    assert faults(text, source) == ()


@pytest.mark.parametrize(
    "text", ["Nowak comes on 28 April", "Peter Novak comes on 28 April", "Amber Novak comes", "Airbyte 2.6 is used"]
)
def test_an_opening_word_in_the_place_of_a_name_is_at_fault(text: str) -> None:
    assert faults(text, "For now Helena Novak comes on 28 April. They use Debezium 2.6.") != ()


@pytest.mark.parametrize(
    "text",
    ["Visit planned on 28 April", "Ask Novak about the visit", "About 2.6 is known", "Decision: Take the visit"],
)
def test_an_opening_word_that_is_no_name_is_kept(text: str) -> None:
    assert faults(text, "For now Helena Novak comes on 28 April. They use Debezium 2.6.") == ()


WORDS = (
    "Anna Marco pays paga 300 500 1.234,5 $40 12 March 2026 2026-03-12 alle 15 3:30 pm HTTP 404 zx-4471 a_b "
    "src/a.py https://x.example/a “no way” 'so' and e , ; : di dell'Università NASA 12k 3 % I she"
)
SENTENCE = st.lists(st.sampled_from(WORDS.split()), min_size=1, max_size=12).map(" ".join)


@given(st.lists(SENTENCE, min_size=1, max_size=5))
def test_a_verbatim_sentence_never_fails(spoken: list[str]) -> None:
    text = ". ".join(spoken) + "."
    lines = [line(sentence, 1) for sentence in sentences(text) if sentence]
    assert [checked.faults for checked in check(lines, {1: text}) if checked.faults] == []


@given(st.text(), st.text())
def test_any_text_is_checked(text: str, source: str) -> None:
    assert len(check([line(text, 1)], {1: source})) == 1


@given(st.text())
def test_a_message_states_itself(text: str) -> None:
    assert faults(text, text) == ()
