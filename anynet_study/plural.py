"""Numbers of things in words."""


def counted(number: int, noun: str) -> str:
    """`1 file`, `2 files`: for nouns that take an s."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
