pkg_check_modules(OPENJPEG QUIET IMPORTED_TARGET libopenjp2>=2.4)
headrace_codec(jpeg2000 PkgConfig::OPENJPEG)
