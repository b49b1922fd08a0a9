# Prints a last look at a host, what tells most first. POSIX sh; writes nothing on the host.
# Parameters: FOLDERS (one a line), BYTES of each file's end, FILES at most.
# Form: "@@ NAME", the output, "@@ end" for each section; "@@ done" when nothing was left out.
folders=$1
bytes=$2
most=$3
nl='
'
limit=
if command -v timeout >/dev/null 2>&1; then limit=yes; fi

bounded() { # a tool that may hang (a wedged driver) gets five seconds
  if [ -n "$limit" ]; then timeout 5 "$@"; else "$@"; fi
}

section() {
  printf '@@ %s\n' "$1" || exit
  shift
  "$@" 2>&1 </dev/null | head -c 400000
  printf '\n@@ end\n' || exit
}

processes() {
  ps -eo pid,ppid,stat,wchan:32,etimes,rss,args 2>/dev/null || ps -o pid,ppid,stat,etime,rss,args 2>/dev/null || ps
}

memory() { # $1 of cgroup v2, else $2 of v1
  if [ -r "/sys/fs/cgroup/$1" ]; then cat "/sys/fs/cgroup/$1"; else cat "/sys/fs/cgroup/memory/$2"; fi
}

kernel() {
  dmesg 2>&1 | tail -n 300
}

tails() { # the newest files first
  ls -1t -- "$1" 2>/dev/null | while read -r name; do
    file=$1/$name
    if [ -f "$file" ] && [ -r "$file" ]; then
      printf '@@ tail %s\n' "$file" || exit
      tail -c "$bytes" "$file" 2>&1 </dev/null
      printf '\n@@ end\n' || exit
    fi
  done
}

section ps processes
section cgroup.memory.events memory memory.events memory.oom_control
section cgroup.memory.max memory memory.max memory.limit_in_bytes
section cgroup.memory.current memory memory.current memory.usage_in_bytes
section df df -Pk / /var/tmp
section dmesg kernel
printf '%s\n' "$folders" | while read -r folder; do
  section "ls $folder" ls -la "$folder"
done
section nvidia-smi bounded nvidia-smi
printf '%s\n' "$folders" | while read -r folder; do
  tails "$folder" | head -c "$((bytes * most))"
done
printf '\n@@ done\n'
