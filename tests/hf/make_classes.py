"""Writes core/data/tokenizers/unicode_tables.h: which characters are letters and which are numbers to the patterns of tokenizer.json files, as the
library tokenizers sees them.

    make_classes.py > core/data/tokenizers/unicode_tables.h"""
from tokenizers import Regex, pre_tokenizers

HEAD = """/* Letters and numbers (the general categories L and N) of Unicode 16, from and to of each range. Written by
 * tests/hf/make_classes.py, read by unicode_classes.c. */"""


def members(pattern):
    cut = pre_tokenizers.Split(Regex(pattern), "removed")
    found = []
    for start in range(0, 0x110000, 256):
        points = [c for c in range(start, start + 256) if not 0xD800 <= c < 0xE000]
        text = "".join(map(chr, points))
        left = {c for piece, _ in cut.pre_tokenize_str(text) for c in piece} if text else set()
        found += [c for c in points if chr(c) not in left]
    return found


def print_ranges(name, points):
    ranges = []
    for c in points:
        if ranges and ranges[-1][1] == c - 1:
            ranges[-1][1] = c
        else:
            ranges.append([c, c])
    print(f"\n// clang-format off\nstatic const struct range {name}[] = {{")
    line = "   "
    for low, high in ranges:
        item = f" {{0x{low:x}, 0x{high:x}}},"
        if len(line) + len(item) > 118:
            print(line)
            line = "   "
        line += item
    print(line + "\n};\n// clang-format on")


print(HEAD, end="")
print_ranges("letters", members(r"\p{L}"))
print_ranges("numbers", members(r"\p{N}"))
