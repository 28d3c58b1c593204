"""Prints `passed failed skipped` of a JUnit report that ctest wrote."""
import sys
import xml.etree.ElementTree as tree

counts = {"run": 0, "fail": 0, "skip": 0}
for case in tree.parse(sys.argv[1]).getroot().iter("testcase"):
    status = case.get("status")
    if status in ("notrun", "disabled"):
        # ctest says `notrun` of a skipped test and of one whose program is missing.
        skipped = case.find("skipped")
        reason = skipped.get("message", "") if skipped is not None else ""
        status = "skip" if "SKIP" in reason.upper() or status == "disabled" else "fail"
    counts[status if status in counts else "fail"] += 1
print(counts["run"], counts["fail"], counts["skip"])
