// Package verify looks at a running cluster from the outside and tells, row by
// row, whether it does what a cluster is for: nodes are Ready, what belongs to
// kube-system runs, etcd is healthy, and pods on different nodes reach each
// other, Services and names.
//
// The functions need a client and options only. They find problems, they do not
// fail: an error means that a check could not be made.
package verify
