/* The commands of tt, each in its own file. A command gets its options parsed; where it takes over the configuration of
 * a checkpoint it works on a copy (tt_options_apply_yaml). It calls tt_config_check when the configuration is final. */
#ifndef TT_COMMANDS_H
#define TT_COMMANDS_H

#include "cli/options.h"

tt_status tt_cmd_train(const struct tt_options *o);
tt_status tt_cmd_eval(const struct tt_options *o);
tt_status tt_cmd_generate(const struct tt_options *o);
tt_status tt_cmd_data(const struct tt_options *o);
tt_status tt_cmd_info(const struct tt_options *o);
tt_status tt_cmd_bench(const struct tt_options *o);
tt_status tt_cmd_profile(const struct tt_options *o);
tt_status tt_cmd_report(const struct tt_options *o);
tt_status tt_cmd_compare(const struct tt_options *o);
tt_status tt_cmd_check(const struct tt_options *o);
tt_status tt_cmd_diagnose(const struct tt_options *o);
tt_status tt_cmd_export(const struct tt_options *o);
tt_status tt_cmd_import(const struct tt_options *o);
tt_status tt_cmd_exercise(const struct tt_options *o);
tt_status tt_cmd_help(const struct tt_options *o);

/* tt info --predict; needs no device. */
tt_status tt_info_predict(const struct tt_config *c);

#endif
