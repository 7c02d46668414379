#include "core/train/stop.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

/* Global, because a signal handler gets no context. */
static volatile sig_atomic_t caught;

/* A run is saved, too, when its terminal is closed (SIGHUP) or the reader of its output is gone (SIGPIPE). */
static const int signals[] = {SIGINT, SIGTERM, SIGUSR1, SIGHUP, SIGPIPE};
enum { SIGNALS = sizeof signals / sizeof *signals };
static struct sigaction before[SIGNALS];
static bool catching;
static volatile sig_atomic_t in_background; /* the shell has it ignore Ctrl-C */

static void note(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (number == SIGINT && in_background && info->si_code == SI_KERNEL) return; /* Ctrl-C; kill -INT is meant */
    if (number == SIGINT) signal(SIGINT, SIG_DFL);
    if (!caught) caught = number; /* the first says why: a pipe breaks because Ctrl-C also ended its reader */
}

void tt_stop_catch(void)
{
    if (catching) return; /* a signal that came since counts */
    catching = true;
    caught = 0;
    struct sigaction interrupt;
    in_background = !sigaction(SIGINT, NULL, &interrupt) && interrupt.sa_handler == SIG_IGN;
    for (int i = 0; i < SIGNALS; i++) {
        struct sigaction a = {.sa_sigaction = note, .sa_flags = SA_RESTART | SA_SIGINFO};
        sigemptyset(&a.sa_mask);
        sigaction(signals[i], &a, &before[i]);
        bool ignored = before[i].sa_handler == SIG_IGN && (signals[i] == SIGHUP || signals[i] == SIGPIPE);
        if (ignored) sigaction(signals[i], &before[i], NULL); /* nohup */
    }
}

void tt_stop_restore(void)
{
    catching = false;
    for (int i = 0; i < SIGNALS; i++) sigaction(signals[i], &before[i], NULL);
    signal(SIGPIPE, SIG_IGN); /* a message to a closed pipe must not end the program before its exit code is set */
}

int tt_stop_signal(void) { return caught; }
