# What pip installs beside the Python files (pyproject.toml): libtt under one name, without links, and the program.
if(NOT SKBUILD)
  return()
endif()
set_property(TARGET libtt PROPERTY VERSION)
set_property(TARGET libtt PROPERTY SOVERSION)
install(TARGETS libtt LIBRARY DESTINATION tinytransformer COMPONENT python)
install(TARGETS tt RUNTIME DESTINATION tinytransformer COMPONENT python)
