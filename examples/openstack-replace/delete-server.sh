#!/bin/sh
# Deletes the OpenStack server of a node, as a replace hook: a node pool, Heat or a person's tool then makes a new one.
# It needs curl and jq. It ends well when the server is gone, also when it was gone before.
#
# Environment, as in clouds' openrc files: OS_AUTH_URL (Keystone v3), OS_USERNAME, OS_PASSWORD, OS_USER_DOMAIN_NAME,
# OS_PROJECT_ID, OS_REGION_NAME. From deployer: DEPLOYER_HOST, DEPLOYER_PROVIDER_ID.
# POLL_SECONDS is the time between two looks at a server that is being deleted; default 2.
set -eu
umask 077
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "$*" >&2; exit 1; }

# nova METHOD PATH: asks Nova, with the token from a file so that no list of processes has it. The answer is in
# $work/answer, its status is printed.
nova() {
    curl -sS --max-time 20 -X "$1" -H "@$work/token" -H 'Accept: application/json' -o "$work/answer" -w '%{http_code}' "$compute$2"
}

# The password reaches jq by the environment, and curl by standard input.
export OS_USERNAME OS_PASSWORD OS_USER_DOMAIN_NAME OS_PROJECT_ID
status=$(jq -n '{auth: {
    identity: {methods: ["password"], password: {user: {name: env.OS_USERNAME, password: env.OS_PASSWORD, domain: {name: env.OS_USER_DOMAIN_NAME}}}},
    scope: {project: {id: env.OS_PROJECT_ID}}}}' |
    curl -sS --max-time 20 -H 'Content-Type: application/json' --data-binary @- -D "$work/headers" -o "$work/catalog" -w '%{http_code}' "${OS_AUTH_URL%/}/auth/tokens")
[ "$status" = 201 ] || fail "Keystone answered $status: $(jq -r '.error.message // empty' "$work/catalog" 2>/dev/null)"
sed -n 's/^[Xx]-[Ss]ubject-[Tt]oken: *\([^[:space:]]*\).*/X-Auth-Token: \1/p' "$work/headers" >"$work/token"
compute=$(jq -r --arg region "$OS_REGION_NAME" '[.token.catalog[] | select(.type == "compute") | .endpoints[]
    | select(.interface == "public" and .region == $region) | .url][0] // empty' "$work/catalog")
[ -n "$compute" ] || fail "the catalog of Keystone has no compute service in region $OS_REGION_NAME"
compute=${compute%/}

# The server: by the provider's ID, as openstack:///ID or openstack://REGION/ID, else by its name.
id=${DEPLOYER_PROVIDER_ID##*/}
if [ -z "$id" ]; then
    status=$(nova GET "/servers?name=$(jq -rn --arg name "$DEPLOYER_HOST" '$name | gsub("\\."; "\\.") | "^\(.)$" | @uri')")
    [ "$status" = 200 ] || fail "Nova answered $status to the list of servers"
    id=$(jq -r --arg name "$DEPLOYER_HOST" '[.servers[] | select(.name == $name) | .id] | join(" ")' "$work/answer")
    case $id in
    '') echo "there is no server $DEPLOYER_HOST"; exit 0 ;;
    *' '*) fail "there are several servers with the name $DEPLOYER_HOST: $id" ;;
    esac
fi

status=$(nova GET "/servers/$id")
case $status in
404) echo "server $id is gone"; exit 0 ;;
200) ;;
*) fail "Nova answered $status to the question for server $id" ;;
esac
name=$(jq -r .server.name "$work/answer")
[ "$name" = "$DEPLOYER_HOST" ] || fail "server $id has the name $name, not $DEPLOYER_HOST"

status=$(nova DELETE "/servers/$id")
case $status in
204 | 404) ;;
*) fail "Nova answered $status to the deletion of server $id" ;;
esac
# A kubelet that still runs would register its Node again.
until [ "$(nova GET "/servers/$id")" = 404 ]; do
    sleep "${POLL_SECONDS:-2}"
done
echo "server $id of $DEPLOYER_HOST is deleted"
