/* TensorBoard event files, read back byte by byte: lengths, checksums, and the values inside. */
#include "core/train/events.h"

#include <dirent.h>

#include "core/base/file.h"
#include "tests/core/base/proto_reader.h"
#include "tests/test.h"

/* The next record; checks its checksums. */
static bool record(struct bytes *file, struct bytes *out)
{
    if (file->end - file->at < 16) return false;
    uint64_t n = little(file->at, 8);
    CHECK(n <= (uint64_t)(file->end - file->at) - 16);
    if (n > (uint64_t)(file->end - file->at) - 16) return false;
    CHECK(little(file->at + 8, 4) == tt_events_checksum(file->at, 8));
    *out = (struct bytes){file->at + 12, file->at + 12 + n};
    CHECK(little(out->end, 4) == tt_events_checksum(out->at, n));
    file->at = out->end + 4;
    return true;
}

static char *only_file(const char *folder, size_t *n)
{
    char path[600] = "", *data = NULL;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));)
        if (strstr(e->d_name, "tfevents")) snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    if (d) closedir(d);
    CHECK_OK(tt_file_read(path, 1 << 20, &data, n));
    return data;
}

static void checksums_are_those_of_tensorflow(void)
{
    /* CRC-32C of "123456789" is e3069283; rotated right by 15, plus a constant */
    uint32_t crc = 0xe3069283u;
    CHECK(tt_events_checksum("123456789", 9) == (crc >> 15 | crc << 17) + 0xa282ead8u);
    CHECK(tt_events_checksum("", 0) == 0xa282ead8u);
}

static void values_come_back(void)
{
    char folder[] = "/tmp/tt_events_XXXXXX";
    struct tt_events *e;
    double norms[] = {1, 2, 2, 4, NAN}, x, step;
    size_t n;
    CHECK(mkdtemp(folder));
    CHECK_OK(tt_events_open(folder, 299, &e));
    tt_events_scalar(e, 300, "train/loss", 1.5);
    tt_events_histogram(e, 7, "norms", norms, 5);
    tt_events_histogram(e, 8, "nothing", norms + 4, 1);
    tt_events_text(e, 0, "config", "seed: 1\n");
    CHECK_OK(tt_events_flush(e));
    CHECK_OK(tt_events_close(e));
    char *data = only_file(folder, &n);
    struct bytes file = {(unsigned char *)data, (unsigned char *)data + n};
    struct bytes r = {0}, summary = {0}, value = {0}, tag = {0}, inner = {0}, more = {0}, limits = {0}, counts = {0};

    CHECK(record(&file, &r) && field(r, 3, &tag, NULL) && is_text(tag, "brain.Event:2"));
    CHECK(field(r, 1, NULL, &x) && x > 1.6e9);

    CHECK(record(&file, &r) && field(r, 2, NULL, &step) && step == 300); /* everything from here on is removed */
    CHECK(field(r, 7, &inner, NULL) && field(inner, 1, NULL, &x) && x == 1);

    CHECK(record(&file, &r) && field(r, 2, NULL, &step) && step == 300);
    CHECK(field(r, 5, &summary, NULL) && field(summary, 1, &value, NULL));
    CHECK(field(value, 1, &tag, NULL) && is_text(tag, "train/loss"));
    CHECK(field(value, 2, NULL, &x) && x == 1.5);

    CHECK(record(&file, &r) && field(r, 2, NULL, &step) && step == 7);
    CHECK(field(r, 5, &summary, NULL) && field(summary, 1, &value, NULL) && field(value, 5, &inner, NULL));
    CHECK(field(inner, 1, NULL, &x) && x == 1);
    CHECK(field(inner, 2, NULL, &x) && x == 4);
    CHECK(field(inner, 3, NULL, &x) && x == 4);
    CHECK(field(inner, 4, NULL, &x) && x == 9);
    CHECK(field(inner, 5, NULL, &x) && x == 25);
    CHECK(field(inner, 6, &limits, NULL) && field(inner, 7, &counts, NULL));
    CHECK(limits.end - limits.at == counts.end - counts.at && limits.end > limits.at);
    double sum = 0;
    for (; counts.at < counts.end; counts.at += 8) {
        uint64_t bits = little(counts.at, 8);
        memcpy(&x, &bits, 8);
        sum += x;
    }
    CHECK(sum == 4);

    CHECK(record(&file, &r) && field(r, 5, &summary, NULL) && field(summary, 1, &value, NULL));
    CHECK(field(value, 8, &inner, NULL) && field(inner, 8, &more, NULL) && is_text(more, "seed: 1\n"));
    CHECK(field(value, 9, &inner, NULL) && field(inner, 1, &more, NULL) && field(more, 1, &tag, NULL) &&
          is_text(tag, "text"));
    CHECK(!record(&file, &r) && file.at == file.end);
    free(data);
    CHECK_OK(tt_remove_tree(folder));
}

/* TensorBoard reads files in the order of their names. A second file in the same second, or after the clock was set
 * back, comes after the first. */
static void later_files_come_later(void)
{
    char folder[] = "/tmp/tt_events_XXXXXX", future[128];
    struct tt_events *e;
    struct dirent **names;
    CHECK(mkdtemp(folder));
    snprintf(future, sizeof future, "%s/events.out.tfevents.4000000000.host.1", folder);
    CHECK_OK(tt_file_replace(future, "x", 1));
    for (int i = 0; i < 2; i++) {
        CHECK_OK(tt_events_open(folder, i, &e));
        tt_events_scalar(e, i, "x", i);
        CHECK_OK(tt_events_close(e));
    }
    int n = scandir(folder, &names, NULL, alphasort);
    CHECK(n == 5 && !strcmp(names[2]->d_name, strrchr(future, '/') + 1), "%d files", n);
    struct bytes file, r = {0};
    for (int i = 3; i < n; i++) {
        char path[600], *data;
        size_t size;
        double step = -1;
        snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
        CHECK_OK(tt_file_read(path, 1 << 20, &data, &size));
        file = (struct bytes){(unsigned char *)data, (unsigned char *)data + size};
        CHECK(record(&file, &r) && record(&file, &r) && field(r, 2, NULL, &step) && step == (i == 3 ? 0 : 2),
              "file %d: step %g", i, step);
        free(data);
    }
    for (int i = 0; i < n; i++) free(names[i]);
    free(names);
    CHECK_OK(tt_remove_tree(folder));
}

static void says_when_it_cannot_write(void)
{
    struct tt_events *e;
    CHECK_FAILS(tt_events_open("/proc/none", 0, &e), "/proc/none");
}

int main(void)
{
    TEST(checksums_are_those_of_tensorflow);
    TEST(values_come_back);
    TEST(later_files_come_later);
    TEST(says_when_it_cannot_write);
    return test_end();
}
