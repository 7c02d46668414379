/* The commands of tt, each in its own file. A command gets its options parsed; where it takes over the configuration of
 * a checkpoint it works on a copy (tt_options_apply_yaml). It calls tt_config_check when the configuration is final. */
#ifndef TT_COMMANDS_H
#define TT_COMMANDS_H

#include "cli/options.h"

struct tt_info_options {
    bool plan;
    char predict[128], measured[1024];
};

tt_status tt_cmd_train(const struct tt_options *o);
tt_status tt_cmd_eval(const struct tt_options *o);
tt_status tt_cmd_generate(const struct tt_options *o);
tt_status tt_cmd_data(const struct tt_options *o);
tt_status tt_cmd_info(const struct tt_options *o);
tt_status tt_cmd_bench(const struct tt_options *o);
tt_status tt_cmd_profile(const struct tt_options *o);
tt_status tt_cmd_report(const struct tt_options *o);
tt_status tt_cmd_compare(const struct tt_options *o);
tt_status tt_cmd_claims(const struct tt_options *o);
tt_status tt_cmd_check(const struct tt_options *o);
tt_status tt_cmd_diagnose(const struct tt_options *o);
tt_status tt_cmd_export(const struct tt_options *o);
tt_status tt_cmd_import(const struct tt_options *o);
tt_status tt_cmd_exercise(const struct tt_options *o);
tt_status tt_cmd_help(const struct tt_options *o);

extern const struct tt_rows tt_generate_rows, tt_data_rows, tt_info_rows, tt_bench_rows, tt_profile_rows,
       tt_report_rows, tt_compare_rows, tt_claims_rows,
    tt_check_rows, tt_diagnose_rows, tt_export_rows, tt_import_rows, tt_exercise_rows, tt_eval_rows, tt_help_rows;

/* Checks the value of --predict: names of cards, each with a number of them or without. */
tt_status tt_check_chips(const char *list);
/* tt info --predict; needs no device. */
tt_status tt_info_predict(const struct tt_options *o);

#endif
