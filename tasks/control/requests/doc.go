// Package requests has the two ends of an exchange with the owner of an external authority:
// the action that writes the requests of hosts into a directory of the controller, and the
// one that ends a run before its first change when a certificate is missing there. The rules
// are in package cluster/external.
package requests
