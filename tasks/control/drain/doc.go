// Package drain takes Kubernetes nodes out of service and puts them back: a node
// is cordoned, its pods are evicted as their disruption budgets allow, and later
// it is made schedulable again.
//
// The rules are those of kubectl drain. What is more: a cordon is marked, so that
// what somebody else has cordoned stays so, and what cannot be brought to its end
// is taken back. [Look], [Drain] and [Uncordon] need no playbook, terminal or SSH,
// only a client of the API.
package drain
