"""A variant of a dataset as an option: `classes=5,class_seed=1`."""

from pydantic import ValidationError

from anynet_study.data.variants import Variant
from anynet_study.errors import UserError
from anynet_study.sweep.text import apply_override, describe

_OPENING, _CLOSING = "[{", "]}"


def parse_variant(base: str, text: str) -> Variant:
    """The variant of the dataset `base` with these keys, as a sweep's entry has them.

    Values are YAML; commas within brackets do not separate keys. UserError says what is legal.
    """
    content: dict[str, object] = {}
    for part in _parts(text):
        try:
            apply_override(content, part.strip())
        except UserError as error:
            raise UserError(f"--variant: {error}") from None
    if "base" in content:
        raise UserError(f"--variant: `base`: that is {base} here")
    try:
        return Variant.model_validate({**content, "base": base})
    except ValidationError as error:
        raise UserError(f"--variant: {describe(error, Variant, content)}") from None


def _parts(text: str) -> list[str]:
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in _OPENING) - (letter in _CLOSING)
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts
