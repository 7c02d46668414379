/* Shared by the files that write a profile's folder. */
#ifndef TT_PROFILE_WRITE_H
#define TT_PROFILE_WRITE_H

#include "core/base/json.h"
#include "profiling/profile.h"

/* Writes the part of profile.json that has this key, such as "memory", into an open JSON object. */
void tt_profile_put(struct tt_json_writer *w, const struct tt_profile *p, const char *key);

/* Ends the text with a newline, writes it and frees it. */
tt_status tt_profile_save(struct tt_text *text, const char *path);

#endif
