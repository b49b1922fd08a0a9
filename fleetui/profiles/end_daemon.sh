# What the restarts of daemon and benchmark share. POSIX sh.
#
# SIGTERM ends cuzk-daemon at once; SIGINT would leave it alive holding its port and memory (facts:
# cuzk.md section 1.2). A daemon with much memory keeps port 9820 for seconds after its death,
# and a start in that time fails, so the ports are waited for (section 1.6).

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

# Whoever cannot see the old process, or could not start the new one, must not begin.
need_tools() {
    ps -eo stat=,pid=,comm=,args= >/dev/null 2>&1 || fail 3 "the ps of this host cannot list processes"
    for tool in grep tr tail head readlink setsid nohup env sleep; do
        command -v "$tool" >/dev/null 2>&1 || fail 3 "this host has no $tool"
    done
}

# End all processes that the function of this name lists: SIGTERM, then SIGKILL.
end_all() {
    signal=TERM
    for limit in 30 30; do
        waited=0
        while [ -n "$($1)" ] && [ "$waited" -lt "$limit" ]; do
            if [ "$waited" -eq 0 ]; then
                for pid in $($1); do
                    kill -s "$signal" "$pid" 2>/dev/null
                done
                echo "signal=$signal"
            fi
            sleep 1
            waited=$((waited + 1))
        done
        signal=KILL
    done
    [ -z "$($1)" ]
}

end_daemon() {
    end_all daemons || fail 4 "the old daemon is still there after SIGKILL"
    waited=0
    while port_taken && [ "$waited" -lt 120 ]; do
        sleep 1
        waited=$((waited + 1))
    done
    echo "port_wait_seconds=$waited"
}

# Split at line ends only, so that arguments with blanks stay whole; start with them, in the
# background and off this connection, appending to the log.
start_anew() {
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
}

arguments_of() {
    found=$(cat "/proc/$1/cmdline" 2>/dev/null | tr '\0' '\n')
    if [ -z "$found" ]; then
        found=$(ps -o args= -p "$1" | tr ' ' '\n')
    fi
    echo "$found"
}

environment_of() {
    cat "/proc/$1/environ" 2>/dev/null | tr '\0' '\n' | grep '^[A-Za-z_][A-Za-z_0-9]*='
}

enter_folder_of() {
    folder=$(readlink "/proc/$1/cwd" 2>/dev/null)
    if [ -d "$folder" ]; then
        cd "$folder"
    fi
}
