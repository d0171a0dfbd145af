"""How work on a rollout stops with a reason for people."""

from typing import Literal

from migrations_app.errors import Conflict


class Halt(Conflict):
    """The rollout stops here and a person is called; `state` says how."""

    def __init__(self, code: str, words: str, *, state: Literal["paused", "needs_attention"] = "paused") -> None:
        super().__init__(words, code=code)
        self.state: Literal["paused", "needs_attention"] = state
