pkg_check_modules(TIFF QUIET IMPORTED_TARGET libtiff-4>=4.5)
headrace_codec(tiff PkgConfig::TIFF)
