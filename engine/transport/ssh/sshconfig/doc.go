// Package sshconfig reads client configurations of OpenSSH (ssh_config(5)) and returns
// the settings of a host, with the place of every value.
//
// Host and Match blocks, patterns with negation, Include, quoting and the second pass of
// `Match final` have the meaning that they have for ssh(1), and so has the order: the
// first value of a keyword wins, and IdentityFile, CertificateFile and the like
// accumulate. The package does not interpret keywords, so those that concern only ssh(1)
// do no harm. `Match exec` and `Match localnetwork`, whose result this package cannot
// know, are errors when they decide about a host.
package sshconfig
