# The headers that are installed: those named here and what they include. Everything else may change at any time.
set(headrace_api headrace/headrace.h)
# Contracts for operators, formats and stores that live outside of this tree.
set(headrace_plugin_contracts headrace/ops/registered.h headrace/ops/window.h headrace/formats/format.h headrace/formats/writer.h)

# What `headers` include below headrace/, themselves among them.
function(headrace_with_includes out)
  set(found ${ARGN})
  set(left ${ARGN})
  while(left)
    list(POP_FRONT left header)
    file(STRINGS ${PROJECT_SOURCE_DIR}/${header} lines REGEX "^#include \"headrace/")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^#include \"([^\"]+)\".*" "\\1" included "${line}")
      if(NOT included IN_LIST found)
        list(APPEND found ${included})
        list(APPEND left ${included})
      endif()
    endforeach()
  endwhile()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

headrace_with_includes(headrace_api_headers ${headrace_api})
headrace_with_includes(headrace_plugin_headers ${headrace_plugin_contracts})
list(REMOVE_ITEM headrace_plugin_headers ${headrace_api_headers})
