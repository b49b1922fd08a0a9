# Prints a last look at a host, what tells most first. POSIX sh; writes nothing on the host.
# Parameters: FOLDERS (one a line) whose files' ends are wanted, PLACES (one a line) to be listed
# only, BYTES of each file's end, FILES of a folder at most, MARK of this run that no file can know.
# Form: "@@MARK NAME" and the output for each section; "@@MARK done" when nothing was left out.
folders=$1
places=$2
bytes=$3
most=$4
mark=$5
limit=
if command -v timeout >/dev/null 2>&1; then limit=yes; fi

bounded() { # a tool that may hang (a wedged driver) gets five seconds
  if [ -n "$limit" ]; then timeout 5 "$@"; else "$@"; fi
}

head_of() {
  printf '\n@@%s %s\n' "$mark" "$1" || exit
}

section() {
  head_of "$1"
  shift
  "$@" 2>&1 </dev/null | head -c 400000
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
  ls -1t -- "$1" 2>/dev/null | while IFS= read -r name; do
    file=$1/$name
    if [ -f "$file" ] && [ -r "$file" ]; then
      head_of "tail $file"
      tail -c "$bytes" "$file" 2>&1 </dev/null
    fi
  done
}

section ps processes
section cgroup.memory.events memory memory.events memory.oom_control
section cgroup.memory.max memory memory.max memory.limit_in_bytes
section cgroup.memory.current memory memory.current memory.usage_in_bytes
section df df -Pk / /var/tmp
section dmesg kernel
printf '%s\n' "$folders" "$places" | while read -r folder; do
  if [ -n "$folder" ]; then section "ls $folder" ls -la "$folder"; fi
done
section nvidia-smi bounded nvidia-smi
printf '%s\n' "$folders" | while read -r folder; do
  tails "$folder" | head -c "$((bytes * most))"
done
head_of done
