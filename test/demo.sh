#!/usr/bin/env bash
# 3 masters and 2 minions from nothing, on this machine. Called by `make demo`.
set -euo pipefail
cd "$(dirname "$0")/.."
name=demo
lab() { go run ./test/lab "$@"; }

echo "== hosts: 3 masters, 2 minions"
lab up --name $name --masters 3 --minions 2
inventory=$(lab inventory --name $name)

echo "== deployer install"
lab ctl --name $name -- bin/deployer install -i "$inventory"

echo "== kubectl get nodes -o wide"
lab ssh --name $name m1 -- kubectl --kubeconfig /etc/kubernetes/admin.conf get nodes -o wide

echo "== deployer verify"
lab ctl --name $name -- bin/deployer verify -i "$inventory"

cat <<EOF

A cluster of five hosts runs on this machine. To play on:
  go run ./test/lab ssh --name $name m1                        # a shell on a master; kubectl is there
  go run ./test/lab ctl --name $name -- bin/deployer status -i $inventory
  go run ./test/lab ctl --name $name -- bin/deployer install -i $inventory    # again: changes nothing
  go run ./test/lab kill --name $name m2                       # a master dies; ask the API again
To remove everything:
  go run ./test/lab down --name $name
EOF
