"""Figures of a study: pure functions of tables that return a matplotlib Figure."""

from anynet_study.plots.configurations import configuration_grid
from anynet_study.plots.curves import curve_grid
from anynet_study.plots.drivers import driver_grid
from anynet_study.plots.edf import edf_grid, edf_plot, random_search_plot
from anynet_study.plots.frames import curve_data, driver_data, scatter_data
from anynet_study.plots.heatmap import correlation_heatmap
from anynet_study.plots.matrix import scatter_matrix
from anynet_study.plots.noise import noise_grid
from anynet_study.plots.population import population_data, population_grid
from anynet_study.plots.proxies import proxy_chart
from anynet_study.plots.saving import save
from anynet_study.plots.scatter import scatter_grid

__all__ = [
    "configuration_grid",
    "correlation_heatmap",
    "curve_data",
    "curve_grid",
    "driver_data",
    "driver_grid",
    "edf_grid",
    "edf_plot",
    "noise_grid",
    "population_data",
    "population_grid",
    "proxy_chart",
    "random_search_plot",
    "save",
    "scatter_data",
    "scatter_grid",
    "scatter_matrix",
]
