#include "core/base/build_id.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct wanted {
    uintptr_t code; /* an address inside the ELF object to find */
    char *out;
    size_t size;
};

static size_t padded(size_t n) { return (n + 3) / 4 * 4; }

/* An ELF note is a header, a name and data, each padded to a multiple of four bytes. */
static void read_notes(const unsigned char *at, size_t left, const struct wanted *w)
{
    while (left >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note;
        memcpy(&note, at, sizeof note);
        size_t name = padded(note.n_namesz), bytes = padded(note.n_descsz), all = sizeof note + name + bytes;
        if (all > left || all < sizeof note) return;
        const unsigned char *id = at + sizeof note + name;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(at + sizeof note, "GNU", 4) == 0)
            for (size_t i = 0; i < note.n_descsz && 2 * i + 2 < w->size; i++)
                snprintf(w->out + 2 * i, 3, "%02x", id[i]);
        at += all, left -= all;
    }
}

static int in_object(struct dl_phdr_info *object, size_t size, void *wanted)
{
    const struct wanted *w = wanted;
    bool here = false;
    (void)size;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &object->dlpi_phdr[i];
        uintptr_t from = object->dlpi_addr + p->p_vaddr;
        here |= p->p_type == PT_LOAD && w->code >= from && w->code - from < p->p_memsz;
    }
    for (int i = 0; here && i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &object->dlpi_phdr[i];
        if (p->p_type == PT_NOTE) read_notes((const unsigned char *)(object->dlpi_addr + p->p_vaddr), p->p_memsz, w);
    }
    return here;
}

void tt_build_id(char *out, size_t size)
{
    struct wanted w = {(uintptr_t)&tt_build_id, out, size};
    if (size > 0) out[0] = 0;
    dl_iterate_phdr(in_object, &w);
}
