// Package keyring holds the keys that a cluster stands on: the certificate
// authorities of its three trust domains, the key that signs service-account
// tokens, and the key that encrypts secrets at rest.
//
// The controller keeps none of it on disk. Every master holds all of it, laid
// out as kubeadm does; a run reads the files of every master ([Merge]), parses
// them or makes what a new cluster lacks ([Complete]), and signs with them in
// memory ([Keys.Sign], [Keys.Identity]).
//
// Identity is never taken from a request. A host sends a public key and the
// name of a certificate; what that certificate says is looked up in the
// controller's own table ([Wanted]).
package keyring
