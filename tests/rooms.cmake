# Each room, whole, linked against the rooms it says it stands on and nothing else: what it takes from any other room is
# not found, and the build fails.
file(WRITE ${PROJECT_BINARY_DIR}/made/nothing.c "/* A library needs a source. */\n")
get_property(rooms GLOBAL PROPERTY TT_ROOMS)
foreach(room ${rooms})
  add_library(stands_${room} SHARED ${PROJECT_BINARY_DIR}/made/nothing.c)
  target_link_libraries(stands_${room} PRIVATE -Wl,--whole-archive ${room} -Wl,--no-whole-archive)
  target_link_options(stands_${room} PRIVATE -Wl,--no-undefined)
  set_target_properties(stands_${room} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/made/rooms)
endforeach()
