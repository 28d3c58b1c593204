"""docs/map.md's recipe for an op suffices: a copy of the project gets one op more, in no other files
than the recipe lists, and passes the op's own tests, those of JSON, schema, documentation, the
engines and the sources, and runs what the op's page shows.

usage: recipe_test.py --cmake CMAKE --compiler G++ --folder FOLDER   (the copy and its build)
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import map_test
from sources import ROOT, project_files

NAME = "capped_shift"
TITLE = "### One more epilogue op"
# What is run of the copy: everything that walks the ops, and what reads the sources.
ROOMS = ("ops", "ir", "json", "engine", "validate", "docs")
LABELS = "^(" + "|".join(ROOMS) + "|policy)$"
# What those need of the build: nothing else, it takes long enough.
TARGETS = ("cohort", "cohort_command", *(f"test_{room}" for room in ROOMS))
# What no op changes, or what the project's own run has seen; of the snippets only the new page's.
NOT_AGAIN = r"^(policy\.(recipe|isa|isa_fixture|headers)|docs\.snippets)$"

AGGREGATE = """
/// y[m,n] = min(x[m,n] + by[m], ceiling).
struct CappedShift {
  RowVec by;            ///< Added to each row (T).
  float ceiling = 1.0;  ///< No result is above it.
  using Out = Value;    ///< (T, N).
  static constexpr const char* name = "capped_shift";  ///< In JSON and docs.
  COHORT_FIELDS(field("by", &CappedShift::by), field("ceiling", &CappedShift::ceiling))
};
"""


def fixture(name):
    return (ROOT / "test/fixtures/recipe" / name).read_text()


def add_aggregate(text):
    """Before the end of the namespace."""
    head, tail = text.rsplit("\n}  // namespace cohort", 1)
    return head + AGGREGATE + "\n}  // namespace cohort" + tail


def steps():
    """Recipe path -> function from the old text (None: a new file) to the new one."""
    return {
        "include/cohort/ops/epilogue.h": add_aggregate,
        "src/ops/op_list.def": lambda text: text + f"COHORT_OP(CappedShift, {NAME})\n",
        "src/ops/NAME.cpp": lambda _: fixture("op.cpp.in"),
        "test/engine/conformance/NAME.cpp": lambda _: fixture("op_conformance.cpp.in"),
        "test/ops/NAME_test.cpp": lambda _: fixture("op_test.cpp.in"),
        "docs/ops/NAME.md": lambda _: fixture("op.md.in"),
        "docs/known_gaps.md": lambda text: text.replace(
            "| `select` |", f"| `{NAME}` | done | `by`, `ceiling` | |\n| `select` |"),
        "README.md": lambda text: text.replace("* Ops: ", f"* Ops: [{NAME}](docs/ops/{NAME}.md), "),
    }


def run(command, **kwargs):
    print("+", " ".join(map(str, command)), flush=True)
    since = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, stdin=subprocess.DEVNULL, **kwargs)
    print(f"  {time.monotonic() - since:.1f} s", flush=True)
    if done.returncode:
        sys.exit(f"{done.stdout[-6000:]}\nexit code {done.returncode}")
    return done.stdout


def write_if_new(target, content):
    """What is the same already keeps its time, so that a second run builds little."""
    if target.is_file() and target.read_bytes() == content:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)


def make_copy(copy, made):
    """The project's files, and the steps of the recipe: {path: step}."""
    changed = {pathlib.Path(path.replace("NAME", NAME)): step for path, step in made.items()}
    wanted = {path.relative_to(ROOT) for path in project_files()} - changed.keys()
    for path in [path for path in copy.rglob("*") if path.is_file()]:
        relative = path.relative_to(copy)
        if relative not in wanted | changed.keys() and relative.parts[0] != "build":
            path.unlink()
    for relative in wanted:
        write_if_new(copy / relative, (ROOT / relative).read_bytes())
        shutil.copymode(ROOT / relative, copy / relative)
    for relative, step in changed.items():
        before = ROOT / relative
        after = step(before.read_text() if before.exists() else None)
        write_if_new(copy / relative, after.encode())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cmake", default="cmake")
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--folder", required=True)
    args = parser.parse_args()

    listed = map_test.recipe((ROOT / "docs/map.md").read_text(), TITLE)
    generated = set(GENERATORS) & set(listed)
    made = steps()
    if set(made) != set(listed) - generated:
        sys.exit(f"the recipe lists {sorted(listed)}, this test makes {sorted(made)}")
    for path in made:
        if listed[path] == (ROOT / path.replace("NAME", NAME)).exists():
            sys.exit(f"{path}: the recipe is wrong about whether it is new")
    copy = pathlib.Path(args.folder).resolve()
    make_copy(copy, made)

    build = copy / "build"
    jobs = str(os.cpu_count() or 2)
    run([args.cmake, "-S", copy, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug",
         "-DCMAKE_CXX_FLAGS_DEBUG=-O1", f"-DCMAKE_CXX_COMPILER={args.compiler}",
         "-DCOHORT_WERROR=ON", "-DCOHORT_PRECOMPILE=ON", "-DCOHORT_UNITY=ON", "-DCOHORT_SAMPLES=OFF",
         "-DCOHORT_RECIPE_TEST=OFF"])
    run([args.cmake, "--build", build, "-j", jobs, "--target", *TARGETS])
    for path in sorted(generated):
        run(GENERATORS[path](build, copy), cwd=copy)
    report = run(["ctest", "--test-dir", build, "-L", LABELS, "-E", NOT_AGAIN, "-j", jobs,
                  "--output-on-failure", "--no-tests=error"])
    total = re.search(r"tests passed, 0 tests failed out of (\d+)", report)
    own = len(re.findall(r"CappedShift\.\w+ \.* *Passed", report))
    conformance = len(re.findall(r"reference_capped_shift_\w+ .*Passed", report))
    pages = len(re.findall(r"docs\.\w+\.\w+ \.* *Passed", report))
    policies = len(re.findall(r" policy\.\w+ \.* *Passed", report))
    print(report[-1500:])
    if not total or own < 4 or conformance < 1 or pages < 10 or policies < 6:
        sys.exit(f"{own} tests of the new op ran, {conformance} cases of its conformance file, "
                 f"{pages} tests of the documentation, {policies} of the sources")
    snippets = run([sys.executable, "-B", copy / "cmake/snippets.py", "--library",
                    build / "libcohort.so", "--command", build / "bin/cohort", "--compiler",
                    args.compiler, copy / f"docs/ops/{NAME}.md"], cwd=copy)
    if not re.search(r"^3 passed, 0 failed, 0 skipped$", snippets, re.M):
        sys.exit(f"the op's page shows three blocks:\n{snippets}")
    print(f"{len(listed)} files made the op; {total.group(1)} tests passed, {own} of them its own; "
          "its page's three blocks ran")


# Files made from the op records: how to make them again.
GENERATORS = {
    "docs/graph.schema.json": lambda build, copy: [
        "env", "COHORT_UPDATE=1", build / "bin/test_json", "--gtest_filter=Schema.EqualsTheFileInDocs"],
}


if __name__ == "__main__":
    main()
