#!/bin/sh
# A guard in POSIX sh with jq, without an SDK: no `rm -rf`. It reads by lines; one jq reads and answers all of them.
# jq writes safe JSON whatever the texts hold, which the shell alone cannot.

exec jq --null-input --unbuffered --raw-input --compact-output '
  def manifest: {
    protocol_version: 1, name: "guard-jq", version: "1.0.0", description: "Keeps agents from deleting trees.",
    subscriptions: [{event: "pre_tool_call", on_failure: "closed"}]
  };
  def judge: (.arguments.command // "" | tostring) as $command
    | if $command | test("rm +-rf") then {decision: "deny", reason: "not for agents: \($command)"} else null end;
  def answer:
    if .method == "initialize" then
      if .params.protocol_versions | index(1) then {result: manifest}
      else {error: {code: -32602, message: "no common version: this plugin speaks 1"}} end
    elif .method == "hook/pre_tool_call" then {result: (.params | judge)}
    elif .method == "ping" or .method == "shutdown" then {result: null}
    else {error: {code: -32601, message: "unknown method \(.method)"}} end;
  label $done
  | inputs
  | select(startswith("{"))                             # not the headers and the empty lines between the messages
  | fromjson
  | if .method == "exit" then break $done else . end
  | select(has("id") and has("method"))                 # a request, no event and no cancel
  | {jsonrpc: "2.0", id: .id} + answer
'
