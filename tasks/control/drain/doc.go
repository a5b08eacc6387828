// Package drain takes Kubernetes nodes out of service and back: it cordons a node,
// evicts its pods as their disruption budgets allow, and later uncordons it.
//
// The rules are those of kubectl drain. In addition, the node records that deployer has
// cordoned it, so that a cordon of another user stays, and an incomplete drain is
// undone. [ReadNode], [Drain] and [Uncordon] need no playbook, terminal or SSH, only a
// client of the API.
package drain
