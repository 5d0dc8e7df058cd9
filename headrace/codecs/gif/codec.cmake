find_package(GIF 5.1 QUIET)
headrace_codec(gif GIF::GIF)
