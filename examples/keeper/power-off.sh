#!/bin/sh
# Switches off the machine of a node that is gone, as a hook of cluster.keeper.fence, by its management controller (IPMI).
# It succeeds only when the controller says that the machine is off, also when it was off before; so it can be repeated.
#
# Environment: from the keeper DEPLOYER_NODE. CONTROLLERS is a file with a line NODE ADDRESS for each machine; default
# /etc/deployer/management-controllers. IPMI_USER is the user there, default deployer, and PASSWORD_FILE has its password;
# default /etc/deployer/management-password (mode 0600). SECONDS_TO_WAIT for the machine to be off; default 60.
set -eu
controllers=${CONTROLLERS:-/etc/deployer/management-controllers}
user=${IPMI_USER:-deployer}
password=${PASSWORD_FILE:-/etc/deployer/management-password}
seconds=${SECONDS_TO_WAIT:-60}

fail() { echo "$*" >&2; exit 1; }

address=$(awk -v node="$DEPLOYER_NODE" '$1 == node { print $2; n++ } END { exit n != 1 }' "$controllers") ||
    fail "$controllers has not one line for node $DEPLOYER_NODE"

ipmi() { ipmitool -I lanplus -H "$address" -U "$user" -f "$password" chassis power "$1"; }

off() { [ "$(ipmi status)" = "Chassis Power is off" ]; }

if off; then
    echo "the machine of $DEPLOYER_NODE was off"
    exit 0
fi
ipmi off >/dev/null || fail "the management controller $address of $DEPLOYER_NODE refuses"
while [ "$seconds" -gt 0 ]; do
    if off; then
        echo "the machine of $DEPLOYER_NODE is off"
        exit 0
    fi
    sleep 1
    seconds=$((seconds - 1))
done
fail "the machine of $DEPLOYER_NODE is still on"
