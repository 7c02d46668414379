# libtt: the parts of the program behind libtt.h, as a shared and as a static library. Both export only libtt_*: the shared
# one by a version script, the static one by linking everything into one object file and making all other symbols local.
option(TT_LIBRARY "Build libtt, the library" ON)
if(NOT TT_LIBRARY)
  return()
endif()
set(dir ${PROJECT_SOURCE_DIR}/lib)

add_library(tt_library OBJECT ${dir}/libtt.c ${dir}/export.c ${dir}/generate.c)
target_link_libraries(tt_library PRIVATE tt_exchange)

add_library(libtt SHARED $<TARGET_OBJECTS:tt_library>)
target_link_libraries(libtt PRIVATE tt_exchange)
target_link_options(libtt PRIVATE -Wl,--version-script=${dir}/libtt.map)
if(NOT TT_SANITIZE AND NOT TT_FUZZ) # with a sanitizer its symbols come from the program
  target_link_options(libtt PRIVATE -Wl,--no-undefined)
endif()
set_target_properties(libtt PROPERTIES OUTPUT_NAME tt VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
  LINK_DEPENDS ${dir}/libtt.map)

# ---- static ----
set(rooms tt_exchange tt_model tt_train tt_checkpoint tt_data tt_tokenizers tt_config tt_plan tt_job tt_backend tt_base)
if(TARGET tt_gpu)
  list(APPEND rooms tt_gpu)
endif()
set(archives ${rooms})
list(TRANSFORM archives REPLACE "(.+)" "$<TARGET_FILE:\\1>")
set(joined ${PROJECT_BINARY_DIR}/libtt.o)
set(static ${PROJECT_BINARY_DIR}/libtt.a)
add_custom_command(OUTPUT ${static}
  COMMAND ${CMAKE_LINKER} -r -o ${joined} $<TARGET_OBJECTS:tt_library> --start-group ${archives} --end-group
  COMMAND ${CMAKE_OBJCOPY} --wildcard --keep-global-symbol=libtt_* ${joined}
  COMMAND ${CMAKE_COMMAND} -E rm -f ${static}
  COMMAND ${CMAKE_AR} qc ${static} ${joined}
  COMMAND ${CMAKE_RANLIB} ${static}
  DEPENDS tt_library $<TARGET_OBJECTS:tt_library> ${rooms}
  COMMAND_EXPAND_LISTS VERBATIM COMMENT "Linking libtt.a")
add_custom_target(libtt_static ALL DEPENDS ${static})

# ---- the libraries that a program needs besides the static one: for pkg-config --static and find_package ----
function(tt_link_names result target)
  get_target_property(items ${target} INTERFACE_LINK_LIBRARIES)
  get_target_property(file ${target} IMPORTED_LOCATION)
  get_target_property(options ${target} INTERFACE_LINK_OPTIONS)
  set(names ${${result}})
  foreach(item ${items} ${options} ${file})
    if(TARGET ${item})
      get_target_property(imported ${item} IMPORTED)
      set(${result} ${names})
      if(imported OR item STREQUAL tt_gpu)
        tt_link_names(${result} ${item})
      endif()
      set(names ${${result}})
    elseif(item MATCHES "^(/|-)")
      list(APPEND names ${item})
    elseif(item MATCHES "^[a-z][A-Za-z0-9_+]*$")
      list(APPEND names -l${item})
    endif()
  endforeach()
  set(${result} ${names} PARENT_SCOPE)
endfunction()
set(TT_PRIVATE_LIBRARIES -lpthread)
tt_link_names(TT_PRIVATE_LIBRARIES tt_base)
tt_link_names(TT_PRIVATE_LIBRARIES tt_backend)
list(FILTER TT_PRIVATE_LIBRARIES EXCLUDE REGEX "/libpthread\\.")
list(REMOVE_DUPLICATES TT_PRIVATE_LIBRARIES)
if(TARGET tt_gpu)
  list(APPEND TT_PRIVATE_LIBRARIES -lstdc++) # kernels are C++
endif()
string(REPLACE ";" " " TT_PRIVATE_LINE "${TT_PRIVATE_LIBRARIES}")

# ---- installation: paths are relative, so that the tree can be moved ----
file(RELATIVE_PATH TT_UP /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
string(REGEX REPLACE "/$" "" TT_UP ${TT_UP})
configure_file(${dir}/libtt.pc.in ${PROJECT_BINARY_DIR}/made/libtt.pc @ONLY)
configure_file(${dir}/libttConfig.cmake.in ${PROJECT_BINARY_DIR}/made/libttConfig.cmake @ONLY)
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/made/libttConfigVersion.cmake VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
set_target_properties(libtt PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS libtt LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${static} DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${dir}/libtt.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${PROJECT_BINARY_DIR}/made/libtt.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${PROJECT_BINARY_DIR}/made/libttConfig.cmake ${PROJECT_BINARY_DIR}/made/libttConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/libtt)
include(${dir}/python/python.cmake)
