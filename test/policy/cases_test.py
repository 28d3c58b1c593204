"""Every user case that the project took from a public report is named by a test.

The comment right above a test names the reports it comes from: `// owner#12, #13: what happened`.
A case in the list below that no test names has lost its test.
"""
import re
import sys

from sources import ROOT

# Case: its reports. Case 55 is how TransformerEngine calls, without a report.
CASES = {
    4: ["pytorch#193633", "pytorch#154557"],
    8: ["marin#8793"],
    10: ["TE#2924", "TE#3518"],
    15: ["DeepSpeed#8261", "cutlass#2715"],
    20: ["cudnn-frontend#568", "cudnn-frontend#1144"],
    21: ["sglang#39920"],
    22: ["transformers#47030", "sglang#26306"],
    25: ["FlagGems#4471", "TE#1146"],
    30: ["cudnn-frontend#280", "cudnn-frontend#992"],
    32: ["ORT#26274", "cudnn-frontend#116"],
    34: ["pytorch#190449"],
    36: ["cudnn-frontend#521", "unsloth-zoo#1258"],
    38: ["thunder#271", "cudnn-frontend#1086"],
    39: ["pytorch#103939", "cudnn-frontend#815"],
    42: ["sonic-moe#63", "quack#133"],
    43: ["TE#3342", "TE#3352"],
    44: ["Megatron-LM#7576"],
    45: ["pytorch#172439"],
    46: ["quack#189"],
    47: ["flashinfer#3559"],
    49: ["flashinfer#2822"],
    50: ["vllm#39593"],
    51: ["triton#10343", "triton#10385"],
    52: ["sonic-moe#12", "sonic-moe#45", "sonic-moe#46", "sonic-moe#47"],
    53: ["cudnn-frontend#1187"],
    54: ["flashinfer#3998"],
    55: ["TE: 0 rows"],
}


def reports_of(comment):
    """`a#1, #2, #4-6` of a comment in full: a#1, a#2, a#4, a#5, a#6."""
    found = set()
    project = None
    for name, first, last in re.findall(r"([A-Za-z][\w-]*)?#(\d+)(?:-(\d+))?", comment):
        project = name or project
        for number in range(int(first), int(last or first) + 1):
            found.add(f"{project}#{number}")
    found |= {c[0] for reports in CASES.values() for c in [reports] if c[0] in comment}
    return found


def named_by_tests(text):
    """What the comments right above tests name."""
    found = set()
    for comment in re.findall(r"((?:^//.*\n)+)TEST(?:_[FP])?\(", text, re.M):
        found |= reports_of(" ".join(line[2:].strip() for line in comment.splitlines()))
    return found


def lost(named):
    return [f"case {number}: no test names {report}" for number, reports in CASES.items()
            for report in reports if report not in named]


def check_the_check(named):
    """A report that is not named, or not right above a test, is noticed; shorthand is read."""
    assert reports_of("a-b#1, #3-4: why, c#7") == {"a-b#1", "a-b#3", "a-b#4", "c#7"}
    assert named_by_tests("// a#1: x\n\nTEST(A, B) {\n") == set()
    assert named_by_tests("// a#1: x\n// y\nTEST_F(A, B) {\n") == {"a#1"}
    for reports in CASES.values():
        for report in reports:
            assert len(lost(named - {report})) == len(lost(named)) + (report in named), report


def main():
    named = set()
    for path in sorted((ROOT / "test").rglob("*.cpp")):
        named |= named_by_tests(path.read_text())
    check_the_check(named)
    findings = lost(named)
    print("\n".join(findings))
    print(f"{len(CASES)} cases, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
