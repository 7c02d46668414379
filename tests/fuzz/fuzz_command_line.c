/* The command line: the first line of the input is the command, each further line an argument. */
#include "cli/options.h"
#include "tests/fuzz/fuzz.h"

enum { WORDS = 64 };

/* Files are tested by other targets, and a file named by chance could be an endless device. */
static bool reads_a_file(int count, char *const *words)
{
    for (int i = 0; i < count; i++)
        if (strstr(words[i], "config")) return true;
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = fuzz_text(data, n), *words[WORDS], *rest = text, *line;
    int count = 0;
    char *name = strsep(&rest, "\n");
    enum tt_command command = tt_command_find(name);
    while (count < WORDS && (line = strsep(&rest, "\n"))) words[count++] = line;
    if (command < TT_COMMANDS && !reads_a_file(count, words)) {
        struct tt_options o;
        if (!fuzz_refused(tt_options_parse(&o, command, count, words))) {
            struct tt_text printed = {0};
            fuzz_refused(tt_config_check(&o.c));
            tt_options_print(&o, &printed);
            tt_options_print_open(&o, &printed);
            tt_text_free(&printed);
        }
    }
    free(text);
    return 0;
}
