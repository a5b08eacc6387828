// Package snapshot reads snapshots of etcd on the controller: whether a file is whole,
// whether keys belong to it, and which nodes it has.
//
// A snapshot is a file of bbolt with its SHA-256 behind it. The values of Kubernetes in it
// are as API servers have written them: protobuf, of Secrets encrypted.
package snapshot
