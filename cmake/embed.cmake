# Embeds text files in a room as strings: tt_embed(tt_report profiling/report/page.css) defines tt_page_css, which the
# room declares in its assets.h. Indentation and comment lines are removed, and the lines of a .css file are joined.
set(TT_EMBED ${CMAKE_CURRENT_LIST_FILE})
function(tt_embed room) # followed by the files
  foreach(file ${ARGN})
    get_filename_component(folder ${file} DIRECTORY)
    get_filename_component(name ${file} NAME)
    string(MAKE_C_IDENTIFIER ${name} name)
    set(made ${PROJECT_BINARY_DIR}/made/${folder}/${name}.c)
    add_custom_command(OUTPUT ${made}
      COMMAND ${CMAKE_COMMAND} -DFILE=${file} -DNAME=tt_${name} -DFOLDER=${folder} -DMADE=${made} -P ${TT_EMBED}
      DEPENDS ${PROJECT_SOURCE_DIR}/${file} ${TT_EMBED} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
      VERBATIM COMMENT "Embedding ${file}")
    target_sources(${room} PRIVATE ${made})
  endforeach()
endfunction()

if(NOT CMAKE_SCRIPT_MODE_FILE)
  return()
endif()

# ---- run as a script during the build ----
file(READ ${FILE} text)
string(PREPEND text "\n")
string(REGEX REPLACE "\n[ ]*(//[^\n]*|/[*][^\n]*[*]/)" "" text "${text}") # a comment and its line
string(REGEX REPLACE "\n[ ]+" "\n" text "${text}")
string(REGEX REPLACE "^\n" "" text "${text}")
string(REPLACE "\\" "\\\\" text "${text}")
string(REPLACE "\"" "\\\"" text "${text}")
if(FILE MATCHES "[.]css$")
  string(REPLACE "\n" "\"\n    \"" text "${text}")
else()
  string(REPLACE "\n" "\\n\"\n    \"" text "${text}")
endif()
file(WRITE ${MADE} "/* Made from ${FILE}; change that. */\n#include \"${FOLDER}/assets.h\"\n\nconst char ${NAME}[] =\n    \"${text}\";\n")
