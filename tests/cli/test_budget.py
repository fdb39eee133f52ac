"""``exactnoise budget``: its numbers, its table, its JSON, and what it refuses."""

import json
import re
import shlex
from fractions import Fraction
from pathlib import Path

import pytest

from exactnoise import PrivacyBudget, PrivacyCost
from exactnoise.accounting import largest_query_epsilon, optimal_epsilon, queries_that_fit
from exactnoise.cli import budget

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "filters.json").read_text(encoding="utf-8"))
TOTALS = sorted({(row["epsilon"], row["delta"]) for row in VECTORS["pure"]})
RULES = {
    "basic": "basic",
    "zCDP": "zcdp",
    "advanced filter": "advanced_filter",
    "advanced": "advanced",
    "optimal": "optimal",
}
TOTAL = ["--epsilon=1", "--delta=1e-6"]


def cells(out):
    """The table's lines that belong to a rule: name, when it is valid, amounts."""
    found = (re.split(r"  +", line) for line in out.splitlines() if re.search(r"  (as you go|fixed plan only)  ", line))
    return {name: (valid, amounts) for name, valid, *amounts in found}


@pytest.mark.parametrize(("epsilon", "delta"), TOTALS)
def test_counts(run, epsilon, delta):
    rows = [row for row in VECTORS["pure"] if (row["epsilon"], row["delta"]) == (epsilon, delta)]
    sizes = ",".join(row["query_epsilon"] for row in rows)
    options = [f"--epsilon={epsilon}", f"--delta={delta}", f"--query-epsilon={sizes}"]
    outcome, document = run("budget", *options), run("budget", *options, "--json").json
    assert (outcome.code, outcome.err) == (0, "")
    table = cells(outcome.out)
    assert list(table) == [rule["rule"] for rule in document["rules"]] == list(RULES)
    for rule in document["rules"]:
        valid, shown = table[rule["rule"]]
        assert (valid == "as you go") == rule["adaptive"]
        assert list(map(int, shown)) == list(rule["queries"].values())
        for row in rows:
            expected = row[RULES[rule["rule"]]]
            assert expected is None or rule["queries"][row["query_epsilon"]] == expected
    of_laplace = run("budget", *options, "--mechanism=laplace", "--json").json["rules"][1]["queries"]
    assert of_laplace == {row["query_epsilon"]: row["zcdp_laplace"] for row in rows}


def test_document(run):
    document = run("budget", *TOTAL, "--query-epsilon", "0.01, 1/3", "--json").json
    assert {key: document[key] for key in ("epsilon", "delta", "mechanism")} == {
        "epsilon": "1", "delta": "1e-6", "mechanism": "any",
    }  # fmt: skip
    by_size = [queries_that_fit(each, epsilon=1, delta="1e-6") for each in ("0.01", "1/3")]
    assert document["rules"] == [
        {
            "rule": one.rule,
            "adaptive": one.adaptive,
            "method": one.method,
            "source": one.source,
            "queries": {"0.01": one.amount, "1/3": other.amount},
        }
        for one, other in zip(*by_size, strict=True)
    ]


@pytest.mark.parametrize("mechanism", ["any", "laplace", "exponential"])
def test_largest_epsilons(run, mechanism):
    options = [*TOTAL, "--queries=3,1e3", f"--mechanism={mechanism}"]
    document, table = run("budget", *options, "--json").json, cells(run("budget", *options).out)
    assert document["mechanism"] == mechanism
    by_number = [largest_query_epsilon(n, epsilon=1, delta="1e-6", mechanism=mechanism) for n in (3, 1000)]
    for rule, *capacities in zip(document["rules"], *by_number, strict=True):
        exact = [capacity.amount for capacity in capacities]
        assert list(rule["query_epsilon"]) == ["3", "1e3"]
        assert [Fraction(written) for written in rule["query_epsilon"].values()] == exact
        for shown, amount in zip(table[rule["rule"]][1], exact, strict=True):
            assert amount * (1 - Fraction(1, 10**5)) < Fraction(shown) <= amount


def test_the_best_of_each_column(run):
    out = run("budget", *TOTAL, "--query-epsilon=0.01,0.1,0.2,10").out
    (as_you_go,) = re.findall(r"^best as you go +(.*)$", out, re.MULTILINE)
    (fixed,) = re.findall(r"^best fixed plan +(.*)$", out, re.MULTILINE)
    assert as_you_go.split() == ["zCDP", "basic", "basic", "none"]
    assert fixed.split() == ["optimal", "basic", "basic", "none"]
    assert 'method="basic"' in out
    assert 'method="zcdp"' in out


def test_zcdp_can_be_the_best_of_all(run):
    out = run("budget", *TOTAL, "--query-epsilon=0.1", "--mechanism=exponential").out
    assert len(re.findall(r"^best .* zCDP$", out, re.MULTILINE)) == 2
    assert "price = " not in out


@pytest.mark.parametrize("options", [["--query-epsilon=0.2, 1/100"], ["--queries=1e2"]])
def test_the_plan_that_is_shown_fits(run, options):
    """Its two lines are run as they are, and charge a budget of the total that was asked about."""
    out = " ".join(run("budget", *TOTAL, *options).out.split())
    price, spend = re.search(r'(price = .*?\)) (budget\.spend\(.*?"\)\))', out).groups()
    spent = PrivacyBudget(neighbors="add-remove", unit="row", epsilon=1, delta="1e-6", method="basic")
    names = {"optimal_epsilon": optimal_epsilon, "PrivacyCost": PrivacyCost, "budget": spent}
    exec(price, names)
    exec(spend, names)
    assert Fraction("0.99") < names["price"] <= 1


def test_without_delta(run):
    outcome = run("budget", "--epsilon=1", "--query-epsilon=1/7")
    assert cells(outcome.out) == {"basic": ("as you go", ["7"])}
    assert "--delta" in outcome.out
    document = run("budget", "--epsilon=1", "--query-epsilon=1/7", "--json").json
    assert document["delta"] is None
    assert [rule["queries"] for rule in document["rules"]] == [{"1/7": 7}]


def test_what_is_not_computed(run):
    out = run("budget", *TOTAL, "--query-epsilon=1e-5").out
    assert cells(out)["optimal"] == ("fixed plan only", ["-"])
    assert "Not computed" in out
    for options, key in ((["--query-epsilon=1e-5"], "queries"), (["--queries=1e9"], "query_epsilon")):
        rule = run("budget", *TOTAL, *options, "--json").json["rules"][-1]
        assert list(rule[key].values()) == [None]
    assert "Not computed" not in run("budget", *TOTAL, "--query-epsilon=1e-2").out


@pytest.mark.parametrize(
    "options",
    [
        [*TOTAL, "--query-epsilon=0.01,0.1,0.5"],
        [*TOTAL, "--query-epsilon=" + ",".join(f"{i}/1000003" for i in range(1, 12))],
        [*TOTAL, "--queries=" + ",".join(map(str, range(1, 16)))],
        ["--epsilon=0." + "3" * 90, "--query-epsilon=0." + "3" * 200],
        ["--epsilon=1e300", "--delta=1e-300", "--query-epsilon=1e-30"],
        ["--epsilon=1/3", "--delta=1/" + "3" * 90, "--queries=7"],
    ],
)
def test_plain_and_aligned(run, options):
    out = run("budget", *options).out
    assert out.isascii()
    lines = out.splitlines()
    assert max(map(len, lines)) <= 100
    tables = re.findall(r"(?:^rule .*\n)(?:.+\n)+\n(?:best.*\n){2}", out, re.MULTILINE)
    assert tables
    for table in tables:
        assert len({len(line) for line in table.splitlines() if line}) == 1  # every last cell ends there
    headings = sum(len(table.splitlines()[0].split()) - 2 for table in tables)
    (typed,) = (option.partition("=")[2] for option in options if option.startswith("--quer"))
    assert headings >= len(typed.split(","))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], ["--epsilon"]),
        (["--epsilon=1"], ["--query-epsilon", "--queries", "required"]),
        (["--query-epsilon=1"], ["--epsilon", "required"]),
        (["--epsilon=1", "--query-epsilon=1", "--queries=1"], ["--queries", "--query-epsilon", "not allowed"]),
        (["--epsilon=0", "--queries=1"], ["--epsilon must be a positive number", "'0'"]),
        (["--epsilon=nan", "--queries=1"], ["--epsilon", "'nan'"]),
        (["--epsilon=1e999", "--queries=1"], ["--epsilon", "'1e999'"]),
        (["--epsilon=1", "--delta=1", "--queries=1"], ["--delta must be a positive number below 1", "'1'"]),
        (["--epsilon=1", "--delta=0", "--queries=1"], ["--delta", "'0'"]),
        (["--epsilon=1", "--delta=tiny", "--queries=1"], ["--delta", "'tiny'"]),
        (["--epsilon=1", "--query-epsilon=0.1,-1"], ["--query-epsilon", "'-1'"]),
        (["--epsilon=1", "--query-epsilon=0.1,"], ["--query-epsilon", "''"]),
        (["--epsilon=1", "--query-epsilon=0.1 0.5"], ["--query-epsilon", "'0.1 0.5'"]),
        (["--epsilon=1", "--query-epsilon", "-1/3"], ["--query-epsilon"]),
        (["--epsilon=1", "--query-epsilon=1/0"], ["--query-epsilon", "'1/0'"]),
        (["--epsilon=1", "--queries=2.5"], ["--queries must be whole numbers", "'2.5'"]),
        (["--epsilon=1", "--queries=0"], ["--queries", "'0'"]),
        (["--epsilon=1", "--queries=many"], ["--queries", "'many'"]),
        (["--epsilon=1", "--queries=1", "--mechanism=cauchy"], ["--mechanism", "cauchy", "laplace"]),
        (["--epsilon=1", "--queries=1", "--query=1"], ["--query"]),
        (["--epsilon=1", "--queries=1", "more"], ["more"]),
    ],
)
def test_usage(run, options, words):
    outcome = run("budget", *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("exactnoise: ")
    assert outcome.err.count("\n") == 1
    for word in words:
        assert word in outcome.err
    assert run("budget", *options, "--json").json["exit_code"] == 2


def examples():
    """The commands in the help, each with the lines shown beneath it."""
    blocks = budget._EPILOG.split("  $ exactnoise ")[1:]
    return [(shlex.split(block.splitlines()[0]), block.split("\n", 1)[1]) for block in blocks]


def test_the_examples_in_the_help_are_true(run):
    assert len(examples()) == 2
    for words, shown in examples():
        outcome = run(*words)
        assert (outcome.code, outcome.err) == (0, "")
        lines = outcome.out.splitlines()
        for line in re.findall(r"^  ((?: {9,}|rule|basic|zCDP|advanced|optimal|best).*)$", shown, re.MULTILINE):
            assert line in lines
    assert cells(examples()[0][1].replace("\n  ", "\n"))["zCDP"] == ("as you go", ["487", "4", "0"])


def test_help_teaches(capsys):
    from exactnoise.cli import main

    with pytest.raises(SystemExit) as stop:
        main(["budget", "--help"])
    assert stop.value.code == 0
    out = capsys.readouterr().out
    assert "exactnoise budget --epsilon 1 --delta 1e-6" in out
    assert '"adaptive": true' in out
    assert max(map(len, out.splitlines())) <= 100
