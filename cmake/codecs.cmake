# Each folder below headrace/codecs/ that holds a codec.cmake needs a library, looks for it there, and is left out of the
# build where it is absent: a file of that kind is then refused by its name.
add_library(headrace_codecs INTERFACE)
set(headrace_absent_codecs)

# The folder is built with this target if there is such a target.
function(headrace_codec folder target)
  if(TARGET ${target})
    target_link_libraries(headrace_codecs INTERFACE ${target})
  else()
    message(STATUS "codecs: ${folder} is left out, its library was not found")
    set(headrace_absent_codecs ${headrace_absent_codecs} ${folder} PARENT_SCOPE)
  endif()
endfunction()

file(GLOB codec_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/headrace/codecs/*/codec.cmake)
foreach(codec_file IN LISTS codec_files)
  include(${codec_file})
endforeach()
