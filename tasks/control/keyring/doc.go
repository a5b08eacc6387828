// Package keyring manages the keys of a cluster: the certificate authorities of its
// three trust domains, the key that signs service-account tokens, the key that encrypts
// Secrets at rest, and the password of its BGP sessions.
//
// The controller stores no key on disk. Every master has all keys, in the file layout of
// kubeadm. A run reads the files of every master ([Merge]), parses them and creates the
// missing ones of a new cluster ([Complete]), and signs in memory ([Keys.Sign],
// [Keys.Identity]).
//
// A request never decides the contents of a certificate. A host sends a public key and
// the name of a certificate; subject, names and usage come from the controller's own
// table ([Wanted]).
package keyring
