"""Lengths of files and functions. Prints a table; fails above the limits.

usage: lengths.py [--self-test] [--all]
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "test/policy"))
from sources import CPP, ROOT, project_files, strip_cpp  # noqa: E402

FILE_LIMIT = 400
FUNCTION_LISTED = 60
FUNCTION_LIMIT = 120
# path or path:function -> reason
ALLOWED = {
    "src/ir/builder.cpp": "one function an input role, each a few lines",
}
SCOPE = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b")


def functions(text):
    """(name, first line, lines) of each function body; text is C++."""
    text = re.sub(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", lambda m: "\n" * m.group(0).count("\n"),
                  strip_cpp(text), flags=re.M)
    found, stack, head_start = [], [], 0
    for at, char in enumerate(text):
        inside = any(kind == "function" for kind, *_ in stack)
        if char == "{":
            head = text[head_start:at]
            plain = re.sub(r"operator\s*[^\s\w(]+|<[^<>;]*>", "", head)
            outer = re.sub(r"\([^()]*\)", "()", plain)
            if inside:
                kind = "inner"
            elif "(" in outer and not re.search(r"(?<![=!<>])=(?!=)", outer.split("(")[0]):
                initializer = re.search(r"\)\s*(noexcept)?\s*:[^{}]*\b\w+\s*$", plain)
                kind = "initializer" if initializer else "function"
            else:
                kind = "scope" if SCOPE.search(head) else "data"
            stack.append((kind, head_start, at, head))
            if kind != "initializer":
                head_start = at + 1
        elif char == "}":
            if not stack:
                continue
            kind, start, opened, head = stack.pop()
            if kind == "function":
                name = re.search(r"([\w:~]+|operator\s*\S+)\s*\(", re.sub(r"\s+", " ", head))
                first = text.count("\n", 0, opened) + 1
                first -= head.strip().count("\n")
                found.append((name.group(1) if name else "?", first,
                              text.count("\n", 0, at) + 2 - first))
            if kind != "initializer":
                head_start = at + 1
        elif char == ";" and not inside:
            head_start = at + 1
    return found


def self_test():
    body = "  x;\n" * 130
    sample = ("namespace a {\nstruct S {\n  S() : x_{1}, y_(2) {\n" + body + "  }\n  int x_;\n};\n"
              "int table[] = {\n" + "  1,\n" * 200 + "};\n"
              "template <class T>\nbool operator==(T a,\n                T b) {\n" + body + "}\n"
              "auto f(int a = 1) -> int { if (a) { return '{'; } return 0; }\n}\n")
    got = [(name, lines) for name, _, lines in functions(sample)]
    want = [("S", 132), ("operator==", 134), ("f", 1)]
    if got != want:
        sys.exit(f"self-test: {got}, not {want}")


def main():
    self_test()
    file_lengths, function_lengths, failures = [], [], []
    for path in project_files("include", "src", "samples", "test", "cmake"):
        relative = path.relative_to(ROOT).as_posix()
        if path.suffix not in CPP | {".py", ".sh", ".cmake"} or relative.startswith("test/data/"):
            continue
        text = path.read_text()
        file_lengths.append((text.count("\n"), relative))
        if path.suffix in CPP:
            function_lengths += [(lines, f"{relative}:{name}", first)
                                 for name, first, lines in functions(text)]
    for lines, name in file_lengths:
        if lines > FILE_LIMIT and name not in ALLOWED:
            failures.append(f"{name} has {lines} lines; {FILE_LIMIT} are allowed")
    for lines, name, first in function_lengths:
        if lines > FUNCTION_LIMIT and name not in ALLOWED:
            failures.append(f"{name} (line {first}) has {lines} lines; {FUNCTION_LIMIT} are allowed")
    longest_files = sorted(file_lengths, reverse=True)
    listed = [row for row in sorted(function_lengths, reverse=True) if row[0] > FUNCTION_LISTED]
    for title, values in (("files", [row[0] for row in file_lengths]),
                          ("functions", [row[0] for row in function_lengths])):
        values = sorted(values) or [0]
        print(f"{title}: {len(values)}, median {values[len(values) // 2]}, "
              f"95 % {values[len(values) * 95 // 100]}, longest {values[-1]}")
    print("longest files:")
    for lines, name in longest_files[: None if "--all" in sys.argv else 10]:
        print(f"  {lines:5} {name}" + (f"  ({ALLOWED[name]})" if name in ALLOWED else ""))
    print(f"functions above {FUNCTION_LISTED} lines: {len(listed)}")
    for lines, name, first in listed:
        print(f"  {lines:5} {name} line {first}")
    print("\n".join(failures))
    sys.exit(1 if failures or not function_lengths else 0)


if __name__ == "__main__":
    main()
