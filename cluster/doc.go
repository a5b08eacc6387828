// Package cluster holds the rules that decide what a Kubernetes cluster looks
// like, as pure functions: tables in, tables out, no I/O, no clock, no random.
//
// [Spec] is what a person writes in the `cluster:` section of an inventory.
// [Host] is what the inventory says about one machine. [Resolve] turns both
// into a [Cluster]: every name, address, version, flag, certificate and file
// that roles and templates need, with every default filled in. It refuses
// with a list of [Problem] when the two cannot make a working cluster, so a
// Cluster that exists is a valid one.
//
// Beside it stand the rules that need what only a run knows:
//
//   - [PlanEtcd] decides what each etcd host has to do, given what was found
//     on the hosts and in the running cluster;
//   - [AllocatePodCIDRs] gives each node its range of pod addresses;
//   - [Topology] decides who exchanges routes with whom.
//
// Each component and each rule has a file of its own, which is why the package has more
// files than others: the types refer to each other, and one Resolve fills them all.
//
// The same input always gives the same output, byte for byte: nothing here
// depends on the order of a map.
package cluster
