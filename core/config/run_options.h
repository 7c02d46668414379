/* The options of a run, in three groups, so that a program can insert its own rows between them. */
#ifndef TT_RUN_OPTIONS_H
#define TT_RUN_OPTIONS_H

#include "core/config/options.h"

/* The commands of tt, since each row says which commands take it. The library uses only the first. */
enum tt_command {
    TT_CMD_TRAIN,
    TT_CMD_EVAL,
    TT_CMD_GENERATE,
    TT_CMD_DATA,
    TT_CMD_INFO,
    TT_CMD_BENCH,
    TT_CMD_PROFILE,
    TT_CMD_REPORT,
    TT_CMD_COMPARE,
    TT_CMD_CLAIMS,
    TT_CMD_CHECK,
    TT_CMD_DIAGNOSE,
    TT_CMD_EXPORT,
    TT_CMD_IMPORT,
    TT_CMD_EXERCISE,
    TT_CMD_HELP,
    TT_COMMANDS
};

#define TT_S_MODEL "Model"
#define TT_S_COMPUTE "Computation"
#define TT_S_RANKS "Several devices"
#define TT_S_TRAINING "Training"
#define TT_S_VALIDATION "Validation"
#define TT_S_DATA "Data"
#define TT_S_OUTPUT "Output"

extern const struct tt_rows tt_model_rows;    /* shape and computation */
extern const struct tt_rows tt_machine_rows;  /* threads, device, ranks */
extern const struct tt_rows tt_training_rows; /* training, validation, data, output */

#endif
