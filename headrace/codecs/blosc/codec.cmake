pkg_check_modules(BLOSC QUIET IMPORTED_TARGET blosc)
headrace_codec(blosc PkgConfig::BLOSC)
