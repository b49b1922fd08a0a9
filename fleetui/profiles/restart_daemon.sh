# Restart cuzk-daemon with the arguments, environment, folder and log it had. Runs behind
# end_daemon.sh.
#
# Prints NAME=VALUE lines; the last one is result=ok or result=failed with reason=TEXT before it.
# Exit status: 0 ok, 3 nothing to restart, 4 old one will not end, 5 port stays taken,
# 6 new one did not stay.

need_tools
old=
for pid in $(daemons); do
    old=$pid
done

log=
environment=
if [ -n "$old" ]; then
    echo "old_pid=$old"
    arguments=$(arguments_of "$old")
    if [ -z "$arguments" ]; then
        fail 3 "the daemon ended while it was looked at"
    fi
    environment=$(environment_of "$old")
    enter_folder_of "$old"
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

end_daemon

new=$(daemons | tail -n 1)
if [ -n "$new" ]; then
    echo "started_by=host"
elif port_taken; then
    fail 5 "port 9820 or 9821 is still taken after 120 s"
else
    echo "started_by=script"
    start_anew
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
