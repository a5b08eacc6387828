// Package sshconfig reads client configurations of OpenSSH (ssh_config(5)) and
// says what holds for a host, with the place of every value.
//
// Host and Match blocks, patterns with negation, Include, quoting and the second
// pass that `Match final` asks for mean what they mean to ssh(1), and so does the
// order: the first value of a keyword wins, and IdentityFile, CertificateFile and
// the like add up. Keywords are not looked at, so that what only concerns ssh(1)
// itself is passed over. What cannot be known here is an error where it would
// matter: `Match exec` and `Match localnetwork`.
package sshconfig
