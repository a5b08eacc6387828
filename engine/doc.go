// Package engine is the vocabulary of deployer: the words that its other
// packages share, and no behaviour of its own beyond them.
//
// # The model
//
// A playbook is compiled into an ordered list of tasks. For every host the
// scheduler walks that list with a cursor, decides which tasks apply, renders
// their arguments, and gathers them into a [Segment]: all steps up to the next
// point where the host must wait for another host or where the controller must
// act. The segment goes to the agent on the host in one message, and one
// [Result] a step streams back.
//
// A task is one of three kinds, distinguished by the interface that its argument
// struct implements:
//
//   - a [Module] runs on the host, inside the agent: file, unit, sysctl, ...
//   - a [Preparer] is turned into a Module by the controller before it is sent,
//     because it needs what only the controller has: template, copy, artifact, ...
//   - an [Action] runs on the controller on behalf of a host: etcd membership,
//     Kubernetes objects, signing, ...
//
// All of them first check, then apply. Check never changes anything and says
// what would change; Apply is called only when Check said that something would.
// So a second run changes nothing by construction, and a dry run and a real run
// report the same changes.
package engine
