/* What several commands do: open the device with the course around it, describe a model. */
#ifndef TT_COMMON_H
#define TT_COMMON_H

#include <stdio.h>

#include "cli/options.h"
#include "core/base/format.h"
#include "core/train/open.h"
#include "core/train/origin.h"
#include "model/session.h"

/* Opens the device with what the course puts around it (exercises/engine/course.h). */
tt_status tt_open_backend(const struct tt_config *c, struct tt_backend *out);

/* Lines that say what will run, for the log. */
enum { TT_LINE = 400 };
/* "cuda: NVIDIA H200; cuBLASLt ...", and "4 layers, hidden 128, ...: 795.8 k parameters". */
void tt_describe_device(const struct tt_backend *b, char *out, size_t size);
void tt_describe_model(const struct tt_session *s, char *out, size_t size);
void tt_print_device(const struct tt_backend *b);
void tt_print_model(const struct tt_session *s);
/* With --precision fp8, prints that text is generated without 8-bit factors: in bf16 if the device has it, else in
 * fp32. */
void tt_say_generated_in(enum tt_precision precision, bool bf16, FILE *to);

/* Whether an existing folder holds a training run. */
tt_status tt_find_run(const char *folder, bool *found);

/* Writes a file in this folder, whole or not at all. */
tt_status tt_write_text(const char *folder, const char *name, const struct tt_text *text);

#endif
