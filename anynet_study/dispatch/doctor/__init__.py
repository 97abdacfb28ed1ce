"""Probes of a site: what is there, and what to set because of it."""

from anynet_study.dispatch.doctor.examination import examine
from anynet_study.dispatch.doctor.finding import Finding

__all__ = ["Finding", "examine"]
