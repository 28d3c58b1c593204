"""What clang-tidy reads, a path a line: what build/tidy compiles, each source once. A room that is
compiled as one file is read as one; of the ISA levels the last. The largest come first."""
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def sources_of(path):
    """The sources of the project that a compiled file stands for."""
    if "Unity" not in path.parts:
        return {path}
    return {pathlib.Path(name) for name in re.findall(r'#include "(.*\.cpp)"', path.read_text())}


def main():
    entries = json.loads((ROOT / "build/tidy/compile_commands.json").read_text())
    read = {}
    for entry in entries:
        path = pathlib.Path(entry["file"])
        if not re.search(r"_isa_v[13]\.dir", entry["command"]):
            read[path] = sources_of(path)
    done = set().union(*read.values())
    wanted = {p for folder in ("src", "samples") for p in (ROOT / folder).rglob("*.cpp")}
    if wanted - done:
        sys.exit(f"not compiled by build/tidy: {sorted(map(str, wanted - done))}")
    for path in sorted(read, key=lambda p: -sum(s.stat().st_size for s in read[p])):
        print(path)


if __name__ == "__main__":
    main()
