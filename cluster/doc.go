// Package cluster computes the complete description of a Kubernetes cluster by pure
// functions: no I/O, no clock, no random numbers.
//
// [Spec] is the `cluster:` section of an inventory, and [Host] the inventory's description
// of one machine. [Resolve] turns both into a [Cluster]: every name, address, version,
// flag, certificate and file that roles and templates need, with all defaults applied. Resolve
// returns a list of [Problem] when the two do not describe a working cluster, so that
// every Cluster is valid.
//
// Other rules need facts that only a run collects:
//
//   - [PlanEtcd] computes the steps of each etcd host from the data on the hosts and the
//     members of the running cluster;
//   - [AllocatePodCIDRs] allocates the pod range of each node;
//   - [Topology] computes the BGP neighbours of each node.
//
// Each component and each rule has a file of its own. The types refer to each other, and
// Resolve fills all of them; therefore they share one package.
//
// The same input always has the same output, byte for byte: no result depends on the
// order of a map.
package cluster
