# Files of text that a room has as strings: tt_embed(tt_report profiling/report/page.css) makes tt_page_css, which the room
# declares in its assets.h. Indentation and lines that are a comment stay out, and the lines of a .css become one.
set(TT_EMBED ${CMAKE_CURRENT_LIST_FILE})
function(tt_embed room) # then the files
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

# ---- as a script, while building ----
file(READ ${FILE} text)
string(PREPEND text "\n")
string(REGEX REPLACE "\n[ ]*(//[^\n]*|/[*][^\n]*[*]/)" "" text "${text}") # a comment with its line
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
