"""The architecture-performance relationship: pure functions of tables of errors.

Tables have one row an architecture and one column a dataset, errors in percent, NaN where a run
is missing. Nothing here opens a store or knows of training.
"""

from anynet_study.apr.agreement import agreement
from anynet_study.apr.attenuation import corrected_correlations
from anynet_study.apr.binomial import binomial_interval, wilson_interval
from anynet_study.apr.bins import best_of_bins
from anynet_study.apr.class_or_size import class_or_size
from anynet_study.apr.configurations import configurations
from anynet_study.apr.correlations import as_matrix, correlations
from anynet_study.apr.drivers import cumulative, drivers
from anynet_study.apr.duration import cheapest_budget, duration
from anynet_study.apr.edf import edf, edf_summary
from anynet_study.apr.edf_compare import compare_spaces
from anynet_study.apr.edf_complexity import match_complexity
from anynet_study.apr.edf_range import good_range
from anynet_study.apr.edf_search import random_search
from anynet_study.apr.effective_robustness import effective_robustness
from anynet_study.apr.extremes import at_most_a_quarter, mark_extremes
from anynet_study.apr.families import best_proxies, match_family
from anynet_study.apr.fisher import architectures_needed, fisher_interval
from anynet_study.apr.fit_lines import LinearFit, linear_fit
from anynet_study.apr.fit_splines import spline_fit
from anynet_study.apr.gaps import gaps, generalization_gaps
from anynet_study.apr.image_ranks import rank_changes
from anynet_study.apr.importance import importance
from anynet_study.apr.improvement import improvement_fits, relative_improvement
from anynet_study.apr.label_sets import label_set_accuracy, nested_label_sets, restrict
from anynet_study.apr.mcnemar import correctness, mcnemar, order_changes
from anynet_study.apr.multiplicity import adjust
from anynet_study.apr.other_targets import explained_beyond, other_targets
from anynet_study.apr.pareto import proxy_costs
from anynet_study.apr.rank_preservation import rank_preservation, replicate_intervals, tied_ranks
from anynet_study.apr.regret import selection_regret
from anynet_study.apr.replicates import disattenuate, noise_ceiling
from anynet_study.apr.robustness import average_robustness
from anynet_study.apr.roles import Roles
from anynet_study.apr.sample_size import interval_widths
from anynet_study.apr.stage_drivers import stage_drivers
from anynet_study.apr.table import check_errors, exclusions, in_percent
from anynet_study.apr.transfer import transfer_fits
from anynet_study.apr.transforms import transform_agreement, transform_ranks
from anynet_study.apr.weights import effective_size, weights_of

__all__ = [
    "LinearFit",
    "Roles",
    "adjust",
    "agreement",
    "architectures_needed",
    "as_matrix",
    "at_most_a_quarter",
    "average_robustness",
    "best_of_bins",
    "best_proxies",
    "binomial_interval",
    "cheapest_budget",
    "check_errors",
    "class_or_size",
    "compare_spaces",
    "configurations",
    "corrected_correlations",
    "correctness",
    "correlations",
    "cumulative",
    "disattenuate",
    "drivers",
    "duration",
    "edf",
    "edf_summary",
    "effective_robustness",
    "effective_size",
    "exclusions",
    "explained_beyond",
    "fisher_interval",
    "gaps",
    "generalization_gaps",
    "good_range",
    "importance",
    "improvement_fits",
    "in_percent",
    "interval_widths",
    "label_set_accuracy",
    "linear_fit",
    "mark_extremes",
    "match_complexity",
    "match_family",
    "mcnemar",
    "nested_label_sets",
    "noise_ceiling",
    "order_changes",
    "other_targets",
    "proxy_costs",
    "random_search",
    "rank_changes",
    "rank_preservation",
    "relative_improvement",
    "replicate_intervals",
    "restrict",
    "selection_regret",
    "spline_fit",
    "stage_drivers",
    "tied_ranks",
    "transfer_fits",
    "transform_agreement",
    "transform_ranks",
    "weights_of",
    "wilson_interval",
]
