// Package control holds the tasks that run on the controller on behalf of
// hosts: fetching of files, keys and signing, membership of etcd, objects of
// Kubernetes, the report of preflight, and verification. They reach services through the
// hosts' SSH connections only.
//
// What they do is in functions of the packages below this one that need no
// playbook; the actions here wrap them.
package control

import (
	"deployer/engine"
	"deployer/tasks/control/drain"
	"deployer/tasks/control/etcd"
	"deployer/tasks/control/fetch"
	"deployer/tasks/control/keyring"
	"deployer/tasks/control/kube"
	"deployer/tasks/control/kubelet"
	"deployer/tasks/control/preflight"
	"deployer/tasks/control/reboot"
	"deployer/tasks/control/verify"
	"deployer/tasks/examples"
)

// General is the table of the actions that need no cluster.
func General() []engine.Kind {
	return examples.In(limited([]engine.Kind{
		{Name: "fetch", Doc: "Brings a file of the host to the controller.", New: func() any { return &fetch.Fetch{} }},
		{Name: "reboot", Doc: "Reboots the host and waits until it is back.", New: func() any { return &reboot.Reboot{} }},
	}))
}

// Actions is the table of the actions that work on a cluster.
func Actions() []engine.Kind {
	return examples.In(limited([]engine.Kind{
		{Name: "preflight_report", Doc: "Collect what all hosts' checks found and end the run with one table when there is any problem.", New: func() any { return preflight.NewReport() }},

		{Name: "authority", Doc: "Load the cluster's keys from the masters into memory, or make those of a new cluster.", New: func() any { return &keyring.Load{} }},
		{Name: "key_digests", Doc: "Digests of the cluster's key files, for what must restart when one of them changes.", New: func() any { return &keyring.Digests{} }},

		{Name: "etcd_plan", Doc: "Decide what each etcd host has to do: start a new cluster, join, take a lost member's place, or nothing.", New: func() any { return &etcd.Plan{} }},
		{Name: "etcd_add_member", Doc: "Make room for the host in a running etcd cluster, as etcd_plan decided.", New: func() any { return etcd.NewAddMember() }},
		{Name: "etcd_healthy", Doc: "Wait until the host's etcd member serves and the cluster counts it; a learner that has caught up is promoted.", New: func() any { return etcd.NewHealthy() }},

		{Name: "pod_cidrs", Doc: "Give every node its range of pod addresses.", New: func() any { return &kube.PodCIDRs{} }},
		{Name: "kube_ready", Doc: "Wait until a master's API server is ready.", New: func() any { return kube.NewAPIReady() }},
		{Name: "kube_version", Doc: "Ask which version the API servers run.", New: func() any { return &kube.Version{} }},
		{Name: "kube_apply", Doc: "Apply Kubernetes objects server-side, and wait for their rollout when asked to.", New: func() any { return kube.NewApplyManifests() }},
		{Name: "kube_rollout", Doc: "Wait until Deployments and DaemonSets run as their specs say.", New: func() any { return kube.NewRolledOut() }},
		{Name: "kube_node", Doc: "Give a Node object its labels, taints and pod range, and wait until it is Ready when asked to.", New: func() any { return kube.NewNode() }},
		{Name: "kubelet_ready", Doc: "Wait until the kubelet's process has renewed the node's lease twice and is still the same.", New: func() any { return kubelet.NewReady() }},
		{Name: "kube_drain", Doc: "Cordon a node and evict its pods as their PodDisruptionBudgets allow; what cannot be brought to its end is taken back.", New: func() any { return drain.NewAction() }},
		{Name: "kube_uncordon", Doc: "Wait until a node is Ready, and make it schedulable again if deployer has cordoned it.", New: func() any { return drain.NewUncordonAction() }},
		{Name: "nodes_ready", Doc: "Wait until nodes are Ready.", New: func() any { return kube.NewNodesReady() }},

		{Name: "verify_cluster", Doc: "Look whether nodes are Ready and what belongs to kube-system runs; problems are rows of the output, not failures.", New: func() any { return &verify.ClusterTask{} }},
		{Name: "verify_etcd", Doc: "Look whether etcd has one leader, all members serve, and there is no alarm; problems are rows of the output.", New: func() any { return &verify.EtcdTask{} }},
		{Name: "verify_pods", Doc: "Start a probe on some nodes and have them reach each other, Services and names; problems are rows of the output.", New: func() any { return &verify.PodsTask{} }},
	}))
}
