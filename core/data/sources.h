/* The files that a source of data names. */
#ifndef TT_SOURCES_H
#define TT_SOURCES_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/status.h"

struct tt_sources { /* {0} before the first */
    char **paths;
    int count;
    int unread; /* subfolders of a folder, whose files are not read */
    size_t room;
};

/* Appends the file itself, the files that match a pattern, or the files of a folder that have the name of a text (.txt,
 * .md, .jsonl, …, also packed). Subfolders are not read. Files of a pattern or folder are sorted by name, the same in
 * every locale. */
tt_status tt_sources_add(struct tt_sources *s, const char *source);
void tt_sources_free(struct tt_sources *s);

/* Whether they are token files; an error if only some are. `source` is for the message. */
tt_status tt_sources_sniff(const struct tt_sources *s, const char *source, bool *are_tokens);

#endif
