#include "core/base/load.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"

double tt_machine_load(void)
{
    double load[1];
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    return getloadavg(load, 1) == 1 && processors > 0 ? load[0] / (double)processors : NAN;
}

bool tt_is_busy(double load) { return load > 1.5; }

double tt_runs_differ(const char *backend) { return strcmp(backend, "cpu") == 0 ? 0.06 : 0.01; }

/* ---- of this program itself ---- */

/* Linux counts for each thread the nanoseconds that it ran, and those that it was ready to run but another one ran. */
static bool add_thread(const char *name, struct tt_turns *sum)
{
    char path[300];
    unsigned long long ran, waited;
    snprintf(path, sizeof path, "/proc/self/task/%.200s/schedstat", name);
    FILE *file = fopen(path, "r");
    bool read = file && fscanf(file, "%llu %llu", &ran, &waited) == 2;
    if (file) fclose(file);
    if (read) sum->ran += 1e-9 * (double)ran;
    if (read) sum->waited += 1e-9 * (double)waited;
    return read;
}

struct tt_turns tt_turns_now(void)
{
    struct tt_turns now = {.wall = tt_seconds()};
    DIR *tasks = opendir("/proc/self/task");
    int threads = 0;
    for (const struct dirent *e; tasks && (e = readdir(tasks));)
        if (e->d_name[0] != '.') threads += add_thread(e->d_name, &now);
    if (tasks) closedir(tasks);
    if (!threads) now.ran = now.waited = NAN;
    return now;
}

void tt_turns_add(struct tt_turns *sum, const struct tt_turns *from, const struct tt_turns *to)
{
    sum->wall += to->wall - from->wall;
    sum->ran += to->ran - from->ran;
    sum->waited += to->waited - from->waited;
}

/* For a program that mostly sleeps, as the host of a GPU does, it is a fraction of the wall time. */
double tt_turns_waited(const struct tt_turns *sum)
{
    double whole = fmax(sum->ran + sum->waited, sum->wall);
    bool known = sum->ran >= 0 && sum->waited >= 0 && whole > 0; /* a thread that ended takes its times with it */
    return known ? sum->waited / whole : NAN;
}

double tt_waited_since(const struct tt_turns *before)
{
    struct tt_turns sum = {0}, now = tt_turns_now();
    tt_turns_add(&sum, before, &now);
    return tt_turns_waited(&sum);
}

/* In 30 short profiles, two threads that had two cores to themselves waited for 0.15 to 4 % of their time, half of them
 * for 1.7 % or more. In two more profiles they waited for 5.5 and 6.2 %, beside a script that took 5 % of a processor.
 */
static const double much = 0.05;

bool tt_was_busy(double load, double waited) { return isnan(waited) ? tt_is_busy(load) : waited > much; }

double tt_ranks_waited(double waited) { return waited <= 0.15 ? 0 : waited; }

int tt_threads_of(const char *backend, const char *device)
{
    int threads = 0;
    const char *last = strrchr(device, ',');
    if (backend[0] && strcmp(backend, "cpu") != 0) return 1;
    if (!last || sscanf(last, ", %d thread", &threads) != 1 || threads < 1) return 2;
    return threads;
}

double tt_slowed(double load, double waited, int threads)
{
    const double most = 1000; /* a larger factor says nothing */
    if (!tt_was_busy(load, waited)) return 1;
    if (isnan(waited)) return 2 * (1 + load) * (1 + load);
    double alone = fmax(1 - waited, 0), all = fmax(1 - threads * waited, 0); /* fractions of time: one runs, all run */
    return 2 <= most * alone * all ? 2 / (alone * all) : INFINITY;
}

const char *tt_slowed_words(double slowed, int digits, char out[32])
{
    if (isinf(slowed)) return strcpy(out, "any number of times");
    if (slowed < 99.5)
        snprintf(out, 32, "%.*g times", digits, slowed);
    else
        snprintf(out, 32, "%.0f times", slowed);
    return out;
}

const char *tt_fewer_threads(int threads)
{
    return threads > 1 ? "; one thread is disturbed least: export OMP_NUM_THREADS=1" : "";
}

double tt_alone(double seconds, double slowed)
{
    const double turn = 0.004; /* seconds: a time slice of Linux is 3 or 4 ms */
    if (!(slowed > 1)) return seconds;
    return fmax(0, seconds / slowed - (seconds < TT_BRIEF ? turn : 0));
}

void tt_was_busy_words(double load, double waited, char out[100])
{
    out[0] = 0;
    if (!tt_was_busy(load, waited)) return;
    if (isnan(waited))
        snprintf(out, 100, "the machine was busy: a load of %.1f per processor in the minute before", load);
    else
        snprintf(out, 100, "the machine was busy: threads waited %.0f %% of their time for a processor", 100 * waited);
}
