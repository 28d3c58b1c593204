"""Sources are ASCII, promise nothing for later, and name no place of one machine."""
import re
import sys

from sources import ROOT, project_files

SUFFIXES = {".h", ".cpp", ".def", ".cuh", ".py", ".sh", ".cmake", ".txt", ".md", ".in", ".json",
            ".yml", ".yaml"}
# Assembled, so that this file does not find itself.
PROMISE = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "X" * 3]) + r")\b")
MACHINE = re.compile(r"(/" + "work/|/" + r"root/|/" + r"home/\w)")


def check(path, text):
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{path}:{number}"
        if not line.isascii():
            found.append(f"{where}: not ASCII")
        if PROMISE.search(line):
            found.append(f"{where}: a promise; do it or write it in docs/known_gaps.md")
        if MACHINE.search(line):
            found.append(f"{where}: a path of one machine")
        if line != line.rstrip() and path.endswith((".h", ".cpp", ".py", ".sh", ".cmake")):
            found.append(f"{where}: space at the end of the line")
    if text and not text.endswith("\n"):
        found.append(f"{path}: no newline at the end")
    return found


def main():
    planted = ["caf\u00e9\n", "// TO" + "DO later\n", "see /" + "work/x\n", "int x; \n", "int x;"]
    for text in planted:
        if not check("a.cpp", text):
            sys.exit(f"self-test: not caught: {text!r}")
    found, count = [], 0
    for path in project_files():
        relative = path.relative_to(ROOT).as_posix()
        if relative.startswith("test/data/"):
            continue
        if path.suffix in SUFFIXES or path.name in {".clang-format", ".clang-tidy", "run"}:
            count += 1
            found += check(relative, path.read_bytes().decode("utf-8", "replace"))
    print("\n".join(found))
    print(f"{count} files, {len(found)} findings")
    sys.exit(1 if found or count == 0 else 0)


if __name__ == "__main__":
    main()
