# Private servers in a directory, for `looseleaf sandbox` and for the tests.
# A program that links it must also link looseleaf::Error: the CLI links the shared library, the tests link the layers.
include_guard(GLOBAL)
add_library(looseleaf_sandbox STATIC
  "${CMAKE_CURRENT_LIST_DIR}/processes.cpp"
  "${CMAKE_CURRENT_LIST_DIR}/../files/memory_file.cpp"
  "${CMAKE_CURRENT_LIST_DIR}/../files/replace_file.cpp"
  "${CMAKE_CURRENT_LIST_DIR}/sandbox.cpp"
  "${CMAKE_CURRENT_LIST_DIR}/server_program.cpp")
target_include_directories(looseleaf_sandbox
  PUBLIC "${CMAKE_CURRENT_LIST_DIR}/../.." "${CMAKE_CURRENT_LIST_DIR}/../../lib/include")
target_link_libraries(looseleaf_sandbox PRIVATE looseleaf_options PUBLIC fmt::fmt)
