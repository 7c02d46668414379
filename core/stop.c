#include "core/stop.h"

#include <signal.h>
#include <stddef.h>

/* A signal handler has nothing else to write to. */
static volatile sig_atomic_t caught;

static const int signals[] = {SIGINT, SIGTERM, SIGUSR1};
static struct sigaction before[3];

static void note(int number) { caught = number; }

void tt_stop_catch(void)
{
    caught = 0;
    for (int i = 0; i < 3; i++) {
        struct sigaction a = {.sa_handler = note};
        sigemptyset(&a.sa_mask);
        a.sa_flags = SA_RESTART | (signals[i] == SIGINT ? (int)SA_RESETHAND : 0);
        sigaction(signals[i], &a, &before[i]);
    }
}

void tt_stop_restore(void)
{
    for (int i = 0; i < 3; i++) sigaction(signals[i], &before[i], NULL);
}

int tt_stop_signal(void) { return caught; }
