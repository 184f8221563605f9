#!/bin/sh
# Runs `make test` when the agent wants to stop; an interrupt ends the tests. Without an SDK:
# Sliphook's docs/sh.md says why it is written so.

manifest='{"protocol_version":1,"name":"gate-sh","version":"1.0.0","description":"Keeps an agent at work until the tests pass.",'\
'"subscriptions":[{"event":"stop","timeout_s":600}]}'

answer() { # answer JSON: one message, one line, one write
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"
}

refuse() { # refuse CODE MESSAGE
  printf '{"jsonrpc":"2.0","id":%s,"error":{"code":%s,"message":"%s"}}\n' "$id" "$1" "$2"
}

string() { # string NAME: the first string of that name in $line; its \" and \\ are read
  case $line in *,'"'"$1"'":"'*) ;; *) return ;; esac
  printf '%s\n' "${line#*,'"'"$1"'":"'}" |
    sed -E 's/^(([^"\\]|\\.)*)".*/\1/; s/\\(["\\])/\1/g'
}

end_job() { # end_job PID: end a process and its group; one that starts may not hear the first signal
  while kill "$1"; do sleep 1; done >/dev/null 2>&1 &
  wait "$1"
  kill -s KILL -- "-$1" 2>/dev/null # dash knows no -KILL with --
}

gate() { # gate FOLDER: run the tests, and answer the request $id when they have ended
  : & # from here on $! is of this shell
  trap 'end_job $!; refuse -32800 "request cancelled"; exit 0' TERM
  timeout -k 1 580 make -C "$1" test >&2 &
  wait $!
  status=$?
  trap '' TERM # one answer
  if [ "$status" = 0 ]; then
    answer null
  else
    answer '{"continue_with":"The tests fail. Run make test, and correct what fails."}'
  fi
}

while IFS= read -r line; do
  case $line in
    '{"jsonrpc":"2.0","id":'*) ;; # a request: goes on below
    '{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":'*)
      id=${line##*:} id=${id%%\}*}
      eval "job=\${gate_$id:-}"
      if [ -n "$job" ] && kill "$job" 2>/dev/null; then
        wait "$job"
        [ $? != 143 ] || refuse -32800 'request cancelled' # it had not set its trap yet
      fi
      continue
      ;;
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
    hook/stop)
      folder=$(string cwd)
      if [ -f "$folder/Makefile" ]; then
        gate "$folder" </dev/null &
        eval "gate_$id=\$!"
      else
        answer null
      fi
      ;;
    ping | shutdown) answer null ;;
    *) refuse -32601 'unknown method' ;;
  esac
done
