# Prints one look at the host for each line on stdin, to stdout. POSIX sh; writes nothing on the
# host and ends with the connection. A missing tool or a refusal is the text of its section.
# Parameter: PATTERNS, globs of files to list, one a line ($0 names this process in a process list).
# Form: "@@ NAME", the output, "@@ end" for each section; "@@ done" after a look.
patterns=$1
nl='
'
IFS=$nl
set -f
query='index,name,utilization.gpu,memory.used,memory.total,temperature.gpu,power.draw,clocks.sm'
ecc='ecc.errors.uncorrected.volatile.total'
columns="$query,clocks_event_reasons.active,$ecc,driver_version"
limit=
if command -v timeout >/dev/null 2>&1; then limit=yes; fi

bounded() { # a tool that may hang (a wedged driver) gets ten seconds
  if [ -n "$limit" ]; then timeout 10 "$@"; else "$@"; fi
}

gpus() {
  bounded nvidia-smi "--query-gpu=$columns" --format=csv
}

choose_columns() { # older drivers know fewer columns
  answer=$(gpus 2>&1)
  case $answer in *'not a valid field'*) columns="$query,clocks_throttle_reasons.active,$ecc,driver_version" ;; *) return ;; esac
  answer=$(gpus 2>&1)
  case $answer in *'not a valid field'*) columns=$query ;; esac
}

processes() {
  ps -eo pid,ppid,stat,wchan:32,etimes,rss,args 2>/dev/null || ps -o pid,ppid,stat,etime,rss,args 2>/dev/null || ps
}

memory() { # $1 of cgroup v2, else $2 of v1
  if [ -r "/sys/fs/cgroup/$1" ]; then cat "/sys/fs/cgroup/$1"; else cat "/sys/fs/cgroup/memory/$2"; fi
}

files() {
  set +f
  stat -L -c '%s %Y %n' -- $patterns 2>/dev/null || TZ=UTC0 LC_ALL=C ls -Ldln -- $patterns 2>/dev/null
  set -f
}

listening() {
  if command -v ss >/dev/null 2>&1; then ss -ltn; else netstat -ltn; fi
}

kernel() {
  dmesg 2>&1 | tail -n 60
}

section() { # one write for the end of a section and the name of the next: each is a packet
  printf '%s@@ %s\n' "$ended" "$1" || exit
  shift
  ended="$("$@" 2>&1 </dev/null | head -c 400000)$nl@@ end$nl"
}

printf '\n@@ probe 1\n' || exit
chosen=
while read -r order; do
  ended=
  section ps processes
  section cgroup.memory.events memory memory.events memory.oom_control
  section cgroup.memory.max memory memory.max memory.limit_in_bytes
  section cgroup.memory.current memory memory.current memory.usage_in_bytes
  section loadavg cat /proc/loadavg
  section df df -Pk / /var/tmp
  section files files
  section ss listening
  section dmesg kernel
  if [ -z "$chosen" ]; then
    choose_columns
    chosen=yes
  fi
  section nvidia-smi gpus
  section date date +%s
  printf '%s@@ done\n' "$ended" || exit
done
