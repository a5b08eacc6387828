// Package maintenance carries maintenance profiles out: it takes nodes into maintenance and back by the rules of a
// file, as SAP's maintenance-controller does.
//
// [Load] reads the file. A [Controller] looks at all nodes once in each [Controller.Pass]: package profile decides what
// each node does next, package notify sends the notifications, and the controller takes leases, runs triggers and
// writes the new states into the nodes' annotations. A pass waits for nothing that takes long: drains, reboots and
// playbooks go on over many passes. Its caller must be the only one in the cluster, and starts one pass at a time; the
// package starts no goroutine.
package maintenance
