"""Runs every benchmark of a release build and prints one table: what, aim, measured, met.

usage: benchmarks.py [--build build/release] [--write] [--check] [--quick]
Builds nothing: `cmake --preset release && cmake --build --preset release` comes first. Figures are
medians of repeated runs, with the best beside them. What one thread does is measured in its CPU
time, which waiting for a busy processor does not lengthen (a busy cache does); products and the
engine, which use all cores, in wall time. --write puts the figures into docs/benchmarks.md;
--check fails when an aim is missed; --quick runs everything once, to see that it runs.
"""
import argparse
import collections
import datetime
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys

import compile_cost

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/benchmarks.md"
COMMAND = "`python3 cmake/benchmarks.py`"
REPETITIONS = {"graph": 9, "bind": 9, "json": 9, "product": 5, "engine": 3, "quantize": 7, "glu": 7,
               "ptx": 9}
UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}

Row = collections.namedtuple("Row", "what aim measured met")


class Results:
    """The repetitions of every benchmark, by "program.name"."""

    def __init__(self):
        self.runs = collections.defaultdict(list)

    def add(self, program, report):
        for run in report["benchmarks"]:
            if run.get("error_occurred"):
                sys.exit(f"{program}: {run['name']}: {run['error_message']}")
            if run["run_type"] != "iteration":
                continue
            name = re.sub(r"/(iterations:\d+|manual_time|real_time)", "", run["name"])
            self.runs[f"{program}.{name}"].append(run)

    def seconds(self, name):
        """Of every repetition: CPU time, or what the benchmark itself timed."""
        own = [run for run in self.runs[name]]
        key = "real_time" if re.search("manual_time|real_time", own[0]["name"]) else "cpu_time"
        return [run[key] * UNITS[run["time_unit"]] for run in own]

    def counter(self, name, key):
        return [run[key] for run in self.runs[name]]


def time_text(seconds):
    for unit, scale in (("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3)):
        if seconds < 1000 * scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds:.3g} s"


def time_row(results, what, aim, name, limit, no_allocation=False):
    times = results.seconds(name)
    middle = statistics.median(times)
    met = None if limit is None else middle <= limit
    text = f"{time_text(middle)}, best {time_text(min(times))}"
    if no_allocation:
        allocations = max(results.counter(name, "allocations"))
        text += f", {allocations:.0f} allocations"
        met = met and allocations == 0
    return Row(what, aim, text, met)


def rate_row(results, what, aim, name, key, unit, limit):
    rates = results.counter(name, key)
    middle = statistics.median(rates) / 1e6
    return Row(what, aim, f"{middle:.0f} {unit}, best {max(rates) / 1e6:.0f}",
               None if limit is None else middle >= limit)


def growth_row(results, what, aim, name, limit, unit="ops"):
    small, large = (statistics.median(results.seconds(f"{name}/{n}")) for n in (10000, 20000))
    return Row(what, aim, f"{large / small:.2f} times from 10,000 to 20,000 {unit}",
               None if limit is None else large / small <= limit)


def share_row(results, what, aim, name, limit):
    shares = results.counter(name, "share")
    speed = statistics.median(results.counter(name, "GFLOPS"))
    middle = statistics.median(shares)
    return Row(what, aim, f"{100 * middle:.0f} % ({speed:.0f} GFLOPS), best {100 * max(shares):.0f} %",
               middle >= limit)


def memory_row(results, what, aim, name, limit):
    beyond = max(results.counter(name, "beyond_tensors_MB"))
    tensors = max(results.counter(name, "tensors_MB"))
    return Row(what, aim, f"{tensors:.0f} MB of inputs and outputs + {beyond:.0f} MB",
               beyond <= limit)


def glu_rows(r):
    """One core; items are activated features. d_glu makes all of its three results."""
    swiglu, situ = ("swiglu, bands32", "act:0/packing:3"), ("situ, split", "act:2/packing:0")
    cached = [("swiglu, interleaved", "act:0/packing:1"), swiglu, situ]
    return [
        rate_row(r, f"{op} {what}, one core with AVX2, {where}", aim, f"glu.{op}{name}/{arguments}",
                 "items_per_second", "M elements/s", limit)
        for where, name, aim, limit, list_of in (
            ("rows in its cache", "", "100 M elements/s", 100, cached),
            ("rows in memory", "_from_memory", "none", None, [swiglu, situ]))
        for what, arguments in list_of
        for op in ("glu", "d_glu")
    ]


def compile_row(runs):
    figures = compile_cost.figures("g++", runs)
    ours, theirs = figures["cohort/cohort.h"], figures["string, vector, tuple"]
    return Row("compile `cohort.h`, g++ 12, against `<string>`, `<vector>`, `<tuple>`",
               "not more time; peak 80 MB",
               f"{ours[0] * 1000:.0f} ms against {theirs[0] * 1000:.0f} ms user + system, "
               f"{ours[1] / 1e6:.1f} MB; {runs} interleaved runs",
               ours[0] <= theirs[0] and ours[1] <= compile_cost.PEAK_LIMIT)


def layer_row(build, runs):
    """Sample 05 at its figure's size: forward and backward, each timed once a run."""
    path = build / "bin" / "sample_05_moe_layer"
    print(f"running {path.name}", file=sys.stderr, flush=True)
    seconds = []
    for _ in range(runs):
        said = output_of(str(path), "--tokens", "4096", "--d", "1024", "--n", "512",
                         "--experts", "16", "--top-k", "4")
        forward, backward = re.search(r"forward (\S+) s, backward (\S+) s", said).groups()
        seconds.append(float(forward) + float(backward))
    middle = statistics.median(seconds)
    return Row("bf16 layer of sample 05, forward + backward: T 4096, d 1024, n 512, 16 experts, "
               "top 4", "20 s", f"{time_text(middle)}, best {time_text(min(seconds))}",
               middle <= 20)


def table(r, compile_runs):
    fc1 = "engine.fc1_4096"
    return [
        compile_row(compile_runs),
        time_row(r, "build and finish of the demo graph", "20 us", "graph.build_and_finish", 20e-6),
        time_row(r, "build and finish of a 60-layer model, forward and backward, 2,104 ops", "2 ms",
                 "graph.build_and_finish_model", 2e-3),
        time_row(r, "key of a finished graph, first", "5 us", "graph.key_first", 5e-6),
        time_row(r, "key of a finished graph, later", "20 ns", "graph.key_later", 20e-9),
        time_row(r, "plan-cache hit, key included", "2 us", "graph.plan_cache_hit", 2e-6),
        time_row(r, "bound execution of an empty plan", "0.2 us, no allocation",
                 "graph.run_empty_plan", 0.2e-6, True),
        time_row(r, "bind again with another T", "2 us, no allocation", "graph.bind_other_tokens",
                 2e-6, True),
        time_row(r, "bind another pointer", "2 us, no allocation", "graph.bind_other_pointer",
                 2e-6, True),
        time_row(r, "demo without a token, reference engine", "none", "graph.run_no_tokens", None),
        *(growth_row(r, f"10,000 inputs and outputs, {what}: twice as many", "2.5 times the time",
                     f"bind.{name}", 2.5, "of each")
          for what, name in (("binding", "bind"), ("another T", "resize"),
                             ("another pointer", "rebind_one"), ("all pointers", "rebind_all"),
                             ("a run", "run"))),
        growth_row(r, "JSON of 10,000 ops: twice the ops", "2.2 times the time", "json.read", 2.2),
        rate_row(r, "JSON of 10,000 ops: reading", "50 MB/s", "json.read/10000",
                 "bytes_per_second", "MB/s", 50),
        rate_row(r, "JSON of 10,000 ops: writing", "50 MB/s", "json.write/10000",
                 "bytes_per_second", "MB/s", 50),
        growth_row(r, "planning 10,000 ops: twice the ops", "none", "json.plan", None),
        share_row(r, "reference product of bf16 against Eigen's dgemm", "50 %",
                  "product.bf16/2048", 0.5),
        share_row(r, "reference product of MXFP8 against Eigen's dgemm", "50 %",
                  "product.mxfp8/2048", 0.5),
        time_row(r, "MXFP8 FC1, T = N = K = 4096, 8 experts, 2 cores with AVX2", "4 s", fc1, 4),
        memory_row(r, "peak memory of that", "inputs + outputs + 128 MB", fc1, 128),
        rate_row(r, "MXFP8 quantiser, one core with AVX2, row", "200 M elements/s",
                 "quantize.rows/format:0", "items_per_second", "M elements/s", 200),
        rate_row(r, "MXFP8 quantiser, row and column", "100 M elements/s",
                 "quantize.rows_and_columns/format:0", "items_per_second", "M elements/s", 100),
        *glu_rows(r),
        time_row(r, "PTX of 10,000 lines: reading", "10 ms", "ptx.read/10000", 10e-3),
        time_row(r, "PTX of 30,000 lines: reading", "none", "ptx.read/30000", None),
    ]


def output_of(*command):
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def environment(build, load):
    """One line: machine, compiler, commit, date, load."""
    cpu = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    cache = (build / "CMakeCache.txt").read_text()
    compiler = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", cache, re.M).group(1)
    version = output_of(compiler, "-dumpfullversion").strip()
    commit = output_of("git", "rev-parse", "--short", "HEAD").strip()
    changed = output_of("git", "status", "--porcelain", "--", "src", "include", "test").strip()
    today = datetime.date.today()
    busy = "a busy machine" if load > 0.5 * os.cpu_count() else "an idle machine"
    return (f"{cpu.group(1) if cpu else 'unknown processor'}, {os.cpu_count()} cores, "
            f"{pathlib.Path(compiler).name} {version}, commit {commit}"
            f"{' with changes' if changed else ''}, {today.day} {today:%B %Y}, on {busy} "
            f"(load {load:.1f} at the start)")


def run_programs(build, quick):
    results = Results()
    for program, repetitions in REPETITIONS.items():
        path = build / "bin" / f"benchmark_{program}"
        if not path.exists():
            sys.exit(f"{path} is not there: cmake --preset release && "
                     "cmake --build --preset release")
        arguments = [str(path), "--benchmark_format=json",
                     f"--benchmark_repetitions={1 if quick else repetitions}",
                     f"--benchmark_min_time={0.001 if quick else 0.05}"]
        print(f"running {path.name}", file=sys.stderr, flush=True)
        results.add(program, json.loads(output_of(*arguments)))
    return results


def write_page(rows, where):
    """Every row that the page has already is renewed; the line on machine and date too."""
    lines = PAGE.read_text().splitlines()
    places = {line.split(" | ")[0].removeprefix("| "): i
              for i, line in enumerate(lines) if line.startswith("| ")}
    for row in rows:
        if row.what not in places:
            sys.exit(f"docs/benchmarks.md has no row '{row.what}'")
        measured = row.measured + (" (missed)" if row.met is False else "")
        lines[places[row.what]] = f"| {row.what} | {row.aim} | {measured} | {COMMAND} |"
    prefix = f"{COMMAND}: "
    at = next(i for i, line in enumerate(lines) if line.startswith(prefix))
    lines[at] = f"{prefix}{where}."
    PAGE.write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    if args.write and args.quick:
        parser.error("figures of --quick are none to keep")
    where = environment(args.build, os.getloadavg()[0])
    rows = table(run_programs(args.build, args.quick), 1 if args.quick else 15)
    rows.append(layer_row(args.build, 1 if args.quick else 3))
    print(where)
    print(f"medians of {REPETITIONS} runs; load {os.getloadavg()[0]:.1f} at the end\n")
    width = max(len(row.what) for row in rows)
    for row in rows:
        met = {None: "-", True: "yes", False: "NO"}[row.met]
        print(f"{row.what:{width}}  {met:3}  {row.measured}  (aim {row.aim})")
    if args.write:
        write_page(rows, where)
    if args.check and any(row.met is False for row in rows):
        sys.exit("an aim is missed")


if __name__ == "__main__":
    main()
