# Follows log files and writes every new byte of them, framed, to stdout. POSIX sh on Linux with
# stat -c or else ls and df, and dd or else tail, cat and head; writes nothing on the host and ends
# with the connection.
# Parameters: CHUNK REPEAT FIRST MOST PATTERNS KNOWN ($0 names this process in a process list)
#   CHUNK most new bytes of a file in one frame; REPEAT bytes before the offset sent once more, so
#   that the reader notices a rewritten file; FIRST most bytes of a file at first sight; MOST files
#   followed; PATTERNS globs, one a line; KNOWN lines "ID OFFSET SIZE PATH" of files followed before.
# Orders on stdin: "ROUNDS SECONDS": so many looks with a pause of so many seconds between them.
# Frames:
#   @follow 1                                      first line
#   @file ID SIZE OFFSET REPEATED LENGTH PATH      then REPEATED+LENGTH bytes and a line end, then
#   @end ID SIZE                                   the bytes count only when SIZE reaches their end
#   @lost ID BYTES PATH                            no longer to be found: what it held beyond the
#                                                  offset cannot be had, BYTES at least (0: unknown)
#   @gone ID PATH                                  removed, nothing has its place
#   @beyond COUNT                                  so many more files than MOST, when that changes
#   @beat                                          the order is carried out
# An ID is DEVICE:INODE:BIRTH. Where no stat takes -c, ls tells no time of birth, and times in whole
# minutes: DEVICE is then a sum of the mount point, BIRTH 0, and what was written lately is sent for
# comparison once an order. A number that was given to another file shows by its REPEATED bytes.
# A file is read through a descriptor that stays open (4 to 9), so that a file that is renamed or
# removed can be read to its end, and no byte of its successor is taken for its own.
chunk=$1
repeat=$2
first=$3
most=$4
patterns=$5
known=
nl='
'
for line in 4 5 6 7 8 9; do eval "exec $line<&-"; done
IFS=$nl
set -f
LC_ALL=C
TZ=UTC0
export LC_ALL TZ
identity='%d:%i:%W'
form="$identity %s %h %y %n"
plain=
sorted=
devices=$nl
doubted=
minute=
whole=16384
free=456789
held=$nl
past=$nl
away=
shown=none
told=0

for line in $6; do
  rest=${line#* }
  offset=${rest%% *}
  rest=${rest#* }
  known="$known$nl${line%% *} $offset ${rest%% *} - ${rest#* }"
done

show() { # what stat or ls has to say of each file
  if [ -z "$plain" ]; then stat -L -c "$form" -- "$@"; else ls "-Ldiln$sorted" -- "$@"; fi 2>/dev/null
}

tidy() { # puts the $lines of ls in the form of those of stat; those of regular files only
  tidied=
  for row in $lines; do
    name=/${row#*/}
    IFS=' '
    set -- ${row%%/*}
    IFS=$nl
    case $#$2 in 9-*) ;; *) continue ;; esac
    device=
    case $name in
      /proc/self/fd/*)
        device=${held%%" ${name##*/}$nl"*}
        device=${device##*"$nl"}
        device=${device%%:*}
        ;;
      *) find_device ;;
    esac
    if [ -n "$device" ]; then tidied="$tidied$nl$device:$1:0 $6 $3 - $7.$8.$9 - $name"; fi
  done
  lines=${tidied#"$nl"}
}

find_device() { # a number for the file system of $name: device, or nothing when it is gone
  key=${name%/*}/
  if [ -h "$name" ]; then key=$name; fi
  case $devices in
    *"$nl$key$nl"*)
      device=${devices#*"$nl$key$nl"}
      device=${device%%"$nl"*}
      return
      ;;
  esac
  device=$key
  if command -v df >/dev/null; then
    device=$(df -P -- "$key") || device=
    device=${device##* }
  fi
  if [ -n "$device" ]; then
    device=$(printf %s "$device" | cksum)
    device=${device%% *}
    device=${device:-0}
    devices="$devices$key$nl$device$nl"
  fi
}

inspect() { # the file at $fd now: shown_id, status (size and links), last_written, new_time; or nothing
  lines=$(show "/proc/self/fd/$fd")
  if [ -n "$plain" ]; then tidy; fi
  shown_id=${lines%% *}
  rest=${lines#* }
  status=${rest%" ${rest#* * }"}
  rest=${rest#* * }
  last_written=${rest%"${rest#* * }"}
  new_time=${last_written#* }
  new_time=${new_time% }
}

is_packed() {
  case $1 in *.gz | *.bz2 | *.xz | *.zst | *.lz4) return 0 ;; esac
  return 1
}

at() { # what the listing has at path $1: new_id, new_size, new_links, new_time; or nothing
  new_id=
  for line in $listing; do
    rest=${line#* }
    if [ "${rest#* * * * * }" = "$1" ]; then
      new_id=${line%% *}
      new_size=${rest%% *}
      rest=${rest#* }
      new_links=${rest%% *}
      rest=${rest#* * }
      new_time=${rest%% *}
      return
    fi
  done
}

find_held() { # the descriptor of the file $id: fd, or nothing
  fd=
  case $held in
    *"$nl$id "*)
      fd=${held#*"$nl$id "}
      fd=${fd%%"$nl"*}
      ;;
  esac
}

release() { # closes the descriptor of file $1
  case $held in *"$nl$1 "*) ;; *) return ;; esac
  rest=${held#*"$nl$1 "}
  eval "exec ${rest%%"$nl"*}<&-"
  free=$free${rest%%"$nl"*}
  held="${held%%"$nl$1 "*}$nl${rest#*"$nl"}"
}

hold() { # a descriptor of the file $id, by its name $1: fd, or nothing when it is another by now
  find_held
  if [ -n "$fd" ]; then return; fi
  if [ -z "$free" ]; then # the one held longest gives way
    line=${held#"$nl"}
    release "${line%% *}"
    shown=none
  fi
  fd=${free%"${free#?}"}
  if ! eval "command exec $fd<\"\$1\""; then
    fd=
  else
    held="$held$id $fd$nl"
    free=${free#?}
    inspect
    if [ "$shown_id" != "$id" ]; then
      release "$id"
      fd=
    fi
  fi
}

locate() { # where the file $id lies in the folder of $path by now: place, or nothing
  place=
  set +f
  if [ -z "$plain" ]; then
    lines=$(show "${path%/*}"/*)
  else # its number may be another file's by now: it must look like one moved aside
    lines=$(show "$path"* "${path%.*}"[.-]*)
    set -f
    tidy
  fi
  set -f
  for line in $lines; do
    if [ "${line%% *}" = "$id" ]; then
      rest=${line#* }
      place=${rest#* * * * * }
      if [ -z "$plain" ]; then return; fi
      case $place in "$path"*) rest=$offset ;; esac
      if [ "${rest%% *}" -ge "$offset" ] && ! is_packed "$place"; then return; fi
      place=
    fi
  done
}

find_next() { # the file that had $path after $id and was rotated away unseen: next and place
  next=
  first_written=
  packed=
  set +f
  sorted=tr
  lines=$(show "$path".[0-9]* "$path"-[0-9]* "$path".old)
  sorted=
  set -f
  reached=yes
  if [ -n "$plain" ]; then # the oldest come first, of one time those with higher numbers
    tidy
    case "$nl$lines" in *"$nl$id "*) reached= ;; esac
  fi
  for line in $lines; do
    candidate=${line%% *}
    if [ "$candidate" = "$id" ]; then reached=yes; fi
    rest=${line#* * * }
    written=${rest%"${rest#* * }"}
    rest=${rest#* * * }
    if is_packed "$rest"; then
      if [ -z "$fd" ] && [ "${candidate##*:}" -gt "${id##*:}" ]; then packed="$packed$nl$candidate"; fi
      continue
    fi
    case "$past$id$nl" in *"$nl$candidate$nl"*) continue ;; esac
    case $known in *"$nl$candidate "*) continue ;; esac
    if [ "$candidate" != "$new" ]; then # which may have been rotated away since the listing
      case "$nl$listing" in *"$nl$candidate "*) continue ;; esac
    fi
    if [ -n "$fd" ] && [ -n "$plain" ]; then
      if [ -z "$reached" ] || [ -n "$next" ] || [ "$rest" -ot "/proc/self/fd/$fd" ]; then continue; fi
    elif [ -n "$fd" ]; then
      if [ "$written" \< "$last_written" ]; then continue; fi
    elif ! [ "${candidate##*:}" -gt "${id##*:}" ]; then # the time of birth, where it is known
      continue
    fi
    if [ -z "$next" ] || [ "$written" \< "$first_written" ]; then
      next=$candidate
      place=$rest
      first_written=$written
    fi
  done
  packed=${packed#"$nl"}
  case $packed in *"$nl"*) packed=${packed#*"$nl"} ;; *) packed= ;; esac # one is $id itself
  for line in $packed; do printf '@lost %s 0 %s\n' "$line" "$path" || exit; done
}

send() { # one frame of the file $id at $fd, from $offset towards $size; moves offset on
  repeated=$repeat
  if [ "$offset" -lt "$repeated" ]; then repeated=$offset; fi
  length=$((size - offset))
  if [ "$length" -gt "$chunk" ]; then length=$chunk; fi
  total=$((repeated + length))
  start=$((offset - repeated))
  end=$((offset + length))
  header="@file $id $size $offset $repeated $length $path"
  after=
  if [ -n "$exact" ] && [ "$total" -gt 0 ] && [ "$total" -le "$whole" ]; then
    data=$(dd if="/proc/self/fd/$fd" bs="$total" count=1 skip="$start" iflag=skip_bytes 2>&1)
    data=${data%?+? records in*}
    if [ "${#data}" -eq "$total" ]; then
      printf '%s\n%s\n@end %s %s\n' "$header" "$data" "$id" "$end" || exit
      after=$end
    fi
  fi
  if [ -z "$after" ]; then
    printf '%s\n' "$header" || exit
    if [ "$total" -gt 0 ]; then pour; fi
    after=$(inspect; printf %s "${status%% *}")
    printf '\n@end %s %s\n' "$id" "$after" || exit
  fi
  if [ "${after:-0}" -ge "$end" ]; then
    offset=$end
    if [ "$offset" -lt "$size" ]; then more=1; fi
  else
    shown=none
  fi
}

pour() { # $total bytes from $start, whatever they are; zeros for those that are no more
  if [ -n "$dd" ]; then
    records=$(dd if="/proc/self/fd/$fd" bs="$total" count=1 skip="$start" iflag=skip_bytes conv=sync 2>&1 >&3)
    case $records in *'1+0 records in'* | *'0+1 records in'*) return ;; esac
    head -c "$total" /dev/zero
  else
    { tail -c "+$((start + 1))" "/proc/self/fd/$fd" 2>/dev/null; cat /dev/zero 2>/dev/null; } | head -c "$total"
  fi
}

keep() {
  kept="$kept$nl$id $offset $size $time $path"
  count=$((count + 1))
}

forget() { # the file $id is done with
  release "$id"
  case $status in *' 0') return ;; esac # removed: another file may get its number
  past="$past$id$nl"
  if [ "${#past}" -gt 4000 ]; then past=$nl${past#"$nl"*"$nl"}; fi
}

go_on() { # files followed so far: new bytes, cut short, written again, moved, replaced, removed
  for entry in $known; do
    id=${entry%% *}
    rest=${entry#* }
    offset=${rest%% *}
    rest=${rest#* }
    seen=${rest%% *}
    rest=${rest#* }
    time=${rest%% *}
    path=${rest#* }
    case $doubted in *" ${time##*.} "*) time=- ;; esac
    at "$path"
    if [ "$new_id" = "$id" ]; then
      size=$new_size
      if [ "$size" -lt "$offset" ]; then
        offset=0
        time=-
      fi
      if [ "$size" -gt "$offset" ] || [ "$time" != "$new_time" ]; then
        hold "$path"
        if [ -n "$fd" ]; then
          send
          time=$new_time
        else
          shown=none
        fi
      fi
      keep
    else
      go_on_elsewhere
    fi
  done
}

go_on_elsewhere() { # the file $id is not at $path any more
  new=$new_id
  filled=${new_id:+$new_size}
  find_held
  if [ -z "$fd" ]; then
    locate
    if [ -n "$place" ]; then hold "$place"; fi
  fi
  status='0 0'
  if [ -n "$fd" ]; then
    inspect
    if [ "${status%% *}" -lt "$offset" ]; then
      offset=0
      time=-
    fi
  else
    if [ "$seen" -lt "$offset" ]; then seen=$offset; fi
    printf '@lost %s %s %s\n' "$id" "$((seen - offset))" "$path" || exit
  fi
  size=${status%% *}
  if [ "$size" -gt "$offset" ] || { [ "$size" -eq "$offset" ] && [ "$time" != "$new_time" ] && [ -n "$fd" ]; }; then
    send
    time=$new_time
  fi
  if [ "$size" -gt "$offset" ]; then
    stay
    return
  fi
  find_next
  if [ -n "$next" ]; then
    forget
    id=$next
    offset=0
    time=-
    size=0
    hold "$place"
    more=1
    stay
  elif [ "$filled" != 0 ] && [ -n "$new" ] || [ "${status#* }" = 0 ]; then
    finish
  else
    stay
  fi
}

stay() { # read on where it is: nothing has its place yet, or nothing is written there
  if [ -n "$fd" ]; then away="$away$nl/proc/self/fd/$fd"; fi
  keep
}

finish() { # another file has its place, or none
  if [ -n "$new" ]; then
    ended="$ended$nl$id $offset"
    replaced="$replaced$nl$path$nl"
  else
    printf '@gone %s %s\n' "$id" "$path" || exit
  fi
  forget
}

begin() { # files of the listing that are not followed yet
  for found in $listing; do
    id=${found%% *}
    rest=${found#* }
    size=${rest%% *}
    path=${rest#* * * * * }
    time=${rest#* * * }
    time=${time%% *}
    case $path in /proc/self/fd/* | [!/]*) continue ;; esac
    case $size in '' | *[!0-9]*) continue ;; esac
    case "$kept$nl" in *" $path$nl"*) continue ;; esac
    if [ "$count" -ge "$most" ]; then
      beyond=$((beyond + 1))
      continue
    fi
    if [ -e "$path" ] && { [ ! -f "$path" ] || [ ! -r "$path" ]; }; then continue; fi
    case $away in ?*) if followed; then continue; fi ;; esac
    offset=0
    if [ "$size" -gt "$first" ]; then offset=$((size - first)); fi
    case $replaced in *"$nl$path$nl"*) offset=0 ;; esac
    for line in $ended; do
      if [ "${line%% *}" = "$id" ]; then offset=${line#* }; fi
    done
    if [ "$offset" -gt "$size" ]; then offset=0; fi
    hold "$path"
    if [ -n "$fd" ]; then
      send
    else # moved since the listing: the next look finds it elsewhere, or says that it is lost
      shown=none
      time=-
    fi
    keep
  done
}

followed() { # whether the file $id is read under the name it had before
  find_held
  case "$away$nl" in *"${nl}/proc/self/fd/$fd$nl"*) return 0 ;; esac
  return 1
}

look() {
  set +f
  set -- $patterns $away
  set -f
  IFS=
  lines="$*"
  IFS=$nl
  case $lines in
    *"$nl"*) # no line can tell of a name with a line end
      for path in "$@"; do
        shift
        case $path in *"$nl"*) ;; *) set -- "$@" "$path" ;; esac
      done
      ;;
  esac
  lines=$(show "$@")
  if [ "$lines" = "$shown" ]; then return; fi
  shown=$lines
  if [ -n "$plain" ]; then tidy; fi
  listing=$lines
  kept=
  count=0
  away=
  ended=
  replaced=
  go_on
  beyond=0
  begin
  if [ "$beyond" -ne "$told" ]; then
    printf '@beyond %s\n' "$beyond" || exit
    told=$beyond
  fi
  known=$kept
  doubted=
}

doubt() { # what was written in this minute or in that of the order before may be other bytes now
  doubted=" $minute "
  minute=$(date +%H:%M)
  doubted="$doubted$minute "
  shown=none
}

choose() { # which ways of reading this host's tools and shell are exact in
  dd=
  exact=
  if [ "$(printf abc | dd bs=4 count=1 skip=1 iflag=skip_bytes conv=sync 2>/dev/null | wc -c)" -eq 4 ]; then dd=yes; fi
  bytes='\001\002\010\033\134\042\044\052\140\177\200\201\202\203\204\205\206\207\210\211\237\303\251\377\012\012'
  data=$(printf "$bytes" | dd bs=26 count=1 iflag=skip_bytes 2>&1)
  data=${data%?+? records in*}
  sum=$(printf "$bytes" | cksum)
  if [ "${#data}" -eq 26 ] && [ -n "$sum" ] && [ "$(printf '%s' "$data" | cksum)" = "$sum" ]; then exact=$dd; fi
}

case $(stat -L -c %s / 2>/dev/null) in
  '' | *[!0-9]*)
    plain=yes
    unset QUOTING_STYLE TIME_STYLE LS_BLOCK_SIZE BLOCK_SIZE BLOCKSIZE
    ;;
esac
if [ -z "$(show /proc/self/fd)" ]; then
  printf '@error this host has neither a stat that takes -c nor ls, or no /proc\n'
  exit 1
fi
choose 2>/dev/null
exec 3>&1 2>/dev/null
printf '\n@follow 1\n' || exit
while read -r order; do
  rounds=${order%% *}
  if [ -n "$plain" ]; then doubt; fi
  while :; do
    more=
    look
    if [ -n "$more" ]; then
      shown=none
      continue
    fi
    rounds=$((rounds - 1))
    if [ "$rounds" -le 0 ]; then break; fi
    sleep "${order#* }" || sleep 1
  done
  printf '@beat\n' || exit
done
