# Links each whole room against the rooms that it declares and nothing else. If it uses another room, symbols are
# missing and the build fails.
file(WRITE ${PROJECT_BINARY_DIR}/made/nothing.c "/* A library needs a source. */\n")
get_property(rooms GLOBAL PROPERTY TT_ROOMS)
foreach(room ${rooms})
  add_library(stands_${room} SHARED ${PROJECT_BINARY_DIR}/made/nothing.c)
  target_link_libraries(stands_${room} PRIVATE -Wl,--whole-archive ${room} -Wl,--no-whole-archive)
  target_link_options(stands_${room} PRIVATE -Wl,--no-undefined)
  set_target_properties(stands_${room} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/made/rooms)
endforeach()
