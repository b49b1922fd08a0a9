# Prints one look at the host for each line on stdin, to stdout. POSIX sh; writes nothing on the
# host and ends with the connection. A missing tool or a refusal is the text of its section.
# Parameters: PATTERNS, globs of files to list, one a line; SECONDS a tool may take ($0 names this
# process in a process list).
# Form: "@@ NAME", the output, "@@ end" for each section; "@@ done" after a look.
# A tool may hang (a wedged driver, a dead disk) and even outlive kill -9: it is killed after its
# SECONDS, and nothing here waits for its end. Its section says so and is left out of the next looks,
# more of them each time, so that few hung processes gather.
patterns=$1
seconds=${2:-10}
nl='
'
IFS=$nl
set -f
query='index,name,utilization.gpu,memory.used,memory.total,temperature.gpu,power.draw,clocks.sm'
ecc='ecc.errors.uncorrected.volatile.total'
columns="$query,clocks_event_reasons.active,$ecc,driver_version"
fewer="$query,clocks_throttle_reasons.active,$ecc,driver_version$nl$query"
mark='@@ killed'
aside=
skip=0
pause=1
exec 2>/dev/null
plain=
if ! timeout -s KILL 5 date >/dev/null; then plain=yes; fi

within() { # runs a tool that is killed after $1 seconds; its stdin is descriptor 4
  if [ -z "$plain" ]; then
    timeout -s KILL "$@" <&4
    return
  fi
  time=$1
  shift
  "$@" <&4 &
  watched=$!
  (
    trap 'kill "$!"; exit' TERM
    sleep "$time" &
    wait "$!"
    kill -9 "$watched"
  ) >/dev/null 4<&- &
  dog=$!
  wait "$watched"
  status=$?
  kill "$dog" 2>/dev/null
  return "$status"
}

bounded() { # a tool within its time; says when it was killed
  if ! command -v "$1" >/dev/null; then # the shell's own words tell best what is missing
    "$@"
    return
  fi
  within "$seconds" "$@" 4</dev/null
  status=$?
  case $status in 124 | 137) printf '\n%s' "$mark" ;; *) return "$status" ;; esac
}

ask() { # answer: what a command prints, or that it did not end
  answer=$(
    { "$@" 2>&1 </dev/null & } | {
      exec 4<&0
      within $((seconds + 2)) head -c 400000 || printf '\n%s' "$mark"
    }
  )
  case $answer in
    *"$nl$mark")
      answer="$name: error: it was killed, for it timed out after $seconds s (or memory ran out)"
      aside="$aside$name$nl"
      hung=yes
      ;;
  esac
}

gpus() {
  bounded nvidia-smi "--query-gpu=$columns" --format=csv
}

processes() {
  bounded ps -eo pid,ppid,stat,wchan:32,etimes,rss,args 2>/dev/null || bounded ps -o pid,ppid,stat,etime,rss,args 2>/dev/null || bounded ps
}

memory() { # $1 of cgroup v2, else $2 of v1
  if [ -r "/sys/fs/cgroup/$1" ]; then cat "/sys/fs/cgroup/$1"; else cat "/sys/fs/cgroup/memory/$2"; fi
}

files() {
  set +f
  bounded stat -L -c '%s %Y %n' -- $patterns 2>/dev/null || bounded env TZ=UTC0 LC_ALL=C ls -Ldln -- $patterns 2>/dev/null
}

listening() {
  if command -v ss >/dev/null 2>&1; then bounded ss -ltn; else bounded netstat -ltn; fi
}

kernel() {
  bounded dmesg 2>&1 | tail -n 60
}

section() { # one write for the end of a section and the name of the next: each is a packet
  printf '%s@@ %s\n' "$ended" "$1" || exit
  name=$1
  shift
  case $nl$aside in
    *"$nl$name$nl"*) answer="$name: error: it timed out before and is not asked again for now" ;;
    *) ask "$@" ;;
  esac
  ended="$answer$nl@@ end$nl"
}

printf '\n@@ probe 1\n' || exit
while read -r order; do
  ended=
  hung=
  if [ "$skip" -gt 0 ]; then skip=$((skip - 1)); else aside=; fi
  section ps processes
  section cgroup.memory.events memory memory.events memory.oom_control
  section cgroup.memory.max memory memory.max memory.limit_in_bytes
  section cgroup.memory.current memory memory.current memory.usage_in_bytes
  section loadavg cat /proc/loadavg
  section df bounded df -Pk / /var/tmp
  section files files
  section ss listening
  section dmesg kernel
  section nvidia-smi gpus
  for others in $fewer; do # older drivers know fewer columns
    case $answer in *'not a valid field'*) ;; *) break ;; esac
    columns=$others
    ask gpus
    ended="$answer$nl@@ end$nl"
  done
  section date date +%s
  printf '%s@@ done\n' "$ended" || exit
  if [ -n "$hung" ]; then
    if [ "$pause" -lt 256 ]; then pause=$((pause * 2)); fi
    skip=$pause
  elif [ -z "$aside" ]; then
    pause=1
  fi
done
