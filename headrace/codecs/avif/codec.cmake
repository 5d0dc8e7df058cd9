pkg_check_modules(AVIF QUIET IMPORTED_TARGET libavif>=0.11)
headrace_codec(avif PkgConfig::AVIF)
