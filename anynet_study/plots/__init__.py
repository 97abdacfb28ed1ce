"""Figures of a study: pure functions of tables that return a matplotlib Figure."""

from anynet_study.plots.agreement import agreement_data, agreement_grid, change_grid
from anynet_study.plots.class_or_size import class_or_size_chart, class_or_size_data
from anynet_study.plots.configurations import configuration_grid
from anynet_study.plots.costs import cost_grid
from anynet_study.plots.curves import curve_grid
from anynet_study.plots.dots import gap_chart, other_targets_chart
from anynet_study.plots.drivers import driver_grid
from anynet_study.plots.duration import duration_grid
from anynet_study.plots.edf import edf_grid, edf_plot, random_search_plot
from anynet_study.plots.fits import fit_data, fit_grid, transfer_grid
from anynet_study.plots.frames import curve_data, driver_data, scatter_data
from anynet_study.plots.heatmap import correlation_heatmap
from anynet_study.plots.importance import importance_grid
from anynet_study.plots.matrix import scatter_matrix
from anynet_study.plots.noise import noise_grid
from anynet_study.plots.population import population_data, population_grid
from anynet_study.plots.proxies import proxy_chart
from anynet_study.plots.rankings import improvement_chart, rank_chart, transform_chart
from anynet_study.plots.regret import regret_grid
from anynet_study.plots.robustness import bin_chart, label_set_chart, robustness_grid
from anynet_study.plots.saving import save
from anynet_study.plots.scatter import scatter_grid
from anynet_study.plots.stage_drivers import stage_driver_heatmap
from anynet_study.plots.widths import width_grid

__all__ = [
    "agreement_data",
    "agreement_grid",
    "bin_chart",
    "change_grid",
    "class_or_size_chart",
    "class_or_size_data",
    "configuration_grid",
    "correlation_heatmap",
    "cost_grid",
    "curve_data",
    "curve_grid",
    "driver_data",
    "driver_grid",
    "duration_grid",
    "edf_grid",
    "edf_plot",
    "fit_data",
    "fit_grid",
    "gap_chart",
    "importance_grid",
    "improvement_chart",
    "label_set_chart",
    "noise_grid",
    "other_targets_chart",
    "population_data",
    "population_grid",
    "proxy_chart",
    "random_search_plot",
    "rank_chart",
    "regret_grid",
    "robustness_grid",
    "save",
    "scatter_data",
    "scatter_grid",
    "scatter_matrix",
    "stage_driver_heatmap",
    "transfer_grid",
    "transform_chart",
    "width_grid",
]
