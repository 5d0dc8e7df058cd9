pkg_check_modules(WEBP QUIET IMPORTED_TARGET libwebp libwebpdemux)
headrace_codec(webp PkgConfig::WEBP)
