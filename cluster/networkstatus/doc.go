// Package networkstatus compares the pod network of a running cluster with that of its inventory: the
// sessions and routes that each node must have with those that it has, the MTU of pods with what the way
// between nodes allows, and the use of address pools. Each difference is a problem with its cause and, where
// one is known, the command that repairs it. The package is pure: hosts, the API and the command line are
// its callers' matter. What hosts say is not trusted, so callers clean the texts before they show them.
package networkstatus
