"""Runs what the documentation shows: every fenced block of README.md and docs/**/*.md.

usage: snippets.py --library LIBCOHORT.so --command COHORT [--compiler g++] [FILE...]

cpp   compiles; with a main() it is linked and run too. Without one it stands in a function, after
      `#include <cohort/cohort.h>` and `using namespace cohort;`. `cpp continues` goes on from the
      block before it on that page.
sh    runs with the command on PATH, `bash -euo pipefail`, in a folder that the page's blocks share.
json  is JSON.
text  (or no word) is shown only.
`sh skip: REASON` (any language) is not run; it is counted, and the reason printed.
"""
import argparse
import contextlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "test/policy"))
from sources import project_files  # noqa: E402

BLOCK = re.compile(r"^```(\w*)[ \t]*([^\n`]*)\n(.*?)^```[ \t]*$", re.M | re.S)
SHOWN = {"", "text", "console", "cmake", "python", "diff", "svg", "xml", "yaml"}


def run(command, **kwargs):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, timeout=600, **kwargs)
    return None if done.returncode == 0 else f"exit code {done.returncode}\n{done.stdout}"


def cpp_program(text):
    """The block as a complete source, and whether it has a main()."""
    whole = re.search(r"\bint main\s*\(", text) is not None
    if whole:
        return text, True
    includes = "".join(line + "\n" for line in text.splitlines() if line.startswith("#include"))
    rest = "\n".join("" if line.startswith("#include") else line for line in text.splitlines())
    return ("#include <cohort/cohort.h>\n#include <utility>\n" + includes +
            "using namespace cohort;\n[[maybe_unused]] static void snippet() {\n" + rest +
            "\n}\n"), False


class Runner:
    def __init__(self, args):
        self.args = args
        self.library = pathlib.Path(args.library).resolve()
        self.command = pathlib.Path(args.command).resolve()

    def cpp(self, text, folder):
        source, whole = cpp_program(text)
        path = folder / "snippet.cpp"
        path.write_text(source)
        flags = ["-std=c++20", "-Wall", "-Wno-unused-variable", "-Wno-unused-but-set-variable",
                 "-I", str(ROOT / "include"), str(path)]
        if not whole:
            return run([self.args.compiler, "-fsyntax-only", *flags])
        program = folder / "snippet"
        failure = run([self.args.compiler, *flags, "-o", str(program), str(self.library),
                       f"-Wl,-rpath,{self.library.parent}"])
        return failure or run([str(program)], cwd=folder)

    def sh(self, text, folder):
        path = f"{self.command.parent}:{os.environ['PATH']}"
        return run(["bash", "-euo", "pipefail", "-c", text], cwd=folder,
                   env={**os.environ, "PATH": path})

    def json(self, text, _folder):
        try:
            json.loads(text)
        except ValueError as error:
            return str(error)
        return None

    def page(self, path):
        """(passed, failed, skipped) of a page."""
        counts = [0, 0, 0]
        name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path.name
        previous = ""
        content = path.read_text()
        if content.count("\n```") + content.startswith("```") != 2 * len(BLOCK.findall(content)):
            print(f"FAILED {name}: a fence has no end")
            counts[1] += 1
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            for match in BLOCK.finditer(content):
                language, mark, text = match.groups()
                where = f"{name}:{content.count(chr(10), 0, match.start()) + 1}"
                skip = re.fullmatch(r"skip:\s*(\S.*?)\s*", mark)
                if skip:
                    print(f"SKIPPED {where}: {skip.group(1)}")
                    counts[2] += 1
                    continue
                if language in SHOWN and not mark:
                    continue
                if mark == "continues" and language == "cpp":
                    text = previous + text
                elif mark:
                    language = f"{language} {mark}"
                previous = text if language == "cpp" else previous
                action = {"cpp": self.cpp, "sh": self.sh, "json": self.json}.get(language)
                failure = action(text, folder) if action else f"what is a {language!r} block?"
                counts[1 if failure else 0] += 1
                if failure:
                    print(f"FAILED {where} ({language})\n{failure}")
        return counts


def self_test(runner):
    page = ("```cpp\nBuilder g(\"x\");\n```\n```cpp\nno_such_thing();\n```\n```sh\necho a > f\n```\n"
            "```sh\ncat f\n```\n```sh\nfalse; true\n```\n```json\n{]\n```\n```sh skip: why\nx\n```\n"
            "```text\nshown\n```\n```cpp skip:\nx\n```\n```cpp continues\nint y = x;\n```\n"
            "```cpp\nint x = 0;\n```\n```cpp continues\nint y = x;\n```\n")
    with tempfile.NamedTemporaryFile("w", suffix=".md") as file:
        file.write(page)
        file.flush()
        with contextlib.redirect_stdout(io.StringIO()) as said:
            counts = runner.page(pathlib.Path(file.name))
    if counts != [5, 5, 1]:
        sys.exit(f"self-test: {counts}\n{said.getvalue()}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True)
    parser.add_argument("--command", required=True)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("files", nargs="*")
    args = parser.parse_args()
    runner = Runner(args)
    self_test(runner)
    pages = [pathlib.Path(file).resolve() for file in args.files]
    pages = pages or [ROOT / "README.md"] + [path for path in project_files("docs")
                                             if path.suffix == ".md"]
    total = [sum(column) for column in zip(*map(runner.page, pages))]
    print(f"{total[0]} passed, {total[1]} failed, {total[2]} skipped")
    sys.exit(1 if total[1] or not total[0] else 0)


if __name__ == "__main__":
    main()
