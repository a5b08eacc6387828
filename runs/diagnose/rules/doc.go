// Package rules finds problems of the hosts of a cluster in the data that `deployer
// diagnose` has collected. Its rules are pure: texts, rows of checks and versions go
// in, findings come out, each with its host, evidence and advice.
//
// A rule reads the output of one command and ignores lines that it does not understand, so
// that a missing program or another version of it gives fewer findings, never an error.
package rules
