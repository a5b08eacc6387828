// Package etcd looks after the membership and health of an etcd cluster from
// the controller: what each host has to do, adding a member as a learner and
// promoting it, and whether a member serves and is counted.
//
// Members are reached through the SSH connection of their host, with a client
// certificate that is signed in memory and lasts an hour. A member whose host
// is not in the run is reached through another member's host. What may be done
// is decided by the pure rules of package cluster; this package finds out what
// is, and does it.
package etcd
