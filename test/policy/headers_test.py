"""Each public header stands alone, on both compilers, with and without exceptions and RTTI."""
import argparse
import concurrent.futures
import itertools
import pathlib
import subprocess
import sys
import tempfile

from sources import ROOT

FLAGS = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow",
         "-Wconversion", "-Werror", "-x", "c++"]
MODES = [[], ["-fno-exceptions", "-fno-rtti"]]


def compile_text(compiler, text, mode, include):
    with tempfile.NamedTemporaryFile("w", suffix=".cpp") as source:
        source.write(text)
        source.flush()
        done = subprocess.run([compiler, *FLAGS, *mode, "-I", str(include), source.name],
                              capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", action="append", required=True)
    args = parser.parse_args()
    include = ROOT / "include"
    with tempfile.TemporaryDirectory() as planted:
        (pathlib.Path(planted) / "a.h").write_text("#pragma once\ninline uint32_t f();\n")
        for compiler in args.compiler:
            if compile_text(compiler, "#include <a.h>\n", [], planted)[0] == 0:
                sys.exit("self-test: a header that does not stand alone was accepted")
    headers = sorted(path.relative_to(include).as_posix() for path in include.rglob("*.h"))
    jobs = list(itertools.product(headers, args.compiler, MODES))
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        # Twice: a header may be included again.
        results = pool.map(
            lambda job: compile_text(job[1], f"#include <{job[0]}>\n" * 2, job[2], include), jobs)
        for (header, compiler, mode), (code, errors) in zip(jobs, results):
            if code:
                failed += 1
                print(f"{header} with {compiler} {' '.join(mode)}:\n{errors}")
    print(f"{len(jobs)} compilations of {len(headers)} headers, {failed} failed")
    sys.exit(1 if failed or not jobs else 0)


if __name__ == "__main__":
    main()
