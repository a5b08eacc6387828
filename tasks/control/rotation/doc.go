// Package rotation has the actions that replace keys of a cluster in use: the key with
// which API servers encrypt Secrets in etcd, and certificate authorities.
//
// [Authority] decides the next authorities in the controller's memory, by the rules of
// package keyring, and [Published] waits until the cluster publishes them. The
// rules for the key of Secrets are in deployer/cluster/encryption.
//
// [Key] decides the next encryption configuration in the controller's memory; the playbook
// writes it to one master after the other. [Rewrite] makes API servers write all objects
// again that former keys have encrypted. No action prints a key or the content of an object.
package rotation
