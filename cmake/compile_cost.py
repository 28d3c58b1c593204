"""What including the library costs, beside a file of <string>, <vector> and <tuple>.

usage: compile_cost.py [--compiler g++] [--runs 15] [--check]
Prints median user + system time of interleaved runs, and peak memory. --check fails when the
library costs more time, or more than 80 MB.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
FILES = {
    "cohort/cohort.h": "#include <cohort/cohort.h>\n",
    "string, vector, tuple": "#include <string>\n#include <vector>\n#include <tuple>\n",
    "empty file": "\n",
}
PEAK_LIMIT = 80e6


def measure(compiler, path):
    """(user + system seconds, peak bytes) of one compilation."""
    command = [compiler, "-std=c++20", "-O0", "-I", str(ROOT / "include"), "-c", str(path), "-o",
               os.devnull]
    # A compiler cache in front of the compiler would answer in its place.
    process = subprocess.Popen(command, env={**os.environ, "CCACHE_DISABLE": "1"})
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(" ".join(command))
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def figures(compiler, runs):
    """By file: (median user + system seconds, peak bytes) of interleaved runs."""
    samples = {name: [] for name in FILES}
    with tempfile.TemporaryDirectory() as folder:
        paths = {}
        for number, (name, text) in enumerate(FILES.items()):
            paths[name] = pathlib.Path(folder) / f"file{number}.cpp"
            paths[name].write_text(text)
            measure(compiler, paths[name])
        for _ in range(runs):
            for name, path in paths.items():
                samples[name].append(measure(compiler, path))
    return {name: (statistics.median(run[0] for run in all_runs), max(run[1] for run in all_runs))
            for name, all_runs in samples.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    measured = figures(args.compiler, args.runs)
    print(f"{args.compiler}, -std=c++20 -O0, median of {args.runs} interleaved runs")
    for name, (seconds, peak) in measured.items():
        print(f"  {name:24} {seconds * 1000:7.0f} ms user + system, peak {peak / 1e6:6.1f} MB")
    ours, theirs = measured["cohort/cohort.h"], measured["string, vector, tuple"]
    print(f"  ratio {ours[0] / theirs[0]:.2f}")
    if args.check and (ours[0] > theirs[0] or ours[1] > PEAK_LIMIT):
        sys.exit("above the limit")


if __name__ == "__main__":
    main()
