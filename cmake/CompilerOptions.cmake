# Warnings and sanitizers, as one interface target that every target of the project links.
add_library(looseleaf_options INTERFACE)
target_compile_options(looseleaf_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual -Wold-style-cast -Wcast-qual
  $<$<BOOL:${LOOSELEAF_WERROR}>:-Werror>)
if(LOOSELEAF_FAILPOINTS)
  target_compile_definitions(looseleaf_options INTERFACE LOOSELEAF_FAILPOINTS)
endif()
if(LOOSELEAF_SANITIZE)
  target_compile_options(looseleaf_options INTERFACE -fsanitize=${LOOSELEAF_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(looseleaf_options INTERFACE -fsanitize=${LOOSELEAF_SANITIZE})
endif()
