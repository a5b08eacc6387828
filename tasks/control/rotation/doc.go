// Package rotation has the actions that replace the key with which API servers encrypt
// Secrets in etcd. The rules are in deployer/cluster/encryption.
//
// [Key] decides the next file in the controller's memory; the playbook gives it to one
// master after the other. [Rewrite] makes API servers write again what the former key has
// encrypted. Neither shows a key or the content of an object.
package rotation
