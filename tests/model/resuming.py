"""Whether a loader of the package that loads a state goes on as the model does, for tests of the package against the model."""

import json

from . import adapter


def check_resume(rng, dataset, want, text):
    """Stop epoch 1 anywhere; another loader yields the rest of it, or epoch 2 after a whole one."""
    delivered = rng.randint(0, len(want[1]))
    loader = adapter.loader(dataset)
    adapter.set_epoch(loader, 1)
    iteration = iter(loader)
    assert [adapter.seen(next(iteration)) for _ in range(delivered)] == want[1][:delivered], text
    other = adapter.loader(dataset)
    adapter.load(other, json.loads(json.dumps(adapter.save(iteration))))
    tail, left = [adapter.seen(e) for e in other], want[1][delivered:]
    assert tail == left if left else tail in ([], want[2]), (delivered, text)
