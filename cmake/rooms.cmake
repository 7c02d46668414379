# A room is a folder and a library: its sources, and the rooms it stands on. It links downwards only; tests/rooms.cmake
# links each one whole against what is named here, so that a wrong arrow does not link.
set_property(GLOBAL PROPERTY TT_ROOMS "")

function(tt_room name folder) # then what it stands on
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.c)
  list(REMOVE_ITEM sources ${PROJECT_SOURCE_DIR}/cli/main.c)
  add_library(${name} STATIC ${sources})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${ARGN})
  if(NOT TT_SANITIZE) # so that a small stack (ulimit -s 256) is enough: a whole configuration does not lie on it
    target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:C>:-Wframe-larger-than=49152>)
  endif()
  set_property(GLOBAL APPEND PROPERTY TT_ROOMS ${name})
endfunction()
