/* Reading what other profilers export: nsys (its database, stats as csv), ncu (csv), rocprofv3 and rocprof-sys (the
 * database rocpd), rocprofv3 (csv and json), PyTorch's Chrome traces and our own. The contents say what a file is;
 * nothing depends on its name. */
#ifndef TT_IMPORT_H
#define TT_IMPORT_H

#include "core/base/csv.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "profiling/import/imported.h"

/* Reads a file into *out, which must be empty. `what` gets a line on what was recognised: "nsys kernel summary,
 * 14 kernels". Errors name the file, and the line where there is one. */
tt_status tt_import_file(const char *path, struct tt_imported *out, struct tt_text *what);

/* Reads all files into one profile; `steps` as in tt_imported_profile. `log` gets a line per file. */
tt_status tt_import(const char *const *paths, int n, double steps, struct tt_profile *out, struct tt_text *log);

/* ---- by format, for tt_import_file ---- */

/* Tables of nsys stats, rocprofv3 and ncu, one or several in a text, with other lines around them. `text` is changed.
 * *found is false when the text has none of these tables. */
tt_status tt_import_csv(char *text, size_t n, struct tt_imported *out, struct tt_text *what, bool *found);
tt_status tt_import_chrome(const struct tt_json *root, struct tt_imported *out, struct tt_text *what);
tt_status tt_import_database(const char *path, struct tt_imported *out, struct tt_text *what);
tt_status tt_import_rocprof_json(const struct tt_json *root, struct tt_imported *out, struct tt_text *what);

/* ncu's tables; `c` has just read the header. Raw has a row per kernel (--page raw), details a row per figure. */
tt_status tt_import_ncu_raw(struct tt_csv *c, struct tt_imported *out, struct tt_text *what);
tt_status tt_import_ncu_details(struct tt_csv *c, struct tt_imported *out, struct tt_text *what);

/* Whether the current record ends a table of so many columns: another header, or a message of the tool. */
bool tt_import_table_ends(const struct tt_csv *c, int columns);

#endif
