"""Is it fewer classes or fewer images? Three versions of the source per target (Figure 6)."""

import pandas as pd
from matplotlib.figure import Figure

from anynet_study.plots.proxies import proxy_chart
from anynet_study.plots.style import styled

VERSIONS = ("source", "images", "classes")


def class_or_size_data(table: pd.DataFrame, names: tuple[str, str, str]) -> pd.DataFrame:
    """DataFrame[target, proxy, estimate, low, high, n], a row a target and version of the source.

    `table` is a result of `apr.class_or_size`; `names` are those of the source, of its version with
    fewer images, and of that with fewer classes.
    """
    parts = []
    for version, name in zip(VERSIONS, names, strict=True):
        chosen = table[["target", f"rho_{version}", f"rho_{version}_low", f"rho_{version}_high"]]
        chosen = chosen.set_axis(["target", "estimate", "low", "high"], axis=1)
        parts.append(chosen.assign(proxy=name, n=table["n"]))
    order = ["target", "proxy", "estimate", "low", "high", "n"]
    return pd.concat(parts)[order].sort_index(kind="stable").reset_index(drop=True)


@styled
def class_or_size_chart(table: pd.DataFrame, names: tuple[str, str, str]) -> Figure:
    """Plot each target's correlation with the source and with its two smaller versions."""
    return proxy_chart(class_or_size_data(table, names))
