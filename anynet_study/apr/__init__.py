"""The architecture-performance relationship: pure functions of tables of errors.

Tables have one row an architecture and one column a dataset, errors in percent, NaN where a run
is missing. Nothing here opens a store or knows of training.
"""

from anynet_study.apr.binomial import binomial_interval
from anynet_study.apr.configurations import configurations
from anynet_study.apr.correlations import as_matrix, correlations
from anynet_study.apr.drivers import cumulative, drivers
from anynet_study.apr.edf import edf, edf_summary
from anynet_study.apr.edf_compare import compare_spaces
from anynet_study.apr.edf_complexity import match_complexity
from anynet_study.apr.edf_range import good_range
from anynet_study.apr.edf_search import random_search
from anynet_study.apr.extremes import mark_extremes
from anynet_study.apr.families import best_proxies, match_family
from anynet_study.apr.replicates import disattenuate, noise_ceiling
from anynet_study.apr.roles import Roles
from anynet_study.apr.table import check_errors, exclusions, in_percent
from anynet_study.apr.weights import effective_size, weights_of

__all__ = [
    "Roles",
    "as_matrix",
    "best_proxies",
    "binomial_interval",
    "check_errors",
    "compare_spaces",
    "configurations",
    "correlations",
    "cumulative",
    "disattenuate",
    "drivers",
    "edf",
    "edf_summary",
    "effective_size",
    "exclusions",
    "good_range",
    "in_percent",
    "mark_extremes",
    "match_complexity",
    "match_family",
    "noise_ceiling",
    "random_search",
    "weights_of",
]
