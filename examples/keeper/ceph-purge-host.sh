#!/bin/sh
# Takes the OSDs of a node that is gone out of a Ceph cluster of Rook, as a hook of cluster.keeper.purge.pre_remove: the
# data has other copies, so the disks need not come back. It fails while Ceph says that data would be lost; then the node
# stays, and the keeper tries again. What is gone already is left out, so it can be repeated.
#
# Environment: from the keeper DEPLOYER_NODE. NAMESPACE and CLUSTER of Rook; default rook-ceph. CEPH is the command that
# runs ceph; default in Rook's toolbox.
set -eu
export KUBECONFIG="${KUBECONFIG:-/etc/kubernetes/admin.conf}"
namespace=${NAMESPACE:-rook-ceph}
cluster=${CLUSTER:-rook-ceph}
ceph=${CEPH:-kubectl -n $namespace exec deploy/rook-ceph-tools -- ceph}

fail() { echo "$*" >&2; exit 1; }

case $DEPLOYER_NODE in
'' | *[!A-Za-z0-9.-]*) fail "DEPLOYER_NODE is '$DEPLOYER_NODE', which is no name of a node" ;;
esac

# The Deployments of OSDs on disks of the node, as "NAME ID".
osds=$(kubectl -n "$namespace" get deployments -l app=rook-ceph-osd -o go-template="{{range \$d := .items}}{{with .spec.template.spec.nodeSelector}}{{if eq (print (index . \"kubernetes.io/hostname\")) \"$DEPLOYER_NODE\"}}{{\$d.metadata.name}} {{index \$d.metadata.labels \"ceph-osd-id\"}}{{\"\\n\"}}{{end}}{{end}}{{end}}") || fail "the OSDs of $DEPLOYER_NODE are not known"

# All of them are asked for before the first is removed.
ids=$(echo "$osds" | sed -n 's/^.* \([0-9][0-9]*\)$/\1/p')
if [ -n "$ids" ]; then
    # shellcheck disable=SC2086 # a list of numbers, and a command with its arguments
    $ceph osd safe-to-destroy $ids || fail "Ceph needs the OSDs of $DEPLOYER_NODE: ceph status, ceph pg dump_stuck"
fi
echo "$osds" | while read -r deployment id; do
    [ -n "$id" ] || continue
    kubectl -n "$namespace" scale deployment "$deployment" --replicas=0 </dev/null
    $ceph osd purge "$id" --yes-i-really-mean-it </dev/null
    # Last: as long as it exists, the OSD is found again.
    kubectl -n "$namespace" delete deployment "$deployment" --ignore-not-found </dev/null
    echo "OSD $id of $DEPLOYER_NODE is purged"
done

# Rook gives the host's bucket the name with dashes.
bucket=$(echo "$DEPLOYER_NODE" | tr . -)
if $ceph osd crush ls "$bucket" >/dev/null 2>&1; then
    $ceph osd crush rm "$bucket"
fi

# A node that the CephCluster names would get new OSDs if a host of this name came back.
at=$(kubectl -n "$namespace" get cephcluster "$cluster" -o go-template="{{range \$i, \$n := .spec.storage.nodes}}{{if eq \$n.name \"$DEPLOYER_NODE\"}}{{\$i}}{{end}}{{end}}")
case $at in
'' | '<no value>') ;;
*) kubectl -n "$namespace" patch cephcluster "$cluster" --type json -p "[{\"op\": \"test\", \"path\": \"/spec/storage/nodes/$at/name\", \"value\": \"$DEPLOYER_NODE\"}, {\"op\": \"remove\", \"path\": \"/spec/storage/nodes/$at\"}]" ;;
esac
