"""A reader of charts as text, who knows nothing of the model: what is asked next about a case, and the answer."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

BOX = re.compile(r"^(\d+)\. Ask for (.*) \((?:free|price .*)\)\.")
ROW = re.compile(r"^   ((?:  )*)- (.*)$")
SHARE = re.compile(r" \((?:above |below )?[\d.]+ % of them\)$")
WHOLE = re.compile(r"(?P<sign>= |at most |at least |)(?P<number>-?[\d.e+]+)(?: to (?P<last>-?[\d.e+]+))?(?: [^>≤]*)?")
ENDINGS = (": go to ", ": answer ", ": cut here, answer ", ": not in this chart; the policy asks for ")


class Line(NamedTuple):
    depth: int
    condition: str
    ending: str


class ReadCase(NamedTuple):
    """What a reader finds for a case: the acquisitions asked for, those with a value, and the answer."""

    asked: list[str]
    known: list[str]
    answer: str | None


class ChartReader:
    """Follows the numbered paragraphs of ``Chart.to_text``."""

    def __init__(self, text: str, columns: dict[str, list[str]]) -> None:
        """``columns`` has the columns of each acquisition."""
        self.columns = columns
        self.boxes: dict[int, tuple[str, list[Line]]] = {}
        lines: list[Line] = []
        for line in text.splitlines():
            if found := BOX.match(line):
                lines = []
                self.boxes[int(found[1])] = (found[2], lines)
            elif found := ROW.match(line):
                lines.append(_read_line(len(found[1]) // 2, found[2]))

    def read(self, case: dict[str, Any]) -> ReadCase:
        """Follow the chart for a case, a value by column; None is no value."""
        number, asked, known = 1, [], []
        while True:
            question, lines = self.boxes[number]
            asked.append(question)
            has_value = any(case[column] is not None for column in self.columns[question])
            known += [question] * has_value
            ending = self._follow(lines, question, case, has_value)
            if found := re.match(r"go to (\d+)", ending):
                number = int(found[1])
            else:
                found = re.match(r"(?:cut here, )?answer ([^(;]*?)(?: \(|;|$)", ending)
                return ReadCase(asked, known, found[1] if found else None)

    def _follow(self, lines: list[Line], question: str, case: dict[str, Any], has_value: bool) -> str:
        depth = 0
        for line in lines:
            if line.depth != depth:
                continue
            condition = line.condition
            if (condition == "unknown") == has_value and (condition == "unknown" or depth == 0):
                continue
            if condition not in ("unknown", "any value") and not self._holds(condition, question, case):
                continue
            if line.ending:
                return line.ending
            depth += 1
        raise AssertionError(f"no line of {question} fits {case}")

    def _holds(self, condition: str, question: str, case: dict[str, Any]) -> bool:
        named = sorted((c for c in case if condition.startswith(f"{c} ")), key=len)
        column = named[-1] if named else self.columns[question][0]
        rest = condition.removeprefix(f"{column} ") if named else condition
        value = {True: "yes", False: "no"}[case[column]] if isinstance(case[column], bool) else case[column]
        if rest.endswith(" or no value"):
            if value is None:
                return True
            rest = rest.removesuffix(" or no value")
        if rest in ("has a value", "has no value"):
            return (value is None) == (rest == "has no value")
        if value is None:
            return False
        if not isinstance(value, str) and (whole := WHOLE.fullmatch(rest)):
            low, high = float(whole["number"]), float(whole["last"] or whole["number"])
            return (whole["sign"] == "at most " or value >= low) and (whole["sign"] == "at least " or value <= high)
        if rest.startswith("= "):
            return str(value) == rest.removeprefix("= ")
        if rest.startswith("is not "):
            return str(value) != rest.removeprefix("is not ")
        if rest.startswith("is one of "):
            return str(value) in rest.removeprefix("is one of ").split(", ")
        if rest.startswith("is none of "):
            return str(value) not in rest.removeprefix("is none of ").split(", ")
        rest = re.sub(r"([>≤] [-\d.e+]+)( [^>≤]*?)?(?= and [>≤]|$)", r"\1", rest)  # without units
        limits = {part.split()[0]: float(part.split()[1]) for part in rest.split(" and ")}
        return value > limits.get(">", float("-inf")) and value <= limits.get("≤", float("inf"))


def _read_line(depth: int, text: str) -> Line:
    for ending in ENDINGS:
        before, found, after = text.partition(ending)
        if found:
            return Line(depth, SHARE.sub("", before).removesuffix(", mostly"), found.removeprefix(": ") + after)
    return Line(depth, text.removesuffix(":"), "")
