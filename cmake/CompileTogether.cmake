# What makes a build from scratch sooner done: standard headers are precompiled, and several files are compiled as one.
# Every file still includes all that it uses, and is compiled alone where a compiler launcher such as ccache stands in
# front of the compiler.
#
# looseleaf_precompile(TARGET [HEADER…]): compiles these standard headers, and those that are named, only once.
# looseleaf_join_sources(TARGET [FILE…]): compiles up to eight sources of the target as one, but each of these files alone.
set(looseleaf_precompiled_standard
  <algorithm> <array> <atomic> <chrono> <cstddef> <cstdint> <exception> <functional> <map> <memory> <mutex> <optional>
  <set> <span> <string> <string_view> <utility> <vector>)
if(CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()

function(looseleaf_precompile target)
  target_precompile_headers(${target} PRIVATE ${looseleaf_precompiled_standard} <fmt/format.h> ${ARGN})
endfunction()

function(looseleaf_join_sources target)
  if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON)
    set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()
