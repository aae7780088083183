# looseleaf_precompile(TARGET [HEADER…]): compiles what nearly every file of the target includes only once: these standard
# headers, and those that are named. Every file still includes all that it uses: nothing is precompiled where a compiler
# launcher such as ccache stands in front of the compiler.
set(looseleaf_precompiled_standard
  <algorithm> <array> <atomic> <chrono> <cstddef> <cstdint> <exception> <functional> <map> <memory> <mutex> <optional>
  <set> <span> <string> <string_view> <utility> <vector>)
if(CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()

function(looseleaf_precompile target)
  target_precompile_headers(${target} PRIVATE ${looseleaf_precompiled_standard} <fmt/format.h> ${ARGN})
endfunction()
