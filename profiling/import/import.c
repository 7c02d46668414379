#include "profiling/import/import.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "profiling/import/sqlite.h"

/* A trace of a few steps has tens of megabytes. */
static const size_t largest = (size_t)1 << 30;

static tt_status unknown(void)
{
    return tt_fail(
        TT_USAGE,
        "this file cannot be imported; tt reads nsys (sqlite, stats as csv), ncu (csv), rocprofv3 (rocpd, csv, "
        "json) or a Chrome trace of PyTorch or tt");
}

static bool is_trace(const struct tt_json *root)
{
    if (root->type == TT_JSON_OBJECT) return tt_json_get(root, "traceEvents") != NULL;
    return root->type == TT_JSON_ARRAY && root->first && tt_json_get(root->first, "ph");
}

static tt_status import_json(const char *text, size_t n, struct tt_imported *out, struct tt_text *what)
{
    struct tt_json *root;
    TT_TRY(tt_json_parse(text, n, &root));
    tt_status st;
    if (tt_json_get(root, "rocprofiler-sdk-tool"))
        st = tt_import_rocprof_json(root, out, what);
    else if (is_trace(root))
        st = tt_import_chrome(root, out, what);
    else if (tt_json_get(root, "operators") && tt_json_get(root, "schema"))
        st = tt_fail(TT_USAGE, "this is a profile of tt already; show it with tt report");
    else
        st = unknown();
    tt_json_free(root);
    return st;
}

/* Refuses the tools' own binary files: they have to be exported first. */
static tt_status refuse_binary(const char *text, size_t n)
{
    if (n >= 2 && memcmp(text, "\x1f\x8b", 2) == 0)
        return tt_fail(TT_USAGE, "this file is compressed; gunzip it first");
    if (memchr(text, 0, n))
        return tt_fail(TT_USAGE, "this is a binary file; export it first: nsys export --type sqlite or nsys stats, "
                                 "ncu --import FILE --csv, rocprofv3 without --output-format pftrace");
    return TT_OK;
}

static tt_status import_text(char *text, size_t n, struct tt_imported *out, struct tt_text *what)
{
    size_t at = 0;
    bool found = true;
    TT_TRY(refuse_binary(text, n));
    if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) text += 3, n -= 3; /* some programs begin UTF-8 with it */
    while (at < n && strchr(" \t\r\n", text[at])) at++;
    if (at == n) return tt_fail(TT_FAILED, "the file is empty");
    if (text[at] == '{' || (text[at] == '[' && text[at + 1] != 'C')) return import_json(text, n, out, what);
    TT_TRY(tt_import_csv(text, n, out, what, &found));
    return found ? TT_OK : unknown();
}

tt_status tt_import_file(const char *path, struct tt_imported *out, struct tt_text *what)
{
    char *text;
    size_t n;
    tt_status st;
    if (tt_is_sqlite(path)) {
        st = tt_import_database(path, out, what);
    } else {
        TT_TRY(tt_file_read(path, largest, &text, &n));
        st = import_text(text, n, out, what);
        free(text);
    }
    return st ? tt_context(st, "%s", path) : TT_OK;
}

static tt_status import_one(const char *path, struct tt_imported *all, struct tt_text *log)
{
    struct tt_imported one = {0};
    char note[200] = "";
    tt_text_printf(log, "%s: ", path);
    tt_status st = tt_import_file(path, &one, log);
    if (!st) st = tt_imported_join(all, &one, note, sizeof note);
    tt_text_printf(log, "%s%s\n", note[0] ? "; " : "", note);
    tt_imported_free(&one);
    return st;
}

tt_status tt_import(const char *const *paths, int n, double steps, struct tt_profile *out, struct tt_text *log)
{
    struct tt_imported all = {0};
    tt_status st = TT_OK;
    *out = (struct tt_profile){0};
    for (int i = 0; i < n && !st; i++) st = import_one(paths[i], &all, log);
    if (!st && !all.kernels.count && !all.copies.count && !all.ranges.count && !all.calls.count)
        st = tt_fail(TT_FAILED, "%s: the tables are there, but nothing was recorded in them", n ? paths[0] : "no file");
    if (!st) st = tt_imported_cut(&all, steps);
    if (!st) st = tt_imported_profile(&all, steps, out);
    tt_imported_free(&all);
    return st;
}
