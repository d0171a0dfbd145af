"""Label selectors: what they select."""

from collections.abc import Mapping

from migrations_app.inventory.objects import Expression, LabelSelector


def selects(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    """Whether it selects an object of those labels; without a selector nothing is, with an empty one everything."""
    if selector is None:
        return False
    for key, value in (selector.match_labels or {}).items():
        if labels.get(key) != value:
            return False
    # Asked of every node and of every group of pods, nearly always by labels alone.
    expressions = selector.match_expressions
    return not expressions or all(_holds(expression, labels) for expression in expressions)


def _holds(expression: Expression, labels: Mapping[str, str]) -> bool:
    value, operator = labels.get(expression.key), expression.operator
    if operator == "In":
        return value in (expression.values or ())
    if operator == "NotIn":
        return value not in (expression.values or ())
    return value is not None if operator == "Exists" else operator == "DoesNotExist" and value is None
