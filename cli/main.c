/* tt: from the words of the command line to a command, and from its status to an exit code. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/help.h"
#include "cli/ranks.h"
#include "core/base/terminal.h"

static tt_status (*const commands[TT_COMMANDS])(const struct tt_options *) = {
    [TT_CMD_TRAIN] = tt_cmd_train, [TT_CMD_EVAL] = tt_cmd_eval, [TT_CMD_GENERATE] = tt_cmd_generate,
    [TT_CMD_DATA] = tt_cmd_data,   [TT_CMD_INFO] = tt_cmd_info, [TT_CMD_BENCH] = tt_cmd_bench,
    [TT_CMD_PROFILE] = tt_cmd_profile, [TT_CMD_REPORT] = tt_cmd_report,
    [TT_CMD_COMPARE] = tt_cmd_compare, [TT_CMD_CLAIMS] = tt_cmd_claims, [TT_CMD_CHECK] = tt_cmd_check,
    [TT_CMD_DIAGNOSE] = tt_cmd_diagnose, [TT_CMD_EXPORT] = tt_cmd_export, [TT_CMD_IMPORT] = tt_cmd_import,
    [TT_CMD_EXERCISE] = tt_cmd_exercise, [TT_CMD_HELP] = tt_cmd_help,
};

static tt_status print_text(struct tt_text *text)
{
    tt_status st = tt_text_status(text);
    if (!st) fputs(text->s, stdout);
    tt_text_free(text);
    return st;
}

static tt_status print(void (*write)(struct tt_text *))
{
    struct tt_text text = {0};
    write(&text);
    return print_text(&text);
}

static tt_status print_config(const struct tt_options *o)
{
    struct tt_text text = {0};
    tt_options_print_open(o, &text);
    return print_text(&text);
}

static tt_status no_such_command(const char *word)
{
    const char *near = tt_nearest(word, tt_command_names, TT_COMMANDS);
    if (near) return tt_fail(TT_USAGE, "there is no command \"%s\"; did you mean tt %s?", word, near);
    return tt_fail(TT_USAGE, "there is no command \"%s\"; tt help lists them", word);
}

/* `tt --seed 1 train`, or no command at all. */
static tt_status option_first(int argc, char **argv)
{
    for (int i = 2; i < argc; i++)
        if (tt_command_find(argv[i]) < TT_COMMANDS)
            return tt_fail(TT_USAGE, "the command comes first: tt %s %s ...", argv[i], argv[1]);
    return tt_fail(TT_USAGE, "%s without a command; the command comes first, as in tt train --seed 1; see tt help",
                   argv[1]);
}

static tt_status run_command(struct tt_options *o, enum tt_command command, int argc, char **argv)
{
    TT_TRY(tt_options_parse(o, command, argc, argv));
    o->c.paints = true;
    if (tt_left_to_rank_0(o)) return TT_OK;
    if (o->call.help) {
        struct tt_text text = {0};
        tt_help_command(command, &text);
        return print_text(&text);
    }
    if (!o->call.print_config) return commands[command](o);
    /* What a checkpoint adds is not known here, so only a run without one can be checked as a whole. */
    bool whole = strcmp(o->c.resume, "none") == 0 || !o->c.resume[0];
    if (whole) TT_TRY((command == TT_CMD_INFO ? tt_config_check_shape : tt_config_check)(&o->c));
    return print_config(o);
}

static tt_status run(int argc, char **argv)
{
    if (argc < 2) return print(tt_help_start);
    if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) return print(tt_help_all);
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        printf("tt %s (%s)\n", TT_VERSION_STRING, tt_backend_name());
        return TT_OK;
    }
    if (argv[1][0] == '-') return option_first(argc, argv);
    enum tt_command command = tt_command_find(argv[1]);
    if (command == TT_COMMANDS) return no_such_command(argv[1]);

    struct tt_options *o = calloc(1, sizeof *o);
    if (!o) return tt_no_memory("the options");
    tt_status st = run_command(o, command, argc - 2, argv + 2);
    free(o);
    return st;
}

/* A standard stream that was closed would give its number to the next file that is opened, and messages would end up in
 * a checkpoint. So /dev/null takes its number, opened in the wrong direction: using the stream then fails as it
 * should. */
static void hold_standard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) (void)!open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

static tt_status finish_output(void)
{
    bool failed = ferror(stdout);
    if (fclose(stdout) == 0 && !failed) return TT_OK;
    const char *why = errno ? strerror(errno) : "an earlier write failed";
    return tt_fail(TT_FAILED, "cannot write to standard output: %s", why);
}

/* The message at the end. Where Ctrl-C has also ended the reader of stderr, it goes to the terminal. */
static void complain(const char *text)
{
    const char *red = tt_colour(stderr, TT_BAD), *plain = tt_colour(stderr, TT_PLAIN);
    if (fprintf(stderr, "%stt:%s %s\n", red, plain, text) >= 0 && !ferror(stderr)) return;
    FILE *terminal = fopen("/dev/tty", "w");
    if (!terminal) return;
    fprintf(terminal, "tt: %s\n", text);
    fclose(terminal);
}

int main(int argc, char **argv)
{
    hold_standard_streams();
    tt_words = argv;
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error to report, not a reason to die */
    tt_status st = run(argc, argv);
    if (st) signal(SIGPIPE, SIG_IGN); /* a closed pipe must not kill tt before the message */
    errno = 0;
    tt_status late = finish_output();
    if (st)
        tt_status_free(late);
    else
        st = late;
    if (!st) return 0;
    if (st->text[0]) complain(st->text);
    int code = st->code >= TT_UNSUPPORTED ? TT_FAILED : (int)st->code;
    tt_status_free(st);
    return code;
}
