/* Which build of the program this is. */
#ifndef TT_BUILD_ID_H
#define TT_BUILD_ID_H

#include <stddef.h>

/* The linker's mark of the program, or of the library, that this code is in, as hexadecimal digits: another one where
 * any of its code is another. "" if the linker left none. */
void tt_build_id(char *out, size_t size);

#endif
