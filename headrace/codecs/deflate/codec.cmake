# zlib is wherever libspng is, and record files are compressed with it.
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)
headrace_codec(deflate PkgConfig::ZLIB)
