pkg_check_modules(BROTLI QUIET IMPORTED_TARGET libbrotlidec)
headrace_codec(brotli PkgConfig::BROTLI)
