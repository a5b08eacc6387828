// Package rejoin makes the host of the keeper a member of etcd again, after its member has lost its data or
// was removed.
package rejoin
