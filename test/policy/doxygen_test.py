"""Every public entity is documented: Doxygen with EXTRACT_ALL=NO, warnings are errors."""
import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

from sources import ROOT

CONFIG = """
PROJECT_NAME = cohort
INPUT = {folder}
FILE_PATTERNS = *.h
RECURSIVE = YES
OUTPUT_DIRECTORY = {out}
GENERATE_HTML = {html}
GENERATE_LATEX = NO
GENERATE_XML = YES
EXTRACT_ALL = NO
EXTRACT_STATIC = YES
HIDE_UNDOC_MEMBERS = NO
HIDE_UNDOC_CLASSES = NO
WARN_IF_UNDOCUMENTED = YES
WARN_IF_DOC_ERROR = YES
WARN_NO_PARAMDOC = NO
WARN_AS_ERROR = FAIL_ON_WARNINGS
EXCLUDE_SYMBOLS = cohort::detail cohort::detail::* cohort::ir cohort::ir::* cohort::plan cohort::plan::*
ENABLE_PREPROCESSING = YES
MACRO_EXPANSION = YES
EXPAND_ONLY_PREDEF = YES
PREDEFINED = COHORT_API= COHORT_FIELDS(...)= {predefined}
QUIET = YES
"""


def run(folder, html=None, predefined=""):
    """Doxygen's exit code and warnings for the headers in the folder."""
    with tempfile.TemporaryDirectory() as temporary:
        config = CONFIG.format(folder=folder, out=html or temporary, predefined=predefined,
                               html="YES" if html else "NO")
        done = subprocess.run(["doxygen", "-"], input=config, capture_output=True, text=True,
                              check=False)
    return done.returncode, done.stderr


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--html", help="also write the pages into this folder")
    args = parser.parse_args()
    if not shutil.which("doxygen"):
        print("SKIPPED: no doxygen")
        return
    with tempfile.TemporaryDirectory() as planted:
        header = pathlib.Path(planted) / "a.h"
        good = "/// A.\nstruct A {\n  int x;  ///< X.\n};\n/// F.\nvoid f();\n"
        for text, wanted in ((good, 0), (good.replace("  ///< X.", ""), 1),
                             (good.replace("/// F.\n", ""), 1)):
            header.write_text("/// @file\n#pragma once\n" + text)
            code, warnings = run(planted)
            if (code != 0) != bool(wanted):
                sys.exit(f"self-test: exit code {code} for\n{text}\n{warnings}")
    code, warnings = run(ROOT / "include", args.html)
    print(warnings)
    print("documented" if code == 0 else f"{warnings.count('error:')} warnings")
    sys.exit(1 if code else 0)


if __name__ == "__main__":
    main()
