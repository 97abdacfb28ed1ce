"""Text of unknown origin on a line of a terminal."""

#: What would end the line or command the terminal.
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))}


def printable(text: str) -> str:
    r"""`text` with `\xff` for control characters and for bytes that are not UTF-8."""
    whole = text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return whole.translate(_CONTROLS)
