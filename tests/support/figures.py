"""Times that are promised. A suite says them and asserts nothing, because a busy machine proves nothing; `./dev bench faults` runs the
same tests on a release build and holds what they said against the budgets."""

import json
import os


def tell(name, seconds, budget):
    print(f"{name}: {seconds:.1f} s (budget {budget:g} s)")
    path = os.environ.get("ROTA_FIGURES")
    if path:
        with open(path, "a") as out:
            out.write(json.dumps({"name": name, "seconds": seconds, "budget": budget}) + "\n")
