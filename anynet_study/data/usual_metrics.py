"""The metric on which networks are usually judged on a dataset, where it is not the accuracy."""

from collections.abc import Mapping
from types import MappingProxyType

from anynet_study.data.readers import aptos, hpa, siim_isic
from anynet_study.metrics import Metric

#: By the layout that a dataset was recognised by: that of its competition (paper 3, 4.2 to 4.4).
USUAL: Mapping[str, Metric] = MappingProxyType(
    {
        aptos.LAYOUT: "quadratic_kappa",
        hpa.LAYOUT: "macro_f1",
        siim_isic.LAYOUT: "auroc",
    }
)
