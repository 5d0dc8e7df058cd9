"""The version, from the installed package; a checkout that is not installed has none."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("headrace")
except PackageNotFoundError:
    __version__ = "0+unknown"
