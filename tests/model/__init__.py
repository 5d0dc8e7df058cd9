"""A model of order, shard, epochs, state and errors in plain Python: the C++ must give the same results.

Read in this order: random, order, nodes, indexed, deal, stream, loader. The prose is docs/determinism.md.
"""
