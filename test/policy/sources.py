"""What the policy tests share: the project's files, and C++ text without comments and strings."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
CPP = {".h", ".cpp", ".def", ".cuh"}
SKIPPED_FOLDERS = {".git", ".cache", "__pycache__"}

_NOISE = re.compile(
    r'R"([^(\s]{0,16})\((?:.|\n)*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\''
    r"|//[^\n]*|/\*(?:.|\n)*?\*/")


def project_files(*folders):
    """Files below the folders (default: all of the project), builds left out, sorted."""
    roots = [ROOT / folder for folder in folders] or [ROOT]
    found = []
    for root in roots:
        for path in root.rglob("*"):
            parts = path.relative_to(ROOT).parts
            if SKIPPED_FOLDERS & set(parts) or parts[0].startswith("build"):
                continue
            if path.is_file():
                found.append(path)
    return sorted(found)


def strip_cpp(text, strings=False):
    """The text with comments blanked and strings emptied, or kept; line numbers stay."""
    def blank(match):
        word = match.group(0)
        if strings and word[0] != "/":
            return word
        lines = "\n" * word.count("\n")
        if word[0] in "\"'R":
            return '""' + lines
        return " " + lines

    # A digit separator is no character literal.
    text = re.sub(r"(?<=[0-9a-fA-F])'(?=[0-9a-fA-F])", "", text)
    return _NOISE.sub(blank, text)
