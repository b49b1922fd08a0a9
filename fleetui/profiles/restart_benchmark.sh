# Run benchmark.sh anew, with the arguments, environment, folder and log it had, or, when none
# runs, with the environment of entrypoint.sh, which starts it (facts: cuzk.md section 5). Runs
# behind end_daemon.sh.
#
# benchmark.sh starts a daemon of its own. The present one is ended first and its port waited for,
# so that neither the new daemon finds the port taken nor the benchmark talks to the old daemon.
# With ANYWAY=yes a benchmark that is at work is ended too.
#
# Prints NAME=VALUE lines; the last one is result=ok or result=failed with reason=TEXT before it.
# Exit status: 0 ok, 3 nothing to run, 4 old ones will not end, 5 port stays taken, 6 new one did
# not stay, 7 one is at work.

# List pid and program of scripts of this name, run by name or by a shell.
scripts_named() {
    ps -eo stat=,pid=,args= | while read -r state pid first second rest; do
        case "$state" in Z*) continue ;; esac
        case "$first" in
            */"$1" | "$1") echo "$pid" ;;
            sh | bash | */sh | */bash)
                case "$second" in
                    */"$1" | "$1") echo "$pid" ;;
                esac
                ;;
        esac
    done
}

clients() {
    scripts_named cuzk-bench
}

benchmarks() {
    scripts_named benchmark.sh
    clients
}

need_tools
old=
for pid in $(scripts_named benchmark.sh); do
    old=$pid
done
at_work=$(benchmarks | head -n 1)
if [ -n "$at_work" ] && [ "$ANYWAY" != yes ]; then
    fail 7 "a benchmark is at work (process $at_work, for $(ps -o etime= -p "$at_work" | tr -d ' '))"
fi

log=
environment=
if [ -n "$old" ]; then
    echo "old_pid=$old"
    arguments=$(arguments_of "$old")
    environment=$(environment_of "$old")
    enter_folder_of "$old"
    log=$(readlink "/proc/$old/fd/1" 2>/dev/null)
else
    echo "old_pid=none"
    arguments=$(command -v benchmark.sh)
    if [ ! -f "$arguments" ]; then
        arguments=/usr/local/bin/benchmark.sh
    fi
    if [ ! -f "$arguments" ]; then
        fail 3 "there is no benchmark.sh on this host"
    fi
    parent=$(scripts_named entrypoint.sh | head -n 1)
    if [ -n "$parent" ]; then
        environment=$(environment_of "$parent")
        enter_folder_of "$parent"
    fi
fi
if [ -z "$arguments" ]; then
    fail 3 "the benchmark ended while it was looked at"
fi
if [ ! -f "$log" ]; then
    log=/tmp/benchmark-full.log
fi
echo "log=$log"

end_all benchmarks || fail 4 "the old benchmark is still there after SIGKILL"
end_daemon
if port_taken; then
    fail 5 "port 9820 or 9821 is still taken after 120 s"
fi

new=$(scripts_named benchmark.sh | tail -n 1)
if [ -n "$new" ]; then
    echo "started_by=host"
else
    echo "started_by=script"
    start_anew
fi
waited=0
new=
while [ -z "$new" ] && [ "$waited" -lt 5 ]; do
    sleep 1
    new=$(scripts_named benchmark.sh | tail -n 1)
    waited=$((waited + 1))
done
if [ -z "$new" ]; then
    echo "last_line=$(tail -n 1 "$log" 2>/dev/null)"
    fail 6 "the benchmark did not start"
fi
sleep 3
if [ "$(scripts_named benchmark.sh | tail -n 1)" != "$new" ]; then
    echo "last_line=$(tail -n 1 "$log" 2>/dev/null)"
    fail 6 "the benchmark ended within seconds"
fi
echo "new_pid=$new"
echo "result=ok"
