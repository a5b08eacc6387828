// Package etcd tests etcd clusters beside the cluster's own on real hosts. Its tests need the tag lab
// and root.
package etcd
