# Warnings, hardening and sanitizers, as one interface target that every target of the project links.
add_library(looseleaf_options INTERFACE)
target_compile_options(looseleaf_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual -Wold-style-cast -Wcast-qual
  $<$<BOOL:${LOOSELEAF_WERROR}>:-Werror>)
if(LOOSELEAF_FAILPOINTS)
  target_compile_definitions(looseleaf_options INTERFACE LOOSELEAF_FAILPOINTS)
endif()
# As shipped: hardened, which tests/repository/hardening_test.sh looks for in what is built, and without the names of folders, so
# that the same sources make the same program wherever they are.
if(NOT LOOSELEAF_SANITIZE AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  include(CheckCXXCompilerFlag)
  include(CheckPIESupported)
  check_pie_supported()
  check_cxx_compiler_flag(-fcf-protection LOOSELEAF_HAS_CF_PROTECTION)  # x86 only
  target_compile_options(looseleaf_options INTERFACE
    -fstack-protector-strong -fstack-clash-protection $<$<BOOL:${LOOSELEAF_HAS_CF_PROTECTION}>:-fcf-protection>
    -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
    -ffile-prefix-map=${PROJECT_SOURCE_DIR}=.)
  target_link_options(looseleaf_options INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--as-needed)
endif()
if(LOOSELEAF_SANITIZE)
  target_compile_options(looseleaf_options INTERFACE -fsanitize=${LOOSELEAF_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(looseleaf_options INTERFACE -fsanitize=${LOOSELEAF_SANITIZE})
  # With a sanitizer GCC warns of values that are initialised, as its manual says.
  target_compile_options(looseleaf_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
endif()
