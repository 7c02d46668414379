"""Databases as profilers write them, small, with round numbers: python3 make_databases.py FOLDER.

rocpd after the tables of rocprofiler-sdk (versions 3 and 4), nsys after the reference of its export; only columns that
matter here, and one or two that do not. In each: a kernel of 5 ms to warm up, then two steps of 1 ms inside the range
measured_steps, each a kernel of 0.8 ms and one of 0.1 ms, and a copy of 0.1 ms beside it."""
import json
import os
import sqlite3
import sys

folder = sys.argv[1]
UUID = "_0198c7d2_4b1e_7a33_9f00_5b6c7d8e9f01"
MS = 1_000_000
BOOT = 900_000 * MS
STEPS = [BOOT + 20 * MS, BOOT + 21 * MS]


def make(name, statements, rows):
    path = os.path.join(folder, name)
    if os.path.exists(path):
        os.remove(path)
    with sqlite3.connect(path) as db:
        for statement in statements:
            db.execute(statement)
        for table, values in rows:
            db.execute(f'INSERT INTO "{table}" VALUES ({",".join("?" * len(values))})', values)
    db.close()


# ---- rocpd ----

MARKS = [("measured_steps", STEPS[0] - 1000, STEPS[1] + MS), ("step", STEPS[0] - 900, STEPS[0] - 100), ("step", STEPS[1] - 900, STEPS[1] - 100)]


def rocpd(name, uuid=UUID, version=3, mark=True, sys=False, **change):
    """`sys`: in the words of rocprof-sys. `change`: SQL instead of that of a table, or a function of the rows."""
    marker, hip, other = ("rocm_marker_api", "rocm_hip_api", "rocm_hip_stream") if sys else ("MARKER_CORE_RANGE_API", "HIP_RUNTIME_API_EXT", "HSA_CORE_API")
    where = "track_id INTEGER NOT NULL" if version == 4 else "nid INTEGER, pid INTEGER, tid INTEGER"
    blank = [1] if version == 4 else [1, 1, 1]
    tables = {
        "string": "id INTEGER PRIMARY KEY, guid TEXT, string TEXT NOT NULL",
        "info_agent": "id INTEGER PRIMARY KEY, type TEXT, name TEXT, product_name TEXT",
        "info_kernel_symbol": "id INTEGER PRIMARY KEY, kernel_name TEXT, display_name TEXT",
        "event": "id INTEGER PRIMARY KEY, category_id INTEGER, extdata TEXT DEFAULT '{}'",
        "region": f"id INTEGER PRIMARY KEY, {where}, start BIGINT, end BIGINT, name_id INTEGER, event_id INTEGER",
        "kernel_dispatch": f"id INTEGER PRIMARY KEY, {where}, kernel_id INTEGER, start BIGINT, end BIGINT",
        "memory_copy": f"id INTEGER PRIMARY KEY, {where}, start BIGINT, end BIGINT, name_id INTEGER, size INTEGER",
    }
    if version == 4:
        tables["info_category"] = "id INTEGER PRIMARY KEY, name TEXT NOT NULL"
    strings = ["", marker, hip, other, "roctxThreadRangeA", "hipLaunchKernel", "hsa_signal_load_relaxed",
               "MEMORY_COPY_HOST_TO_DEVICE", "hipStreamSynchronize", "measured_steps", "step"]
    id_of = {s: i + 1 for i, s in enumerate(strings)}
    rows = [("string", [i, "g", s]) for s, i in id_of.items()]
    if version == 4:
        rows += [("info_category", [id_of[s], s]) for s in strings[1:4]]
    rows += [("info_agent", [0, "CPU", "EPYC", "AMD EPYC 9654"]), ("info_agent", [4, "GPU", "gfx942", "AMD Instinct MI300X"])]
    rows += [("info_kernel_symbol", [7, "_Z6swiglu.kd", "swiglu"]), ("info_kernel_symbol", [8, "adamw", ""])]
    kernels = [(7, BOOT + MS, 5 * MS)] + [k for s in STEPS for k in ((7, s, 800_000), (8, s + 900_000, 100_000))]
    rows += [("kernel_dispatch", [None, *blank, k, s, s + n]) for k, s, n in kernels]
    rows += [("memory_copy", [None, *blank, s, s + 100_000, id_of["MEMORY_COPY_HOST_TO_DEVICE"], 4096]) for s in [BOOT, *STEPS]]
    regions = [("hipLaunchKernel", hip, BOOT, BOOT + 90_000, "{}")]
    regions += [("hipLaunchKernel", hip, s - 800, s - 300, "{}") for s in STEPS]
    regions += [("hipStreamSynchronize", hip, STEPS[1], STEPS[1] + MS - 5, "{}")]
    regions += [("hsa_signal_load_relaxed", other, STEPS[0], STEPS[0] + 10, "{}")]
    if mark:
        regions += [(m if sys else "roctxThreadRangeA", marker, s, e, "{}" if sys else json.dumps({"message": m})) for m, s, e in MARKS]
    for i, (n, category, s, e, extra) in enumerate(regions):
        rows.append(("event", [i + 1, id_of[category], extra]))
        rows.append(("region", [None, *blank, s, e, id_of[n], i + 1]))
    statements = []
    for table, columns in tables.items():
        columns = change.get(table, columns)
        if columns:
            quoted = (table + uuid).replace('"', '""')
            statements.append(f'CREATE TABLE "rocpd_{quoted}" ({columns})')
    # A view that must not be read: its numbers are wrong.
    statements.append("CREATE VIEW kernels AS SELECT 'wrong' AS name, 0 AS start, 999999999 AS end")
    rows = [(f"rocpd_{t}{uuid}".replace('"', '""'), v) for t, v in rows if change.get(t, "x")]
    if "rows" in change:
        rows = [(t, v) for t, v in (change["rows"](t, v) for t, v in rows) if v]
    make(name, statements, rows)


def first_kernel(values):
    """Other values for the columns of the first dispatch."""
    seen = []

    def turn(table, row):
        if "kernel_dispatch" in table and not seen:
            seen.append(1)
            for i, v in values.items():
                row[i] = v
        return table, row
    return turn


rocpd("rocpd.db")
rocpd("rocpd4.db", version=4)
rocpd("rocpd_plain.db", uuid="")
rocpd("rocpd_sys.db", sys=True)
rocpd("rocpd_unmarked.db", mark=False)
rocpd("rocpd_quote.db", uuid='_a"b; DROP')
rocpd("rocpd_hostile.db", rows=lambda t, v: (t, [v[0], "k", "void a,b|c<\"x\", 'y'>(float*) -- ; DROP TABLE"] if "kernel_symbol" in t and v[0] == 7 else v))
rocpd("rocpd_extra.db", rows=lambda t, v: (t, [v[0], v[1], "{not json"] if "rocpd_event" in t else v))
rocpd("rocpd_blob.db", rows=lambda t, v: (t, [v[0], v[1], b"\x04\x22\x4d\x18"] if "rocpd_event" in t else v))
rocpd("bad_column.db", kernel_dispatch="id INTEGER PRIMARY KEY, nid, pid, tid, kernel_id, began BIGINT, end BIGINT")
rocpd("bad_null.db", rows=first_kernel({5: None}))
rocpd("bad_text.db", rows=first_kernel({5: "soon"}))
rocpd("bad_real.db", rows=first_kernel({5: 1e300}))
rocpd("bad_order.db", rows=first_kernel({5: 2**63 - 1, 6: 5}))
rocpd("bad_huge.db", rows=first_kernel({5: -(2**63), 6: 2**63 - 1}))
rocpd("bad_name.db", rows=first_kernel({4: 99}))
rocpd("bad_symbols.db", info_kernel_symbol=None)
rocpd("none.db", kernel_dispatch=None, memory_copy=None, region=None)

# ---- nsys ----

NSYS = {
    "StringIds": "id INTEGER PRIMARY KEY, value TEXT NOT NULL",
    "TARGET_INFO_GPU": "id INTEGER, name TEXT, uuid TEXT",
    "CUPTI_ACTIVITY_KIND_KERNEL": "start INT, end INT, deviceId INT, correlationId INT, demangledName INT, shortName INT",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "start INT, end INT, deviceId INT, bytes INT, copyKind INT",
    "CUPTI_ACTIVITY_KIND_MEMSET": "start INT, end INT, deviceId INT, value INT, bytes INT",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start INT, end INT, globalTid INT, correlationId INT, nameId INT",
    "NVTX_EVENTS": "start INT, end INT, eventType INT, text TEXT, globalTid INT, textId INT, domainId INT",
}


def nsys(name, drop=(), **change):
    strings = ["void swiglu<float>(float *)", "swiglu", "void adamw<float>(float *)", "adamw", "cudaLaunchKernel_v7000",
               "cudaStreamSynchronize_v3020", "step"]
    id_of = {s: i + 1 for i, s in enumerate(strings)}
    full = {"swiglu": 1, "adamw": 3}
    base = 700 * MS
    steps = [base + 20 * MS, base + 21 * MS]
    rows = [("StringIds", [i, s]) for s, i in id_of.items()] + [("TARGET_INFO_GPU", [0, "NVIDIA H200", "x"])]
    kernels = [("swiglu", base, 5 * MS)] + [k for s in steps for k in (("swiglu", s, 800_000), ("adamw", s + 900_000, 100_000))]
    rows += [("CUPTI_ACTIVITY_KIND_KERNEL", [s, s + n, 0, 9, full[k], id_of[k]]) for k, s, n in kernels]
    rows += [("CUPTI_ACTIVITY_KIND_MEMCPY", [s, s + 100_000, 0, 4096, 1]) for s in [base, *steps]]
    rows += [("CUPTI_ACTIVITY_KIND_MEMSET", [base, base + 50, 0, 0, 64])]
    rows += [("CUPTI_ACTIVITY_KIND_RUNTIME", [s - 800, s - 300, 1, 9, 5]) for s in steps]
    rows += [("CUPTI_ACTIVITY_KIND_RUNTIME", [steps[1], steps[1] + MS - 5, 1, 9, 6])]
    rows += [("NVTX_EVENTS", [base, None, 75, "domain", 1, None, 0]), ("NVTX_EVENTS", [base, None, 59, "open", 1, None, 0]),
             ("NVTX_EVENTS", [steps[0] - 1000, steps[1] + MS, 59, "measured_steps", 1, None, 0])]
    rows += [("NVTX_EVENTS", [s - 900, s - 100, 59, None, 1, id_of["step"], 0]) for s in steps]
    tables = {**NSYS, **change}
    make(name, [f"CREATE TABLE {t} ({c})" for t, c in tables.items() if t not in drop], [(t, v) for t, v in rows if t not in drop])


nsys("nsys.sqlite")
nsys("nsys_few.sqlite", drop=("CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET", "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS", "TARGET_INFO_GPU"))
nsys("nsys_short.sqlite", CUPTI_ACTIVITY_KIND_KERNEL="start INT, end INT, deviceId INT, correlationId INT, x INT, shortName INT")
nsys("bad_nsys.sqlite", NVTX_EVENTS="start INT, finish INT, eventType INT, text TEXT, globalTid INT, textId INT, domainId INT")
make("other.db", ["CREATE TABLE t (x)"], [])
