/* Unicode character classes, for the split patterns of other programs' tokenizers. */
#ifndef TT_UNICODE_H
#define TT_UNICODE_H

#include <stdbool.h>
#include <stdint.h>

bool tt_is_letter(uint32_t point);
bool tt_is_number(uint32_t point);
bool tt_is_space(uint32_t point); /* White_Space */

#endif
