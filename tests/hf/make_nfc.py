"""Writes core/data/tokenizers/nfc_tables.h: how characters decompose, compose and are ordered, as the normalizers of the
library tokenizers do it, whose Unicode is older than that of Python.

    make_nfc.py > core/data/tokenizers/nfc_tables.h"""
import unicodedata

from tokenizers import normalizers

nfd, nfc = normalizers.NFD().normalize_str, normalizers.NFC().normalize_str
POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000 and not 0xAC00 <= c < 0xD7A4]
HEAD = """/* Canonical decompositions, compositions and combining classes of Unicode, without Hangul, which follows a formula.
 * Written by tests/hf/make_nfc.py, read by nfc.c. */"""


def composites():
    """(point, first, second, composes); second 0: it is another spelling of first."""
    found = []
    for c in POINTS:
        apart = nfd(chr(c))
        if apart == chr(c):
            continue
        composes = nfc(apart) == chr(c)
        first, second = nfc(apart[:-1]), apart[-1]
        if not composes:
            parts = [int(p, 16) for p in unicodedata.decomposition(chr(c)).split()]
            assert len(parts) in (1, 2), hex(c)
            first, second = chr(parts[0]), chr(parts[1]) if len(parts) == 2 else "\0"
        assert len(first) == 1, hex(c)
        found.append((c, ord(first), ord(second), composes))
    return found


def classes():
    moves = lambda a, b: nfd(a + b) != a + b
    is_mark = lambda c: nfd(c) == c and (moves("\u0345", c) or moves(c, "\u0334"))  # of the highest and the lowest class
    marks = [chr(c) for c in POINTS if is_mark(chr(c))]
    examples = {}
    for c in marks:
        examples.setdefault(unicodedata.combining(c), c)
    same = lambda a, b: not moves(a, b) and not moves(b, a)
    return [(ord(c), next(k for k, example in examples.items() if same(c, example))) for c in marks]


def show(declaration, items):
    print(f"\n// clang-format off\nstatic const {declaration} = {{")
    line = "   "
    for item in items:
        if len(line) + len(item) + 2 > 118:
            print(line)
            line = "   "
        line += f" {item},"
    print(line + "\n};\n// clang-format on")


print(HEAD, end="")
all_ = composites()
show("struct tt_nfc_parts parts[]", [f"{{0x{c:x}, 0x{a:x}, 0x{b:x}}}" for c, a, b, _ in all_])
order = sorted((a, b, i) for i, (_, a, b, composes) in enumerate(all_) if composes)
print("\n/* Indices into parts[] of the pairs that compose, sorted by first and second code point. */", end="")
show("uint16_t pairs[]", [str(i) for _, _, i in order])
ranges = []
for c, k in classes():
    if ranges and ranges[-1][1] == c - 1 and ranges[-1][2] == k:
        ranges[-1][1] = c
    else:
        ranges.append([c, c, k])
show("struct tt_nfc_class classes[]", [f"{{0x{a:x}, 0x{b:x}, {k}}}" for a, b, k in ranges])
