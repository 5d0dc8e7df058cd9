"""Files that take turns are read once: each keeps the block that its next sample lies in."""

import numpy as np
import pytest

import headrace as hr

FILES, SAMPLES = 40, 30


@pytest.mark.parametrize("ending", ["arrow", "h5", "tfrecord.gz", "tar.gz"])
def test_each_file_is_read_about_once(tmp_path, ending):
    paths = [tmp_path / f"{i}.{ending}" for i in range(FILES)]
    for i, path in enumerate(paths):
        if ending.endswith("gz"):
            field = "record" if ending.startswith("tf") else "bin"
            hr.from_list([{field: b"%d %d " % (i, k) * 50} for k in range(SAMPLES)]).write(path)
        else:
            hr.from_arrays({"x": np.full((SAMPLES, 64), i)}).write(path)
    loader = hr.interleave([hr.read(path) for path in paths], cycle_length=FILES).options(io=4).numpy()
    assert sum(1 for _ in loader) == FILES * SAMPLES
    # A block that two readers want at once may be read twice.
    assert loader.report()["io"]["reads"] <= 4 * FILES
