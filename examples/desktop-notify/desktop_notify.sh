#!/bin/sh
# Tells you on the desktop, or by the terminal's bell, that an agent asks, warns or is done: README.md.
# Sliphook's docs/sh.md says why it is written so.

manifest='{"protocol_version":1,"name":"desktop-notify","version":"1.0.0",'\
'"description":"Tells you on the desktop that an agent asks, warns or is done.",'\
'"subscriptions":[{"event":"notification"},{"event":"user_input_required"},{"event":"turn_end","match":'\
'{"outcome":["completed","failed","denied","max_iterations","loop_detected","budget_exceeded"]}}],'\
'"env":[{"name":"DBUS_SESSION_BUS_ADDRESS","secret":false,"why":"notify-send finds your desktop by it"}],'\
'"config_schema":{"type":"object","additionalProperties":false,"properties":'\
'{"turns_from_s":{"type":"integer","minimum":0,"maximum":86400}}}}'

turns_from_s=10     # shorter turns are not told: you are still looking
most_in_a_minute=10 # notifications: plugins send them too
within=             # a desktop that hangs is given up
command -v timeout >/dev/null && within='timeout -k 1 3'

answer() { # answer JSON: one message, one line, one write
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"
}

refuse() { # refuse CODE MESSAGE
  printf '{"jsonrpc":"2.0","id":%s,"error":{"code":%s,"message":"%s"}}\n' "$id" "$1" "$2"
}

# text_of JSON: the string that JSON begins inside of, as one line of at most 240 bytes. All sed
# works on bytes, so no text stops it. The byte 1 stands for a backslash until the escapes are read.
mark=$(printf '\001') lead=$(printf '[\300-\377]') follow=$(printf '[\200-\277]*')
text_of() {
  printf '%.1500s\n' "$1" | LC_ALL=C sed -E '
    s/^(([^"\\]|\\.)*).*/\1/
    s/\\\\/'"$mark"'/g
    s/\\([nrtbf]|u[0-9a-f]{0,4})/ /g
    s/\\(.)/\1/g
    s/'"$mark"'/\\/g
    /^.{241}/{
      s/^(.{237}).*/\1/
      s/'"$lead$follow"'$//
      s/$/.../
    }'
}

# The ways to show something: WAY URGENCY TITLE TEXT; each fails where it does not work. What others
# wrote is an argument of its own, and no part of an option or of a script.

by_terminal_notifier() { # it drops a backslash at the begin, and would read a list behind [ or (
  command -v terminal-notifier >/dev/null || return
  $within terminal-notifier -title "\\$2" -message "\\$3"
}

by_osascript() {
  command -v osascript >/dev/null || return
  $within osascript -e 'on run argv' \
    -e 'display notification (item 2 of argv) with title (item 1 of argv)' -e 'end run' -- "$2" "$3"
}

by_notify_send() { # it reads escapes such as \074 in the text, and the desktop reads tags
  command -v notify-send >/dev/null || return
  text=$(printf '%s\n' "$3" | LC_ALL=C sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g; s/\\/\\\\/g')
  LC_ALL=C.UTF-8 $within notify-send --app-name=Sliphook --urgency="$1" -- "$2" "$text"
}

by_bell() { # on the agent's terminal: a plugin has none
  command -v ps >/dev/null || return
  terminal=$(ps -o tty= -p "$PPID" | tr -d ' ')
  case $terminal in
    '' | '?'*) return 1 ;;
    *) printf '\a' >"/dev/$terminal" ;;
  esac
}

show() { # show URGENCY TITLE TEXT; the title gets the name of the project's folder
  where=${line#*,'"cwd":'}
  case $where in
    '"'*) where=$(text_of "${where#'"'}") where=" in ${where##*/}" ;;
    *) where= ;;
  esac
  for way in terminal_notifier osascript notify_send bell; do
    "by_$way" "$1" "$2$where" "$3" </dev/null >&2 && return
  done
  printf 'neither a desktop nor a terminal shows: %s\n' "$2" >&2
}

# The events. $line has one; no pattern here looks behind a text of others, but for `source`, which
# stands behind the last one.

notification() {
  minute=${line#*,'"time":"'} minute=${minute%%'"'*} minute=${minute%:*}
  [ "$minute" = "$counted" ] || { counted=$minute count=0; }
  count=$((count + 1))
  [ "$count" -le "$most_in_a_minute" ] || return
  rest=${line#*,'"level":"'}
  level=${rest%%'"'*} source=${rest##*,'"source":"'}
  case $level in
    error) urgency=critical ;;
    warning) urgency=normal ;;
    *) urgency=low ;;
  esac
  show "$urgency" "$level from ${source%%'"'*}" "$(text_of "${rest#*,'"message":"'}")"
}

user_input_required() {
  rest=${line#*,'"asked_by":'}
  case $rest in
    '"'*) who=${rest#'"'} who=${who%%'"'*} ;;
    *) who=agent ;;
  esac
  show critical "$who asks" "$(text_of "${rest#*,'"prompt":"'}")"
}

turn_end() {
  ms=${line#*,'"duration_ms":'} ms=${ms%%[!0-9]*}
  [ "${ms:-0}" -ge "${turns_from_s}000" ] || return
  outcome=${line#*,'"outcome":"'} outcome=${outcome%%'"'*}
  rest=${line#*,'"last_assistant_message":'}
  case $rest in
    '"'*) text=$(text_of "${rest#'"'}") ;;
    *) text= ;;
  esac
  case $outcome in
    completed) show normal "agent is done" "$text" ;;
    *) show normal "agent has stopped: $outcome" "$text" ;;
  esac
}

while IFS= read -r line; do
  case $line in
    '{"jsonrpc":"2.0","id":'*) ;; # a request: goes on below
    '{"jsonrpc":"2.0","method":"event/'*)
      event=${line#'{"jsonrpc":"2.0","method":"event/'}
      case ${event%%'"'*} in
        notification) notification ;;
        user_input_required) user_input_required ;;
        turn_end) turn_end ;;
      esac
      continue
      ;;
    '{"jsonrpc":"2.0","method":"exit"'*) exit 0 ;;
    *) continue ;; # a header, an empty line, another notification
  esac
  rest=${line#'{"jsonrpc":"2.0","id":'}
  id=${rest%%,*}
  method=${rest#*,'"method":"'}
  method=${method%%'"'*}
  case $method in
    initialize)
      seconds=${line#*'"turns_from_s":'} seconds=${seconds%%[!0-9]*}
      turns_from_s=${seconds:-$turns_from_s}
      versions=${line#*'"protocol_versions":['}
      case ,${versions%%]*}, in
        *,1,*) answer "$manifest" ;;
        *) refuse -32602 'no common version: this plugin speaks 1' ;;
      esac
      ;;
    ping | shutdown) answer null ;;
    *) refuse -32601 'unknown method' ;;
  esac
done
