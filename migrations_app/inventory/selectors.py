"""Label selectors: what they select."""

from collections.abc import Mapping

from migrations_app.inventory.objects import Expression, LabelSelector


def selects(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    """Whether it selects an object of those labels; without a selector nothing is, with an empty one everything."""
    if selector is None:
        return False
    wanted = (selector.match_labels or {}).items()
    return all(labels.get(key) == value for key, value in wanted) and all(
        _holds(expression, labels) for expression in selector.match_expressions or ()
    )


def _holds(expression: Expression, labels: Mapping[str, str]) -> bool:
    value, listed = labels.get(expression.key), expression.values or ()
    answers = {
        "In": value in listed,
        "NotIn": value not in listed,
        "Exists": value is not None,
        "DoesNotExist": value is None,
    }
    return answers.get(expression.operator, False)
