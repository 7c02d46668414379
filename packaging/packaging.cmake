# What is installed (cmake --install BUILD --prefix DIR), and the packages made from it (cpack --config
# BUILD/CPackConfig.cmake). No installed file contains the install prefix, so the tree can be moved.
include(GNUInstallDirs)
set_target_properties(tt PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON) # finds a BLAS or toolkit of an environment module
install(TARGETS tt RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

# ---- the course and all documents, laid out as in the repository so that their links work ----
set(share ${CMAKE_INSTALL_DATADIR}/tt)
install(FILES LICENSE CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY exercises DESTINATION ${share} REGEX "/exercises/engine/.*[.](c|h|css)$" EXCLUDE)
install(DIRECTORY packaging DESTINATION ${share} PATTERN packaging.cmake EXCLUDE PATTERN release.sh EXCLUDE)
install(FILES LICENSE DESTINATION ${share})
file(GLOB documents RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS *.md cli/*.md core/*.md core/*/*.md core/*/*/*.md model/*.md model/*.svg model/*/*.md
  profiling/*.md profiling/*/*.md profiling/claims/* backend/*/*.md tests/README.md tests/*/README.md tests/*/*/README.md
  lib/libtt.h lib/example.c lib/*.md lib/python/*.ipynb lib/python/tinytransformer/*.py
  lib/python/tinytransformer/py.typed)
foreach(file ${documents})
  get_filename_component(folder ${file} DIRECTORY)
  install(FILES ${file} DESTINATION ${share}/${folder})
endforeach()
file(RELATIVE_PATH up /p/${CMAKE_INSTALL_DOCDIR} /p/${share})
file(WRITE ${PROJECT_BINARY_DIR}/made/README.md "The manual begins with [README.md](${up}/README.md); the options are in tt(1).\n")
install(FILES ${PROJECT_BINARY_DIR}/made/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

# ---- the manual page and the completions: the program prints them at install time. A program built for another machine
# cannot run here and is installed without them ----
function(tt_install_words name destination)
  set(made ${PROJECT_BINARY_DIR}/made/${name})
  list(JOIN ARGN " " words)
  install(CODE "
    file(MAKE_DIRECTORY \"${PROJECT_BINARY_DIR}/made\")
    execute_process(COMMAND \"$<TARGET_FILE:tt>\" help ${words} OUTPUT_FILE \"${made}\" RESULT_VARIABLE result)
    if(NOT result EQUAL 0)
      message(WARNING \"tt does not run here; it is installed without ${name}\")
      file(REMOVE \"${made}\")
    endif()")
  install(FILES ${made} DESTINATION ${destination} OPTIONAL)
endfunction()
tt_install_words(tt.1 ${CMAKE_INSTALL_MANDIR}/man1 --man)
tt_install_words(tt ${CMAKE_INSTALL_DATADIR}/bash-completion/completions --completion bash)
tt_install_words(_tt ${CMAKE_INSTALL_DATADIR}/zsh/site-functions --completion zsh)
tt_install_words(tt.fish ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d --completion fish)

# ---- packages ----
set(CPACK_GENERATOR TGZ)
set(CPACK_PACKAGE_NAME tinytransformer)
set(CPACK_PACKAGE_VENDOR "The TinyTransformer authors")
set(CPACK_PACKAGE_CONTACT "The TinyTransformer authors <tinytransformer@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_FILE_NAME tinytransformer-${PROJECT_VERSION}-${BACKEND}-${CMAKE_SYSTEM_PROCESSOR})
find_program(TT_DPKG dpkg)
find_program(TT_SHLIBDEPS dpkg-shlibdeps)
if(TT_DPKG)
  list(APPEND CPACK_GENERATOR DEB)
  set(CPACK_DEBIAN_PACKAGE_NAME tinytransformer-${BACKEND})
  set(CPACK_DEBIAN_PACKAGE_PROVIDES tinytransformer)
  set(CPACK_DEBIAN_PACKAGE_CONFLICTS tinytransformer)
  set(CPACK_DEBIAN_PACKAGE_SECTION science)
  set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "One C program that trains a tiny LLaMA in three versions which compute the same at\n\
 three levels of optimisation, and shows where the time goes. Built for: ${BACKEND}.")
  if(TT_SHLIBDEPS)
    set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
    set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON) # so that ldconfig is run for libtt
  else()
    set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6, libgomp1")
  endif()
endif()
include(CPack)
