#!/bin/sh
# A guard in POSIX sh, without an SDK: no `rm -rf`. Sliphook's docs/sh.md says why it is written so.

manifest='{"protocol_version":1,"name":"guard-sh","version":"1.0.0","description":"Keeps agents from deleting trees.",'\
'"subscriptions":[{"event":"pre_tool_call","on_failure":"closed"}]}'

answer() { # answer JSON: one message, one line, one write
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"
}

refuse() { # refuse CODE MESSAGE
  printf '{"jsonrpc":"2.0","id":%s,"error":{"code":%s,"message":"%s"}}\n' "$id" "$1" "$2"
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
    initialize)
      versions=${line#*'"protocol_versions":['}
      case ,${versions%%]*}, in
        *,1,*) answer "$manifest" ;;
        *) refuse -32602 'no common version: this plugin speaks 1' ;;
      esac
      ;;
    hook/pre_tool_call)
      case ${line#*,'"arguments":'} in
        *'rm -rf'*) answer '{"decision":"deny","reason":"deleting whole trees is not for agents"}' ;;
        *) answer null ;;
      esac
      ;;
    ping | shutdown) answer null ;;
    *) refuse -32601 'unknown method' ;;
  esac
done
