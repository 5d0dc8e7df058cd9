"""netCDF-4 files and xarray's Zarr stores, beside xarray and the netCDF4 library, which decode packed numbers."""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr

netCDF4 = pytest.importorskip("netCDF4")
xarray = pytest.importorskip("xarray")
h5py = pytest.importorskip("h5py")
zarr = pytest.importorskip("zarr")

ROWS = 5


def column(data: Any, field: str) -> np.ndarray[Any, Any]:
    return np.stack([sample[field] for sample in data])


def same(got: Any, wanted: Any) -> bool:
    got, wanted = np.asarray(got), np.asarray(wanted)
    return (
        got.dtype == wanted.dtype
        and got.shape == wanted.shape
        and np.array_equal(got, wanted, equal_nan=got.dtype.kind == "f")
    )


def packings() -> list[tuple[str, dict[str, Any]]]:
    """Every dtype with every combination of attributes that makes sense for it."""
    out = []
    for name in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "f4", "f8"):
        dtype = np.dtype(name)
        fills: list[dict[str, Any]] = [{}, {"_FillValue": dtype.type(3)}, {"missing_value": dtype.type(2)}]
        if dtype.kind == "i" and dtype.itemsize < 8:
            fills.append({"_Unsigned": "true"})
            fills.append({"_Unsigned": "true", "_FillValue": dtype.type(-2)})
        scales: list[dict[str, Any]] = [{}]
        for scale, offset in itertools.product(
            (None, np.float32(0.01), np.float64(0.01)), (None, np.float32(250), np.float64(250.5))
        ):
            pair = {"scale_factor": scale, "add_offset": offset}
            scales.append({key: value for key, value in pair.items() if value is not None})
        out += [(name, fill | scale) for fill, scale in itertools.product(fills, scales)]
    return out


def write_packed(path: Path, cases: list[tuple[str, dict[str, Any]]]) -> None:
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("row", ROWS)
        file.createDimension("unused", 3)
        file.title = "packed"
        for i, (dtype, attributes) in enumerate(cases):
            rest = dict(attributes)
            variable = file.createVariable(f"v{i}", dtype, ("row",), fill_value=rest.pop("_FillValue", False))
            variable.set_auto_maskandscale(False)
            variable[:] = np.array([1, 2, 3, -2 if np.dtype(dtype).kind != "u" else 254, 100]).astype(dtype)
            variable.setncatts(rest)


def test_packed_numbers_are_those_of_xarray(tmp_path: Path) -> None:
    cases = packings()
    path = tmp_path / "packed.nc"
    write_packed(path, cases)
    data = hr.read(path)
    assert "unused" not in data.schema
    with xarray.open_dataset(path, decode_times=False) as wanted:
        for i, case in enumerate(cases):
            got = column(data, f"v{i}")
            assert same(got, wanted[f"v{i}"].values), (case, got, wanted[f"v{i}"].values)
    decoded = [f"v{i}" for i, (dtype, attributes) in enumerate(cases) if attributes]
    assert data.metadata["decoded"] == sorted(decoded)
    assert data.metadata["attributes"] == {"title": "packed"}
    raw = hr.read(path, raw=True)
    with h5py.File(path) as file:
        for i in range(len(cases)):
            assert same(column(raw, f"v{i}"), file[f"v{i}"][:])
    assert "decoded" not in raw.metadata


def test_the_files_of_netcdf4_are_read_as_netcdf4_reads_them(tmp_path: Path) -> None:
    path = tmp_path / "t.nc"
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("time", None)
        file.createDimension("x", 4)
        file.createDimension("y", 3)
        packed = file.createVariable("t", "i2", ("time", "y", "x"), zlib=True, fill_value=-1)
        packed.scale_factor, packed.add_offset, packed.units, packed.long_name = 0.5, 10.0, "K", "temperature"
        packed.level, packed.standard_name, packed.coordinates, packed.cell_methods = (
            np.int16(0),
            "a",
            "b",
            "c",
        )
        packed.comment = "more than eight attributes are stored in a heap"
        values = np.arange(24, dtype="f8").reshape(2, 3, 4)
        packed[:] = np.ma.masked_equal(values, 7)
        time = file.createVariable("time", "f8", ("time",))
        time.units, time.calendar = "days since 1900-01-01", "noleap"
        time[:] = [0, 1]
        file.setncatts({f"attribute {i}": f"text {i}" for i in range(12)})
    data = hr.read(path)
    assert set(data.schema) == {"t", "time"}
    with netCDF4.Dataset(path) as file:
        assert same(column(data, "t"), file["t"][:].filled(np.nan))
    assert data.metadata["types"] == {"t": "K", "time": "days since 1900-01-01, calendar noleap"}
    attributes = data.metadata["field_attributes"]
    assert attributes["time"] == {"units": "days since 1900-01-01", "calendar": "noleap"}
    assert attributes["t"]["long_name"] == "temperature"
    assert attributes["t"]["level"] == 0
    assert not {"scale_factor", "add_offset", "_FillValue"} & set(attributes["t"])
    assert data.metadata["attributes"] == {f"attribute {i}": f"text {i}" for i in range(12)}
    assert {"scale_factor", "add_offset", "_FillValue"} <= set(
        hr.read(path, raw=True).metadata["field_attributes"]["t"]
    )


def test_attributes_of_h5netcdf_are_strings_of_variable_length(tmp_path: Path) -> None:
    path = tmp_path / "t.nc"
    with h5py.File(path, "w") as file:
        file.attrs["_NCProperties"] = "version=2,h5netcdf=1"
        x = file.create_dataset("x", data=np.array([1, 2], "i2"))
        x.attrs.update({"units": "m", "scale_factor": 0.5, "flags": np.array([1, 2]), "names": ["a", "ü"]})
    data = hr.read(path)
    assert column(data, "x").tolist() == [0.5, 1.0]
    assert data.metadata["field_attributes"] == {"x": {"units": "m", "flags": [1, 2], "names": ["a", "ü"]}}


def test_dimensions_without_a_variable_are_no_fields(tmp_path: Path) -> None:
    path = tmp_path / "n.nc"
    with netCDF4.Dataset(path, "w") as file:
        for name, size in (("n", 3), ("k", 4), ("m", 5)):
            file.createDimension(name, size)
        file.createVariable("image", "f4", ("n", "k", "m"))[:] = np.arange(60).reshape(3, 4, 5)
        group = file.createGroup("train")
        group.createVariable("y", "i8", ("n",))[:] = [1, 2, 3]
    data = hr.read(path)
    assert list(data.schema) == ["image"]
    assert same(column(data, "image"), np.arange(60, dtype="f4").reshape(3, 4, 5))
    assert [int(sample["y"]) for sample in hr.read(path, group="train")] == [1, 2, 3]
    assert list(hr.read(path, fields=["k"]).schema) == ["k"]  # who names it gets what is stored


def test_a_plain_hdf5_file_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "plain.h5"
    with h5py.File(path, "w") as file:
        x = file.create_dataset("x", data=np.array([100, -1], "i2"))
        x.attrs.update({"scale_factor": 0.5, "add_offset": 250.0, "_FillValue": np.int16(-1)})
        file.create_dataset("y", data=np.array([1, 2], "i4")).attrs["_FillValue"] = np.int32(1)
    with pytest.warns(
        UserWarning, match="the attributes of 'x' have a scale_factor or an add_offset, which is not applied"
    ):
        data = hr.read(path)
    assert column(data, "x").tolist() == [100, -1]
    assert data.metadata.keys() == {"files", "group", "notes"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert column(hr.read(path, raw=True), "x").tolist() == [100, -1]
        assert same(column(hr.read(path, raw=False), "x"), np.array([300.0, np.nan]))


def test_files_of_one_data_set_are_decoded_each_by_its_own_packing(tmp_path: Path) -> None:
    values = np.array([280.0, 290.0, 300.0])
    for i, (scale, units) in enumerate(((0.5, "K"), (0.25, "K"), (0.25, "degC"))):
        with netCDF4.Dataset(tmp_path / f"{i}.nc", "w") as file:
            file.createDimension("n", 3)
            variable = file.createVariable("t", "i2", ("n",))
            variable.scale_factor, variable.add_offset, variable.units = scale, 250.0, units
            variable[:] = values
    paths = [str(tmp_path / f"{i}.nc") for i in range(3)]
    assert column(hr.read(paths[:2]), "t").tolist() == [*values, *values]
    with pytest.raises(ValueError, match=r"2\.nc': expected field 't' as K, as in .*0\.nc', got degC"):
        hr.read(paths)
    with pytest.raises(
        ValueError, match=r"expected field 't' as packed with scale_factor 0\.5, add_offset 250\.0"
    ):
        hr.read(paths[:2], raw=True)


@pytest.mark.parametrize("compression", ["zlib", "szip", "zstd", "bzip2"])
@pytest.mark.parametrize("shuffle", [False, True])
def test_filters_of_netcdf4(tmp_path: Path, compression: str, shuffle: bool) -> None:
    path = tmp_path / "c.nc"
    values = np.random.default_rng(1).normal(size=(40, 7, 9)).astype("f4").round(1)
    try:
        with netCDF4.Dataset(path, "w") as file:
            for name, size in zip("nkm", values.shape, strict=True):
                file.createDimension(name, size)
            file.createVariable(
                "x", "f4", ("n", "k", "m"), compression=compression, shuffle=shuffle, chunksizes=(7, 7, 9)
            )[:] = values
    except RuntimeError as error:  # this build of the library lacks the filter
        pytest.skip(f"netCDF4 cannot write {compression}: {error}")
    assert same(column(hr.read(path), "x"), values)


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("consolidated", [False, True])
def test_zarr_stores_of_xarray_are_decoded_as_xarray_does(
    tmp_path: Path, version: int, consolidated: bool
) -> None:
    path = tmp_path / "x.zarr"
    values = np.array([280.0, np.nan, 300.0, 290.0])
    made = xarray.Dataset(
        {
            "packed": ("time", values, {"units": "K"}),
            "filled": ("time", values.astype("f4")),
            "whole": ("time", np.arange(4), {"note": "labels"}),
            "image": (("time", "y", "x"), np.arange(24, dtype="u1").reshape(4, 2, 3)),
        },
        coords={"time": ("time", np.arange(4), {"units": "days since 2000-01-01"})},
        attrs={"title": "t"},
    )
    encoding: dict[str, Any] = {
        "packed": {"dtype": "i2", "scale_factor": 0.5, "add_offset": 250.0, "_FillValue": -1},
        "filled": {"_FillValue": np.float32(-9)},
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made.to_zarr(path, zarr_format=version, consolidated=consolidated, encoding=encoding)
        with xarray.open_zarr(path, decode_times=False, consolidated=consolidated) as opened:
            wanted = {name: opened[name].values for name in ("packed", "filled", "whole", "image")}
    data = hr.read(path)
    for name, value in wanted.items():
        assert same(column(data, name), value), name
    assert data.metadata["decoded"] == ["filled", "packed"]
    assert data.metadata["types"] == {"packed": "K", "time": "days since 2000-01-01"}
    assert data.metadata["attributes"]["title"] == "t"
    assert data.metadata["field_attributes"]["whole"] == {"note": "labels"}
    raw = hr.read(path, raw=True)
    stored = zarr.open_group(str(path), mode="r")
    for name in wanted:
        assert same(column(raw, name), stored[name][:]), name


def test_plain_zarr_stores_are_read_as_they_are(tmp_path: Path) -> None:
    group = zarr.open_group(str(tmp_path / "p.zarr"), mode="w", zarr_format=2)
    x = group.create_array("x", shape=(2,), dtype="i2", chunks=(2,))
    x[:] = [0, 200]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert column(hr.read(tmp_path / "p.zarr"), "x").tolist() == [0, 200]
    x.attrs["scale_factor"] = 0.5
    with pytest.warns(UserWarning, match="do not name their axes as xarray does"):
        assert column(hr.read(tmp_path / "p.zarr"), "x").tolist() == [0, 200]
    assert same(column(hr.read(tmp_path / "p.zarr", raw=False), "x"), np.array([0.0, 100.0]))


def test_enums_of_several_files_must_have_the_same_members(tmp_path: Path) -> None:
    for i, members in enumerate(({"cat": 0, "dog": 1}, {"cat": 0, "dog": 1}, {"ant": 0, "cat": 1})):
        with h5py.File(tmp_path / f"{i}.h5", "w") as file:
            file.create_dataset("label", data=[0, 1], dtype=h5py.enum_dtype(members, basetype="u1"))
    paths = [str(tmp_path / f"{i}.h5") for i in range(3)]
    assert hr.read(paths[:2]).metadata["types"] == {"label": "enum(cat 0, dog 1)"}
    with pytest.raises(
        ValueError, match=r"expected field 'label' as enum\(cat 0, dog 1\), .* got enum\(ant 0, cat 1\)"
    ):
        hr.read(paths)


@pytest.mark.parametrize("form", ["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"])
def test_netcdf_3_is_refused_by_name(tmp_path: Path, form: str) -> None:
    with netCDF4.Dataset(tmp_path / "old.nc", "w", format=form) as file:
        file.createDimension("x", 3)
        file.createVariable("a", "i4", ("x",))[:] = [1, 2, 3]
    with pytest.raises(NotImplementedError, match=r"got netCDF 3, which is not read; `nccopy -k nc4"):
        hr.read(tmp_path / "old.nc")
