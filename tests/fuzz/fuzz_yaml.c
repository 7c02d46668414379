/* Configuration files: the YAML reader, and the options of every command from it. */
#include "cli/options.h"
#include "core/base/yaml.h"
#include "tests/fuzz/fuzz.h"

/* A string that was read and written out reads back. */
static void check_strings(const struct tt_yaml *y)
{
    for (; y; y = y->next) {
        if (y->kind == TT_YAML_STRING) {
            struct tt_text out = {0};
            struct tt_yaml *again;
            tt_yaml_put(&out, y->text);
            PROMISE(!fuzz_refused(tt_yaml_parse(out.s, out.n, &again)));
            PROMISE(again->kind == TT_YAML_STRING && !strcmp(again->text, y->text));
            tt_yaml_free(again);
            tt_text_free(&out);
        }
        check_strings(y->first);
    }
}

/* A printed configuration gives the same configuration again. */
static void check_options(enum tt_command command, const char *text)
{
    struct tt_options o, again;
    struct tt_text first = {0}, second = {0};
    if (fuzz_refused(tt_options_init(&o, command)) || fuzz_refused(tt_options_apply_yaml(&o, text, TT_FROM_FILE)))
        return;
    tt_options_print(&o, &first);
    PROMISE(!fuzz_refused(tt_options_init(&again, command)));
    PROMISE(!fuzz_refused(tt_options_apply_yaml(&again, first.s, TT_FROM_FILE)));
    tt_options_print(&again, &second);
    PROMISE(!strcmp(first.s, second.s));
    fuzz_refused(tt_config_check(&o.c));
    tt_text_free(&first);
    tt_text_free(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct tt_yaml *y;
    if (fuzz_refused(tt_yaml_parse((const char *)data, n, &y))) return 0;
    check_strings(y);
    tt_yaml_free(y);
    char *text = fuzz_text(data, n);
    for (int c = 0; c < TT_COMMANDS; c++) check_options((enum tt_command)c, text);
    struct tt_options o;
    if (!fuzz_refused(tt_options_init(&o, TT_CMD_TRAIN)))
        fuzz_refused(tt_options_apply_yaml(&o, text, TT_FROM_CHECKPOINT));
    free(text);
    return 0;
}
