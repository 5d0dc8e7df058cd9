"""What Headrace means by order, shard, epochs, state and errors, in plain Python: the C++ must equal it.

Read in this order: random, order, nodes, indexed, deal, stream, loader. The prose is docs/determinism.md.
"""
