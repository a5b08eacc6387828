// Package nodedns has the modules for the DNS cache of a node: [Answers] proves that it answers as cluster DNS
// does, for the host and for pods, and [Users] finds the pods that would have no name server without it.
package nodedns
