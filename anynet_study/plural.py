"""Numbers of things in words."""


def counted(number: int, noun: str) -> str:
    """`1 file`, `2,000 files`: for nouns that take an s."""
    return f"1 {noun}" if number == 1 else f"{number:,} {noun}s"
