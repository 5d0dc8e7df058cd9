# The formats that the source interface was tried on.
file(GLOB trial_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.cc)
list(FILTER trial_sources EXCLUDE REGEX "_test\\.cc$")
target_compile_definitions(headrace_tests PRIVATE HEADRACE_TEST_SOURCES_DATA="${CMAKE_CURRENT_LIST_DIR}/data")
target_sources(headrace_tests PRIVATE ${trial_sources})
