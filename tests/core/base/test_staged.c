/* core/base/staged and core/base/folder_lock: many processes write to one target. A reader always sees complete data,
 * leftovers of crashes are removed, and a file that another process is still writing is kept. */
#include "core/base/staged.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/folder_lock.h"
#include "core/checkpoint/safetensors.h"
#include "tests/core/base/folder_fixture.h"

enum { WRITERS = 6, ROUNDS = 60, LONGEST = 40000 };

static void spit(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    CHECK(f && fputs(text, f) >= 0);
    if (f) fclose(f);
}

static pid_t in_child(void (*body)(int), int argument)
{
    fflush(NULL);
    pid_t child = fork();
    if (child) return child;
    body(argument);
    _exit(test_failures ? 1 : 0);
}

static bool ends_well(pid_t child)
{
    int status;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status);
}

/* ---- files ---- */

static void write_often(int which)
{
    char *text = malloc(LONGEST);
    int n = LONGEST / (which + 1);
    memset(text, 'a' + which, (size_t)n);
    for (int i = 0; i < ROUNDS; i++) CHECK_OK(tt_file_replace(at(0, "shared"), text, (size_t)n));
    free(text);
}

static bool is_whole(const char *text, size_t n)
{
    int which = n ? text[0] - 'a' : -1;
    if (which < 0 || which >= WRITERS || n != (size_t)(LONGEST / (which + 1))) return false;
    for (size_t i = 0; i < n; i++)
        if (text[i] != text[0]) return false;
    return true;
}

static void many_writers_of_one_file_leave_it_whole(void)
{
    pid_t children[WRITERS];
    int left = WRITERS, bad = 0;
    tt_status_free(tt_file_replace(at(0, "shared"), "", 0));
    for (int i = 0; i < WRITERS; i++) children[i] = in_child(write_often, i);
    while (left > 0) {
        char *text;
        size_t n;
        CHECK_OK(tt_file_read(at(0, "shared"), LONGEST, &text, &n));
        bad += text && n && !is_whole(text, n);
        free(text);
        for (int i = 0; i < WRITERS; i++) {
            int status;
            if (!children[i] || waitpid(children[i], &status, WNOHANG) != children[i]) continue;
            CHECK(WIFEXITED(status) && !WEXITSTATUS(status), "writer %d failed", i);
            children[i] = 0;
            left--;
        }
    }
    CHECK(!bad, "%d times somebody found half a file", bad);
    CHECK(names_with("shared") == 1);
}

static void write_new(int which)
{
    float x[2] = {(float)which, (float)which};
    struct tt_tensor_source t = {.name = "x", .rank = 1, .shape = {2}, .data = x};
    tt_status st = tt_safetensors_write(at(0, "new"), &t, 1, NULL, 0, NULL, NULL);
    _exit(!st ? 0 : strstr(st->text, "in the way") ? 10 : 99);
}

static void one_of_many_writes_a_new_file(void)
{
    for (int round = 0; round < 20; round++) {
        pid_t children[WRITERS];
        int written = 0, refused = 0;
        for (int i = 0; i < WRITERS; i++) children[i] = in_child(write_new, i);
        for (int i = 0; i < WRITERS; i++) {
            int status;
            waitpid(children[i], &status, 0);
            written += status == 0;
            refused += WIFEXITED(status) && WEXITSTATUS(status) == 10;
        }
        CHECK(written == 1 && refused == WRITERS - 1, "%d written, %d refused", written, refused);
        struct tt_safetensors *s = NULL;
        CHECK_OK(tt_safetensors_open(at(0, "new"), &s));
        tt_safetensors_close(s);
        CHECK(names_with("new") == 1 && !unlink(at(0, "new")));
    }
}

static void a_name_that_was_free_is_no_mistake_of_the_user(void)
{
    struct tt_staged b;
    CHECK_OK(tt_stage_file(at(0, "free"), &b));
    spit(at(1, "free"), "theirs");
    tt_status st = tt_staged_add(&b);
    CHECK(st && st->code == TT_FAILED && strstr(st->text, "in the way"), "%s", st ? st->text : "no error");
    tt_status_free(st);
    CHECK(holds(at(0, "free"), "theirs") && names_with("free") == 1);
}

static void what_crashes_left_goes_and_the_rest_stays(void)
{
    struct tt_staged live;
    spit(at(0, "x.tt-0123abcd.tmp"), "half a file");
    CHECK_OK(tt_make_dirs(at(0, "x.tt-89abcdef.tmp/with/folders")));
    spit(at(0, "x.tt-0123abcd.tmp.mine"), "no such name");
    spit(at(0, "x.tt-notes.tmp"), "no such name");
    spit(at(0, "xx.tt-0123abcd.tmp"), "of another file");
    CHECK_OK(tt_stage_file(at(0, "x"), &live)); /* it removes them; its own file is then what another one finds */
    CHECK(access(at(0, "x.tt-0123abcd.tmp"), F_OK) && access(at(0, "x.tt-89abcdef.tmp"), F_OK));
    CHECK_OK(tt_file_replace(at(0, "x"), "other", 5));
    CHECK_OK(tt_write_all(live.fd, "live", 4, "x"));
    CHECK_OK(tt_staged_replace(&live));
    CHECK(holds(at(0, "x"), "live"));
    CHECK(names_with("x") == 4, "%d names", names_with("x"));
}

static void crash(int unused)
{
    struct tt_staged b;
    (void)unused;
    CHECK_OK(tt_stage_file(at(0, "crashed"), &b));
    CHECK_OK(tt_write_all(b.fd, "half", 4, "crashed"));
    raise(SIGKILL);
}

static void a_killed_writer_blocks_nobody(void)
{
    CHECK(!ends_well(in_child(crash, 0)));
    CHECK(names_with("crashed") == 1);
    CHECK_OK(tt_file_replace(at(0, "crashed"), "whole", 5));
    CHECK(holds(at(0, "crashed"), "whole") && names_with("crashed") == 1);
}

/* ---- folders ---- */

static void a_folder_takes_the_place_of_an_empty_one_only(void)
{
    struct tt_staged one, two;
    CHECK_OK(tt_make_dirs(at(0, "folder")));
    CHECK_OK(tt_stage_folder(at(0, "folder"), &one));
    CHECK_OK(tt_stage_folder(at(0, "folder"), &two));
    CHECK(strcmp(one.path, two.path) != 0);
    snprintf(buffer[1], sizeof buffer[1], "%s/file", one.path);
    spit(buffer[1], "mine");
    CHECK_OK(tt_staged_replace(&one));
    tt_status st = tt_staged_replace(&two);
    CHECK(st && st->code == TT_FAILED && strstr(st->text, "choose another folder"), "%s", st ? st->text : "no error");
    tt_status_free(st);
    CHECK(holds(at(0, "folder/file"), "mine") && names_with("folder") == 1);
}

static void count_up(int unused)
{
    (void)unused;
    for (int i = 0; i < 20; i++) {
        int lock, n = 0;
        CHECK_OK(tt_folder_lock(at(0, "counted"), 60, &lock));
        FILE *f = fopen(at(1, "counted/n"), "r");
        if (f) CHECK(fscanf(f, "%d", &n) == 1);
        if (f) fclose(f);
        f = fopen(at(1, "counted/n"), "w");
        if (f) fprintf(f, "%d", n + 1);
        if (f) fclose(f);
        tt_folder_unlock(&lock);
    }
}

static void one_at_a_time_owns_a_folder(void)
{
    pid_t children[WRITERS];
    char wanted[16];
    for (int i = 0; i < WRITERS; i++) children[i] = in_child(count_up, i);
    for (int i = 0; i < WRITERS; i++) CHECK(ends_well(children[i]));
    snprintf(wanted, sizeof wanted, "%d", 20 * WRITERS);
    CHECK(holds(at(0, "counted/n"), wanted));
}

static void hold_and_wait(int tell)
{
    int lock;
    CHECK_OK(tt_folder_lock(at(0, "held"), 0, &lock));
    CHECK(write(tell, "x", 1) == 1);
    pause();
}

static void a_lock_ends_with_its_holder(void)
{
    int ends[2], lock;
    char c;
    CHECK(!pipe(ends));
    pid_t child = in_child(hold_and_wait, ends[1]);
    CHECK(read(ends[0], &c, 1) == 1);
    tt_status st = tt_folder_lock(at(0, "held"), 0, &lock);
    CHECK(st && st->code == TT_FAILED && strstr(st->text, "another tt is writing there"), "%s",
          st ? st->text : "no error");
    CHECK(lock == -1);
    tt_status_free(st);
    kill(child, SIGKILL);
    CHECK(!ends_well(child));
    CHECK_OK(tt_folder_lock(at(0, "held"), 0, &lock));
    close(ends[0]);
    close(ends[1]);

    /* renamed while it is locked: the name is free again */
    int second;
    CHECK(!rename(at(0, "held"), at(1, "held.1")));
    CHECK_OK(tt_folder_lock(at(0, "held"), 0, &second));
    tt_folder_unlock(&second);
    tt_folder_unlock(&lock);
    tt_folder_unlock(&lock);
}

static void says_what_is_in_the_way_of_a_folder(void)
{
    int lock;
    spit(at(0, "file"), "");
    CHECK_FAILS(tt_folder_lock(at(0, "file"), 0, &lock), "in the way");
    CHECK_FAILS(tt_folder_lock("", 0, &lock), "check the path");
}

int main(void)
{
    if (!mkdtemp(root)) return 1;
    TEST(many_writers_of_one_file_leave_it_whole);
    TEST(one_of_many_writes_a_new_file);
    TEST(a_name_that_was_free_is_no_mistake_of_the_user);
    TEST(what_crashes_left_goes_and_the_rest_stays);
    TEST(a_killed_writer_blocks_nobody);
    TEST(a_folder_takes_the_place_of_an_empty_one_only);
    TEST(one_at_a_time_owns_a_folder);
    TEST(a_lock_ends_with_its_holder);
    TEST(says_what_is_in_the_way_of_a_folder);
    CHECK_OK(tt_remove_tree(root));
    return test_end();
}
