"""The architecture-performance relationship: pure functions of tables of errors.

Tables have one row per architecture and one column per dataset, errors in percent, NaN where a run
is missing. Nothing here opens a store or knows of training. The table that a function returns says
in its `attrs` what it is: its level, method, scale, number of architectures and whether they were
weighted (`options.with_attrs`).
"""

from anynet_study.analysis.apr.agreement import (
    ANOTHER_RUN,
    SAME_RUN,
    agreement,
    cheapest_budget,
    duration,
    kept_is_sure,
)
from anynet_study.analysis.apr.bands import compare_bands
from anynet_study.analysis.apr.benchmark import benchmark
from anynet_study.analysis.apr.best_architectures import (
    at_most_a_quarter,
    best_of_bins,
    configurations,
    mark_extremes,
)
from anynet_study.analysis.apr.bootstrap import (
    BLOCK,
    bca,
    draw,
    pairwise,
    resample,
    resample_correlations,
)
from anynet_study.analysis.apr.correlations import adjust, as_matrix, correlations, interval_widths
from anynet_study.analysis.apr.drivers import cumulative, drivers, importance, stage_drivers
from anynet_study.analysis.apr.edf import edf, edf_summary, good_range, random_search
from anynet_study.analysis.apr.edf_compare import compare_spaces, match_complexity
from anynet_study.analysis.apr.error_tables import FEWEST, check_errors, exclusions
from anynet_study.analysis.apr.fits import LinearFit, Scale, linear_fit, spline_fit
from anynet_study.analysis.apr.gaps import gaps, mean_change, shift_agreement, shift_ranks
from anynet_study.analysis.apr.interval_formulas import (
    architectures_needed,
    fisher_interval,
    wilson_interval,
)
from anynet_study.analysis.apr.noise import corrected_correlations, noise_ceiling, reliabilities
from anynet_study.analysis.apr.options import Floats, Method, with_attrs
from anynet_study.analysis.apr.other_targets import Average, other_targets
from anynet_study.analysis.apr.over_targets import compare_proxies, random_average
from anynet_study.analysis.apr.population import (
    PARAMETERS,
    aligned_weights,
    effective_size,
    stages_of,
    weights_of,
)
from anynet_study.analysis.apr.power import Plan, power, robust_power
from anynet_study.analysis.apr.predictions import (
    UNKNOWN,
    correctness,
    ensembles,
    label_set_accuracy,
    mcnemar,
    nested_label_sets,
    restrict,
)
from anynet_study.analysis.apr.proxies import (
    best_proxies,
    class_or_size,
    match_family,
    proxy_costs,
)
from anynet_study.analysis.apr.rank_preservation import (
    fewest_to_preserve,
    rank_preservation,
    replicate_intervals,
    sampling_intervals,
    tied_ranks,
)
from anynet_study.analysis.apr.regret import selection_regret
from anynet_study.analysis.apr.robustness import (
    effective_robustness,
    robustness_lines,
)
from anynet_study.analysis.apr.roles import Roles
from anynet_study.analysis.apr.simultaneous import can_be_largest, simultaneous
from anynet_study.analysis.apr.transfer import (
    covariate_fits,
    normalised,
    relative_improvement,
    transfer_fits,
)
from anynet_study.analysis.apr.verdicts import (
    SMALLEST_CORRELATION,
    SMALLEST_DIFFERENCE,
    SMALLEST_ROBUSTNESS,
    is_best,
    is_preserved,
    verdict,
)
from anynet_study.core.metrics import binomial_interval, check_level, single_runs

__all__ = [
    "ANOTHER_RUN",
    "BLOCK",
    "FEWEST",
    "PARAMETERS",
    "SAME_RUN",
    "SMALLEST_CORRELATION",
    "SMALLEST_DIFFERENCE",
    "SMALLEST_ROBUSTNESS",
    "UNKNOWN",
    "Average",
    "Floats",
    "LinearFit",
    "Method",
    "Plan",
    "Roles",
    "Scale",
    "adjust",
    "agreement",
    "aligned_weights",
    "architectures_needed",
    "as_matrix",
    "at_most_a_quarter",
    "bca",
    "benchmark",
    "best_of_bins",
    "best_proxies",
    "binomial_interval",
    "can_be_largest",
    "cheapest_budget",
    "check_errors",
    "check_level",
    "class_or_size",
    "compare_bands",
    "compare_proxies",
    "compare_spaces",
    "configurations",
    "corrected_correlations",
    "correctness",
    "correlations",
    "covariate_fits",
    "cumulative",
    "draw",
    "drivers",
    "duration",
    "edf",
    "edf_summary",
    "effective_robustness",
    "effective_size",
    "ensembles",
    "exclusions",
    "fewest_to_preserve",
    "fisher_interval",
    "gaps",
    "good_range",
    "importance",
    "interval_widths",
    "is_best",
    "is_preserved",
    "kept_is_sure",
    "label_set_accuracy",
    "linear_fit",
    "mark_extremes",
    "match_complexity",
    "match_family",
    "mcnemar",
    "mean_change",
    "nested_label_sets",
    "noise_ceiling",
    "normalised",
    "other_targets",
    "pairwise",
    "power",
    "proxy_costs",
    "random_average",
    "random_search",
    "rank_preservation",
    "relative_improvement",
    "reliabilities",
    "replicate_intervals",
    "resample",
    "resample_correlations",
    "restrict",
    "robust_power",
    "robustness_lines",
    "sampling_intervals",
    "selection_regret",
    "shift_agreement",
    "shift_ranks",
    "simultaneous",
    "single_runs",
    "spline_fit",
    "stage_drivers",
    "stages_of",
    "tied_ranks",
    "transfer_fits",
    "verdict",
    "weights_of",
    "wilson_interval",
    "with_attrs",
]


def __dir__() -> list[str]:
    """The public names only: some functions share theirs with the module that they are in."""
    return __all__
