"""docs/graph.schema.json is a JSON Schema of draft 7 that takes every bundled graph and no damaged one."""
import argparse
import copy
import json
import subprocess
import sys

import jsonschema

from sources import ROOT


def damages(graph):
    """Copies of a graph with one thing wrong that a schema can see."""
    for change in (
            lambda g: g.update(cohort=2),
            lambda g: g.update(extra=1),
            lambda g: g.pop("dims"),
            lambda g: g["inputs"][0].update(extra=1),
            lambda g: g["inputs"][0].update(role="value"),
            lambda g: g["inputs"][0].update(dtype="f31"),
            lambda g: g["inputs"][0].update(shape=[-1]),
            lambda g: g["inputs"][0].pop("name"),
            lambda g: g["nodes"][0].update(op="no_such_op"),
            lambda g: g["nodes"][0].update(extra=None),
            lambda g: g["nodes"][-1].update({"in": 3}),
            lambda g: g["outputs"][0].update(tail="keep"),
            lambda g: g["outputs"].clear()):
        damaged = copy.deepcopy(graph)
        change(damaged)
        yield damaged


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--command", required=True)
    args = parser.parse_args()

    def cohort(*words):
        return subprocess.run([args.command, *words], capture_output=True, text=True,
                              check=True).stdout

    schema = json.loads((ROOT / "docs/graph.schema.json").read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    names = [sample["name"] for sample in json.loads(cohort("sample", "--json"))]
    findings = []
    for name in names:
        graph = json.loads(cohort("sample", name))
        findings += [f"{name}: {e.message[:200]}" for e in validator.iter_errors(graph)]
        for at, damaged in enumerate(damages(graph)):
            if validator.is_valid(damaged):
                findings.append(f"{name}: damage {at} is valid")
    for finding in findings:
        print(finding)
    print(f"{len(names)} graphs, {len(findings)} findings")
    sys.exit(1 if findings or not names else 0)


if __name__ == "__main__":
    main()
