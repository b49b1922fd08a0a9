# Follows log files and writes every new byte of them, framed, to stdout. POSIX sh, stat, dd or
# tail, head and cat, sleep; writes nothing on the host and ends with the connection.
# Parameters: MARK INTERVAL BEAT_ROUNDS CHUNK REPEAT FIRST MOST PATTERNS KNOWN
#   MARK names this process in a process list; INTERVAL seconds between looks; BEAT_ROUNDS quiet
#   looks before a heartbeat; CHUNK most new bytes of a file in one frame; REPEAT bytes before the
#   offset sent once more, so that the reader notices a rewritten file; FIRST most bytes of a file
#   at first sight; MOST files followed; PATTERNS globs, one a line; KNOWN lines "ID OFFSET PATH<TAB>PLACE".
# Frames:
#   @follow 1                                      first line
#   @file ID SIZE OFFSET REPEATED LENGTH PATH      then REPEATED+LENGTH bytes and a line end, then
#   @end ID SIZE                                   the file after the read: the bytes count only
#                                                  when ID is the same and SIZE reaches their end
#   @gone ID PATH                                  removed, all that was left of it has been read
#   @beat                                          nothing else to say
shift
interval=$1
beat_rounds=$2
chunk=$3
repeat=$4
first=$5
most=$6
patterns=$7
known=$8
tab='	'
nl='
'
IFS=$nl
set -f
identity='%d:%i:%W'
places=
shown=none
quiet=0

at() { # what the listing has at path $1: new_id and new_size, empty when nothing
  new_id=
  new_size=
  for line in $listing; do
    rest=${line#* }
    if [ "${rest#* }" = "$1" ]; then
      new_id=${line%% *}
      new_size=${rest%% *}
      return
    fi
  done
}

locate() { # where the file $id, last at $place, lies in its folder now: place and size
  set +f
  around=$(stat -L -c "$identity %s %n" -- "$place" "${place%/*}"/* 2>/dev/null)
  set -f
  place=
  size=
  for line in $around; do
    if [ "${line%% *}" = "$id" ]; then
      rest=${line#* }
      size=${rest%% *}
      place=${rest#* }
      return
    fi
  done
}

send() { # one frame of file $id at $place, from $offset towards $size; moves offset on
  repeated=$repeat
  if [ "$offset" -lt "$repeated" ]; then repeated=$offset; fi
  length=$((size - offset))
  if [ "$length" -gt "$chunk" ]; then length=$chunk; fi
  printf '@file %s %s %s %s %s %s\n' "$id" "$size" "$offset" "$repeated" "$length" "$path" || exit
  total=$((repeated + length))
  start=$((offset - repeated))
  if [ "$total" -gt 0 ] && [ -n "$dd" ]; then
    records=$(dd if="$place" bs="$total" count=1 skip="$start" iflag=skip_bytes conv=sync 2>&1 >&3) || records='0+0 '
    case $records in *'0+0 '*) head -c "$total" /dev/zero ;; esac
  elif [ "$total" -gt 0 ]; then
    { tail -c "+$((start + 1))" "$place" 2>/dev/null; cat /dev/zero 2>/dev/null; } | head -c "$total"
  fi
  after=$(stat -L -c "$identity %s" -- "$place" 2>/dev/null)
  printf '\n@end %s\n' "$after" || exit
  quiet=0
  end=$((offset + length))
  if [ "${after%% *}" = "$id" ] && [ "${after#* }" -ge "$end" ]; then
    offset=$end
    if [ "$offset" -lt "$size" ]; then more=1; fi
  else
    shown=none
  fi
}

keep() {
  kept="$kept$nl$id $offset $path$tab$place"
  count=$((count + 1))
}

go_on() { # files followed so far: new bytes, cut short, moved away, replaced, removed
  for entry in $known; do
    id=${entry%% *}
    rest=${entry#* }
    offset=${rest%% *}
    rest=${rest#* }
    path=${rest%%"$tab"*}
    place=${rest#*"$tab"}
    at "$path"
    if [ "$new_id" = "$id" ]; then
      place=$path
      size=$new_size
      if [ "$size" -lt "$offset" ]; then
        offset=0
        send
      elif [ "$size" -gt "$offset" ]; then
        send
      fi
      keep
      continue
    fi
    locate
    if [ -n "$place" ] && [ "$size" -lt "$offset" ]; then place=; fi
    if [ -n "$place" ] && [ "$size" -gt "$offset" ]; then send; fi
    if [ -n "$place" ] && [ "$size" -gt "$offset" ]; then
      keep
      places="$places$nl$place"
    elif [ -n "$new_id" ]; then
      if [ -n "$place" ]; then ended="$ended$nl$id $offset"; fi
    elif [ -n "$place" ]; then
      keep
      places="$places$nl$place"
    else
      printf '@gone %s %s\n' "$id" "$path" || exit
      quiet=0
    fi
  done
}

begin() { # files of the listing that are not followed yet
  for found in $listing; do
    id=${found%% *}
    rest=${found#* }
    size=${rest%% *}
    path=${rest#* }
    place=$path
    case $path in /*) ;; *) continue ;; esac
    case $size in '' | *[!0-9]*) continue ;; esac
    case "$kept$nl" in *" $path$tab"* | *"$tab$path$nl"*) continue ;; esac
    if [ "$count" -ge "$most" ] || [ ! -f "$path" ] || [ ! -r "$path" ]; then continue; fi
    offset=0
    if [ "$size" -gt "$first" ]; then offset=$((size - first)); fi
    for line in $ended; do
      if [ "${line%% *}" = "$id" ]; then offset=${line#* }; fi
    done
    if [ "$offset" -gt "$size" ]; then offset=0; fi
    send
    keep
  done
}

if [ -z "$(stat -L -c %s / 2>/dev/null)" ]; then
  printf '@error this host has no stat that takes -c\n'
  exit 1
fi
# One dd that pads a short read in place of four processes, where dd can do that. (It pads nothing
# when it finds no byte at all, as at a file replaced in this instant.)
dd=
if [ "$(printf abc | dd bs=4 count=1 skip=1 iflag=skip_bytes conv=sync 2>/dev/null | wc -c)" -eq 4 ]; then dd=yes; fi
exec 3>&1
printf '\n@follow 1\n' || exit
while :; do
  more=
  set +f
  listing=$(stat -L -c "$identity %s %n" -- $patterns 2>/dev/null)
  set -f
  moved=
  if [ -n "$places" ]; then moved=$(stat -L -c "$identity %s %n" -- $places 2>/dev/null); fi
  if [ "$listing$nl$moved" != "$shown" ]; then
    shown=$listing$nl$moved
    kept=
    count=0
    places=
    ended=
    go_on
    begin
    known=$kept
  fi
  if [ -n "$more" ]; then
    shown=none
    continue
  fi
  quiet=$((quiet + 1))
  if [ "$quiet" -ge "$beat_rounds" ]; then
    printf '@beat\n' || exit
    quiet=0
  fi
  sleep "$interval" || sleep 1
done
