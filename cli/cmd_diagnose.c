#include "cli/commands.h"
tt_status tt_cmd_diagnose(const struct tt_options *o) { (void)o; return TT_OK; }
