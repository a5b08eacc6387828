// Package proxy tests the API proxy of nodes on real hosts, as HAProxy and as nginx: idle watches, a
// master that vanishes, an API server that restarts, and the costs of many watches. Its tests need
// the tag lab and root.
package proxy
