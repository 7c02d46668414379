/* Which build of the program this is. */
#ifndef TT_BUILD_ID_H
#define TT_BUILD_ID_H

#include <stddef.h>

/* The linker's build ID of the program or library that contains this code, as hexadecimal digits. It differs whenever
 * any of the code differs. "" if the linker left none. */
void tt_build_id(char *out, size_t size);

#endif
