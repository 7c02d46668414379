#include "core/base/parallel.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/base/allowance.h"

enum { MOST = 64, STACK = 256 * 1024 };

struct share {
    tt_part part;
    void *context;
    int64_t from, to;
    pthread_t thread;
};

static int threads_here(void)
{
    const char *text = getenv("OMP_NUM_THREADS");
    int said = text ? atoi(text) : 0;
    return said > 0 ? said : tt_cores();
}

static void *work(void *own)
{
    struct share *s = own;
    s->part(s->context, s->from, s->to);
    return NULL;
}

/* Small stacks, since the address space may be limited. */
static bool start(struct share *s)
{
    pthread_attr_t small;
    if (pthread_attr_init(&small)) return false;
    bool started = !pthread_attr_setstacksize(&small, STACK) && !pthread_create(&s->thread, &small, work, s);
    pthread_attr_destroy(&small);
    return started;
}

void tt_parallel(int threads, int64_t n, int64_t least, tt_part part, void *context)
{
    struct share shares[MOST];
    bool started[MOST];
    int64_t parts = threads > 0 ? threads : threads_here(), most = least > 0 ? n / least : n;
    if (parts > most) parts = most;
    if (parts > MOST) parts = MOST;
    if (parts < 1) parts = 1;
    for (int64_t i = 0; i < parts; i++) {
        int64_t size = n / parts, more = n % parts; /* the first `more` parts have one more */
        int64_t from = i * size + (i < more ? i : more);
        shares[i] = (struct share){.part = part, .context = context, .from = from, .to = from + size + (i < more)};
        started[i] = i > 0 && start(&shares[i]);
    }
    for (int64_t i = 0; i < parts; i++)
        if (!started[i]) work(&shares[i]);
    for (int64_t i = 0; i < parts; i++)
        if (started[i]) pthread_join(shares[i].thread, NULL);
}
