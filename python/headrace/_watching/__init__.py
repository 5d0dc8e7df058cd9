"""Watching a run: progress lines, and metrics for Prometheus."""
