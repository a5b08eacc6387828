// Package calico has the actions that decide and change the BGP sessions of a cluster with Calico:
// a mesh of all nodes, or route reflectors. The sessions are objects of the Kubernetes API
// (BGPConfiguration, BGPPeer) and annotations and labels of nodes; confd on each node makes BIRD's
// configuration of them.
package calico
