/* Presets: named model shapes with suitable training values. Every preset sets the same options: the columns. */
#ifndef TT_PRESETS_H
#define TT_PRESETS_H

enum { TT_PRESET_COLUMNS = 11 };

struct tt_preset {
    const char *name;
    const char *about;
    const char *value[TT_PRESET_COLUMNS]; /* as text, like the value of a flag */
};

extern const char *const tt_preset_columns[TT_PRESET_COLUMNS + 1]; /* option names, NULL at the end */
extern const char *const tt_preset_names[];                        /* NULL at the end */
extern const struct tt_preset tt_presets[];
extern const int tt_preset_count;

const struct tt_preset *tt_preset_find(const char *name); /* NULL when there is none */

#endif
