/* The test framework: checks are counted, print where they fail, and continue.
 *
 *     int main(void) { TEST(parses_numbers); TEST(refuses_rubbish); return test_end(); } */
#ifndef TT_TEST_H
#define TT_TEST_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/status.h"

/* AddressSanitizer replaces the allocator and the stacks. */
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif

static int test_checks, test_failures;
static const char *test_skipped; /* why the current test is skipped; or NULL */

#define CHECK(cond, ...)                                                                           \
    do {                                                                                           \
        test_checks++;                                                                             \
        if (!(cond)) {                                                                             \
            test_failures++;                                                                       \
            printf("%s:%d: %s: failed: %s", __FILE__, __LINE__, __func__, #cond);                  \
            printf("  " __VA_ARGS__);                                                              \
            printf("\n");                                                                          \
        }                                                                                          \
    } while (0)

/* Checks that the status is TT_OK. */
#define CHECK_OK(expr)                                                                             \
    do {                                                                                           \
        tt_status st_ = (expr);                                                                    \
        CHECK(!st_, "%s", st_->text);                                                              \
        tt_status_free(st_);                                                                       \
    } while (0)

/* Checks that the status is an error whose message contains the words. */
#define CHECK_FAILS(expr, words)                                                                   \
    do {                                                                                           \
        tt_status st_ = (expr);                                                                    \
        CHECK(st_ && strstr(st_->text, words), "wanted \"%s\", got %s", words, st_ ? st_->text : "success"); \
        tt_status_free(st_);                                                                       \
    } while (0)

/* In main(): skips the program if there is no device, with an exit code that does not count as passed. */
#define OPEN_OR_SKIP(expr)                                                                         \
    do {                                                                                           \
        tt_status opened_ = (expr);                                                                \
        if (opened_ && opened_->code == TT_NO_DEVICE) {                                            \
            printf("skipped: %s\n", opened_->text);                                                \
            tt_status_free(opened_);                                                               \
            return 77;                                                                             \
        }                                                                                          \
        CHECK_OK(opened_);                                                                         \
    } while (0)

/* With TT_TEST_FEW set: fewer sizes and shorter runs, for tools that make a GPU a thousand times slower. */
static inline bool test_few(void) { return getenv("TT_TEST_FEW") != NULL; }

/* With TT_TEST_FP32 set: whole models in fp32 only, for tools that crash in the library's GEMMs of other types. */
static inline bool test_fp32(void) { return getenv("TT_TEST_FP32") != NULL; }

/* Skips the rest of a test that cannot check anything here, with the reason. */
#define SKIP(why)                                                                                  \
    do {                                                                                           \
        test_skipped = (why);                                                                      \
        return;                                                                                    \
    } while (0)

#define TEST(name) test_run(name, #name)

/* A test fails if a check fails, or if it makes no check and does not call SKIP. */
static inline void test_run(void (*test)(void), const char *name)
{
    int checks = test_checks, failures = test_failures;
    test_skipped = NULL;
    test();
    if (test_checks == checks && !test_skipped) {
        test_failures++;
        printf("%s: checks nothing\n", name);
    }
    if (test_skipped && test_failures == failures)
        printf("skip %s: %s\n", name, test_skipped);
    else
        printf("%s %s\n", test_failures == failures ? "ok  " : "FAIL", name);
    fflush(stdout);
}

static inline int test_end(void)
{
    printf("%d checks, %d failed\n", test_checks, test_failures);
    return test_failures || !test_checks;
}

#endif
