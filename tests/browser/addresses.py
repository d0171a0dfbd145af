"""The pages that are looked at as a whole: for access, for fit, for errors."""

PAGES = {
    "fleet": ("", "/"),
    "one list": ("", "/?view=flat"),
    "nothing fits": ("", "/?q=zzzz"),
    "by label": ("", "/?view=label:environment"),
    "groups": ("", "/groups/"),
    "burndown": ("", "/burndown"),
    "catalogue": ("", "/catalogue/"),
    "register": ("", "/clusters/new"),
    "password": ("", "/password"),
    "people": ("", "/settings/people"),
    "service accounts": ("", "/settings/services"),
    "tokens": ("", "/settings/tokens"),
    "feeds": ("", "/settings/feeds"),
    "tool": ("", "/settings/tool"),
    "absent": ("", "/clusters/00000000-0000-0000-0000-000000000001/"),
    "readiness": ("production", ""),
    "by phase": ("production", "?by=phase"),
    "plan": ("production", "plan"),
    "plan of what is partly read": ("partial", "plan?hop=0.33%2B"),
    "nothing to plan": ("new", "plan"),
    "nodes": ("production", "nodes"),
    "parts": ("partial", "parts"),
    "history": ("production", "history"),
    "change": ("production", "change"),
    "labels": ("production", "labels"),
    "remove": ("production", "remove"),
    "partial": ("partial", ""),
    "unreachable": ("gone", ""),
    "running": ("running", ""),
    "never scanned": ("new", ""),
}


def address(fleet, name):
    """The path of a page; `fleet` holds the clusters by state."""
    state, path = PAGES[name]
    return f"/clusters/{fleet[state].pk}/{path}" if state else path
