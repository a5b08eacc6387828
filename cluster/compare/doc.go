// Package compare compares a running cluster with the wanted one, by pure functions.
//
// A survey of the hosts fills an [Observed]. [Compare] takes it and the wanted
// cluster.Cluster and returns a [Result]: whether there is a cluster at all, which
// hosts are to join it, which nodes and members the inventory does not name, the
// broken components, and the components in another version. Verbs decide by the
// Result which playbook they run, and on which hosts.
package compare
