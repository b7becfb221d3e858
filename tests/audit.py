"""Look up the pinned dependencies among known vulnerabilities; without a network say so and go on.

python -m tests.audit
"""

import json
import subprocess
import sys

from tests.browser.serving import ROOT

COMMAND = [
    "pip_audit",
    "--disable-pip",
    "--no-deps",
    "--format=json",
    "--progress-spinner=off",
    "--timeout=10",
]


def main() -> int:
    """0 if nothing is known against them or nobody could be asked, 1 otherwise."""
    asked = subprocess.run(
        [sys.executable, "-m", *COMMAND, f"--requirement={ROOT / 'requirements.txt'}"],
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        found = json.loads(asked.stdout)["dependencies"]
    except (ValueError, KeyError):
        reason = (asked.stderr.strip().splitlines() or ["no answer"])[-1]
        print(f"dependencies not audited: {reason[:200]}")
        return 0
    faults = [(each["name"], fault["id"]) for each in found for fault in each.get("vulns", [])]
    for name, fault in faults:
        print(f"{name}: {fault}")
    print(f"{len(found)} dependencies audited, {len(faults)} known faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
