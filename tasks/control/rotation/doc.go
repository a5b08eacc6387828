// Package rotation has the actions that replace keys of a cluster in use: the key with
// which API servers encrypt Secrets in etcd, and certificate authorities.
//
// [Authority] decides the next step of authorities in the controller's memory, by the
// rules of package keyring, and [Published] waits until the cluster publishes it. The
// rules for the key of Secrets are in deployer/cluster/encryption.
//
// [Key] decides the next file in the controller's memory; the playbook gives it to one
// master after the other. [Rewrite] makes API servers write again what the former key has
// encrypted. Neither shows a key or the content of an object.
package rotation
