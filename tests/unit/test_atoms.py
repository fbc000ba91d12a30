from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.consolidation.atoms import Atom, AtomIndex, AtomKind, atoms

HOSTILE = (
    *("1", "1,", "1.", "1-", "12/", "12:", "1k ", "1 and ", "e 1 ", "1 March ", "March "),
    *(
        "a.",
        "a/",
        "a-",
        "a@",
        "a@b.",
        "a=b&",
        "a:",
        "::",
        "_",
        "--a",
        "C:\\",
        "\\\\a\\",
        "http://",
        "error12.",
        "HTTP code ",
    ),
    *(
        "A ",
        "Ab ",
        "of ",
        "E of ",
        "Dell’",
        "A-",
        "A'",
        '"',
        '"a" ',
        "'a ",
        "“",
        "`",
        "{",
        "\n",
        "\x00",
        "\ud800",
        "é",
        "٣",
        "日",
    ),
)


def keys(text: str, kind: AtomKind) -> list[str]:
    return [atom.key for atom in atoms(text) if atom.kind == kind]


def stated(source: str, line: str) -> bool:
    index = AtomIndex([source])
    found = atoms(line)
    assert found, line
    return all(index.contains(atom) for atom in found)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("1,234.5 units", "1234.5 "),
        ("1.234,5 pezzi", "1234.5 "),
        ("1'234'567", "1234567 "),
        ("48.312.007 righe", "48312007 "),
        ("$400", "400 USD"),
        ("400 USD", "400 USD"),
        ("US$ 400", "400 USD"),
        ("€ 12,50", "12.5 EUR"),
        ("80 %", "80 %"),
        ("80 per cento", "80 %"),
        ("12 k", "12000 "),
        ("$3.4M", "3400000 USD"),
        ("8,8 milioni", "8800000 "),
        ("3.5GB", "3.5 GB"),
        ("768Mi", "768 MB"),
        ("a 15-minute call", "15 min"),
        ("the 23rd", "23 ordinal"),
        ("007", "7 "),
        ("0.50", "0.5 "),
        ("٤٠٠", "400 "),
        ("4 0 0", "4 "),
    ],
)
def test_a_number_has_one_key_in_every_notation(text: str, key: str) -> None:
    assert keys(text, "number")[0] == key


def test_a_separator_that_can_mean_two_things_gives_both_readings() -> None:
    (english,), (italian,) = keys("1,234", "number"), keys("1.234", "number")
    assert english == "1234 |1.234 "
    assert italian == "1.234 |1234 "


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("2026-03-12", "2026-03-12"),
        ("12 March 2026", "2026-03-12"),
        ("March 12th, 2026", "2026-03-12"),
        ("12 marzo 2026", "2026-03-12"),
        ("1º aprile", "0000-04-01"),
        ("the first of October", "0000-10-01"),
        ("12/03/2026", "2026-03-12|2026-12-03"),
        ("31/12/25", "2025-12-31"),
        ("March 2026", "2026-03-00"),
        ("a marzo del 2026", "2026-03-00"),
        ("Q3 2024", "2024-Q3-00"),
        ("15:30", "T15:30"),
        ("3:30 pm", "T15:30"),
        ("12:05 am", "T00:05"),
        ("alle 14.30", "T14:30"),
        ("6am", "T06:00"),
        ("7:10", "T07:10|T19:10"),
    ],
)
def test_a_date_or_time_has_one_key_in_every_notation(text: str, key: str) -> None:
    assert keys(text, "date") == [key]


def test_both_ends_of_a_range_of_days_are_dates() -> None:
    assert keys("dal 12 al 14 marzo 2026", "date") == ["2026-03-12", "2026-03-14"]
    assert keys("March 12-14", "date") == ["0000-03-12", "0000-03-14"]


@pytest.mark.parametrize("text", ["I may go", "march on", "on Friday", "99/99/2026", "25:61", "2026-13-45"])
def test_what_only_looks_like_a_date_is_none(text: str) -> None:
    assert keys(text, "date") == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("I spoke to Anna's boss", ["anna"]),
        ("studia all'Università di Bologna", ["universita bologna"]),
        ("Marco pays", ["marco"]),
        ("The budget is fixed. Galli ha chiesto tempo", ["galli"]),
        ("Packer et al. page memory", ["packer"]),
        ("an offer from Dr. Novak", ["novak"]),
        ("we use NASA data", ["nasa"]),
        ("Booked on Monday by the User", []),
        ("Decision: Use a queue", []),
        ("Next Steps And Open Questions", []),
        ("Der Hund ist in der Küche mit dem Ball und das Kind", []),
    ],
)
def test_names_are_told_from_other_capitals(text: str, names: list[str]) -> None:
    assert keys(text, "name") == names


@pytest.mark.parametrize(
    ("text", "kind", "written"),
    [
        ("ticket zx-4471.", "identifier", "zx-4471"),
        ("user MIA_LI_3668", "identifier", "MIA_LI_3668"),
        ("set chunk_size=512", "identifier", "chunk_size"),
        ("call load_config() now", "identifier", "load_config()"),
        ("with LangGraph", "identifier", "LangGraph"),
        ("os.path.join fails", "identifier", "os.path.join"),
        ("pass --no-fail-fast", "identifier", "--no-fail-fast"),
        ("at 9f3c2ab7d1", "identifier", "9f3c2ab7d1"),
        ("version 1.2.3", "identifier", "1.2.3"),
        ("branch fix/token-limit", "identifier", "fix/token-limit"),
        ("see src/a/b.py:12", "path", "src/a/b.py"),
        ("in /var/log/sync.log", "path", "/var/log/sync.log"),
        (r"at C:\data\sweep.h5", "path", r"C:\data\sweep.h5"),
        ("(report.pdf)", "path", "report.pdf"),
        ("https://x.example/a?b=1.", "url", "https://x.example/a?b=1"),
        ("write to a.b@example.org,", "url", "a.b@example.org"),
        ("see example.com", "url", "example.com"),
        ("an HTTP 404 came", "error", "HTTP 404"),
        ("error[E0308]", "error", "E0308"),
        ("a ValueError", "error", "ValueError"),
        ("SQLSTATE 40001", "error", "SQLSTATE 40001"),
        ("ERR_TIMED_OUT", "error", "ERR_TIMED_OUT"),
        ("said “too dear”", "quote", "“too dear”"),
        ("disse «troppo caro»", "quote", "«troppo caro»"),
        ("said 'not for me'", "quote", "'not for me'"),
        ("run `make test`", "quote", "`make test`"),
    ],
)
def test_technical_tokens_and_quotations_are_atoms(text: str, kind: AtomKind, written: str) -> None:
    assert (kind, written) in [(atom.kind, atom.text) for atom in atoms(text)]


@pytest.mark.parametrize("text", ["and/or", "e.g. this", "well-known", "it's", "don't", "state-of-the-art", "dott.ssa"])
def test_ordinary_words_are_no_atoms(text: str) -> None:
    assert atoms(text) == ()


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("it costs EUR 1,500", "1.500 €"),
        ("we meet on 2026-03-12", "12 March"),
        ("we meet on 12 March", "12 marzo 2026"),
        ("on 03/12/2026", "12 March 2026"),
        ("published 2026-03-12", "published in 2026"),
        ("not on the 12th? In April the 23rd", "23 April"),
        ("Anna Rossi's flat", "a flat of Rossi"),
        ("anna wants it", "Anna wants it"),
        ("retrieval augmented generation", "uses Retrieval Augmented Generation"),
        ("uses RAG", "uses Retrieval Augmented Generation"),
        ("three nights", "3 nights"),
        ("412,380.25 EUR", "€412k"),
        ("HAT 136", "flight HAT136"),
        ("commit 9f3c2ab7d1e", "commit 9f3c2ab"),
        ("in src/parser/lexer.rs", "in lexer.rs"),
        ("https://www.example.com/a/b?c=1", "example.com/a/b"),
        ("status 404", "HTTP 404"),
        ("call 0461 281 377", "tel. 0461281377"),
        ('she said  "I\'d love\nto"', "“I’d love to”"),
        ("ＦＵＬＬ width ４００", "400"),
    ],
)
def test_an_index_states_an_atom_in_other_words(source: str, line: str) -> None:
    assert stated(source, line)


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("1400 rows", "400 rows"),
        ("a ratio of 3.5", "a ratio of 3"),
        ("in 2014", "14 rows"),
        ("12 March 2026", "12 rows"),
        ("400 EUR", "400 USD"),
        ("12 March", "13 March"),
        ("2026-03-12", "12 March 2025"),
        ("March 2026", "12 March 2026"),
        ("3:30 pm", "3:30 am"),
        ("Anna Rossi", "from Anna Russo"),
        ("Francesca", "from Francesco"),
        ("zx-4471", "zx-4472"),
        ("--no-fail-fast", "--fail-fast"),
        ("main.py.bak", "main.py"),
        ("test-main.py", "main.py"),
        ("example.com/ab", "example.com/a"),
        ("example.com", "example.co"),
        ("version 1.2.34", "version 1.2.3"),
        ("he said 'fine'", "he said 'not fine'"),
    ],
)
def test_an_index_does_not_state_what_is_only_alike(source: str, line: str) -> None:
    assert not stated(source, line)


def test_a_union_of_indexes_states_what_any_of_them_states() -> None:
    both = AtomIndex.union([AtomIndex(["Anna"]), AtomIndex(["pays 400 EUR"])])
    assert all(both.contains(atom) for atom in atoms("so Anna pays €400"))
    assert not any(AtomIndex([]).contains(atom) for atom in atoms("so Anna pays €400"))


@given(st.text())
def test_an_atom_is_what_stands_at_its_place(text: str) -> None:
    found = atoms(text)
    assert all(text[atom.start : atom.end] == atom.text and atom.key for atom in found)
    assert [atom.start for atom in found] == sorted(atom.start for atom in found)


@given(
    st.lists(
        st.sampled_from(["12", "March", "2026", "Anna", "'", '"', "$", "4.5", "k", "/a.py", "e", "del", ":", "30"])
    )
)
def test_atoms_other_than_quotations_do_not_overlap(pieces: list[str]) -> None:
    plain: list[Atom] = [atom for atom in atoms(" ".join(pieces)) if atom.kind != "quote"]
    assert all(one.end <= two.start for one, two in pairwise(plain))


@given(st.text())
def test_a_text_states_its_own_atoms(text: str) -> None:
    index = AtomIndex([text])
    assert [atom for atom in atoms(text) if not index.contains(atom)] == []


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_text_is_read(piece: str) -> None:
    text = piece * (20_000 // len(piece))
    index = AtomIndex([text])
    assert all(index.contains(atom) for atom in atoms(text)[:50])


@pytest.mark.slow
@pytest.mark.parametrize("piece", HOSTILE)
def test_a_megabyte_of_hostile_text_is_read(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    assert all(0 <= atom.start < atom.end <= len(text) for atom in atoms(text))
