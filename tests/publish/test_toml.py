"""Complaints about a TOML file name the key and its line."""

import re
import tomllib
from decimal import Decimal

import pytest

from exactnoise.errors import JobError
from exactnoise.publish.toml import Document

TEXT = '''\
# a comment with [brackets] and = signs
id = "a # no comment, [no] table"  # [[no]]
"quoted.key" = 1
long = """
[input]
x = 1 \\""" still
"""
literal = \'\'\'
[[statistic]]\'\'\'

[input]  # [other]
path = 'in = [1'
inline = {a = 1, b = [1, 2]}
numbers = [
  1,
  2,  # ]
]
a.b.c = 5
[ x . "y z" . w ]
v = 0.10
[[statistic]]
kind = "count"
[[statistic]]
bounds = [0,
  60]
[[statistic.part]]
p = 1
[[statistic.part]]
p = 2
[statistic.more]
q = 1
last = 2'''


@pytest.fixture
def document(tmp_path):
    def document(text):
        path = tmp_path / "job.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return Document(path)

    return document


def keys_of(data, key=()):
    """Every key of parsed TOML."""
    items = data.items() if isinstance(data, dict) else enumerate(data)
    for name, value in items:
        yield (*key, name)
        if isinstance(value, dict) or (isinstance(value, list) and value and isinstance(value[0], dict)):
            yield from keys_of(value, (*key, name))


@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
def test_every_key_has_the_line_it_is_on(document, line_break):
    parsed = document(TEXT.replace("\n", line_break))
    lines = TEXT.split("\n")
    for key in keys_of(tomllib.loads(TEXT)):
        line = lines[parsed.line(key) - 1]
        names = [part for part in key if isinstance(part, str)]
        if key[:2] == ("input", "inline"):
            assert line.startswith("inline")
        else:
            assert re.search(rf"^[\[ ]*[^=]*\b{re.escape(names[-1])}\b", line), (key, line)
    assert parsed.line(("statistic", 1, "bounds")) == lines.index("bounds = [0,") + 1
    assert parsed.line(("statistic", 1, "part", 1, "p")) == lines.index("p = 2") + 1
    assert parsed.line(("last",)) is None
    assert parsed.line(("statistic", 1, "nothing")) == lines.index("bounds = [0,")


def test_decimals_are_kept_as_typed(document):
    assert document("a = 0.10").root.get("a") == Decimal("0.10")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a = 1\na = 2\n", "line 2"),
        ("a = [1,\n", "not valid TOML"),
        ("a = 1\n[b\n", "line 2"),
        (b"a = '\xff'\n", "UTF-8"),
        (f"a = {'9' * 5000}\n", "a number in it is too long"),
        (f"a = [0, {{b = 0x{'f' * 4000}}}]\n", "a number in it is too long"),
        (f"a = [1e{'9' * 30}]\n", "a number in it is too long"),
        ("a = " + "[" * 100_000, "not valid TOML"),
    ],
)
def test_invalid_files(document, text, words):
    with pytest.raises(JobError, match=words):
        document(text)


def test_unknown_keys_and_wrong_types(document):
    root = document("idd = 1\n[input]\npth = 2\n[[s]]\nx = ''\n").root
    with pytest.raises(JobError, match=r"job.toml, line 1: idd: there is no such key here; did you mean 'id'\?"):
        root.only(("id", "input", "s"))
    with pytest.raises(JobError, match=r"line 3: input.pth: there is no such key here; did you mean 'path'\?"):
        root.section("input").only(("path", "table"))
    with pytest.raises(JobError, match=r"line 5: s\[1\].x: must be text in quotation marks, got ''"):
        root.sections("s")[0].text("x")
    with pytest.raises(JobError, match=r"line 1: idd: must be a table \[idd\], got 1"):
        root.section("idd")
    with pytest.raises(JobError, match=r"line 2: input: must be tables \[\[input\]\]"):
        root.sections("input")
    with pytest.raises(JobError, match="line 2: input: path is missing: the table"):
        root.section("input").needed("path", "the table")
