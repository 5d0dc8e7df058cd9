"""Loaders: iterate over a dataset, one epoch per iteration, and convert its elements for a framework."""
