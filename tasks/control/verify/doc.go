// Package verify checks a running cluster from the outside and returns a row for each
// check: nodes are Ready, the components of kube-system run, etcd is healthy, and pods
// on different nodes reach each other, Services and DNS names.
//
// The functions need a client and options only. A problem of the cluster is a row and
// no error.
package verify
