"""docs/launch.schema.json and the reader of launch files take and refuse the same files."""
import argparse
import copy
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import jsonschema

from sources import ROOT

PTX = """.version 9.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 y, .param .align 64 .b8 map[128], .param .f32 f,
                  .param .align 8 .b8 s[16])
{
ret;
}
"""


def changes():
    """Functions that damage the example of docs/emulator/launch.md."""
    def at(path, value):
        def change(launch):
            *parents, last = path
            for key in parents:
                launch = launch[key]
            if value is None:
                del launch[last]
            else:
                launch[last] = value
        return change

    first = ("launches", 0)
    arguments = (*first, "arguments")
    tensor_map = (*arguments, 1, "tensor_map")
    yield from (
        at(("cohort_launch",), 2), at(("cohort_launch",), None), at(("launches",), None),
        at(("extra",), 1), at(("buffers",), {}), at(("buffers", 0, "name"), None),
        at(("buffers", 0, "name"), 3), at(("buffers", 0, "type"), "f31"),
        at(("buffers", 0, "type"), None), at(("buffers", 0, "shape"), None),
        at(("buffers", 0, "shape"), [0]), at(("buffers", 0, "shape"), [1] * 9),
        at(("buffers", 0, "shape"), 64), at(("buffers", 0, "shap"), [1]),
        at(("buffers", 0, "fill"), 0), at(("buffers", 0, "random"), -1),
        at(("buffers", 0, "random", "high"), "many"), at(("buffers", 2, "ramp", "step"), None),
        at(("buffers", 2, "ramp", "start"), 1), at((*first, "grid"), None),
        at((*first, "grid"), []), at((*first, "grid"), [1, 1, 1, 1]), at((*first, "grid"), [0]),
        at((*first, "block"), ["a"]), at((*first, "pdl"), 1), at((*first, "dynamic_shared"), -1),
        at((*first, "kernel"), 1), at((*arguments, 0), {}), at((*arguments, 0), 7),
        at((*arguments, 0, "at"), 0), at((*arguments, 0, "u32"), 1),
        at((*arguments, 2), {"f32": "many"}), at((*arguments, 2), {"u32": -1}),
        at((*arguments, 2), {"u32": 1 << 32}), at((*arguments, 2), {"s32": 1 << 31}),
        at((*arguments, 2), {"u32": 1, "offset": 2}), at((*arguments, 2), {"bytes": "0g"}),
        at((*arguments, 2), {"bytes": "000"}), at((*arguments, 3, "struct", "bytes"), 0),
        at((*arguments, 3, "struct", "parts", 0, "at"), None),
        at((*arguments, 3, "struct", "parts", 0), {"at": 0, "struct": {}}),
        at((*tensor_map, "type"), "e4m3"), at((*tensor_map, "dims"), None),
        at((*tensor_map, "dims"), [1] * 6), at((*tensor_map, "box"), None),
        at((*tensor_map, "box"), [257, 8]), at((*tensor_map, "swizzle"), 16),
        at((*tensor_map, "fill"), "one"), at((*tensor_map, "stride"), [256]),
        at((*tensor_map, "strides"), ["a"]), at(("expected", 0, "buffer"), None),
        at(("expected", 0, "fill"), None), at(("expected", 0, "absolute"), -1),
        at(("expected", 0, "ramp"), {"step": 1}))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--command", required=True)
    args = parser.parse_args()
    schema = json.loads((ROOT / "docs/launch.schema.json").read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    page = (ROOT / "docs/emulator/launch.md").read_text()
    example = json.loads(re.search(r"```json\n(.*?)```", page, re.S)[1])
    example["launches"][0]["kernel"] = "k"
    # The kernel writes nothing.
    example["buffers"][1]["fill"] = 0
    findings, count = [], 0
    with tempfile.TemporaryDirectory() as folder:
        ptx, launch = pathlib.Path(folder) / "k.ptx", pathlib.Path(folder) / "l.json"
        ptx.write_text(PTX)

        def taken(value):
            launch.write_text(json.dumps(value))
            done = subprocess.run([args.command, "race", ptx, "--launch", launch, "--schedules",
                                   "1"], capture_output=True, text=True, check=False)
            return done.returncode == 0, done.stderr

        ok, said = taken(example)
        if not ok or not validator.is_valid(example):
            findings.append(f"the example is refused: {said}")
        for number, change in enumerate(changes()):
            damaged = copy.deepcopy(example)
            change(damaged)
            count += 1
            if validator.is_valid(damaged):
                findings.append(f"damage {number} is valid to the schema")
            ok, said = taken(damaged)
            if ok or " [/" not in said:
                findings.append(f"damage {number} is taken, or no path is told: {said}")
    print("\n".join(findings))
    print(f"{count} damages, {len(findings)} findings")
    sys.exit(1 if findings or not count else 0)


if __name__ == "__main__":
    main()
