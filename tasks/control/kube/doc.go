// Package kube is what the controller does through the Kubernetes API: apply
// manifests, look after Node objects, and wait until things are ready.
//
// The API is reached through the SSH connection of a master, at that master's
// own 127.0.0.1, so no port but that of SSH needs to be open to the controller
// and a dead master costs one failed dial. [Access] keeps one client for a run.
//
// The client is the dynamic one of client-go: objects stay what the manifest
// and the server say, no field is lost because it is newer than deployer.
package kube
