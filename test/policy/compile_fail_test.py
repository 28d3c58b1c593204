"""Misuse that can be seen while compiling does not compile, and the message helps.

A case is test/compile_fail/x.cpp: as it stands it compiles; with -DBAD1, -DBAD2 .. it does not.
For each of these a comment says what the first error names:

    // EXPECT BAD1: RowVec              both compilers
    // EXPECT g++ BAD2: Cast::to        one compiler
    // EXPECT clang++ BAD2: field 'to'

The fragment must stand in the first error, or in the notes that belong to it when the comment says
`EXPECT-NOTE`. The whole message has at most 20 lines.
"""
import argparse
import concurrent.futures
import pathlib
import re
import subprocess
import sys

from sources import ROOT

MAX_LINES = 20
FLAGS = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-I", str(ROOT / "include")]
EXPECT = re.compile(r"//\s*EXPECT(-NOTE)?\s+(?:(g\+\+|clang\+\+)\s+)?(BAD\d+):\s*(\S.*?)\s*$", re.M)
MACRO = re.compile(r"\bBAD\d+\b")


def expectations(text, family):
    """{macro: (fragment, notes count)} of a case for a compiler family."""
    table = {}
    for note, only, macro, fragment in EXPECT.findall(text):
        if only in ("", family) and (only or macro not in table):
            table[macro] = (fragment, bool(note))
    return table


def compile_case(compiler, path, macro=None):
    command = [compiler, *FLAGS, *([f"-D{macro}"] if macro else []), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def first_error(message, notes):
    """The first error's line, or with `notes` all lines up to the second error."""
    lines = message.splitlines()
    errors = [at for at, line in enumerate(lines) if re.search(r"\b(fatal )?error:", line)]
    if not errors:
        return ""
    if not notes:
        return lines[errors[0]]
    return "\n".join(lines[errors[0]:errors[1] if len(errors) > 1 else None])


def check_case(compiler, path):
    """(checks made, findings) for one case on one compiler."""
    family = "clang++" if "clang" in compiler else "g++"
    text = path.read_text()
    wanted = expectations(text, family)
    code = re.sub(r"//[^\n]*", "", text)
    macros = sorted(set(MACRO.findall(code)))
    name = f"{path.name} with {compiler}"
    findings = [f"{name}: {macro} has no EXPECT line" for macro in macros if macro not in wanted]
    findings += [f"{name}: {macro} of an EXPECT line is not used" for macro in wanted
                 if macro not in macros]
    if not macros:
        findings.append(f"{name}: no bad form")
    status, message = compile_case(compiler, path)
    if status or message:
        findings.append(f"{name}: the good form does not compile in silence:\n{message}")
    for macro in macros:
        status, message = compile_case(compiler, path, macro)
        if status == 0:
            findings.append(f"{name}: {macro} compiles")
            continue
        fragment, notes = wanted.get(macro, ("", False))
        lines = len(message.splitlines())
        if fragment not in first_error(message, notes):
            findings.append(f"{name}: {macro}: the first error does not say {fragment!r}:\n{message}")
        if lines > MAX_LINES:
            findings.append(f"{name}: {macro}: {lines} lines of message:\n{message}")
    return 1 + len(macros), findings


def self_test(compiler):
    folder = ROOT / "test/fixtures/compile_fail"
    _, findings = check_case(compiler, folder / "right.cpp")
    if findings:
        sys.exit("self-test: right.cpp: " + "\n".join(findings))
    _, findings = check_case(compiler, folder / "wrong.cpp")
    for part in ("BAD1 compiles", "BAD2: the first error does not say", "lines of message",
                 "BAD4 has no EXPECT", "BAD5 of an EXPECT line is not used"):
        if not any(part in finding for finding in findings):
            sys.exit(f"self-test: wrong.cpp: nothing about {part!r} in\n" + "\n".join(findings))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", action="append", required=True)
    parser.add_argument("--case", action="append", help="only these files")
    args = parser.parse_args()
    for compiler in args.compiler:
        self_test(compiler)
    cases = [pathlib.Path(case) for case in args.case or []]
    cases = cases or sorted((ROOT / "test/compile_fail").glob("*.cpp"))
    jobs = [(compiler, case) for case in cases for compiler in args.compiler]
    checks, failed = 0, 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for count, findings in pool.map(lambda job: check_case(*job), jobs):
            checks += count
            failed += len(findings)
            for finding in findings:
                print(finding)
    print(f"{len(cases)} cases, {checks} compilations, {failed} findings")
    if not cases:
        print("SKIPPED: no cases")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
