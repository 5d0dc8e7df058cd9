pkg_check_modules(JXL QUIET IMPORTED_TARGET libjxl>=0.7)
headrace_codec(jxl PkgConfig::JXL)
