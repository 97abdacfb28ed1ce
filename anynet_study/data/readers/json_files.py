"""Reading the JSON files that come with some datasets."""

import json
from typing import Any

from anynet_study.data.source.source import Source
from anynet_study.errors import UserError

#: Parsed it takes several times as much memory. CCT-20's largest has 20 MB.
MAX_BYTES = 64 << 20


def read_json(source: Source, name: str) -> Any:
    """What the file `name`, a path from the source, holds; UserError if it is not whole JSON."""
    try:
        return json.loads(source.member(name).read(MAX_BYTES))
    except (ValueError, RecursionError) as error:
        reason = str(error).partition("\n")[0]
        raise UserError(f"{source.where(name)}: not a readable JSON file ({reason})") from error
