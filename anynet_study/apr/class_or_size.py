"""Is it the fewer classes of a source's subset, or its fewer images? (paper 1, 4.3.1, Figure 6)

A subset with fewer classes also has fewer images. A third version of the source, with all classes
and as few images, tells the two apart.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from anynet_study.apr.bootstrap import Resampler
from anynet_study.apr.edf_sample import check_seed
from anynet_study.apr.intervals import Resampled, check_level
from anynet_study.apr.kernels import Method
from anynet_study.apr.pairs import complete_in
from anynet_study.apr.table import check_errors
from anynet_study.errors import UserError


def class_or_size(
    errors: pd.DataFrame,
    source: str,
    fewer_images: str,
    fewer_classes: str,
    targets: Sequence[str],
    method: Method = "spearman",
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
) -> pd.DataFrame:
    """Each target's correlation with the source and with its two smaller versions (Figure 6).

    `fewer_images` has the source's classes and about as many images as `fewer_classes`, which has
    some of its classes. Returns DataFrame[target, rho_source, rho_images, rho_classes, by_images,
    by_classes, n], each with _low and _high: `by_images` = rho_images - rho_source is what
    fewer images alone gain, `by_classes` = rho_classes - rho_images what fewer classes gain on top.
    The last row, "average", averages the targets where all is defined. Intervals are BCa bootstrap
    intervals on shared resamples; n counts the architectures with all four errors.
    """
    check_level(level, resamples)
    check_seed(seed)
    table = check_errors(errors)
    versions = [source, fewer_images, fewer_classes]
    absent = [name for name in [*versions, *targets] if name not in table.columns]
    if absent:
        known = ", ".join(map(str, table.columns))
        raise UserError(f"errors: no column {', '.join(absent)}; the datasets are {known}")
    place = {name: table.columns.get_loc(name) for name in table.columns}
    pairs = [(place[version], place[target]) for version in versions for target in targets]
    needed = [[place[name] for name in (*versions, target)] for target in targets] * 3
    compared = complete_in(table.to_numpy(), pairs, needed)
    resampler = Resampler(table.to_numpy(), compared.enough(), method)
    resampled, count = resampler.resampled(resamples, seed), len(targets)
    whole, images, classes = (resampled[i * count : (i + 1) * count] for i in range(3))
    result = _columns([whole, images, classes], level)
    result.insert(0, "target", [*targets])
    result["n"] = compared.counts[:count]
    defined = np.flatnonzero(np.isfinite(whole.estimate + images.estimate + classes.estimate))
    if not len(defined):
        return result
    average = _columns([each[defined].average() for each in (whole, images, classes)], level)
    last = average.assign(target="average", n=result["n"].iloc[defined].min())
    return pd.concat([result, last[result.columns]], ignore_index=True)


def _columns(versions: Sequence[Resampled], level: float) -> pd.DataFrame:
    whole, images, classes = versions
    columns = {}
    statistics = {"rho_source": whole, "rho_images": images, "rho_classes": classes}
    statistics |= {"by_images": images - whole, "by_classes": classes - images}
    for name, statistic in statistics.items():
        columns[name] = statistic.estimate
        columns[f"{name}_low"], columns[f"{name}_high"] = statistic.interval(level)
    return pd.DataFrame(columns)
