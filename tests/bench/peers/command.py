import json
import sys

call = json.load(sys.stdin)
print(json.dumps({"decision": "deny"} if "rm -rf" in call["arguments"].get("command", "") else {}))
