#!/bin/sh
# Commits the work tree when the agent stops, with the model's last text as the subject. Needs git,
# jq and GNU's timeout. Sliphook's docs/sh.md says why it is written so.

manifest='{"protocol_version":1,"name":"auto-commit","version":"1.0.0",'\
'"description":"Commits what the agent has changed when it stops.",'\
'"uses":["notify"],"subscriptions":[{"event":"stop","timeout_s":120}]'

# The first line with text, 72 characters of it. What is no text and all white space becomes one
# space. What makes a heading or a list goes, and so does what `git rebase --autosquash` obeys.
# The rest is cut off first: gsub of jq 1.6 takes minutes for a long text.
subject='.params.last_assistant_message // "" | split("\n")[:50] | map(.[:400])
  | map(gsub("[\\p{C}\\p{Z}]+"; " ") | sub(" $"; ""))
  | map(sub("^([-#*> ]|(fixup|squash|amend)!)+"; ""))
  | map(select(. != ""))[0] // "Changes of the agent"
  | if length > 72 then .[:71] + "…" else . end'

answer() { # answer JSON: one message, one line, one write
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"
}

refuse() { # refuse CODE MESSAGE
  printf '{"jsonrpc":"2.0","id":%s,"error":{"code":%s,"message":"%s"}}\n' "$id" "$1" "$2"
}

log() { # log TEXT: a line for the plugin's log
  printf '%s' "$1" | jq -Rsc '{jsonrpc:"2.0",method:"host/log",params:{level:"info",message:.}}'
}

tell() { # tell TEXT: an alert for the user, in one line
  printf '%s' "$1" | jq -Rsc --arg id "alert-$id" 'gsub("\\s*\n\\s*"; " | ") |
    {jsonrpc:"2.0",id:$id,method:"host/notify",params:{level:"warning",message:.}}'
}

run() { # run ARGUMENTS: git, as soon as no other git has the index; what it says is $said then
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    running=yes
    timeout -k 1 100 git "$@" >"$output" 2>&1 &
    wait $!
    status=$? running=
    said=$(tail -c 400 "$output")
    [ "$status" != 0 ] || return 0
    case $said in *index.lock*) sleep 0.3 ;; *) break ;; esac
  done
  return 1
}

complain() { # complain COMMAND: why git has failed
  case $said in
    *index.lock*) said='another git is at work there, or has left its index.lock behind' ;;
  esac
  tell "nothing is committed in $PWD, since git $1 failed: ${said:-it ended with status $status}"
}

unfinished() { # unfinished: whether a merge or the like is under way, or conflicts are left
  git_dir=$(git rev-parse --absolute-git-dir)
  for name in MERGE_HEAD CHERRY_PICK_HEAD REVERT_HEAD BISECT_LOG sequencer rebase-merge \
    rebase-apply; do
    [ ! -e "$git_dir/$name" ] || return 0
  done
  [ -n "$(git ls-files --unmerged | head -n 1)" ]
}

commit() { # commit SUBJECT: what has changed in this folder
  case $(LC_ALL=C git rev-parse --is-inside-work-tree 2>&1) in
    true) ;;
    *dubious*)
      tell "nothing is committed in $PWD: git does not trust its owner, see git status"
      return
      ;;
    *) return ;; # outside of a repository
  esac
  if unfinished; then
    log "a merge, a rebase or the like is under way in $PWD: nothing is committed"
    return
  fi
  what=--all
  # git refuses to add what is new in a folder that it ignores
  ! git check-ignore --no-index --quiet . || what=--update
  run add "$what" -- . || { complain add && return; }
  git diff --cached --quiet -- . && return
  if ! { git var GIT_AUTHOR_IDENT && git var GIT_COMMITTER_IDENT; } >"$output" 2>&1; then
    tell "nothing is committed in $PWD, since git does not know who you are: \
git config --global user.name NAME, and user.email ADDRESS"
    return
  fi
  if run commit --quiet --cleanup=whitespace --message="$1" --only -- .; then
    log "committed $(git rev-parse --short HEAD) in $PWD: $1"
  elif ! git diff --cached --quiet -- .; then # else another agent has just committed it
    complain commit
  fi
}

end_job() { # end_job PID: end a process and its group; one that starts may not hear the first signal
  while kill "$1"; do sleep 1; done >/dev/null 2>&1 &
  wait "$1"
  kill -s KILL -- "-$1" 2>/dev/null # dash knows no -KILL with --
}

cancelled() { # cancelled: end git, and answer the request $id
  [ -z "$running" ] || end_job $!
  refuse -32800 'request cancelled'
  exit 0
}

stopped() { # stopped: commit, and answer the request $id when that is done
  running= output=
  : & # from here on $! is of this shell
  trap cancelled TERM
  trap 'rm -f "$output"' EXIT
  output=$(mktemp)
  # with a slash, since $(…) takes line feeds from the end
  folder=$(printf '%s\n' "$line" | jq -j '.params.cwd | select(.) + "/"')
  message=$(printf '%s\n' "$line" | jq -r "$subject")
  [ -z "$folder" ] || ! cd -- "$folder" || commit "$message"
  trap '' TERM # one answer
  answer null
}

while IFS= read -r line; do
  case $line in
    '{"jsonrpc":"2.0","id":"'*) continue ;; # the reply to an alert: the host's ids are numbers
    '{"jsonrpc":"2.0","id":'*) ;;           # a request: goes on below
    '{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":'*)
      id=${line##*:} id=${id%%\}*}
      eval "job=\${stop_$id:-}"
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
      missing=
      for tool in git jq timeout; do
        command -v "$tool" >/dev/null || missing=',"disabled":"'$tool' is not installed"'
      done
      versions=${line#*'"protocol_versions":['}
      case ,${versions%%]*}, in
        *,1,*) answer "$manifest$missing}" ;;
        *) refuse -32602 'no common version: this plugin speaks 1' ;;
      esac
      ;;
    hook/stop)
      stopped </dev/null &
      eval "stop_$id=\$!"
      ;;
    ping | shutdown) answer null ;;
    *) refuse -32601 'unknown method' ;;
  esac
done
