package cluster

import (
	"cmp"
	"fmt"
	"strings"
)

// NodeWork has the changes of an upgrade on a node that decide whether pods must leave the
// node first.
type NodeWork struct {
	Changes   []VersionChange // of the node's components; runc as component runc
	Policies  []PolicyChange
	HostPorts []string // names of pods on the node that have host ports
	Cordoned  bool     // true when an earlier run of deployer has cordoned the node
}

// PolicyChange is a change of the policy of one of the kubelet's resource managers.
type PolicyChange struct {
	Key      string `json:"key"` // cpuManagerPolicy or memoryManagerPolicy
	From, To string
}

// StateFile returns the file in which the resource manager records its assignments. A
// kubelet with another policy refuses to start while it is there
// (kubernetes.io/docs/tasks/administer-cluster/cpu-management-policies).
func (c PolicyChange) StateFile() string {
	if c.Key == "memoryManagerPolicy" {
		return "/var/lib/kubelet/memory_manager_state"
	}
	return "/var/lib/kubelet/cpu_manager_state"
}

// PolicyChanges compares the policies of a running kubelet with its wanted configuration. A
// policy that is not set counts as none.
func PolicyChanges(found map[string]string, config map[string]any) []PolicyChange {
	var out []PolicyChange
	for _, key := range []string{"cpuManagerPolicy", "memoryManagerPolicy"} {
		wanted, _ := config[key].(string)
		c := PolicyChange{Key: key, From: cmp.Or(found[key], "none"), To: cmp.Or(wanted, "none")}
		if !strings.EqualFold(c.From, c.To) { // the memory manager calls it None
			out = append(out, c)
		}
	}
	return out
}

// RefusePolicies lists the changes of policies on a node in use, which need a drained
// node. found is nil for a host without a kubelet.
func RefusePolicies(host string, found map[string]string, n Node) Problems {
	var out Problems
	if found == nil || !n.IsNode {
		return nil
	}
	for _, c := range PolicyChanges(found, n.KubeletConfig) {
		out = append(out, Problem{Code: CodeUpgrade, Subject: host,
			Message: fmt.Sprintf("the kubelet's %s changes from %s to %s: pods must leave the node first, as in an upgrade", c.Key, c.From, c.To)})
	}
	return out
}

// Intrusive lists the reasons why pods must leave the node before the work; none when they
// can stay. A kubelet of another minor version may change pods that run
// (kubernetes.io/docs/tasks/administer-cluster/kubeadm/kubeadm-upgrade asks for a drain); a
// container runtime of another minor version may not know the containers of the old one.
//
// Under pods with host ports, another version of the runtime is a reason too: its
// patch releases have lost the state of running pods
// (github.com/containerd/containerd/issues/7843: 1.6.9 to 1.6.13 forgot their
// addresses, and the kubelet recreated these pods). A changed configuration or unit
// of containerd is no reason: containerd restarts with the same version, and no
// container does. KillMode=process leaves the containers and their shims alone;
// containerd connects to the shims again and loads sandboxes with their network
// namespaces without a call of a CNI plugin (containerd
// internal/cri/server/restart.go); the rules of the plugin portmap are in the kernel
// until the plugin is called for the end of the pod. These reasons do not hold for
// another directory of containerd's state.
func (w NodeWork) Intrusive() []string {
	var out []string
	for _, c := range w.Changes {
		switch runtime := c.Component == "containerd" || c.Component == "runc"; {
		case (c.Component == "kubelet" || c.Component == "containerd") && c.Minor():
			out = append(out, fmt.Sprintf("%s changes from %s to %s", c.Component, c.From, c.To))
		case runtime && len(w.HostPorts) > 0:
			out = append(out, fmt.Sprintf("%s changes from %s to %s under pods with host ports: %s", c.Component, c.From, c.To, strings.Join(w.HostPorts, ", ")))
		}
	}
	for _, c := range w.Policies {
		out = append(out, fmt.Sprintf("%s changes from %s to %s", c.Key, c.From, c.To))
	}
	if w.Cordoned {
		out = append(out, "an earlier run has cordoned the node")
	}
	return out
}
