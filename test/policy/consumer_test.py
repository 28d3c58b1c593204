"""The installed package works for a stranger: moved after the installation, other flags, other
string ABI, shared and static."""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

from sources import ROOT

VARIANTS = {
    "plain": "",
    "no exceptions, no RTTI": "-fno-exceptions -fno-rtti",
    "old string ABI": "-D_GLIBCXX_USE_CXX11_ABI=0 -fno-exceptions -fno-rtti",
}


def run(command, **kwargs):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **kwargs)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--compiler", required=True)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        base = pathlib.Path(folder)
        run(["cmake", "--install", args.build, "--prefix", base / "first", "--strip"])
        (base / "first").rename(base / "moved here")
        prefix = base / "moved here"
        for text in prefix.rglob("*.cmake"):
            for place in (str(ROOT), str(base)):
                if place in text.read_text():
                    sys.exit(f"{text.name} names {place}: the package cannot be moved")
        outputs = set()
        for name, flags in VARIANTS.items():
            build = base / name.replace(",", "").replace(" ", "_")
            run(["cmake", "-S", ROOT / "test/consumer", "-B", build, "-G", "Ninja",
                 f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_CXX_COMPILER={args.compiler}",
                 f"-DCMAKE_CXX_FLAGS={flags}"])
            run(["cmake", "--build", build])
            for library in ("cohort", "cohort_static"):
                outputs.add(run([build / f"consumer_{library}"]))
            print(f"{name}: ok")
        if len(outputs) != 1:
            sys.exit("the variants print different things:\n" + "\n".join(outputs))
        command = prefix / "bin/cohort"
        if command.exists():
            run([command, "--help"], env={"PATH": os.environ["PATH"]})
            print("moved command: ok")


if __name__ == "__main__":
    main()
