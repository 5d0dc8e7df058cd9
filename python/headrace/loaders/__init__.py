"""Loaders: what iterates over a dataset, epoch after epoch, and hands its elements to a framework."""
