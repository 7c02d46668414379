/* Stacks and the switch between them. A switch saves the callee-saved registers to the old stack and restores them from
 * the new one. */
#include "tests/backend/simt/fiber.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#if defined __x86_64__
enum { ENTRY = 6, FRAME = 8 }; /* in words: the callee-saved registers, then the return address */
asm(R"(
    .text
    .globl simt_switch
    .type simt_switch, @function
simt_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size simt_switch, .-simt_switch
)");
#elif defined __aarch64__
enum { ENTRY = 11, FRAME = 20 }; /* x19 to x30, where x30 is the return address, and d8 to d15 */
asm(R"(
    .text
    .globl simt_switch
    .type simt_switch, %function
simt_switch:
    sub sp, sp, #160
    stp x19, x20, [sp]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
    .size simt_switch, .-simt_switch
)");
#else
#error "the switch between stacks is written for x86-64 and arm64"
#endif

enum {
    STACK = 128 << 10,
    GUARD = 64 << 10, /* a multiple of every page size */
    STRIDE = GUARD + STACK,
    COLOURS = 64, /* stack tops have different offsets in a page, to spread over the cache */
    COLOUR = 256,
};

unsigned char *fiber_stacks(int count)
{
    void *p =
        mmap(NULL, (size_t)count * STRIDE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return NULL;
    unsigned char *stacks = (unsigned char *)p;
    for (int i = 0; i < count; i++) mprotect(stacks + (size_t)i * STRIDE, GUARD, PROT_NONE);
    return stacks;
}

void *fiber_begin(unsigned char *stacks, int index, void (*entry)(void))
{
    uintptr_t words[FRAME] = {0};
    words[ENTRY] = (uintptr_t)entry;
    unsigned char *top = stacks + (size_t)(index + 1) * STRIDE - index % COLOURS * COLOUR - 64,
                  *at = top - sizeof words;
    memcpy(at, words, sizeof words);
    return at;
}
