# A room is a folder and a library: its sources, and the rooms it depends on. Dependencies point downwards only.
# tests/rooms.cmake links each whole room against the rooms named here alone, so a wrong dependency does not link.
set_property(GLOBAL PROPERTY TT_ROOMS "")

function(tt_room name folder) # followed by what it depends on
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.c)
  list(REMOVE_ITEM sources ${PROJECT_SOURCE_DIR}/cli/main.c)
  add_library(${name} STATIC ${sources})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${ARGN})
  if(NOT TT_SANITIZE) # keeps whole configurations off the stack, so that a small one (ulimit -s 256) is enough
    target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:C>:-Wframe-larger-than=49152>)
  endif()
  set_property(GLOBAL APPEND PROPERTY TT_ROOMS ${name})
endfunction()
