#!/bin/sh
# A guard in POSIX sh, without an SDK: no `rm -rf`. docs/sh.md says why it is written so.

manifest='{"protocol_version":1,"name":"guard-sh","version":"1.0.0","description":"Keeps agents from deleting trees.",'\
'"subscriptions":[{"event":"pre_tool_call","on_failure":"closed"}]}'

answer() { # answer JSON: one message, one line, one write
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"
}

while IFS= read -r line; do
  case $line in
    '{"jsonrpc":"2.0","id":'*) ;; # a request: goes on below
    '{"jsonrpc":"2.0","method":"exit"'*) exit 0 ;;
    *) continue ;; # a header, an empty line, a notification
  esac
  rest=${line#'{"jsonrpc":"2.0","id":'}
  id=${rest%%,*}
  method=${rest#*,'"method":"'}
  method=${method%%'"'*}
  case $method in
    initialize) answer "$manifest" ;;
    hook/pre_tool_call)
      case ${line#*,'"arguments":'} in
        *'rm -rf'*) answer '{"decision":"deny","reason":"deleting whole trees is not for agents"}' ;;
        *) answer null ;;
      esac
      ;;
    ping | shutdown) answer null ;;
    *) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown method"}}\n' "$id" ;;
  esac
done
