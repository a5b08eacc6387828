// Package requests exchanges files with the owner of an external authority. [Write] writes
// the signing requests of hosts into a directory of the controller. [Require] ends a run
// before its first change when an issued certificate is missing in that directory. The rules
// are in package cluster/external.
package requests
