// Package effects compares what a node does with what its files say. A file that is as wanted
// proves little: the kubelet may run a pod of another file, a program may have removed the rules
// that a unit loaded, and another file may win over ours. [Checks] observes the host, and pure
// rules turn the [Observation] into rows; status, apply, install, verify and diagnose show them.
package effects
