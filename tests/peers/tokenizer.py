#!/usr/bin/env python3
"""Learning a byte-pair encoding and encoding with it: tt beside Hugging Face's tokenizers, same files, same threads.

    python3 tests/peers/tokenizer.py FILE.jsonl... [--tt build/cpu/tt] [--field text] [--vocab 8192] [--threads 2] [--rounds 3]

tt is `tt data --tokenizer bpe`: it reads and parses the files twice, learns, encodes and writes token files. tokenizers learns with
a ByteLevel pre-tokenizer (GPT-2's pattern) from texts that are in memory already, and encodes the same texts; reading them is not
timed. Both use the threads given, and take turns. Of each the fastest round counts: seconds that passed, and seconds of all
processors, which other work on the machine changes less. The two learn different vocabularies, because they split text differently.
Without --tt only tokenizers is measured.
"""
import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time


def timed(code):
    """Runs it; returns (seconds passed, seconds of processors) of this process and its threads."""
    before, start = time.process_time(), time.perf_counter()
    code()
    return time.perf_counter() - start, time.process_time() - before


def run_peer(files, field, vocab):
    """In a process of its own, whose environment says how many threads; prints the figures as JSON."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    texts = [json.loads(line)[field] for name in files for line in open(name, encoding="utf-8", newline="\n") if line.strip()]
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=vocab, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    learn = timed(lambda: t.train_from_iterator(texts, trainer))
    tokens = 0

    def encode():
        nonlocal tokens
        tokens = sum(len(e.ids) for i in range(0, len(texts), 1000) for e in t.encode_batch_fast(texts[i:i + 1000]))

    both = timed(encode)
    print(json.dumps({"learn": learn, "encode": both, "tokens": tokens, "bytes": sum(len(x.encode()) for x in texts)}))


def peer(args, env):
    words = [sys.executable, __file__, *args.files, "--field", args.field, "--vocab", str(args.vocab), "--peer"]
    done = subprocess.run(words, env=env, capture_output=True, text=True)
    if done.returncode:
        sys.exit("tokenizers does not run here: " + (done.stderr.strip().splitlines() or ["no message"])[-1])
    return json.loads(done.stdout)


def ours(args, env):
    folder = tempfile.mkdtemp()
    words = [args.tt, "data", *args.files, "--text-field", args.field, "--tokenizer", "bpe", "--vocab-size", str(args.vocab),
             "--val-fraction", "0", "--out", folder + "/out", "--json"]
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(words, env=env, capture_output=True, text=True)
    passed, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    shutil.rmtree(folder)
    if done.returncode:
        sys.exit("tt does not run here: " + (done.stderr.strip() or "no message"))
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"all": (passed, used), **json.loads(done.stdout)}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("files", nargs="+")
    p.add_argument("--tt", default="")
    p.add_argument("--field", default="text")
    p.add_argument("--vocab", type=int, default=8192)
    p.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--peer", action="store_true", help=argparse.SUPPRESS)
    args = p.parse_args()
    if args.rounds < 1 or args.threads < 1:
        p.error("--rounds and --threads are at least 1")
    missing = [f for f in args.files + ([args.tt] if args.tt else []) if not os.path.exists(f)]
    if missing:
        sys.exit(f"{missing[0]} is not there")
    if args.peer:
        return run_peer(args.files, args.field, args.vocab)
    env = dict(os.environ, RAYON_NUM_THREADS=str(args.threads), OMP_NUM_THREADS=str(args.threads), TOKENIZERS_PARALLELISM="true")
    rounds = [(peer(args, env), ours(args, env) if args.tt else None) for _ in range(args.rounds)]
    their = rounds[0][0]
    print(f"{len(args.files)} files, {their['bytes'] / 1e6:.1f} MB of text, vocabulary {args.vocab}, {args.threads} threads, "
          f"fastest of {args.rounds}")
    print(f"{'':32} {'seconds':>8} {'processor s':>12} {'tokens':>12}")

    def row(name, figures, tokens):
        print(f"{name:32} {min(f[0] for f in figures):8.2f} {min(f[1] for f in figures):12.2f} {tokens:12d}")

    row("tokenizers: learn", [r[0]["learn"] for r in rounds], 0)
    row("tokenizers: encode", [r[0]["encode"] for r in rounds], their["tokens"])
    if args.tt:
        row("tt: read, learn, encode, write", [r[1]["all"] for r in rounds], rounds[0][1]["tokens"])


if __name__ == "__main__":
    main()
