// Package etcd manages the membership and health of an etcd cluster from the controller:
// it decides what each host has to do, adds a member as a learner and promotes it, and
// waits until a member serves and is counted.
//
// Members are reached through the SSH connection of their host, with a client
// certificate that is signed in memory and lasts an hour. A member whose host is not in
// the run is reached through the host of another member. The pure rules of package
// cluster decide which changes are safe; this package observes the cluster and makes the
// changes.
package etcd
