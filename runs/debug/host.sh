# The host's part of deployer debug. It is followed by a call of prepare, run or clean.
#
# A session has the files SESSION.session, with the process of its script, and SESSION.tar,
# with the image, in $dir. The file "imported" says that a session has brought the image; the
# last session on the host takes it away.
dir=/var/lib/deployer/debug
ctr=/usr/local/bin/ctr
[ -x "$ctr" ] || ctr=ctr
# ctr warns of each deprecated property of a host, with the time: hosts with the same output
# would differ.
export CONTAINERD_SUPPRESS_DEPRECATION_WARNINGS=1

# Neither the kubelet nor pods see this namespace of containerd.
c() { "$ctr" --namespace deployer-debug "$@"; }

# q: c without its warnings. When the connection is lost, whoever prints one is killed.
q() { c "$@" 2>/dev/null; }

# checked: q that prints its errors when it fails.
checked() { said=$(c "$@" 2>&1) || { echo "$said" >&2; return 1; }; }

# live SESSION: its script runs, or it was prepared less than ten minutes ago.
live() {
  [ -f "$dir/$1.session" ] || return 1
  pid=
  read -r pid <"$dir/$1.session" || :
  if [ -z "$pid" ]; then
    [ -n "$(find "$dir/$1.session" -mmin -10 2>/dev/null)" ]
    return
  fi
  { tr '\0' ' ' <"/proc/$pid/cmdline" | grep -qF "$1"; } 2>/dev/null
}

# remove SESSION: ends its container and removes its files.
remove() {
  q tasks kill --signal KILL "$1" >/dev/null
  q tasks rm --force "$1" >/dev/null
  q containers rm "$1" >/dev/null
  rm -f "$dir/$1.session" "$dir/$1.tar"
}

# free: removes the image when no session is left.
free() {
  [ -e "$dir/imported" ] || return 0
  for f in "$dir"/*.session; do
    [ ! -e "$f" ] || return 0
  done
  for i in $(q images ls --quiet); do
    q images rm "$i" >/dev/null || return 0 # the next session tries again
  done
  rm -f "$dir/imported"
}

# sweep: removes what scripts have left that were killed.
sweep() {
  for s in $(q containers ls --quiet); do
    live "$s" || remove "$s"
  done
  for f in "$dir"/*.session "$dir"/*.tar; do
    [ -e "$f" ] || continue
    s=${f##*/}
    s=${s%.*}
    live "$s" || rm -f "$f"
  done
  free
}

# prepare: prints whether the host has the image: present or missing.
prepare() {
  if ! command -v "$ctr" >/dev/null 2>&1; then
    echo "there is no containerd on the host: ctr is neither in /usr/local/bin nor in the search path" >&2
    exit 1
  fi
  checked images ls --quiet || exit 1
  umask 077
  mkdir -p "$dir" || exit 1
  sweep
  : >"$dir/$session.session" || exit 1
  if q images ls "name==$image" | grep -qF "$digest"; then echo present; else echo missing; fi
}

# clean: removes the session.
clean() {
  remove "$session"
  free
}

# finish: the end of run, however it came.
finish() {
  code=$?
  trap '' HUP INT TERM
  trap - EXIT
  [ -z "$watcher" ] || kill "$watcher" 2>/dev/null
  clean
  exit "$code"
}

# container ARGUMENT...: the container with all namespaces of the host but that of mounts,
# where / of the host is /host. ctr in it speaks to the host's containerd.
container() {
  c run --rm --privileged --net-host \
    --with-ns pid:/proc/1/ns/pid --with-ns ipc:/proc/1/ns/ipc --with-ns uts:/proc/1/ns/uts \
    --mount type=bind,src=/,dst=/host,options=rbind:rslave \
    --env CONTAINERD_ADDRESS=/host/run/containerd/containerd.sock --env CONTAINERD_NAMESPACE=k8s.io \
    --env CONTAINERD_SUPPRESS_DEPRECATION_WARNINGS=1 --env KUBECONFIG=/etc/kubernetes/admin.conf \
    "$@"
}

# run [COMMAND...]: runs the container in the foreground: on a terminal, or until standard
# input ends, which is when deployer ends or cannot be reached any more.
run() {
  watcher=
  trap finish EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
  umask 077
  echo $$ >"$dir/$session.session" || exit 125
  if [ -e "$dir/$session.tar" ]; then
    checked images import --local --digests=false "$dir/$session.tar" || exit 125
    rm -f "$dir/$session.tar"
    if [ "$keep" = yes ]; then rm -f "$dir/imported"; else : >"$dir/imported"; fi
  fi
  if [ -n "$terminal" ]; then
    container --tty --env "TERM=$terminal" "$image" "$session" "$@"
    exit
  fi
  exec 3<&0
  container "$image" "$session" "$@" </dev/null 3<&- &
  child=$!
  { cat <&3; kill -TERM $$; } >/dev/null 2>&1 &
  watcher=$!
  wait "$child"
}
