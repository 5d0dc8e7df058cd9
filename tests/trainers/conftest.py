"""These tests run where the trainers are installed: `make trainers`."""

from importlib.util import find_spec

collect_ignore_glob = (
    [] if all(map(find_spec, ("lightning", "accelerate", "transformers"))) else ["test_*.py"]
)
