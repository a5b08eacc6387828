// Package replace does what SAP's Kubernikus controller does, without OpenStack: it labels nodes whose kubelet has
// another version than the API server, and takes nodes with the label cloud.sap/delete-node out of the cluster, one
// after the other: cordon, drain, the machine to a hook, which replaces it, and the Node deleted.
//
// Rules are those of https://github.com/sapcc/maintenance-controller/tree/master/kubernikus;
// docs/guides/maintenance-profiles.md lists the differences. As in package maintenance, a [Controller.Pass] waits for
// no drain. It does wait for the hook.
package replace
