"""The version of the installed package; "0+unknown" in a checkout that is not installed."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("headrace")
except PackageNotFoundError:
    __version__ = "0+unknown"
