"""`meta.mat` of ImageNet's development kit: which number is which class."""

import io

from anynet_study.data.readers.mat_files import checked_mat
from anynet_study.data.source.source import Source
from anynet_study.errors import UserError, first_line

#: The official file has 200 kB.
MAX_BYTES = 4 << 20


def leaf_wnids(source: Source, name: str) -> dict[str, str]:
    """The wnid of each ILSVRC2012_ID, as text, of the classes without subclasses.

    UserError if the file `name` is not what the kit has.
    """
    from scipy.io import loadmat

    where = source.where(name)
    try:
        content = checked_mat(source.member(name).read(MAX_BYTES))
        synsets = loadmat(io.BytesIO(content), squeeze_me=True)["synsets"]
        rows = zip(
            *(synsets[key].ravel() for key in ("ILSVRC2012_ID", "WNID", "num_children")),
            strict=True,
        )
        return {str(int(number)): str(wnid) for number, wnid, children in rows if not children}
    except Exception as error:  # the parser raises nearly anything on hostile bytes
        reason = first_line(error)
        raise UserError(f"{where}: not the kit's table of classes ({reason})") from error
