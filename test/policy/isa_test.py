"""Objects of different ISA levels share no symbol that a linker would merge."""
import argparse
import itertools
import subprocess
import sys

# Symbols that a linker merges: weak functions and objects, unique objects, commons.
MERGED = set("WVuC")


def merged_symbols(nm, objects):
    """Symbols defined in the objects that a linker merges with others of that name."""
    text = subprocess.run([nm, "--defined-only", "--format=posix", *objects], check=True,
                          capture_output=True, text=True).stdout
    rows = [line.split() for line in text.splitlines() if not line.endswith(":")]
    return {row[0] for row in rows if len(row) >= 2 and row[1] in MERGED}


def shared(nm, levels):
    """Names that two of the levels (lists of objects) define and a linker would merge."""
    names = set()
    for one, two in itertools.combinations(levels, 2):
        names |= merged_symbols(nm, one) & merged_symbols(nm, two)
    return names


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nm", required=True)
    parser.add_argument("--raw", action="append", required=True)
    parser.add_argument("--fixture", nargs="+", required=True)
    parser.add_argument("--library", nargs="*", default=[])
    args = parser.parse_args()

    if not shared(args.nm, [raw.split(";") for raw in args.raw]):
        sys.exit("the fixture, as compiled, shares no symbol: this test would see nothing")
    failed = False
    for what, objects in (("fixture", args.fixture), ("library", args.library)):
        names = shared(args.nm, [[each] for each in objects])
        for name in sorted(names):
            print(f"{what}: shared between levels: {name}")
        failed = failed or bool(names)
    print(f"{len(args.library)} objects of the library checked")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
