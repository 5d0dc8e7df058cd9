find_package(BZip2 QUIET)
headrace_codec(bzip2 BZip2::BZip2)
