// Package kube contains the actions of the controller on the Kubernetes API: they
// apply manifests, manage Node objects, and wait until API servers, nodes and
// workloads are ready.
//
// The controller reaches the API through the SSH connection of a master, at that
// master's own 127.0.0.1. SSH is therefore the only port that must be open to the
// controller, and a dead master costs one failed dial. [Access] holds the clients of
// a run.
//
// The client is the dynamic client of client-go. Objects keep all fields of the
// manifest and of the server, also fields that are newer than deployer.
package kube
