"""What the boot unit runs, as a process of its own that a scenario can kill."""

from __future__ import annotations

import sys

from appliance.errors import OperatorError
from appliance.storage.executor import boot


def main() -> int:
    try:
        return boot()
    except OperatorError as error:
        print(f"error: {error.message}\nhint: {error.hint}", file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
