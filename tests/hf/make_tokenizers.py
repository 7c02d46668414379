"""Trains small byte-level tokenizers with the library tokenizers, in the ways of GPT-2, Llama 3, Qwen 2 and SmolLM, and writes for each
its tokenizer.json, a text, and the tokens that the library gives for it.

    make_tokenizers.py FOLDER [SEED [WORDS]]"""
import os
import random
import sys

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from tokenizers.pre_tokenizers import ByteLevel, Digits, Sequence, Split

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")
WORDS = ("the cat dog don't we'll I'VE it'S they're x'ſ naïve Ünï 日本語 кот ½ ² ١٢٣ ไทย a\u0301 \u200d 😀👨‍👩‍👧 <|end|> <|en <x> <xy> '' "
         "'s 12345 3.14 1,000 ... !!! == \u00ad \u0085 \u00a0 \u3000 \u2028 \u1680 \u180e \ufeff \x1c \x0b _foo __init__ ⅷ 𝟘𝟙 𐍈 "
         "\U0001e140 \ue000").split(" ")
GAPS = [" ", " ", "  ", "   ", "\n", "\r\n", "\n\n", " \n", "\n ", "\t", " \t ", "", "", "\u00a0", "\u2003", "\r", "  \n  "]


def split(pattern):
    return Sequence([Split(Regex(pattern), "isolated"), ByteLevel(add_prefix_space=False, use_regex=False)])


KINDS = {
    "gpt2": (ByteLevel(add_prefix_space=False), False),
    "gpt2_split": (split(GPT2), False),
    "llama3": (split(LLAMA3), True),
    "qwen2": (split(LLAMA3.replace("{1,3}", "")), False),
    "smollm": (Sequence([Digits(individual_digits=True), ByteLevel(add_prefix_space=False)]), False),
}


def text_of(rng, words):
    out = []
    for _ in range(words):
        chance = rng.random()
        if chance < 0.08:
            out.append(chr(rng.choice([rng.randrange(1, 0x250), rng.randrange(1, 0xD800), rng.randrange(0xE000, 0x110000)])))
        elif chance < 0.1:
            out.append(rng.choice("ab9! \n") * rng.randrange(1, 200))
        else:
            out.append(rng.choice(WORDS))
        out.append(rng.choice(GAPS))
    return "".join(out)


def make(folder, pre, whole_first, rng, words):
    os.makedirs(folder, exist_ok=True)
    t = Tokenizer(models.BPE(ignore_merges=whole_first))
    t.pre_tokenizer = pre
    t.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=360, initial_alphabet=ByteLevel.alphabet(), special_tokens=["<|end|>"], show_progress=False)
    t.train_from_iterator([text_of(rng, 200) for _ in range(20)], trainer)
    t.add_tokens([AddedToken("<x>", normalized=True), AddedToken("<xy>", normalized=False, special=True)])
    if whole_first:
        t.post_processor = processors.TemplateProcessing(single="<|end|> $A", special_tokens=[("<|end|>", 0)])
    t.save(os.path.join(folder, "tokenizer.json"), pretty=False)
    text = text_of(rng, words)
    tokens = t.encode(text, add_special_tokens=False).ids
    with open(os.path.join(folder, "text.txt"), "w", encoding="utf-8", newline="") as f:
        f.write(text)
    with open(os.path.join(folder, "tokens.txt"), "w") as f:
        for i in range(0, len(tokens), 24):
            print(*tokens[i:i + 24], file=f)
    print(folder, len(tokens))


seed, words = (list(map(int, sys.argv[2:])) + [1, 300][len(sys.argv) - 2:])[:2]
for name, how in KINDS.items():
    make(os.path.join(sys.argv[1], name), *how, random.Random(f"{name} {seed}"), words)
