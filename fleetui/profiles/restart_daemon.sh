# Restart cuzk-daemon with the arguments, environment, folder and log it had. POSIX sh.
#
# SIGTERM ends it at once; SIGINT would leave it alive holding its port and memory (facts:
# cuzk.md section 1.2). A daemon with much memory keeps port 9820 for seconds after its death,
# and a start in that time fails, so the ports are waited for (section 1.6).
#
# Prints NAME=VALUE lines; the last one is result=ok or result=failed with reason=TEXT before it.
# Exit status: 0 ok, 3 nothing to restart, 4 old one will not end, 5 port stays taken,
# 6 new one did not stay.

daemons() {
    # A zombie (its parent has not looked) holds nothing and cannot be ended.
    ps -eo stat=,pid=,comm= | grep ' cuzk-daemon$' | grep -v '^Z' | while read -r state pid name; do
        echo "$pid"
    done
}

port_taken() {
    if command -v ss >/dev/null 2>&1; then
        ss -ltn | grep -q -e ':9820 ' -e ':9821 '
    else
        # 9820 and 9821 in hexadecimal; 0A is LISTEN.
        cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | grep -q -e ':265C [0-9A-F:]* 0A ' -e ':265D [0-9A-F:]* 0A '
    fi
}

fail() {
    echo "reason=$2"
    echo "result=failed"
    exit "$1"
}

old=
for pid in $(daemons); do
    old=$pid
done

log=
environment=
if [ -n "$old" ]; then
    echo "old_pid=$old"
    arguments=$(cat "/proc/$old/cmdline" 2>/dev/null | tr '\0' '\n')
    if [ -z "$arguments" ]; then
        arguments=$(ps -o args= -p "$old" | tr ' ' '\n')
    fi
    if [ -z "$arguments" ]; then
        fail 3 "the daemon ended while it was looked at"
    fi
    environment=$(cat "/proc/$old/environ" 2>/dev/null | tr '\0' '\n' | grep '^[A-Za-z_][A-Za-z_0-9]*=')
    folder=$(readlink "/proc/$old/cwd" 2>/dev/null)
    if [ -d "$folder" ]; then
        cd "$folder"
    fi
    log=$(readlink "/proc/$old/fd/1" 2>/dev/null)
elif [ -f /tmp/cuzk-bench-config.toml ]; then
    echo "old_pid=none"
    arguments=$(printf 'cuzk-daemon\n--config\n/tmp/cuzk-bench-config.toml\n')
else
    fail 3 "no cuzk-daemon runs, and nothing tells how it was started"
fi
if [ ! -f "$log" ]; then
    log=$(ls -t /tmp/cuzk*.log 2>/dev/null | head -n 1)
fi
if [ -z "$log" ]; then
    log=/tmp/cuzk.log
fi
echo "log=$log"

signal=TERM
for limit in 30 30; do
    waited=0
    while [ -n "$(daemons)" ] && [ "$waited" -lt "$limit" ]; do
        if [ "$waited" -eq 0 ]; then
            for pid in $(daemons); do
                kill -s "$signal" "$pid" 2>/dev/null
            done
            echo "signal=$signal"
        fi
        sleep 1
        waited=$((waited + 1))
    done
    signal=KILL
done
if [ -n "$(daemons)" ]; then
    fail 4 "the old daemon is still there after SIGKILL"
fi

waited=0
while port_taken && [ "$waited" -lt 120 ]; do
    sleep 1
    waited=$((waited + 1))
done
echo "port_wait_seconds=$waited"

new=$(daemons | tail -n 1)
if [ -n "$new" ]; then
    echo "started_by=host"
elif port_taken; then
    fail 5 "port 9820 or 9821 is still taken after 120 s"
else
    echo "started_by=script"
    # Split at line ends only, so that arguments with blanks stay whole.
    IFS='
'
    set -f
    if [ -n "$environment" ]; then
        set -- env -i $environment $arguments
    else
        set -- $arguments
    fi
    set +f
    unset IFS
    setsid nohup "$@" >> "$log" 2>&1 < /dev/null &
fi

waited=0
new=
while [ -z "$new" ] && [ "$waited" -lt 5 ]; do
    sleep 1
    new=$(daemons | tail -n 1)
    waited=$((waited + 1))
done
if [ -z "$new" ]; then
    echo "last_line=$(tail -n 1 "$log" 2>/dev/null)"
    fail 6 "the new daemon did not start"
fi
# A daemon that cannot bind its port or read its config is gone again at once.
sleep 3
if [ "$(daemons | tail -n 1)" != "$new" ]; then
    echo "last_line=$(tail -n 1 "$log" 2>/dev/null)"
    fail 6 "the new daemon ended within seconds"
fi
echo "new_pid=$new"
echo "result=ok"
